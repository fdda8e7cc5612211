package rewrite

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Hoist gives names to expressions of one statement.
type Hoist struct {
	Stmt  ast.Stmt
	List  ast.Node // the block or clause that Stmt is an element of
	Items []Item

	Braces bool // Stmt goes into a block of its own, with what is inserted

	Frees map[int][]string // what stands behind the k-th item already
}

// An Item is an expression that gets a name.
type Item struct {
	Expr   ast.Expr
	Name   string
	Names  []string // instead of Name: of the values that go to the variables of a header
	Asked  bool     // the name was asked for; else it moved only to keep the order
	Of     int      // Expr has so many results, and its statement drops some; 0: not so
	Result int      // which of these has the name
}

// Free puts a statement behind the k-th item.
func (h *Hoist) Free(k int, text string) {
	if h.Frees == nil {
		h.Frees = map[int][]string{}
	}
	h.Frees[k] = append(h.Frees[k], text)
}

// text is what stands for x.Expr in its statement.
func (x Item) text() string {
	if x.Names != nil {
		return strings.Join(x.Names, ", ")
	}
	return x.Name
}

// Named returns the name that was asked for, of a result of call; "" if there is none.
func (h *Hoist) Named(call ast.Expr, result int) string {
	for _, x := range h.Items {
		if x.Asked && x.Expr == call && (x.Of == 0 || x.Result == result) {
			return x.Name
		}
	}
	return ""
}

// Hoists are the hoists of one function.
type Hoists struct {
	f     *Func
	src   *Source // nil: nothing can be edited
	by    map[ast.Stmt]*Hoist
	heads map[ast.Stmt]*Hoist // by loop
	used  map[string]bool     // names that they introduce
	next  map[string]int      // name → the number with which it may be free
}

// NewHoists returns the hoists of f, none so far.
func NewHoists(f *Func, src *Source) *Hoists {
	return &Hoists{f: f, src: src, by: map[ast.Stmt]*Hoist{}, heads: map[ast.Stmt]*Hoist{},
		used: map[string]bool{}, next: map[string]int{}}
}

// free reports whether the function does not use a name, with what is hoisted.
func (hs *Hoists) free(name string) bool {
	return !hs.used[name] && !hs.f.names[name] && hs.f.Types.Scope().Lookup(name) == nil &&
		types.Universe.Lookup(name) == nil
}

// Fresh returns a name that the function does not use.
func (hs *Hoists) Fresh(name string) string {
	n, i := name, hs.next[name]
	if i > 0 || !hs.free(n) { // what was taken stays taken
		for n = name + strconv.Itoa(i); !hs.free(n); n = name + strconv.Itoa(i) {
			i++
		}
		hs.next[name] = i
	}
	hs.used[n] = true
	return n
}

// spoken returns what people call a buffer of type t: the first letter of the name of the type, small, or b
// where it has none.
func spoken(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(interface{ Obj() *types.TypeName }); ok {
		for _, r := range n.Obj().Name() {
			if unicode.IsLetter(r) {
				return string(unicode.ToLower(r))
			}
		}
	}
	return "b"
}

// Number gives the names anew in the order in which they stand, as they were asked for in another one.
func (hs *Hoists) Number() {
	hs.used, hs.next = map[string]bool{}, map[string]int{}
	again := func(name *string) { *name = hs.Fresh(strings.TrimRight(*name, "0123456789")) }
	for _, stmt := range slices.SortedFunc(maps.Keys(hs.by), func(a, b ast.Stmt) int { return cmp.Compare(a.Pos(), b.Pos()) }) {
		items := hs.by[stmt].Items
		slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.Result, b.Result) })
		for i := range items {
			for k := range items[i].Names {
				again(&items[i].Names[k])
			}
			if items[i].Names == nil {
				again(&items[i].Name)
			}
		}
	}
}

const unnamed = "no variable holds it"

