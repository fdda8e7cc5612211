package proof

// Rule same: the new tree without what was put in is the old tree.
//
// Both trees are walked side by side. In a list of statements the new one may have
// frees, names for values and braces around them more, and the old one plain frees that
// were taken out. Anything else that differs is not understood, and all edits of the
// declaration are withheld. That is decided on syntax alone: types come later, in
// hoist.go, which asks whether each name means what it has to.

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
)

// An edit is one statement that differs.
type edit struct {
	kind Kind
	stmt ast.Stmt
	decl ast.Decl
	free *ast.CallExpr // the call that frees, of Inserted and Deleted
	what ast.Expr      // what it frees
	loop ast.Expr      // what the inserted loop around the free ranges over, nil without
	keep bool          // runtime.KeepAlive
	late bool          // deferred
	at   int           // of Deleted: offset in the new text where it stood
	tail bool          // of Deleted: at is the end of a statement, not the start of the next
	pos  token.Pos     // of the call's parenthesis in the text that is proven
	why  *Reason
}

// A hoist is a statement that reads names in place of expressions.
type hoist struct {
	stmt  ast.Stmt     // in the new tree
	names []*ast.Ident // in the order in which they are made
	read  []*ast.Ident // in the order in which stmt reads them
	subs  []ast.Expr   // the expressions that they are made of

	waiting []waiting // names that were made before stmt
}

// A waiting name was made and not read yet.
type waiting struct {
	id   *ast.Ident
	save bool // made of another name, which costs nothing and may go unread
}

// A differ walks one declaration.
type differ struct {
	decl   ast.Decl
	texts  [2]string // of the declaration, old, with its file, and new
	edits  []*edit
	hoists []*hoist
	made   map[string]ast.Expr // names that wait for their statement, with the old expression: nil until it is met
	order  []waiting
	cur    *hoist
	noSub  int // in a place that is evaluated late, often or perhaps never
	defs   []*ast.Ident
	budget int
	lax    bool // the rule is off: other statements may differ

	proven bool // its edits were accepted before
}

const maxDiff = 200000 // nodes that one declaration may compare

// same compares two declarations. It reports whether they differ in edits only.
func (d *differ) same(old, new ast.Decl) bool {
	d.made, d.budget = map[string]ast.Expr{}, maxDiff
	return d.node(reflect.ValueOf(old), reflect.ValueOf(new)) && d.settled()
}

// settled reports whether no value was computed that nobody reads.
func (d *differ) settled() bool {
	return !slices.ContainsFunc(d.order, func(w waiting) bool { return !w.save })
}

type mark struct{ edits, hoists, order, defs int }

func (d *differ) mark() mark { return mark{len(d.edits), len(d.hoists), len(d.order), len(d.defs)} }

func (d *differ) back(m mark) {
	d.edits, d.hoists, d.order, d.defs = d.edits[:m.edits], d.hoists[:m.hoists], d.order[:m.order], d.defs[:m.defs]
}

var (
	posType   = reflect.TypeFor[token.Pos]()
	stmtsType = reflect.TypeFor[[]ast.Stmt]()
	exprType  = reflect.TypeFor[ast.Expr]()
)

