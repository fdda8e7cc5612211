package escape

// Gotos and new variables: none may be declared where a goto jumps over it.

import (
	"go/ast"
	"go/token"
)

const jumpedOver = ", and a goto might jump over the declaration of one"

// jumpedOver reports whether a goto before pos leads to a label behind it in the
// same list: a variable that is declared at pos would come into scope on the way,
// which does not compile.
func (f *fn) jumpedOver(pos token.Pos, list ast.Node) bool {
	if !f.gotos {
		return false
	}
	first := f.firstJump(list, pos)
	return first.IsValid() && first < pos
}

func stmtsOf(list ast.Node) []ast.Stmt {
	switch l := list.(type) {
	case *ast.BlockStmt:
		return l.List
	case *ast.CaseClause:
		return l.Body
	case *ast.CommClause:
		return l.Body
	}
	return nil
}

// fitsBlock reports whether a block may be put around stmt as it stands: it declares
// nothing, stands alone on its line and is no longer than that.
func (d *decider) fitsBlock(stmt ast.Stmt) bool {
	switch s := stmt.(type) {
	case *ast.ReturnStmt:
		return true // which gets one anyway
	case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt:
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return false
		}
	default:
		return false
	}
	if d.src == nil {
		return false
	}
	_, first := d.src.indent(d.src.off(stmt.Pos()))
	_, last := d.src.restIsComment(d.src.off(stmt.End()))
	return first && last && d.src.line(stmt.Pos()) == d.src.line(stmt.End())
}
