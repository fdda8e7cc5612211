package infer

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about results of which a part is a parameter, as constructors make them: it is what the caller
// gave, on every way, and in no other part or result.

// isPart reports whether a part of result n is a parameter at every return, and nothing else there may be it.
func (e *exits) isPart(g *own.Group, t own.Token, site *pointsto.Site, n int, part *memory.Field) bool {
	if e.error || site.Part != "" || site.Param >= len(e.f.SSA.Params) || len(e.panics) > 0 {
		return false
	}
	for _, r := range e.returns {
		p := e.before(g, r)
		v := e.part(e.f.Results(r)[n], part.Text())
		if p == nil || v == nil || !p.Is(v, t) || p.Status(t) != own.Owned {
			return false
		}
		if ts, whole := p.Held(v); !whole || len(ts) != 1 {
			return false
		}
		for k, w := range e.f.Results(r) {
			others := []ssa.Value{w}
			for _, q := range e.f.Parts(w) {
				if k != n || ssa.Value(q) != v {
					others = append(others, q)
				}
			}
			for _, w := range others {
				if e.f.May(w, site) {
					return false
				}
			}
		}
	}
	return true
}

// inParts notes the parts of results that are a parameter.
func (e *exits) inParts(s *effect.Summary, g *own.Group, t own.Token, site *pointsto.Site) {
	for _, r := range e.returns {
		for n, v := range e.f.Results(r) {
			for _, part := range e.f.Parts(v) {
				if e.f.May(part, site) && e.isPart(g, t, site, n, part) {
					s.Results[n].Parts = effect.Put(s.Results[n].Parts, part.Text(),
						effect.Result{Is: 1 << site.Param, Must: true})
				}
			}
		}
	}
}