// node compares two values of the tree.
func (d *differ) node(a, b reflect.Value) bool {
	if d.budget--; d.budget < 0 || a.IsValid() != b.IsValid() || !a.IsValid() || a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if x, ok := d.added(a, b); ok {
				return x
			}
			return a.IsNil() && b.IsNil()
		}
		if a.Type() == exprType && d.substituted(a.Interface().(ast.Expr), b.Interface().(ast.Expr)) {
			return true
		}
		if a.Kind() == reflect.Interface && a.Elem().Type() != b.Elem().Type() {
			return d.wrapped(a.Interface(), b.Interface())
		}
		if a.Kind() == reflect.Pointer {
			return d.pointer(a, b)
		}
		return d.node(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Type() == stmtsType {
			return d.list(a.Interface().([]ast.Stmt), b.Interface().([]ast.Stmt), token.NoPos)
		}
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !d.node(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// pointer compares two nodes of one type that have rules of their own.
func (d *differ) pointer(a, b reflect.Value) bool {
	switch x := a.Interface().(type) {
	case *ast.BlockStmt:
		return d.list(x.List, b.Interface().(*ast.BlockStmt).List, b.Interface().(*ast.BlockStmt).Rbrace)
	case *ast.Ident:
		return x.Name == b.Interface().(*ast.Ident).Name
	case *ast.CommentGroup, *ast.Object, *ast.Scope:
		return true
	}
	return d.fields(a, b)
}

// late reports whether a part of a node is evaluated late, often or perhaps never.
func late(node any, part string) bool {
	switch x := node.(type) {
	case *ast.FuncLit, *ast.CaseClause, *ast.CommClause:
		return true
	case *ast.ForStmt:
		return part != "Init"
	case *ast.BinaryExpr:
		return part == "Y" && (x.Op == token.LAND || x.Op == token.LOR)
	}
	return false
}

// fields compares two structs, field by field.
func (d *differ) fields(p, q reflect.Value) bool {
	a, b := p.Elem(), q.Elem()
	if a.Kind() != reflect.Struct {
		return d.node(a, b)
	}
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if f.Type == posType {
			// Where a token is absent says something: an ellipsis, an alias, a return's dots.
			if !slices.Contains([]string{"Ellipsis", "Assign", "Arrow", "Lparen"}, f.Name) {
				continue
			}
			if a.Field(i).Interface().(token.Pos).IsValid() != b.Field(i).Interface().(token.Pos).IsValid() {
				return false
			}
			continue
		}
		if slices.Contains([]string{"Doc", "Comment", "Obj", "Scope", "Unresolved", "Comments", "Incomplete"}, f.Name) {
			continue
		}
		was := d.noSub
		if late(p.Interface(), f.Name) {
			d.noSub++
		}
		same := d.node(a.Field(i), b.Field(i))
		if d.noSub = was; !same {
			return false
		}
	}
	return true
}

// added compares an absent node with one that may have been put in: an else.
func (d *differ) added(a, b reflect.Value) (same, ok bool) {
	if a.Type() != reflect.TypeFor[ast.Stmt]() || !a.IsNil() || b.IsNil() {
		return false, false
	}
	body, isBlock := b.Interface().(*ast.BlockStmt)
	return isBlock && d.list(nil, body.List, body.Rbrace), true
}

// wrapped compares two nodes of different types: else if became else { …; if }.
func (d *differ) wrapped(a, b any) bool {
	x, ok1 := a.(*ast.IfStmt)
	y, ok2 := b.(*ast.BlockStmt)
	return ok1 && ok2 && d.list([]ast.Stmt{x}, y.List, y.Rbrace)
}

// list compares two lists of statements. The new one ends at end.
func (d *differ) list(old, new []ast.Stmt, end token.Pos) bool {
	i := 0
	for j := 0; j < len(new) || i < len(old); {
		m := d.mark()
		if i < len(old) && j < len(new) {
			if d.stmt(old[i], new[j]) {
				i, j = i+1, j+1
				continue
			}
			d.back(m)
		}
		if j < len(new) && (d.inserted(new[j]) || i == len(old) && d.defaulted(new[j])) {
			j++
			continue
		}
		if i < len(old) {
			if d.deleted(old[i], new, j, end) {
				i++
				continue
			}
			if j < len(new) && d.braced(old[i], new[j]) {
				i, j = i+1, j+1
				continue
			}
			d.back(m)
		}
		if j < len(new) && d.names(new[j]) {
			if i < len(old) && d.discards(old[i], new[j]) {
				i++
			}
			j++
			continue
		}
		if !d.lax {
			return false
		}
		i, j = min(i+1, len(old)), min(j+1, len(new))
	}
	return true
}

// stmt compares two statements; the names that wait are read by the new one.
func (d *differ) stmt(old, new ast.Stmt) bool {
	cur, noSub, order := d.cur, d.noSub, d.order
	d.cur, d.noSub, d.order = nil, 0, nil
	if len(order) > 0 {
		d.cur = &hoist{stmt: new, waiting: order}
	}
	h := d.cur
	same := d.returned(old, new) || d.node(reflect.ValueOf(&old).Elem(), reflect.ValueOf(&new).Elem())
	d.cur, d.noSub = cur, noSub
	if !same || !d.settled() {
		d.order = order
		return false
	}
	d.order = nil
	if h == nil {
		return true
	}
	for _, w := range order {
		if slices.ContainsFunc(h.read, func(id *ast.Ident) bool { return id.Name == w.id.Name }) {
			h.names = append(h.names, w.id)
		} else if !w.save {
			d.order = order
			return false // computed before this statement, and read behind it or never
		}
	}
	if len(h.read) > 0 {
		d.hoists = append(d.hoists, h)
	}
	return true
}

// returned compares return f() with return r0, r1 where r0, r1 := f().
func (d *differ) returned(old, new ast.Stmt) bool {
	x, ok1 := old.(*ast.ReturnStmt)
	y, ok2 := new.(*ast.ReturnStmt)
	if !ok1 || !ok2 || len(x.Results) != 1 || len(y.Results) < 2 || d.cur == nil || len(d.cur.waiting) < len(y.Results) {
		return false
	}
	tail := d.cur.waiting[len(d.cur.waiting)-len(y.Results):]
	for i, r := range y.Results {
		if id, ok := r.(*ast.Ident); !ok || id.Name != tail[i].id.Name {
			return false
		}
	}
	rhs := d.made[tail[0].id.Name]
	for _, w := range tail {
		if d.made[w.id.Name] != rhs {
			return false
		}
	}
	if rhs == nil || !d.node(reflect.ValueOf(&x.Results[0]).Elem(), reflect.ValueOf(&rhs).Elem()) {
		return false
	}
	for i, r := range y.Results {
		d.cur.read = append(d.cur.read, r.(*ast.Ident))
		if i == 0 {
			d.cur.subs = append(d.cur.subs, rhs)
		}
	}
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
	rhs := d.made[id.Name]
	if rhs == nil {
		return false
	}
	m := d.mark()
	cur := *d.cur
	if !d.node(reflect.ValueOf(&old).Elem(), reflect.ValueOf(&rhs).Elem()) {
		d.back(m)
		*d.cur = cur
		return false
	}
	d.cur.read, d.cur.subs = append(d.cur.read, id), append(d.cur.subs, rhs)
	return true
}

// names takes a statement that makes names for values, to be read by the next old one.
func (d *differ) names(s ast.Stmt) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Rhs) != 1 && len(as.Rhs) != len(as.Lhs) {
		return false
	}
	for i, l := range as.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok {
			return false
		}
		if id.Name == "_" {
			continue
		}
		rhs := as.Rhs[min(i, len(as.Rhs)-1)]
		d.made[id.Name] = rhs
		d.order = append(d.order, waiting{id, base(rhs) != nil})
		d.defs = append(d.defs, id)
	}
	d.edits = append(d.edits, &edit{kind: Named, stmt: s, decl: d.decl})
	return true
}

