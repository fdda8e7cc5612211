package escape

// Hoisting: a buffer without a variable gets one. The call that makes it moves
// in front of its statement; calls that are evaluated before it move along, so
// that nothing changes places.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A hoist gives names to expressions of one statement.
type hoist struct {
	stmt  ast.Stmt
	list  ast.Node // the block or clause that stmt is an element of
	items []hoisted

	braces bool // stmt goes into a block of its own, with its frees

	frees map[int][]string // what stands behind the k-th item already
}

type hoisted struct {
	expr ast.Expr
	name string
	obj  *object // nil: moved only to keep the order
	of   int     // obj is one of so many results of a statement that drops them all; 0: not so

	names []string // instead of name: of the values that go to the variables of a header
}

// text is what stands for x.expr in its statement.
func (x hoisted) text() string {
	if x.names != nil {
		return strings.Join(x.names, ", ")
	}
	return x.name
}

// nameResult names result o of a call of which all n results are dropped.
func (d *decider) nameResult(o *object, call *ast.CallExpr, n int, none string) (*hoist, string) {
	stmt, list, why := d.statementOf(call)
	if why != "" {
		return nil, why
	}
	drops := false
	switch s := stmt.(type) {
	case *ast.ExprStmt:
		drops = ast.Unparen(s.X) == ast.Expr(call)
	case *ast.AssignStmt:
		drops = len(s.Rhs) == 1 && ast.Unparen(s.Rhs[0]) == ast.Expr(call) && !slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool {
			id, ok := e.(*ast.Ident)
			return !ok || id.Name != "_"
		})
	}
	if !drops {
		return nil, none + ": the result is dropped"
	}
	h := d.hoists[stmt]
	if h == nil {
		h = &hoist{stmt: stmt, list: list, braces: d.f.jumpedOver(stmt.Pos(), list)}
		if h.braces && !d.fitsBlock(stmt) {
			return nil, none + jumpedOver
		}
		d.hoists[stmt] = h
	}
	if !slices.ContainsFunc(h.items, func(x hoisted) bool { return x.obj.result() == o.result() }) {
		h.items = append(h.items, hoisted{expr: call, name: d.fresh("b"), obj: o, of: n})
	}
	return h, ""
}

// results are the left side of the statement that names the results of a call.
func (h *hoist) results() string {
	names := make([]string, h.items[0].of)
	for i := range names {
		names[i] = "_"
	}
	for _, x := range h.items {
		names[x.obj.result().index] = x.name
	}
	return strings.Join(names, ", ")
}

// result returns the result of a call that o is, or is a field of; nil if it is none.
func (o *object) result() *value {
	switch {
	case o.def.op == opResult:
		return o.def
	case o.def.op == opOut && len(o.def.args) > 1 && o.def.args[1].op == opResult:
		return o.def.args[1]
	}
	return nil
}

// named returns what o is called where h has given its name: a field of a result
// goes by the result's name, which is via if that may be nil.
func (h *hoist) named(o *object) (name, via string) {
	for _, x := range h.items {
		switch {
		case x.obj == nil || x.obj.result() != o.result():
		case o.def.op != opOut:
			return x.name, ""
		default:
			if f := o.field(); isPointer(o.result().typ0()) {
				return x.name + f.name, x.name
			} else {
				return x.name + f.name, ""
			}
		}
	}
	return "", ""
}

// field returns the field of a result that o is.
func (o *object) field() *place {
	for _, u := range o.def.users {
		if u.op == opSet && u.place.root.obj == nil {
			return u.place
		}
	}
	return nil
}

