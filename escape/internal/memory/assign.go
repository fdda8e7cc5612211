package memory

import (
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about slots that are given something else: by a store, or by a literal that captures them.
// A literal may do that if nobody else can run meanwhile who knows the slot: it is only called, by its name.

// An Assigned is what a call of a literal puts into a slot that it captures.
type Assigned struct {
	Call *ssa.Call
	Slot ssa.Value
	Put
}

// A Put is how a call gives a slot something else that the slot's function then owns.
type Put struct {
	effect.Sets
	Again bool // what is freed may be freed again
	Many  bool // it may happen more than once
}

// Name returns a name that no register has.
func (a *Assigned) Name() string                  { return fmt.Sprintf("%s by %s", a.Slot.Name(), a.Call.Name()) }
func (a *Assigned) String() string                { return a.Name() }
func (a *Assigned) Type() types.Type              { return Pointee(a.Slot.Type()) }
func (a *Assigned) Parent() *ssa.Function         { return a.Call.Parent() }
func (a *Assigned) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (a *Assigned) Pos() token.Pos                { return posOf(a.Call) }

// A Former is what a slot held in front of an instruction that gives it something else.
type Former struct {
	At   ssa.Instruction
	Slot ssa.Value
	n    int
}

// Name returns a name that no register has.
func (m *Former) Name() string                  { return fmt.Sprintf("former%d %s", m.n, m.Slot.Name()) }
func (m *Former) String() string                { return m.Name() }
func (m *Former) Type() types.Type              { return Pointee(m.Slot.Type()) }
func (m *Former) Parent() *ssa.Function         { return m.At.Parent() }
func (m *Former) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (m *Former) Pos() token.Pos                { return m.At.Pos() }

// Formers lists what a slot held before it was given something else; what it is made with is not.
func (f *Func) Formers(v ssa.Value) []*Former {
	have, ok := f.before[v]
	if ok || !f.IsSlot(v) || !InMemory(RootOf(v)) {
		return have
	}
	var at []ssa.Instruction
	var first ssa.Instruction // in the block in which the variable is made
	a, _ := RootOf(v).(*ssa.Alloc)
	for _, i := range f.Users(v) {
		if !f.Gives(i, v) {
			continue
		}
		at = append(at, i)
		if a != nil && i.Block() == a.Block() && (first == nil || f.inFront(i, first)) {
			first = i
		}
	}
	for _, i := range at {
		if i != first {
			have = append(have, &Former{i, v, len(have)})
		}
	}
	f.before[v] = have
	return have
}

// inFront reports whether one instruction of a block stands in front of another.
func (f *Func) inFront(i, j ssa.Instruction) bool {
	m, k, _ := f.Graph.Where(i)
	n, l, _ := f.Graph.Where(j)
	return m < n || m == n && k < l
}

// Gives reports whether an instruction gives a slot something else, perhaps.
func (f *Func) Gives(i ssa.Instruction, v ssa.Value) bool { return f.Sets(i, v) || f.Puts(i, v) != nil }

// Puts returns how the literal that an instruction runs gives a slot something else; nil if it never does, or
// if several literals may.
func (f *Func) Puts(i ssa.Instruction, v ssa.Value) *Put {
	var put *Put
	n := 0
	for _, r := range f.RunsOf(i) {
		for k, b := range r.Literal.Bindings {
			if b != v {
				continue
			}
			n++
			raw, p := f.Does(Run{Literal: r.Literal}, k), f.Does(r, k)
			if p.Sets.When.Cond != effect.Never {
				put = &Put{Sets: p.Sets, Again: raw.Repeatable, Many: !r.Once}
				put.Frees = raw.Replaces()
			}
		}
	}
	if n > 1 {
		return nil
	}
	return put
}

// Assigns reports whether a literal gives a slot that it captures something else.
func (f *Func) Assigns(v ssa.Value) bool {
	captured, ok := v.(*ssa.FreeVar)
	return ok && f.IsSlot(v) && len(ir.Stores(captured)) > 0
}

// Alone reports whether nobody gets at a captured variable while a literal of its function runs but that
// literal, and what it calls by name.
func (f *Func) Alone(v ssa.Value) bool {
	keeps := func(c *ssa.CallCommon, v ssa.Value) bool {
		s := f.Summary(c)
		for k, a := range calls.Operands(c) {
			if p := s.Param(k); a == v && (p.Escapes.Cond != effect.Never || p.Retained || s.Gives(k)) {
				return true
			}
		}
		return false
	}
	return ir.Callees{Keeps: keeps, Lends: f.Lends}.Alone(v)
}
