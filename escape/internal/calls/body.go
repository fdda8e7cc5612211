package calls

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about the body of a range over a function, which is a function of its own.

// Ranged returns the call that runs a body, and the operand that is the body.
func Ranged(body *ssa.Function) (c *ssa.Call, as ssa.Value) {
	for _, b := range body.Parent().Blocks {
		for _, i := range b.Instrs {
			c, ok := i.(*ssa.Call)
			if !ok {
				continue
			}
			for _, a := range c.Call.Args {
				if m, ok := a.(*ssa.MakeClosure); ok && m.Fn == body || a == body {
					return c, a
				}
			}
		}
	}
	return nil, nil
}

// RangePos returns where the variable stands that an operand of a body is given to; where the loop does, if
// there is none.
func RangePos(p *ssa.Parameter) token.Pos {
	loop := p.Parent().Syntax().(*ast.RangeStmt)
	x := []ast.Expr{loop.Key, loop.Value}[slices.Index(p.Parent().Params, p)]
	if id, ok := x.(*ast.Ident); x != nil && !(ok && id.Name == "_") {
		return x.Pos()
	}
	return loop.For
}
