package memory

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
)

// This file is about literals that a call runs before it returns, on its goroutine, one after the other: one
// that it names, and those that it gives to a function which only calls them.

// A Run is a literal that a call runs, any number of times if not once.
type Run struct {
	Literal *ssa.MakeClosure
	Once    bool
	Lent    bool // it is given to what is called
}

// IsBody reports whether a function is the body of a range over a function. It only runs in turn, whatever
// that does: once the loop has ended, calling it panics.
func IsBody(f *ssa.Function) bool { return f.Synthetic == "range-over-func yield" }

// BodyOf returns the body of the range over a function that a call is; nil if it is none.
func BodyOf(c *ssa.CallCommon) *ssa.Function {
	for _, a := range c.Args {
		if m, ok := a.(*ssa.MakeClosure); ok && IsBody(m.Fn.(*ssa.Function)) {
			return m.Fn.(*ssa.Function)
		}
	}
	return nil
}

// posOf returns where a call stands, or the body of the loop that it is.
func posOf(c *ssa.Call) token.Pos {
	if body := BodyOf(&c.Call); body != nil {
		return body.Pos()
	}
	return c.Pos()
}

// Does returns what a run does to what its literal captures in operand n, of which the caller of the literal
// learns no more if that is another function.
func (f *Func) Does(r Run, n int) effect.Param {
	s := f.Summary(&ssa.CallCommon{Value: r.Literal})
	k := len(r.Literal.Fn.(*ssa.Function).Params) + n
	p := s.Param(k)
	if !r.Lent || p.Takes.Own {
		return p
	}
	if p.Sets.Lends || p.Retained || len(p.Parts) > 0 || p.Escapes.Cond != effect.Never || s.Gives(k) ||
		!r.Once && p.Freed.Cond != effect.Never && !p.Replaces() {
		return effect.Param{Escapes: effect.When{Cond: effect.Always}}
	}
	perhaps := func(w *effect.When) {
		if w.Cond != effect.Never && !(r.Once && w.Cond == effect.Always) {
			w.Cond = effect.Maybe
		}
	}
	perhaps(&p.Freed)
	perhaps(&p.Sets.When)
	return p
}

// RunsOf lists the literals that an instruction runs.
func (f *Func) RunsOf(i ssa.Instruction) []Run {
	c, ok := i.(*ssa.Call)
	if !ok || f.Marks(i) {
		return nil
	}
	if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
		return nil
	}
	var out []Run
	if m, ok := c.Call.Value.(*ssa.MakeClosure); ok && calls.Literal(&c.Call) != nil {
		out = append(out, Run{Literal: m, Once: true})
	}
	var s *effect.Summary
	for k, a := range calls.Operands(&c.Call) {
		m, ok := a.(*ssa.MakeClosure)
		if ok && IsBody(m.Fn.(*ssa.Function)) {
			out = append(out, Run{Literal: m, Lent: true})
			continue
		}
		if !ok || m.Fn.(*ssa.Function).Synthetic != "" {
			continue
		}
		if s == nil {
			s = f.Summary(&c.Call)
		}
		if how := s.Param(k).Calls; how != effect.Anyhow {
			out = append(out, Run{Literal: m, Once: how == effect.Once, Lent: true})
		}
	}
	return out
}

// Lends reports whether an instruction gives a literal to functions that only run it, and does no more with
// it.
func (f *Func) Lends(i ssa.Instruction, m *ssa.MakeClosure) bool {
	n := 0
	for _, r := range f.RunsOf(i) {
		if r.Literal == m {
			n++
			if !r.Lent {
				return false
			}
		}
	}
	for _, op := range i.Operands(nil) {
		if *op == ssa.Value(m) {
			n--
		}
	}
	return n == 0
}
