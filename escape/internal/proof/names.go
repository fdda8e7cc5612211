package proof

// Names that were made for expressions, as the two trees are compared.

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"
)

// A hoist is a statement that reads names in place of expressions.
type hoist struct {
	stmt  ast.Stmt     // in the new tree
	names []*ast.Ident // in the order in which they are made
	read  []*ast.Ident // in the order in which stmt reads them
	subs  []ast.Expr   // the expressions that they are made of
	drops []*ast.Ident // that stmt does not read, as the old one drops what they are

	waiting []waiting // names that were made before stmt
}

// A waiting name was made and not read yet.
type waiting struct {
	id   *ast.Ident
	of   ast.Expr
	part bool // it is one of the results of that
	save bool // made of another name, which costs nothing and may go unread
}

// results compares f() with r0, r1 where r0, r1 := f() were the last names that were made.
func (d *differ) results(old, new []ast.Expr) bool {
	if len(old) != 1 || len(new) < 2 || d.cur == nil || d.noSub > 0 || len(d.cur.waiting) < len(new) {
		return false
	}
	tail := d.cur.waiting[len(d.cur.waiting)-len(new):]
	rhs := tail[0].of
	for i, r := range new {
		if id, ok := r.(*ast.Ident); !ok || id.Name != tail[i].id.Name || tail[i].of != rhs || !tail[i].part {
			return false
		}
	}
	if !d.node(reflect.ValueOf(&old[0]).Elem(), reflect.ValueOf(&rhs).Elem()) {
		return false
	}
	for _, r := range new {
		d.cur.read = append(d.cur.read, r.(*ast.Ident))
	}
	d.cur.subs = append(d.cur.subs, rhs)
	return true
}

// substituted compares an expression with the name that was made for it.
func (d *differ) substituted(old, new ast.Expr) bool {
	id, ok := new.(*ast.Ident)
	if !ok || d.cur == nil || d.noSub > 0 {
		return false
	}
	if x, ok := old.(*ast.Ident); ok && x.Name == id.Name {
		return false
	}
	w := slices.IndexFunc(d.cur.waiting, func(w waiting) bool { return w.id.Name == id.Name && !w.part })
	if w < 0 {
		return false
	}
	rhs := d.cur.waiting[w].of
	if !d.tried(func() bool { return d.node(reflect.ValueOf(&old).Elem(), reflect.ValueOf(&rhs).Elem()) }) {
		return false
	}
	d.cur.read, d.cur.subs = append(d.cur.read, id), append(d.cur.subs, rhs)
	return true
}

// names takes a statement that makes a name for each of some values, or for results of a call, to be read by
// the next old one.
func (d *differ) names(s ast.Stmt) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE {
		return false
	}
	several := len(as.Lhs) != len(as.Rhs)
	if _, call := as.Rhs[0].(*ast.CallExpr); several && !call {
		return false
	}
	for i, l := range as.Lhs {
		id, ok := l.(*ast.Ident)
		switch {
		case !ok || id.Name == "_" && !several: // this value is not read
			return false
		case id.Name == "_":
			continue
		case several:
			d.order = append(d.order, waiting{id, as.Rhs[0], true, false})
		default:
			d.order = append(d.order, waiting{id, as.Rhs[i], false, isSave(as)})
		}
		d.defs = append(d.defs, id)
	}
	d.edits = append(d.edits, &edit{kind: Named, stmt: s, decl: d.decl})
	return true
}

// discards compares f() or _ = f() with b := f(), whose name only frees read.
func (d *differ) discards(old, new ast.Stmt) bool {
	order := d.order
	as, ok := new.(*ast.AssignStmt)
	if !ok || !d.names(new) || len(as.Rhs) != 1 {
		return false
	}
	var x ast.Expr
	switch s := old.(type) {
	case *ast.ExprStmt:
		x = s.X
	case *ast.AssignStmt:
		for _, l := range s.Lhs {
			if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
				return false
			}
		}
		if len(s.Rhs) != 1 || s.Tok != token.ASSIGN || len(s.Lhs) != len(as.Lhs) {
			return false
		}
		x = s.Rhs[0]
	default:
		return false
	}
	return d.reads(new, order, func() bool {
		return d.node(reflect.ValueOf(&x).Elem(), reflect.ValueOf(&as.Rhs[0]).Elem())
	})
}

// kept compares _, x := f() with b, x := f(), where only frees read b.
func (d *differ) kept(old, new *ast.AssignStmt) bool {
	if old.Tok != token.DEFINE || new.Tok != token.DEFINE || len(old.Lhs) != len(new.Lhs) || !d.calls(old.Rhs, new.Rhs) {
		return false
	}
	made := false
	for i, l := range old.Lhs {
		x, isName := l.(*ast.Ident)
		y, ok := new.Lhs[i].(*ast.Ident)
		switch {
		case !isName || !ok:
			return false
		case x.Name == y.Name:
		case x.Name != "_":
			return false
		default:
			made = true
			d.defs = append(d.defs, y)
		}
	}
	d.edits = append(d.edits, &edit{kind: Named, stmt: new, decl: d.decl})
	return made
}

// taken compares _, x = f() with x = r1, where r0, r1 := f() stands right in front, and only frees read r0.
func (d *differ) taken(old, new *ast.AssignStmt) bool {
	if old.Tok != token.ASSIGN || new.Tok != token.ASSIGN || d.cur == nil || d.noSub > 0 || len(d.edits) == 0 ||
		len(new.Lhs) != len(new.Rhs) {
		return false
	}
	e := d.edits[len(d.edits)-1]
	as, ok := e.stmt.(*ast.AssignStmt)
	if e.kind != Named || !ok || len(as.Lhs) != len(old.Lhs) || !d.calls(old.Rhs, as.Rhs) {
		return false
	}
	k := 0
	for i, l := range old.Lhs {
		x, isName := l.(*ast.Ident)
		r := as.Lhs[i].(*ast.Ident)
		switch {
		case !isName:
			return false
		case x.Name == "_":
			d.cur.drops = append(d.cur.drops, r)
			continue
		case k == len(new.Lhs):
			return false
		}
		y, isY := new.Lhs[k].(*ast.Ident)
		z, isZ := new.Rhs[k].(*ast.Ident)
		if !isY || !isZ || y.Name != x.Name || z.Name != r.Name || z.Name == "_" {
			return false
		}
		d.cur.read = append(d.cur.read, z)
		k++
	}
	d.cur.subs = append(d.cur.subs, as.Rhs[0])
	return k > 0 && k == len(new.Lhs)
}

// calls reports whether two right sides are one call each, and the same.
func (d *differ) calls(old, new []ast.Expr) bool {
	if len(old) != 1 || len(new) != 1 {
		return false
	}
	_, call := old[0].(*ast.CallExpr)
	return call && d.node(reflect.ValueOf(&old[0]).Elem(), reflect.ValueOf(&new[0]).Elem())
}