// discards compares f() or _ = f() with b := f(), whose name only frees read.
func (d *differ) discards(old, new ast.Stmt) bool {
	as := new.(*ast.AssignStmt)
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
	m := d.mark()
	if len(as.Rhs) != 1 || !d.node(reflect.ValueOf(&x).Elem(), reflect.ValueOf(&as.Rhs[0]).Elem()) {
		d.back(m)
		return false
	}
	for _, l := range as.Lhs {
		if id := l.(*ast.Ident); id.Name != "_" {
			d.order = d.order[:len(d.order)-1]
		}
	}
	return true
}

// braced compares a statement with a block that has names, it, and frees.
func (d *differ) braced(old, new ast.Stmt) bool {
	b, ok := new.(*ast.BlockStmt)
	if !ok || !d.settled() {
		return false
	}
	switch s := old.(type) {
	case *ast.BlockStmt, *ast.DeclStmt, *ast.LabeledStmt:
		return false
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return false // its names would end with the block
		}
	}
	m := d.mark()
	if d.list([]ast.Stmt{old}, b.List, b.Rbrace) {
		return true
	}
	d.back(m)
	return false
}

// defaulted takes a default that only frees. It is the last case: into another, one might fall through.
func (d *differ) defaulted(s ast.Stmt) bool {
	c, ok := s.(*ast.CaseClause)
	return ok && c.List == nil && d.list(nil, c.Body, c.End())
}

