package escape

// Loops whose header starts with something: what dies in there would otherwise be
// freed behind the loop, or nowhere. So there is a gap between what the header starts with and
// the loop; to free there, that moves in front of the statement and gets names.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// headGap puts a gap between what the header of the loop s starts with, which has been
// lowered, and the loop.
func (l *lower) headGap(s ast.Stmt) {
	if l.cur == nil || l.splice != nil {
		return
	}
	e := l.f.startsWith(s)
	if e == nil {
		return
	}
	host, list, why := l.f.hosted(l.f.pathTo(s))
	if why != "" || l.f.jumpedOver(host.Pos(), list) {
		return
	}
	l.gap(&gap{kind: gapHead, stmt: s, scope: s.Pos()}, e.End())
}

// startsWith returns the one expression that the header of a loop evaluates once, and before
// all else, and that may as well be evaluated in front of the loop; what may stand beside it is the
// same behind it. nil if there is none, or none but a variable, or if a function literal would
// move: its own frees are edits of their own.
func (f *fn) startsWith(s ast.Stmt) ast.Expr {
	var es []ast.Expr
	switch s := s.(type) {
	case *ast.RangeStmt:
		es = []ast.Expr{s.X}
	case *ast.ForStmt:
		as, ok := s.Init.(*ast.AssignStmt)
		if !ok || as.Tok != token.DEFINE {
			return nil
		}
		es = as.Rhs
	}
	var does ast.Expr
	for _, e := range es {
		if hasLiteral(e) {
			return nil
		}
		if !calls(e) && f.settles(e) {
			continue
		}
		if does != nil {
			return nil
		}
		does = e
	}
	if does == nil {
		return nil
	}
	if id, ok := ast.Unparen(does).(*ast.Ident); ok {
		if _, isVar := f.p.info.Uses[id].(*types.Var); isVar {
			return nil
		}
	}
	return does
}

// headOf returns the hoist by which a free can stand at g, between the header of a loop
// and the loop: what the header starts with has a name in front of it. nil if it cannot.
func (d *decider) headOf(g *gap) *hoist {
	if h := d.heads[g]; h != nil {
		return h
	}
	host, list, why := d.f.hosted(d.f.pathTo(g.stmt))
	if why != "" {
		return nil
	}
	h := d.hoists[host]
	if h == nil {
		h = &hoist{stmt: host, list: list}
		d.hoists[host] = h
	}
	e, n := d.f.startsWith(g.stmt), 1
	if tt, ok := d.p.typeOf(e).(*types.Tuple); ok {
		n = tt.Len()
	}
	h.take(d, e, n)
	if d.heads == nil {
		d.heads = map[*gap]*hoist{}
	}
	d.heads[g] = h
	return h
}