// hoistFor prepares names for unnamed objects. It returns "" or why there
// can be none for o.
func (d *decider) hoistFor(o *object) (*hoist, string) {
	const none = "no variable holds it"
	if o.kind != objSite || o.result() == nil || o.def.expr == nil {
		return nil, none
	}
	if f := o.field(); o.def.op == opOut && (f == nil || !d.p.reachable(f.root.typ, f.path)) {
		return nil, none
	}
	call, ok := ast.Unparen(o.def.expr).(*ast.CallExpr)
	if !ok {
		return nil, none
	}
	if tt, isTuple := d.p.typeOf(call).(*types.Tuple); isTuple {
		return d.nameResult(o, call, tt.Len(), none)
	}
	stmt, list, why := d.statementOf(call)
	if why != "" {
		return nil, why
	}
	h := d.hoists[stmt]
	if h == nil {
		h = &hoist{stmt: stmt, list: list, braces: d.f.jumpedOver(stmt.Pos(), list)}
	}
	if h.braces && !d.fitsBlock(stmt) {
		return nil, none + jumpedOver
	}
	before, ok := d.evaluatedBefore(stmt, call)
	if !ok {
		return nil, none + ", and what is evaluated before it cannot move"
	}
	for _, e := range append(slices.Clone(before), call) {
		if d.needs(e, stmt) {
			return nil, none + ", and it needs what its statement declares"
		}
	}
	for _, e := range before {
		if !slices.ContainsFunc(h.items, func(x hoisted) bool { return x.expr == ast.Expr(e) }) {
			h.items = append(h.items, hoisted{expr: e, name: d.fresh("tmp")})
		}
	}
	direct := stmt
	if in := initOf(unlabelled(stmt)); in != nil {
		direct = in
	}
	if as, ok := direct.(*ast.AssignStmt); ok && len(as.Lhs) == 1 && as.Rhs[0] == ast.Expr(call) {
		if id, ok := as.Lhs[0].(*ast.Ident); !ok || id.Name != "_" {
			return nil, none + " where it is dead"
		}
	}
	replaced := false
	for i, x := range h.items {
		if x.expr == ast.Expr(call) {
			h.items[i].obj, replaced = o, true
			if strings.HasPrefix(x.name, "tmp") {
				h.items[i].name = d.fresh("b")
			}
		}
	}
	if !replaced {
		h.items = append(h.items, hoisted{expr: call, name: d.fresh("b"), obj: o})
	}
	h.order()
	d.hoists[stmt] = h
	return h, ""
}

// needs reports whether e, a part of stmt, mentions a variable that stmt declares
// outside e, as the later lines of var ( … ) may.
func (d *decider) needs(e ast.Expr, stmt ast.Stmt) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return !found
		}
		o := d.p.info.Uses[id]
		if o != nil && stmt.Pos() <= o.Pos() && o.Pos() < stmt.End() && (o.Pos() < e.Pos() || e.End() <= o.Pos()) {
			found = true
		}
		return !found
	})
	return found
}

// fresh returns a name that the function does not use.
func (d *decider) fresh(name string) string {
	if d.used == nil {
		d.used, d.next = map[string]bool{}, map[string]int{}
	}
	written := d.f.walked().names
	free := func(n string) bool {
		return !d.used[n] && !written[n] && d.p.types.Scope().Lookup(n) == nil && types.Universe.Lookup(n) == nil
	}
	n, i := name, d.next[name]
	if i > 0 || !free(n) { // what was taken stays taken
		for n = name + itoa(i); !free(n); n = name + itoa(i) {
			i++
		}
		d.next[name] = i
	}
	d.used[n] = true
	return n
}

// text prints the source of e with the hoisted expressions replaced.
func (h *hoist) text(s *source, from, to token.Pos) string {
	var w strings.Builder
	at := from
	if h != nil {
		for _, x := range h.items {
			if x.expr.Pos() < at || x.expr.End() > to {
				continue
			}
			// Inside another hoisted expression it is replaced there.
			inner := false
			for _, y := range h.items {
				if y.expr != x.expr && y.expr.Pos() <= x.expr.Pos() && x.expr.End() <= y.expr.End() && !(y.expr.Pos() == from && y.expr.End() == to) && y.expr.Pos() >= from && y.expr.End() <= to {
					inner = true
				}
			}
			if inner || x.expr.Pos() == from && x.expr.End() == to {
				continue
			}
			w.WriteString(s.copied(at, x.expr.Pos()))
			w.WriteString(x.text())
			at = x.expr.End()
		}
	}
	w.WriteString(s.copied(at, to))
	return w.String()
}

// heads are the statements that give the names, and the frees between them: on lines
// of their own, or all on one. The text of the source stays as it is.
func (h *hoist) heads(s *source, apart bool) []string {
	var out []string
	if len(h.items) > 0 && h.items[0].of > 0 {
		e := h.items[0].expr
		return []string{h.results() + " := " + s.copied(e.Pos(), e.End())}
	}
	for k, x := range h.items {
		out = append(out, x.text()+" := "+h.text(s, x.expr.Pos(), x.expr.End()))
		for _, free := range h.frees[k] {
			if apart {
				out = append(out, strings.Split(free, "\n")...)
			} else {
				out = append(out, oneLine([]string{free}))
			}
		}
	}
	return out
}

// outermost lists the hoisted expressions that lie in no other.
func (h *hoist) outermost() []hoisted {
	var out []hoisted
	for _, x := range h.items {
		inner := false
		for _, y := range h.items {
			if y.expr != x.expr && y.expr.Pos() <= x.expr.Pos() && x.expr.End() <= y.expr.End() {
				inner = true
			}
		}
		if !inner {
			out = append(out, x)
		}
	}
	return out
}