// inserted takes a statement that frees and does nothing else.
func (d *differ) inserted(s ast.Stmt) bool {
	es := freeing(s)
	if es == nil {
		return false
	}
	for _, e := range es {
		e.kind, e.stmt, e.decl = Inserted, s, d.decl
	}
	d.edits = append(d.edits, es...)
	return true
}

// deleted takes an old statement that the new list lacks at j.
func (d *differ) deleted(s ast.Stmt, new []ast.Stmt, j int, end token.Pos) bool {
	es := freeing(s)
	if len(es) != 1 || es[0].keep || es[0].loop != nil || es[0].late || !tests(s, es[0].what) {
		return false
	}
	e := es[0]
	e.kind, e.stmt, e.decl = Deleted, s, d.decl
	switch {
	case j < len(new):
		e.at = int(new[j].Pos())
	case len(new) > 0:
		e.at, e.tail = int(new[len(new)-1].End()), true
	case end.IsValid():
		e.at = int(end)
	default:
		return false
	}
	d.edits = append(d.edits, e)
	return true
}

// freeing reads the forms that a free has: x.M(), f(x), f(&x), any of these deferred, in
// if x != nil { … } or in for _, e := range x { … }. nil: the statement is none.
func freeing(s ast.Stmt) []*edit {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if c, ok := s.X.(*ast.CallExpr); ok {
			return freeCall(c)
		}
	case *ast.DeferStmt:
		es := freeCall(s.Call)
		for _, e := range es {
			e.late = true
		}
		return es
	case *ast.IfStmt:
		if s.Init == nil && s.Else == nil && isGuard(s.Cond) {
			return freeingAll(s.Body.List)
		}
	case *ast.RangeStmt:
		v, ok := s.Value.(*ast.Ident)
		if k, blank := s.Key.(*ast.Ident); !ok || !blank || k.Name != "_" || s.Tok != token.DEFINE || base(s.X) == nil {
			return nil
		}
		es := freeingAll(s.Body.List)
		for _, e := range es {
			if id := base(e.what); id == nil || id.Name != v.Name || e.loop != nil || e.late {
				return nil
			}
			e.loop = s.X
		}
		return es
	}
	return nil
}

func freeingAll(list []ast.Stmt) []*edit {
	var all []*edit
	for _, s := range list {
		es := freeing(s)
		if es == nil {
			return nil
		}
		all = append(all, es...)
	}
	return all
}

func freeCall(c *ast.CallExpr) []*edit {
	e := &edit{free: c}
	sel, isSel := c.Fun.(*ast.SelectorExpr)
	switch {
	case len(c.Args) == 0 && isSel && base(sel.X) != nil:
		e.what = sel.X
	case len(c.Args) == 1 && c.Ellipsis == token.NoPos && base(c.Fun) != nil:
		e.what = c.Args[0]
		if u, ok := e.what.(*ast.UnaryExpr); ok && u.Op == token.AND {
			e.what = u.X
		}
		e.keep = isSel && sel.Sel.Name == "KeepAlive"
	}
	if e.what == nil || base(e.what) == nil {
		return nil
	}
	return []*edit{e}
}

// isGuard reports whether e is x != nil, or several of these.
func isGuard(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if b.Op == token.LAND {
		return isGuard(b.X) && isGuard(b.Y)
	}
	id, ok := b.Y.(*ast.Ident)
	return ok && b.Op == token.NEQ && id.Name == "nil" && base(b.X) != nil
}

// tests reports whether a statement that frees x does so in any case, or tests x for nil and nothing else.
func tests(s ast.Stmt, x ast.Expr) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok {
		return true
	}
	b := i.Cond.(*ast.BinaryExpr)
	_, plain := i.Body.List[0].(*ast.ExprStmt)
	return plain && b.Op == token.NEQ && types.ExprString(b.X) == types.ExprString(x)
}

// base returns the variable that e, x or x.f.g or x[0].f, begins with; nil if e is something else.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			if n, ok := x.Index.(*ast.BasicLit); !ok || n.Kind != token.INT {
				return nil
			}
			e = x.X
		default:
			return nil
		}
	}
}
