package escape

// Interfaces are closed in their unexported methods alone: another package can embed what
// implements them, but the body that runs is of this package.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/spec"
)

// closedMethod joins what the methods do that a call of interface method m may run; nil if
// these are not known, or one of them frees what it is called on, of which it may be a part.
func (p *pkg) closedMethod(m *types.Func) *Summary {
	var joined *Summary
	for _, f := range p.closedMethods(m) {
		s := p.summaryOf(f)
		if e := s.arg(-1); e.Freed.K != Never || e.Retained || len(e.Fields) > 0 {
			return nil
		}
		if joined = joined.agreed(s); joined == nil {
			return nil
		}
	}
	return joined
}

// closedMethods lists the methods that a call of interface method m may run; nil if that
// is not known.
func (p *pkg) closedMethods(m *types.Func) []*types.Func {
	if m.Exported() || m.Pkg() != p.types || p.saidElsewhere(m.Name()) {
		return nil
	}
	if _, ok := p.set.Lookup(spec.FullName(m)); ok {
		return nil
	}
	var out []*types.Func
	for _, f := range p.methodsNamed(m.Name()) {
		if !types.Identical(withoutRecv(f), withoutRecv(m)) {
			if f.Signature().RecvTypeParams().Len() > 0 {
				return nil // it may be the same once it is instantiated
			}
			continue
		}
		if p.decls[f] == nil || p.decls[f].Body == nil {
			return nil
		}
		out = append(out, f)
	}
	if len(out) > maxClosed {
		return nil
	}
	return out
}

// methodsNamed lists the methods of this package with a name, in source order.
func (p *pkg) methodsNamed(name string) []*types.Func {
	if p.methods == nil {
		p.methods = map[string][]*types.Func{}
		for f := range p.decls {
			if f.Signature().Recv() != nil {
				p.methods[f.Name()] = append(p.methods[f.Name()], f)
			}
		}
		for _, fs := range p.methods {
			slices.SortFunc(fs, func(a, b *types.Func) int { return int(a.Pos() - b.Pos()) })
		}
	}
	return p.methods[name]
}

func withoutRecv(f *types.Func) *types.Signature {
	s := f.Signature()
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}
