package escape

// Where a call that gets a name may be evaluated instead, and what comes before it.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// statementOf finds the statement before which call may be evaluated instead: it is
// evaluated there exactly once, whatever happens, in the statement itself or first
// thing in its header.
func (d *decider) statementOf(call *ast.CallExpr) (ast.Stmt, ast.Node, string) {
	path := d.f.pathTo(call)
	const bad = noStatement
	for i := len(path) - 1; i > 0; i-- {
		switch n := path[i].(type) {
		case *ast.FuncLit:
			if n != d.f.node {
				return nil, nil, bad
			}
		case *ast.BinaryExpr:
			if (n.Op == token.LAND || n.Op == token.LOR) && path[i+1] == ast.Node(n.Y) {
				return nil, nil, bad
			}
		case ast.Stmt:
			switch s := n.(type) {
			case *ast.ExprStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.SendStmt, *ast.IncDecStmt, *ast.DeclStmt, *ast.GoStmt, *ast.DeferStmt:
				if up, ok := path[i-1].(ast.Stmt); ok && initOf(up) == n {
					i--
				}
			case *ast.IfStmt:
				if s.Init != nil || path[i+1] != ast.Node(s.Cond) {
					return nil, nil, bad
				}
			case *ast.SwitchStmt:
				if s.Init != nil || path[i+1] != ast.Node(s.Tag) {
					return nil, nil, bad
				}
			case *ast.RangeStmt:
				if path[i+1] != ast.Node(s.X) {
					return nil, nil, bad
				}
			default:
				return nil, nil, bad
			}
			return d.hosted(path[:i+1])
		}
	}
	return nil, nil, bad
}

const noStatement = "it has no variable, and it is made where a statement cannot stand before it"

// hosted returns the statement at the end of path, with its labels, and the list it is
// an element of, if a statement may be put before it.
func (d *decider) hosted(path []ast.Node) (ast.Stmt, ast.Node, string) {
	i := len(path) - 1
	host := path[i].(ast.Stmt)
	for ; i > 0; i-- {
		l, ok := path[i-1].(*ast.LabeledStmt)
		if !ok {
			break
		}
		if d.goesTo(l) {
			return nil, nil, noStatement // past the statement before it
		}
		host = l
	}
	if i == 0 {
		return nil, nil, noStatement
	}
	switch up := path[i-1].(type) {
	case *ast.BlockStmt:
		// What would be an else-if without the frees before it is left
		// alone like one: else a second run would find more to do.
		_, isIf := host.(*ast.IfStmt)
		if outer, ok := path[i-2].(*ast.IfStmt); ok && isIf && outer.Else == ast.Stmt(up) && host == up.List[len(up.List)-1] {
			return nil, nil, noStatement
		}
		return host, up, ""
	case *ast.CaseClause:
		return host, up, ""
	case *ast.CommClause:
		if up.Comm != host {
			return host, up, ""
		}
	}
	return nil, nil, noStatement
}

// goesTo reports whether a goto leads to the label of l.
func (d *decider) goesTo(l *ast.LabeledStmt) bool {
	return d.f.walked().jumps[l.Label.Name].IsValid()
}

// unlabelled is s without its labels.
func unlabelled(s ast.Stmt) ast.Stmt {
	for {
		l, ok := s.(*ast.LabeledStmt)
		if !ok {
			return s
		}
		s = l.Stmt
	}
}

// initOf returns the first statement in the header of s, which runs once.
func initOf(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.IfStmt:
		return s.Init
	case *ast.SwitchStmt:
		return s.Init
	case *ast.TypeSwitchStmt:
		return s.Init
	case *ast.ForStmt:
		return s.Init
	}
	return nil
}

// evaluatedBefore lists the calls and receives of stmt that are evaluated
// before call and are not part of it; false if one of them cannot move.
func (d *decider) evaluatedBefore(stmt ast.Stmt, call *ast.CallExpr) ([]ast.Expr, bool) {
	var out []ast.Expr
	ok := true
	ast.Inspect(stmt, func(n ast.Node) bool {
		e, isExpr := n.(ast.Expr)
		if !isExpr {
			return true
		}
		if e.Pos() >= call.Pos() && e.End() <= call.End() {
			return false // a part of it
		}
		if e.Pos() >= call.End() {
			return false
		}
		switch x := e.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if tv := d.p.info.Types[x.Fun]; tv.IsType() {
				return true
			}
			if x.End() <= call.Pos() {
				if _, isTuple := d.p.typeOf(x).(*types.Tuple); isTuple || d.p.info.Types[x].Value != nil {
					ok = ok && d.p.info.Types[x].Value != nil
					return false
				}
				out = append(out, x)
				return false
			}
		case *ast.UnaryExpr:
			if x.Op == token.ARROW && x.End() <= call.Pos() {
				out = append(out, x)
				return false
			}
		case *ast.BinaryExpr:
			if (x.Op == token.LAND || x.Op == token.LOR) && x.End() <= call.Pos() {
				calls := false
				ast.Inspect(x, func(n ast.Node) bool {
					_, isCall := n.(*ast.CallExpr)
					calls = calls || isCall
					return true
				})
				if calls {
					out = append(out, x)
				}
				return false
			}
		}
		return true
	})
	return out, ok
}
