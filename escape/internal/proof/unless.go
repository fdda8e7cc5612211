package proof

// Frees where a test says that what they free is not an operand: if x != p { x.Free() }, where x is p, or
// what was made in its place. The test is the program's, or was put in with the free.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// unless leaves of what a free may free what its operand may be besides the parameter that it was found to
// differ from. It says why that is not understood where the test was put in: the operand must be a register
// that is compared as it is, with a parameter, which is never anything else. They are pointers: to compare
// interfaces may panic, and one may differ from itself. What is another one than the parameter came into the
// register by another edge, or is what was made in its place.
func (g *graph) unless(x *free, p Param) string {
	s, ok := x.e.stmt.(*ast.IfStmt)
	given := ok && otherThan(s.Cond) != nil
	q := differs(x.arg, x.at.Block(), given)
	switch {
	case q == nil && given:
		return "it is not understood what it is compared with"
	case q == nil:
		return ""
	}
	var rest set
	seen := map[ssa.Value]bool{q: true}
	for open := []ssa.Value{x.arg}; len(open) > 0; {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if phi, ok := v.(*ssa.Phi); ok {
			open = append(open, phi.Edges...)
			continue
		}
		rest.union(g.f.of(v))
	}
	x.from, x.pts = rest, g.freed(rest, p)
	return ""
}

// differs returns the parameter from which a pointer was found to differ wherever a block runs, by the test
// right in front of it if that is asked for; nil if there is none.
func differs(v ssa.Value, b *ssa.BasicBlock, here bool) *ssa.Parameter {
	if _, pointer := v.Type().Underlying().(*types.Pointer); !pointer {
		return nil
	}
	for ; b != nil; b = b.Idom() {
		if q := differsAt(v, b); q != nil || here {
			return q
		}
	}
	return nil
}

// differsAt returns the parameter from which a value differs on the only way into a block, by the test at the
// end of the block that it comes from; nil if that says no such thing.
func differsAt(v ssa.Value, b *ssa.BasicBlock) *ssa.Parameter {
	if len(b.Preds) != 1 {
		return nil
	}
	from := b.Preds[0]
	i, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
	if !ok {
		return nil
	}
	test, ok := i.Cond.(*ssa.BinOp)
	way := slices.Index(from.Succs, b)
	if !ok || test.Op != [2]token.Token{token.NEQ, token.EQL}[way] {
		return nil
	}
	for _, xy := range [][2]ssa.Value{{test.X, test.Y}, {test.Y, test.X}} {
		if q, ok := xy[1].(*ssa.Parameter); ok && xy[0] == v {
			return q
		}
	}
	return nil
}
