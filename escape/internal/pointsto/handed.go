package pointsto

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about the bodies of ranges over functions that hand them what they made: an operand of such a
// body is a site, which makes something each time that the body is entered.

// AtEntry reports whether what the site makes is there where the function is entered.
func (s *Site) AtEntry() bool {
	_, operand := s.Value.(*ssa.Parameter)
	return operand || s.Param >= 0
}

// handed returns what the function is handed, if it is the body of a range.
func (f *Func) handed() effect.Hands {
	if !memory.IsBody(f.SSA) {
		return effect.Hands{}
	}
	for _, b := range f.SSA.Parent().Blocks {
		for _, i := range b.Instrs {
			if c, ok := i.(*ssa.Call); ok {
				for k, a := range calls.Operands(&c.Call) {
					if m, ok := a.(*ssa.MakeClosure); ok && m.Fn == f.SSA || a == f.SSA {
						return f.Summary(&c.Call).Param(k).Hands
					}
				}
			}
		}
	}
	return effect.Hands{}
}
