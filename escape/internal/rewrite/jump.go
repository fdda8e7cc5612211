package rewrite

import (
	"go/ast"
	"go/token"
)

const jumpedOver = ", and a goto might jump over the declaration of one"

// JumpedOver reports whether a goto before pos leads to a label behind it in the
// same list: a variable that is declared at pos would come into scope on the way,
// which does not compile.
func (f *Func) JumpedOver(pos token.Pos, list ast.Node) bool {
	if !f.Gotos {
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
func (s *Source) fitsBlock(stmt ast.Stmt) bool {
	switch st := stmt.(type) {
	case *ast.ReturnStmt:
		return true // which gets one anyway
	case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt:
	case *ast.AssignStmt:
		if st.Tok == token.DEFINE {
			return false
		}
	default:
		return false
	}
	if s == nil {
		return false
	}
	_, first := s.Indent(s.Off(stmt.Pos()))
	_, last := s.RestIsComment(s.Off(stmt.End()))
	return first && last && s.Line(stmt.Pos()) == s.Line(stmt.End())
}
