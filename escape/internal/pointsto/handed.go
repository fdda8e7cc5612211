package pointsto

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about bodies of ranges over functions: an operand makes something each time one is entered.

// Handed returns the operand that is the site, if its caller made that for the body; nil if it is none.
func (s *Site) Handed() *ssa.Parameter {
	if p, ok := s.Value.(*ssa.Parameter); ok && s.Param < 0 && memory.IsBody(p.Parent()) {
		return p
	}
	return nil
}

// AtEntry reports whether what the site makes is there where the function is entered.
func (s *Site) AtEntry() bool { return s.Param >= 0 || s.Handed() != nil }

// handed returns what the function is handed, if it is the body of a range.
func (f *Func) handed() effect.Hands {
	if !memory.IsBody(f.SSA) {
		return effect.Hands{}
	}
	c, body := calls.Ranged(f.SSA)
	if c == nil {
		return effect.Hands{}
	}
	return f.Summary(&c.Call).Param(slices.Index(calls.Operands(&c.Call), body)).Hands
}
