package pointsto

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
)

// Lent follows what a parameter, or a captured variable, leads to whose type nothing frees: it may
// hold buffers all the same, in a slice or an interface, or as the number of an address. It returns
// which values do, and the acts by which it leaves, returns among them.
func (f *Func) Lent(p ssa.Value) (as map[ssa.Value]Relation, moves []Act) {
	as = map[ssa.Value]Relation{}
	var open []ssa.Value
	var add func(v ssa.Value, r Relation)
	add = func(v ssa.Value, r Relation) {
		if v == nil || as[v]|r == as[v] {
			return
		}
		as[v] |= r
		open = append(open, v)
		if types.Identical(memory.Pointee(v.Type()), memory.Pointee(p.Type())) {
			return // a copy, whose parts are followed as those of the parameter are
		}
		if _, part := v.(*memory.Field); !part { // a struct that was taken out has what its parts are
			for _, part := range f.Fields(v) {
				add(part, r)
			}
		}
	}
	switch _, basic := p.Type().Underlying().(*types.Basic); {
	case f.IsNumber(p.Type()):
		add(p, Number)
	case basic:
		add(p, View)
	default:
		add(p, Holder|Number)
	}
	for len(open) > 0 {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		for _, i := range f.Users(v) {
			f.Steps++
			// What it holds is its own function's to know.
			if s, ok := i.(*ssa.Store); ok && memory.InMemory(p) && f.Origin(s.Addr) == p {
				moves = append(moves, Act{Instr: i, Op: Keep, Of: v})
				continue
			}
			for _, a := range f.Acts(i, v) {
				if a.Lends {
					moves = append(moves, a)
					continue
				}
				switch e := Does(a.Op, as[v]); e.Do {
				case Derive:
					add(a.To, e.As)
				case Move:
					moves = append(moves, a)
				}
			}
		}
	}
	return as, moves
}
