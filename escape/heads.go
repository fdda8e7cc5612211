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
	es := l.p.startsWith(s)
	if len(es) == 0 || l.cur == nil || l.splice != nil {
		return
	}
	host, list, why := l.f.hosted(l.f.pathTo(s))
	if why != "" || l.f.jumpedOver(host.Pos(), list) {
		return
	}
	end := es[len(es)-1].End()
	l.gap(&gap{kind: gapHead, stmt: s, scope: s.Pos()}, end)
}

// startsWith lists what the header of a loop evaluates once, and before all else: each of
// these may as well be evaluated in front of the loop. There is none if nothing but constants and
// variables is read, and none if a function literal would move: its own frees are edits of their own.
func (p *pkg) startsWith(s ast.Stmt) []ast.Expr {
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
	var out []ast.Expr
	does := false
	for _, e := range es {
		if hasLiteral(e) {
			return nil
		}
		if tv := p.info.Types[e]; tv.Value != nil || tv.IsNil() {
			continue
		}
		out = append(out, e)
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			_, isVar := p.info.Uses[id].(*types.Var)
			does = does || !isVar
			continue
		}
		does = true
	}
	if !does {
		return nil
	}
	return out
}

// headOf returns the hoist by which a free can stand at g, between the header of a loop
// and the loop: all that the header starts with has names in front of it. nil if it
// cannot.
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
	for _, e := range d.p.startsWith(g.stmt) {
		n := 1
		if tt, ok := d.p.typeOf(e).(*types.Tuple); ok {
			n = tt.Len()
		}
		h.take(d, e, n)
	}
	if d.heads == nil {
		d.heads = map[*gap]*hoist{}
	}
	d.heads[g] = h
	return h
}
