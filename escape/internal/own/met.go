package own

import (
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Meeting is an act of the instruction right in front of a moment, and a token that its operand may hold.
type Meeting struct {
	Act    pointsto.Act
	Of     ssa.Value
	Token  Token
	As     pointsto.Relation
	Status Status // of the token in front of it, on all ways on which it may happen and the operand hold it
	Sure   bool   // wherever the token is freed, or will be, the operand is it, or was made of what is it
	Always bool   // the act happens on all ways
}

// Meetings lists what the instruction right in front of a point does to the tokens of the group, in no order.
func (p *Point) Meetings() []Meeting {
	var out []Meeting
	if p.prev == nil {
		return nil
	}
	for _, e := range p.g.events[p.Node] {
		if e.at != p.At-1 || e.kind != act {
			continue
		}
		first := len(out)
		for i, c := range p.prev.s {
			if c == nil {
				continue
			}
			sure, may := p.g.holdsThen(i, e.act)
			if r, ok := e.act.Instr.(*ssa.Return); ok {
				_, failure := p.g.f.Outcome(r, Combination{p.g, i}.NonNil)
				may = !failure // with an error, nobody looks at what else there is
			}
			if !may {
				continue
			}
			p.g.tokens(c, e.n, func(t Token, as pointsto.Relation) {
				k := first
				for k < len(out) && out[k].Token != t {
					k++
				}
				if k == len(out) {
					out = append(out, Meeting{Act: e.act, Of: p.g.Values[e.n], Token: t, As: as, Sure: true, Always: true})
				}
				m := &out[k]
				m.Status |= c.st[t]
				m.Always = m.Always && sure
				m.Sure = m.Sure && (c.gone[t] == nil || p.g.leads(c, e.n, t))
			})
		}
	}
	return out
}

// leads reports whether value v is t wherever that is gone, or was made of a value that is. A register that
// is read has been made anew since what it is made of was; a variable may have been given something else.
func (g *Group) leads(c *combo, v int, t Token) bool {
	for !c.gone[t].Has(v) {
		other := false // that it was made of, the last time
		g.tokens(c, v, func(u Token, _ pointsto.Relation) { other = other || u != t })
		from, ok := g.index[g.f.MadeOf(g.Values[v])]
		if !ok || other && !ir.IsRegister(g.Values[from]) {
			return false
		}
		v = from
	}
	return true
}

// Reads reports whether a value that may hold t is needed from here on, whatever has become of t.
func (p *Point) Reads(t Token) bool {
	for i, c := range p.s {
		if c != nil && p.g.neededBy(c, p.l[i], t) {
			return true
		}
	}
	return false
}

// NeededBy lists the values that may hold t and are needed from here on a path on which t is owned.
func (p *Point) NeededBy(t Token) []ssa.Value {
	var out []ssa.Value
	for v := range p.Needing(t, Owned) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Needing lists the values that may hold t and are needed from here on a path on which it is one of as.
func (p *Point) Needing(t Token, as Status) iter.Seq[ssa.Value] {
	return func(yield func(ssa.Value) bool) {
		for i, c := range p.s {
			if c == nil || c.st[t]&as == 0 || p.l[i] == nil {
				continue
			}
			for k, v := range p.g.Values {
				if p.l[i].Has(k) && p.g.mayHold(c, k, t) && !yield(v) {
					return
				}
			}
		}
	}
}
