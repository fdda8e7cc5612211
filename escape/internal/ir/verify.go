package ir

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// An Edge is a way out of a branch.
type Edge struct {
	From *ssa.BasicBlock
	Succ int // index among the successors of From
}

// To returns the block that the edge leads to.
func (e Edge) To() *ssa.BasicBlock { return e.From.Succs[e.Succ] }

// own reports whether a place lies on the edge alone: in a block that is not entered in
// another way, before anything happens.
func (p *Package) own(e Edge) bool {
	if len(e.To().Preds) > 1 {
		return false
	}
	for _, i := range e.To().Instrs {
		if call, v := p.mark(i); call != nil && v == nil {
			return true
		} else if call == nil && !Quiet(i) {
			return false
		}
	}
	return false
}

// Quiet reports whether an instruction only names, reads or sets a local variable.
func Quiet(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.Phi, *ssa.Extract, *ssa.Alloc, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Index, *ssa.ChangeType,
		*ssa.ChangeInterface, *ssa.MakeInterface:
		return true
	case *ssa.UnOp:
		return i.Op == token.MUL
	case *ssa.Store:
		switch i.Addr.(type) {
		case *ssa.Alloc, *ssa.FreeVar, *ssa.Phi:
			return true
		}
	}
	return false
}

// reasons says by the names that go/ssa gives to blocks why an edge is forced.
var reasons = []struct{ block, why string }{
	{"cond.", "&& or ||"}, {"binop.", "&& or ||"}, {"if.then", "&& or ||"}, {"if.else", "&& or ||"},
	{"for.body", "&& or ||"},
	{"switch.next", "test of a case"}, {"switch.body", "test of a case"},
	{"typeswitch.next", "test of a case"}, {"typeswitch.body", "test of a case"},
	{"select.next", "test of a case"}, {"select.body", "test of a case"},
	{"for.done", "end of a loop"}, {"rangeindex.done", "end of a loop"},
	{"rangeiter.done", "end of a loop"}, {"rangechan.done", "end of a loop"},
	{"rangeint.done", "end of a loop"}, {"rangeint.body", "turn of a loop"},
	{"rangefunc.", "range over a function"}, {"yield-", "range over a function"},
}

// Forced returns why there is no place on an edge alone, and "" if there is one.
// Where no reason is known it returns "unknown", which is an error of this package.
func (p *Package) Forced(e Edge) string {
	if len(e.From.Succs) < 2 || p.own(e) {
		return ""
	}
	if strings.HasPrefix(e.From.Comment, "rangefunc.") { // the loop's caller tests how it was left
		return "range over a function"
	}
	for _, r := range reasons {
		if strings.HasPrefix(e.To().Comment, r.block) {
			return r.why
		}
	}
	return "unknown"
}

// Verify reports the first thing that is not as the package comment says.
func (p *Package) Verify() error {
	seen := map[*Place]bool{}
	for _, f := range p.Funcs {
		for _, b := range f.Blocks {
			if err := p.verify(b, seen); err != nil {
				return fmt.Errorf("verify: %s: block %d: %w", f, b.Index, err)
			}
		}
	}
	for _, pl := range p.Places {
		for _, m := range pl.Marks {
			if (pl.Block == nil) != (m.Call == nil) {
				return fmt.Errorf("verify: place %d: the mark of %s is missing", pl.N, m.Var.Name())
			}
		}
	}
	return nil
}

func (p *Package) verify(b *ssa.BasicBlock, seen map[*Place]bool) error {
	for k := range b.Succs {
		if e := (Edge{b, k}); p.Forced(e) == "unknown" {
			return fmt.Errorf("no place on the edge to %d (%s)", e.To().Index, e.To().Comment)
		}
	}
	var at *Place // whose marks we are in
	for _, i := range b.Instrs {
		call, v := p.mark(i)
		if call == nil {
			if u, ok := i.(*ssa.UnOp); !ok || u.Op != token.MUL {
				at = nil
			}
			continue
		}
		pl := p.place(call)
		switch {
		case v == nil && seen[pl]:
			return fmt.Errorf("place %d stands twice", pl.N)
		case v == nil:
			at, seen[pl] = pl, true
		case at != pl:
			return fmt.Errorf("the mark of %s is not at its place %d", v.Name(), pl.N)
		case !types.Identical(call.Call.Args[1].Type(), v.Type()):
			return fmt.Errorf("place %d: %s holds a %s", pl.N, v.Name(), call.Call.Args[1].Type())
		}
	}
	return nil
}