// Call gives a name to a result of call, which is evaluated in front of its statement then. It
// returns "" or why there can be none.
func (hs *Hoists) Call(call *ast.CallExpr, result int) (*Hoist, string) {
	f := hs.f
	if tt, isTuple := f.typeOf(call).(*types.Tuple); isTuple {
		return hs.dropped(call, result, tt.Len())
	}
	stmt, list, why := f.statementOf(call)
	if why != "" {
		return nil, why
	}
	h := hs.by[stmt]
	if h == nil {
		h = &Hoist{Stmt: stmt, List: list, Braces: f.JumpedOver(stmt.Pos(), list)}
	}
	if h.Braces && !hs.src.fitsBlock(stmt) {
		return nil, unnamed + jumpedOver
	}
	before, ok := f.evaluatedBefore(stmt, call)
	if !ok {
		return nil, unnamed + ", and what is evaluated before it cannot move"
	}
	for _, e := range append(slices.Clone(before), call) {
		if f.needs(e, stmt) {
			return nil, unnamed + ", and it needs what its statement declares"
		}
	}
	for _, e := range before {
		if !slices.ContainsFunc(h.Items, func(x Item) bool { return x.Expr == e }) {
			h.Items = append(h.Items, Item{Expr: e, Name: hs.Fresh("tmp")})
		}
	}
	direct := stmt
	if in := initOf(Unlabelled(stmt)); in != nil {
		direct = in
	}
	if as, ok := direct.(*ast.AssignStmt); ok && len(as.Lhs) == 1 && as.Rhs[0] == ast.Expr(call) {
		if id, ok := as.Lhs[0].(*ast.Ident); !ok || id.Name != "_" {
			return nil, unnamed + " where it is dead"
		}
	}
	if i := slices.IndexFunc(h.Items, func(x Item) bool { return x.Expr == ast.Expr(call) }); i >= 0 {
		if x := &h.Items[i]; !x.Asked && x.Of == 0 { // it only had to come before another one
			x.Name = hs.Fresh(spoken(f.typeOf(call)))
		}
		h.Items[i].Asked = true
	} else {
		h.Items = append(h.Items, Item{Expr: call, Name: hs.Fresh(spoken(f.typeOf(call))), Asked: true})
	}
	h.order()
	hs.by[stmt] = h
	return h, ""
}

