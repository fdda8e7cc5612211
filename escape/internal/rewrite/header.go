package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
)

// Names for buffers that a variable holds which the header of an if, a switch or a
// for declares: it ends with the statement. What the variable is given moves in
// front of the statement and gets a name there, which lasts longer; the variable
// takes it from there.

// Header gives a name to what the header of a statement gives to v, if that is made at made and
// assigned at set, and the name is visible at g. It is evaluated exactly once and before all else in
// the statement, so it may as well stand before it. The hoist is nil if there can be none.
func (hs *Hoists) Header(v *types.Var, made, set token.Pos, g Place) (*Hoist, string) {
	stmt, as := hs.f.declaredInHeader(v)
	if stmt == nil || len(as.Rhs) != 1 || !within(as.Rhs[0], made) || set < as.Pos() || as.End() < set {
		return nil, "" // not what it starts with
	}
	host, list, why := hs.f.Hosted(stmt)
	if why != "" {
		return nil, ""
	}
	h := hs.by[host]
	if h == nil {
		h = &Hoist{Stmt: host, List: list, Braces: hs.f.JumpedOver(host.Pos(), list)}
	}
	if h.Braces || !hs.f.Within(h, g) {
		return nil, ""
	}
	hs.by[host] = h
	names := hs.take(h, as.Rhs[0], len(as.Lhs))
	for i, e := range as.Lhs {
		if id, ok := e.(*ast.Ident); ok && hs.f.Info.Defs[id] == v {
			return h, names[i]
		}
	}
	return h, ""
}

// declaredInHeader returns the statement in the header of which v is declared.
func (f *Func) declaredInHeader(v *types.Var) (stmt ast.Stmt, as *ast.AssignStmt) {
	i := sort.Search(len(f.headers), func(i int) bool { return f.headers[i].as.Pos() > v.Pos() })
	if i == 0 || v.Pos() >= f.headers[i-1].as.End() {
		return nil, nil
	}
	return f.headers[i-1].stmt, f.headers[i-1].as
}

// take lets e, with n values, move in front of the statement of h, and returns the names of
// its values there.
func (hs *Hoists) take(h *Hoist, e ast.Expr, n int) []string {
	for _, x := range h.Items {
		switch {
		case x.Expr != e:
		case x.Names != nil:
			return x.Names
		default:
			return []string{x.Name}
		}
	}
	var names []string
	for i := range n {
		t := hs.f.typeOf(e)
		if tt, ok := t.(*types.Tuple); ok {
			t = tt.At(i).Type()
		}
		switch {
		case hs.f.Resource(t):
			names = append(names, hs.Fresh(spoken(t)))
		case types.Identical(t, types.Universe.Lookup("error").Type()):
			names = append(names, hs.Fresh("err"))
		default:
			names = append(names, hs.Fresh("tmp"))
		}
	}
	h.Items = append(h.Items, Item{Expr: e, Names: names})
	h.order()
	return names
}

// Loops whose header starts with something: what dies in there would otherwise be
// freed behind the loop, or nowhere. So there is a place between what the header starts with and
// the loop; to free there, that moves in front of the statement and gets names.

// StartsWith returns the one expression that the header of a loop evaluates once, and before
// all else, and that may as well be evaluated in front of the loop; what may stand beside it is the
// same behind it. nil if there is none, or none but a variable, or if a function literal would
// move: its own frees are edits of their own.
func (f *Func) StartsWith(s ast.Stmt) ast.Expr {
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
		if HasLiteral(e) {
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
		if _, isVar := f.Info.Uses[id].(*types.Var); isVar {
			return nil
		}
	}
	return does
}

// Head returns the hoist by which a statement can stand between the header of a loop and the loop:
// what the header starts with has a name in front of it. nil if it cannot.
func (hs *Hoists) Head(loop ast.Stmt) *Hoist {
	if h := hs.heads[loop]; h != nil {
		return h
	}
	e, n := hs.f.StartsWith(loop), 1
	host, list, why := hs.f.Hosted(loop)
	if e == nil || why != "" {
		return nil
	}
	h := hs.by[host]
	if h == nil {
		h = &Hoist{Stmt: host, List: list}
		hs.by[host] = h
	}
	if tt, ok := hs.f.typeOf(e).(*types.Tuple); ok {
		n = tt.Len()
	}
	hs.take(h, e, n)
	hs.heads[loop] = h
	return h
}

// HeadOf returns the hoist that Head returned for a loop, nil if it was not asked for.
func (hs *Hoists) HeadOf(loop ast.Stmt) *Hoist { return hs.heads[loop] }
