package infer

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about what a function makes and puts into fields of what it is given, as methods do that set
// up a value: that is the value's from then on, unlike what is borrowed there. Who gives the value up
// afterwards gives up that, too, and so does who gives it up because the function failed, if it fails behind
// that.

// makes lists the fields of a parameter that the function, or one that it calls, gives something of its own.
// A field that the function also frees or sets to nothing is left out: what is in there is not known.
func (e *exits) makes(p *ssa.Parameter) (out []effect.Made) {
	if !e.f.In.Owns(p.Type()) || e.frees.Parts(p.Type()) != nil {
		return nil
	}
	lost := map[int]bool{}
	add := func(field int, pos token.Pos, at ssa.Instruction, success, fails bool) {
		m := effect.Made{Field: field, Pos: pos, Success: success}
		some := false
		for _, r := range e.returns {
			kinds := e.kinds(r, own.Combination{})
			failed, known := e.f.Failed(at, r.Block())
			same := !known && e.returnsError(r, at)
			if kinds[0] {
				some = true
				m.Success = m.Success && ir.Before(at, r) && (same || known && !failed)
			}
			if !kinds[1] || !e.error || !ir.Leads(at, r) {
				continue
			}
			if failed || same { // as what is called does
				m.Fails = m.Fails || fails
			} else {
				m.Fails = m.Fails || success && known
			}
		}
		m.Success = m.Success && some
		out = append(out, m)
	}
	for _, i := range *p.Referrers() {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			for _, u := range *i.Referrers() {
				switch u := u.(type) {
				case *ssa.Store:
					if s := e.f.HandsOver(u); s != nil && !s.Begun && u.Addr == ssa.Value(i) {
						add(i.Field, u.Pos(), u, true, false)
					} else {
						lost[i.Field] = true
					}
				case *ssa.UnOp:
					lost[i.Field] = lost[i.Field] || e.freesHere(u)
				}
			}
		case *ssa.Call:
			if _, builtin := i.Call.Value.(*ssa.Builtin); builtin || e.f.Marks(i) {
				continue
			}
			for k, a := range calls.Operands(&i.Call) {
				if a != ssa.Value(p) {
					continue
				}
				does := e.f.Summary(&i.Call).Param(k)
				if does.Freed.Cond != effect.Never {
					return nil
				}
				for _, m := range does.Made {
					add(m.Field, m.Pos, i, m.Success, m.Fails)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(m effect.Made) bool { return lost[m.Field] || !m.Success && !m.Fails })
}

// freesHere reports whether something frees what a load gives.
func (e *exits) freesHere(v *ssa.UnOp) bool {
	return slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		c, ok := i.(ssa.CallInstruction)
		if !ok || e.f.Marks(i) {
			return false
		}
		if _, builtin := c.Common().Value.(*ssa.Builtin); builtin {
			return false
		}
		for k, a := range calls.Operands(c.Common()) {
			if a == ssa.Value(v) && e.f.Summary(c.Common()).Param(k).Freed.Cond != effect.Never {
				return true
			}
		}
		return false
	})
}

// returnsError reports whether a return returns the error of a call, or of one that made what is
// stored, as it is.
func (e *exits) returnsError(r *ssa.Return, i ssa.Instruction) bool {
	c := memory.Maker(i)
	return c != nil && effect.HasError(c.Call.Signature()) && e.f.Stored(memory.Last(r)) == memory.ErrorOf(c)
}