// dropped names a result of a call with n results that its statement drops. What is declared beside it stays
// where it is; what is assigned beside it gets a name of its own, of which it is assigned behind.
func (hs *Hoists) dropped(call *ast.CallExpr, result, n int) (*Hoist, string) {
	stmt, list, why := hs.f.statementOf(call)
	if why != "" {
		return nil, why
	}
	var left []ast.Expr
	drops, declares := false, false
	switch s := stmt.(type) {
	case *ast.ExprStmt:
		drops = ast.Unparen(s.X) == ast.Expr(call)
	case *ast.AssignStmt:
		left, declares = s.Lhs, s.Tok == token.DEFINE
		variable := func(e ast.Expr) bool { _, ok := e.(*ast.Ident); return ok }
		drops = len(s.Rhs) == 1 && ast.Unparen(s.Rhs[0]) == ast.Expr(call) && len(left) == n && blank(left[result]) &&
			!slices.ContainsFunc(left, func(e ast.Expr) bool { return !variable(e) })
	}
	if !drops {
		return nil, unnamed + ": the result is dropped"
	}
	h := hs.by[stmt]
	if h == nil {
		h = &Hoist{Stmt: stmt, List: list, Braces: hs.f.JumpedOver(stmt.Pos(), list)}
		if h.Braces && (declares || !hs.src.fitsBlock(stmt)) {
			return nil, unnamed + jumpedOver
		}
		for i, e := range left {
			if !declares && !blank(e) {
				h.Items = append(h.Items, Item{Expr: call, Name: hs.Fresh(e.(*ast.Ident).Name), Of: n, Result: i})
			}
		}
		hs.by[stmt] = h
	}
	if !slices.ContainsFunc(h.Items, func(x Item) bool { return x.Result == result }) {
		t := hs.f.typeOf(call)
		if tuple, ok := t.(*types.Tuple); ok {
			t = tuple.At(result).Type()
		}
		h.Items = append(h.Items, Item{Expr: call, Name: hs.Fresh(spoken(t)), Asked: true, Of: n, Result: result})
	}
	return h, ""
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// results returns the statements that name the results of a call, in place of the one that drops some.
func (h *Hoist) results(call string) []string {
	names := make([]string, h.Items[0].Of)
	as, _ := h.Stmt.(*ast.AssignStmt)
	for i := range names {
		names[i] = "_"
		if as != nil && as.Tok == token.DEFINE {
			names[i] = as.Lhs[i].(*ast.Ident).Name
		}
	}
	var to, from []string
	for _, x := range h.Items {
		if names[x.Result] = x.Name; !x.Asked {
			to, from = append(to, as.Lhs[x.Result].(*ast.Ident).Name), append(from, x.Name)
		}
	}
	out := []string{strings.Join(names, ", ") + " := " + call}
	if to != nil {
		out = append(out, strings.Join(to, ", ")+" = "+strings.Join(from, ", "))
	}
	return out
}

// needs reports whether e, a part of stmt, mentions a variable that stmt declares
// outside e, as the later lines of var ( … ) may.
func (f *Func) needs(e ast.Expr, stmt ast.Stmt) bool {
	for _, u := range f.Vars.In(e) {
		if v := u.Var; within(stmt, v.Pos()) && !within(e, v.Pos()) {
			return true
		}
	}
	return false
}

// order sorts the items by when they are evaluated: what is part of another one comes first.
func (h *Hoist) order() {
	slices.SortStableFunc(h.Items, func(a, b Item) int { return int(a.Expr.End() - b.Expr.End()) })
}

// Within reports whether a name that h introduces is visible at g.
func (f *Func) Within(h *Hoist, g Place) bool {
	switch {
	case g.Kind == Head && g.Stmt == Unlabelled(h.Stmt):
		return true
	case g.Kind == Return && g.Stmt == h.Stmt, g.Kind == InList && g.Prev == h.Stmt:
		return true
	case h.Braces:
		return false
	}
	at := g.Scope
	if g.Kind == InList {
		at = g.Anchor
	}
	if at <= h.Stmt.Pos() || behind(h.List, at) {
		return false
	}
	switch Unlabelled(h.Stmt).(type) {
	case *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.ForStmt, *ast.RangeStmt:
	default:
		if at < h.Stmt.End() {
			return false
		}
	}
	return f.inList(h.List, at)
}

// Reaches reports whether a name that is declared at a place in a list is visible at another behind it.
func (f *Func) Reaches(from, to Place) bool {
	at := to.Scope
	if to.Kind == InList {
		at = to.Anchor
	}
	if at < from.Anchor || behind(from.List, at) || f.JumpedOver(from.Anchor, from.List) {
		return false
	}
	return f.inList(from.List, at)
}

// behind reports whether at is behind a list. A clause ends where its last statement does.
func behind(list ast.Node, at token.Pos) bool {
	if _, block := list.(*ast.BlockStmt); block {
		return at >= list.End()
	}
	return at > list.End()
}

// inList reports whether at, which is in a list, is in no literal there, which may run at another time.
func (f *Func) inList(list ast.Node, at token.Pos) bool {
	lit := f.Vars.Around(at-1, at)
	return lit == nil || lit.Node.Pos() < list.Pos() || list.End() < lit.Node.End()
}

// text prints the source of e with the hoisted expressions replaced.
func (h *Hoist) text(s *Source, from, to token.Pos) string {
	var w strings.Builder
	at := from
	if h != nil {
		for _, x := range h.Items {
			if x.Expr.Pos() < at || x.Expr.End() > to {
				continue
			}
			// Inside another hoisted expression it is replaced there.
			inner := slices.ContainsFunc(h.Items, func(y Item) bool {
				whole := y.Expr.Pos() == from && y.Expr.End() == to
				return y.around(x) && !whole && from <= y.Expr.Pos() && y.Expr.End() <= to
			})
			if inner || x.Expr.Pos() == from && x.Expr.End() == to {
				continue
			}
			w.WriteString(s.copied(at, x.Expr.Pos()))
			w.WriteString(x.text())
			at = x.Expr.End()
		}
	}
	w.WriteString(s.copied(at, to))
	return w.String()
}

// around reports whether x is a part of y.
func (y Item) around(x Item) bool {
	return y.Expr != x.Expr && y.Expr.Pos() <= x.Expr.Pos() && x.Expr.End() <= y.Expr.End()
}

// statements are what gives the names, and the frees between them: on lines
// of their own, or all on one. The text of the source stays as it is.
func (h *Hoist) statements(s *Source, apart bool) []string {
	var out []string
	if len(h.Items) > 0 && h.Items[0].Of > 0 {
		e := h.Items[0].Expr
		return h.results(s.copied(e.Pos(), e.End()))
	}
	for k, x := range h.Items {
		out = append(out, x.text()+" := "+h.text(s, x.Expr.Pos(), x.Expr.End()))
		for _, free := range h.Frees[k] {
			if apart {
				out = append(out, strings.Split(free, "\n")...)
			} else {
				out = append(out, OneLine([]string{free}))
			}
		}
	}
	return out
}

// outermost lists the hoisted expressions that lie in no other.
func (h *Hoist) outermost() []Item {
	var out []Item
	for _, x := range h.Items {
		if !slices.ContainsFunc(h.Items, func(y Item) bool { return y.around(x) }) {
			out = append(out, x)
		}
	}
	return out
}
