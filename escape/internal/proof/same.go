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

// A differ walks one declaration.
type differ struct {
	decl   ast.Decl
	texts  [2]string // of the declaration, old, with its file, and new
	edits  []*edit
	hoists []*hoist
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
	d.budget = maxDiff
	return d.node(reflect.ValueOf(old), reflect.ValueOf(new)) && d.settled()
}

// settled reports whether no value was computed that nobody reads.
func (d *differ) settled() bool {
	return !slices.ContainsFunc(d.order, func(w waiting) bool { return !w.save })
}

type mark struct{ edits, hoists, order, defs int }

func (d *differ) mark() mark { return mark{len(d.edits), len(d.hoists), len(d.order), len(d.defs)} }

func (d *differ) back(m mark) {
	d.edits, d.hoists = d.edits[:m.edits], d.hoists[:m.hoists]
	d.order, d.defs = d.order[:m.order], d.defs[:m.defs]
}

// tried does a comparison, and forgets all of it if it fails.
func (d *differ) tried(same func() bool) bool {
	m, cur := d.mark(), d.cur
	if cur != nil {
		was := *cur
		d.cur = &was
	}
	if same() {
		if cur != nil {
			*cur = *d.cur
		}
		d.cur = cur
		return true
	}
	d.back(m)
	d.cur = cur
	return false
}

var (
	posType   = reflect.TypeFor[token.Pos]()
	stmtsType = reflect.TypeFor[[]ast.Stmt]()
	exprType  = reflect.TypeFor[ast.Expr]()
	exprsType = reflect.TypeFor[[]ast.Expr]()
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
			return a.Type() == exprsType && d.results(a.Interface().([]ast.Expr), b.Interface().([]ast.Expr))
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
	case *ast.AssignStmt:
		y := b.Interface().(*ast.AssignStmt)
		if d.tried(func() bool { return d.kept(x, y) }) || d.tried(func() bool { return d.taken(x, y) }) {
			return true
		}
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
	case *ast.RangeStmt:
		return part != "X"
	case *ast.BinaryExpr:
		return part == "Y" && (x.Op == token.LAND || x.Op == token.LOR)
	}
	return false
}

// unread are the fields of nodes that say nothing, or are compared elsewhere.
var unread = []string{"Doc", "Comment", "Obj", "Scope", "Unresolved", "Comments", "Incomplete"}

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
			said := slices.Contains([]string{"Ellipsis", "Assign", "Arrow", "Lparen"}, f.Name)
			if said && a.Field(i).Interface().(token.Pos).IsValid() != b.Field(i).Interface().(token.Pos).IsValid() {
				return false
			}
			continue
		}
		if slices.Contains(unread, f.Name) {
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

// list compares two lists of statements. The new one ends at end. By syntax alone, a statement that stays
// may look like a free that was put in: where frees of the old list are missing, what leaves fewer edits is
// so.
func (d *differ) list(old, new []ast.Stmt, end token.Pos) bool {
	m, order := d.mark(), d.order
	same, stays := d.lists(old, new, end, false)
	if !stays {
		return same
	}
	edits := len(d.edits)
	again := func(keep bool) bool {
		d.order = order
		d.back(m)
		kept, _ := d.lists(old, new, end, keep)
		return kept
	}
	if again(true) && (!same || len(d.edits) < edits) {
		return true
	}
	return again(false)
}

// stays reports whether a new statement is the next of the old ones that is no call like a free.
func (d *differ) stays(old []ast.Stmt, new ast.Stmt) (same bool) {
	for k := 0; k+1 < len(old) && !same && freeing(old[k]) != nil; k++ {
		m, order := d.mark(), d.order
		d.order = nil
		same = d.stmt(old[k+1], new) && len(d.edits) == m.edits
		d.order = order
		d.back(m)
	}
	return same
}

// lists compares two lists as list does. Keep says that what stays was not put in; stays, that there is such
// a statement.
func (d *differ) lists(old, new []ast.Stmt, end token.Pos, keep bool) (same, stays bool) {
	i := 0
	for j := 0; j < len(new) || i < len(old); {
		m, order := d.mark(), d.order
		if i < len(old) && j < len(new) {
			if d.stmt(old[i], new[j]) && !(isLater(new[j]) && d.takesOut(m)) {
				i, j = i+1, j+1
				continue
			}
			d.order = order
			d.back(m)
		}
		here := i < len(old) && j < len(new) && freeing(new[j]) != nil && d.stays(old[i:], new[j])
		stays = stays || here
		if j < len(new) && !(here && keep) && (d.inserted(new[j]) || i == len(old) && d.defaulted(new[j])) {
			j++
			continue
		}
		if i < len(old) {
			if j < len(new) && d.tried(func() bool { return d.discards(old[i], new[j]) }) {
				i, j = i+1, j+1
				continue
			}
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
		settled := d.settled()
		if j < len(new) && d.names(new[j]) {
			j++
			continue
		}
		x, y := labelled(old, i), labelled(new, j)
		if settled && x != nil && y != nil && x.Label.Name == y.Label.Name {
			old, new = slices.Clone(old), slices.Clone(new)
			old[i], new[j] = x.Stmt, y.Stmt
			continue
		}
		if !d.lax {
			return false, stays
		}
		i, j = min(i+1, len(old)), min(j+1, len(new))
	}
	return true, stays
}

// takesOut reports whether frees were taken out since a mark: where a literal that frees is deferred in front
// of another one, the first is new, and not the second changed.
func (d *differ) takesOut(m mark) bool {
	return slices.ContainsFunc(d.edits[m.edits:], func(e *edit) bool { return e.kind == Deleted })
}

// labelled returns a statement with a label, nil if it has none: what is put in may stand behind the label.
func labelled(list []ast.Stmt, k int) *ast.LabeledStmt {
	if k == len(list) {
		return nil
	}
	l, _ := list[k].(*ast.LabeledStmt)
	return l
}

// stmt compares two statements; the names that wait are read by the new one.
func (d *differ) stmt(old, new ast.Stmt) bool {
	return d.reads(new, d.order, func() bool {
		return d.node(reflect.ValueOf(&old).Elem(), reflect.ValueOf(&new).Elem())
	})
}

// reads compares something with a new statement that reads the names which wait.
func (d *differ) reads(new ast.Stmt, order []waiting, comparison func() bool) bool {
	cur, noSub := d.cur, d.noSub
	d.cur, d.noSub, d.order = nil, 0, nil
	if len(order) > 0 {
		d.cur = &hoist{stmt: new, waiting: order}
	}
	h := d.cur
	same := comparison()
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
		} else if !w.save && !slices.Contains(h.drops, w.id) {
			d.order = order
			return false // computed before this statement, and read behind it or never
		}
	}
	if len(h.read) > 0 {
		d.hoists = append(d.hoists, h)
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
