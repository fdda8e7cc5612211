package rewrite

// Where a call that gets a name may be evaluated instead, and what comes before it.

import (
	"go/ast"
	"go/token"
	"slices"
)

// statementOf finds the statement before which call may be evaluated instead: it is
// evaluated there exactly once, whatever happens, in the statement itself or first
// thing in its header.
func (f *Func) statementOf(call *ast.CallExpr) (ast.Stmt, ast.Node, string) {
	path := f.PathTo(call)
	const bad = noStatement
	for i := len(path) - 1; i > 0; i-- {
		switch n := path[i].(type) {
		case *ast.FuncLit:
			if n != f.Node {
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
			return f.hosted(path[:i+1])
		}
	}
	return nil, nil, bad
}

const noStatement = "it has no variable, and it is made where a statement cannot stand before it"

// Hosted returns s with its labels, and the list it is an element of, if a statement may be put before
// it; else why not.
func (f *Func) Hosted(s ast.Stmt) (ast.Stmt, ast.Node, string) { return f.hosted(f.PathTo(s)) }

// hosted returns the statement at the end of path, with its labels, and the list it is
// an element of, if a statement may be put before it.
func (f *Func) hosted(path []ast.Node) (ast.Stmt, ast.Node, string) {
	i := len(path) - 1
	host := path[i].(ast.Stmt)
	for ; i > 0; i-- {
		l, ok := path[i-1].(*ast.LabeledStmt)
		if !ok {
			break
		}
		if f.goesTo(l) {
			return nil, nil, noStatement // past the statement before it
		}
		host = l
	}
	if i == 0 {
		return nil, nil, noStatement
	}
	switch up := path[i-1].(type) {
	case *ast.BlockStmt:
		// What would be an else-if without the frees around it is left
		// alone like one: else a second run would find more to do.
		_, isIf := host.(*ast.IfStmt)
		if outer, ok := path[i-2].(*ast.IfStmt); ok && isIf && outer.Else == ast.Stmt(up) &&
			!slices.ContainsFunc(up.List, func(s ast.Stmt) bool { return s != host && !f.onlyFrees(s) }) {
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

// onlyFrees reports whether s is a statement such as is planned: it frees something, perhaps
// where it is not nil, or each element of something, or keeps it alive.
func (p *Package) onlyFrees(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		return ok && p.Frees(call)
	case *ast.IfStmt:
		return s.Init == nil && s.Else == nil && len(s.Body.List) == 1 && p.onlyFrees(s.Body.List[0])
	case *ast.RangeStmt:
		return len(s.Body.List) == 1 && p.onlyFrees(s.Body.List[0])
	}
	return false
}

// goesTo reports whether a goto leads to the label of l.
func (f *Func) goesTo(l *ast.LabeledStmt) bool {
	return f.jumps[l.Label.Name].IsValid()
}

// Unlabelled is s without its labels.
func Unlabelled(s ast.Stmt) ast.Stmt {
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
