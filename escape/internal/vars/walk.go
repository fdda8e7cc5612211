package vars

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
)

// New reads files, which info is about.
func New(info *types.Info, files []*ast.File) *Index {
	x := &Index{info: info, vars: map[*types.Var]*variable{}}
	byStart := func(a, b *ast.File) int { return cmp.Compare(a.FileStart, b.FileStart) }
	files = slices.SortedFunc(slices.Values(files), byStart)
	for _, f := range files {
		w := &walk{x: x, info: info, perTurn: version.Compare(info.FileVersions[f], "go1.22") >= 0}
		ast.Inspect(f, w.visit)
	}
	slices.SortStableFunc(x.uses, func(a, b Use) int { return cmp.Compare(a.ID.Pos(), b.ID.Pos()) })
	for i := range x.uses {
		if u := &x.uses[i]; u.Var != nil {
			x.count(u)
			s := x.vars[u.Var]
			s.at = append(s.at, int32(i))
		}
	}
	return x
}

// count adds u to what is known of its variable.
func (x *Index) count(u *Use) {
	s := x.vars[u.Var]
	if s == nil {
		s = &variable{}
		x.vars[u.Var] = s
	}
	s.captured = s.captured || u.Lit != nil && !within(u.Lit.Node, u.Var.Pos())
	switch {
	case !u.own():
	case u.Op == Define && u.Tok == token.FUNC:
		s.param = true
		s.defined++
	case u.Op == Declare && u.Tok == token.FUNC:
		s.param = true
	case u.Op == Define && u.Tok == token.RANGE:
		s.defined += 2
	case u.Op == Define:
		s.defined++
	case u.Op == Assign && u.Tok == token.RANGE:
		s.assigned += 2
	case u.Op == Assign:
		s.assigned++
	case u.takes():
		s.addressed = true
	}
}

// walk is the way through a file.
type walk struct {
	x       *Index
	info    *types.Info
	perTurn bool // each turn of a range loop has its own variables
	path    []ast.Node
	lit     *Lit
	later   []ast.Stmt
}

func (w *walk) visit(n ast.Node) bool {
	if n == nil {
		w.leave(w.path[len(w.path)-1])
		w.path = w.path[:len(w.path)-1]
		return true
	}
	w.path = append(w.path, n)
	switch n := n.(type) {
	case *ast.FuncLit:
		w.lit = &Lit{Node: n, Up: w.lit, Name: w.named()}
		w.x.lits = append(w.x.lits, w.lit)
	case *ast.DeferStmt, *ast.GoStmt:
		w.later = append(w.later, n.(ast.Stmt))
	case *ast.ForStmt:
		if init, ok := n.Init.(*ast.AssignStmt); ok {
			w.head(init.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE && !w.perTurn {
			w.head(n.Key, n.Value)
		}
		if n.Tok == token.ASSIGN {
			w.beyond(n.Key, n.Value)
		}
	case *ast.AssignStmt:
		w.beyond(n.Lhs...)
	case *ast.IncDecStmt:
		w.beyond(n.X)
	case *ast.Ident:
		w.ident(n)
	}
	return true
}

func (w *walk) leave(n ast.Node) {
	switch n.(type) {
	case *ast.FuncLit:
		w.lit = w.lit.Up
	case *ast.DeferStmt, *ast.GoStmt:
		w.later = w.later[:len(w.later)-1]
	}
}

// named returns the variable that alone is assigned the literal at the end of the path.
func (w *walk) named() *types.Var {
	as, ok := w.up(1).(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	id, ok := as.Lhs[0].(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := w.info.ObjectOf(id).(*types.Var)
	return v
}

// up returns the i-th node above the end of the path, nil if there is none.
func (w *walk) up(i int) ast.Node {
	if i = len(w.path) - 1 - i; i < 0 {
		return nil
	}
	return w.path[i]
}

// head notes that the turns of a loop share what its head declares.
func (w *walk) head(vars ...ast.Expr) {
	for _, e := range vars {
		if id, ok := e.(*ast.Ident); ok {
			if v, ok := w.info.Defs[id].(*types.Var); ok {
				w.x.vars[v] = &variable{header: true}
			}
		}
	}
}

// beyond notes what is assigned in no variable.
func (w *walk) beyond(lhs ...ast.Expr) {
	for _, e := range lhs {
		star := Part(0)
		for e != nil {
			switch y := ast.Unparen(e).(type) {
			case *ast.SelectorExpr:
				e = y.X
				continue
			case *ast.IndexExpr:
				e = y.X
				continue
			case *ast.StarExpr:
				e, star = y.X, Star
				continue
			case *ast.Ident:
			default:
				w.add(Use{ID: y, Op: Assign, Part: star | Deep, Tok: token.ASSIGN})
			}
			break
		}
	}
}

func (w *walk) add(u Use) {
	u.Lit = w.lit
	if len(w.later) > 0 {
		u.Later = w.later[len(w.later)-1]
	}
	w.x.uses = append(w.x.uses, u)
}

// ident adds the use of a variable whose name ends the path.
func (w *walk) ident(id *ast.Ident) {
	if sel, ok := w.up(1).(*ast.SelectorExpr); ok && sel.Sel == id {
		return // a field, a method, or something of another package
	}
	v, ok := w.info.ObjectOf(id).(*types.Var)
	if !ok || v.IsField() {
		return
	}
	u := Use{Var: v, ID: id}
	w.climb(&u)
	if w.info.Defs[id] != nil && u.Op == Assign {
		u.Op = Define
	}
	w.add(u)
}

// climb goes up from the identifier to what is done with it.
func (w *walk) climb(u *Use) {
	var cur ast.Node = u.ID
	for i := 1; ; i++ {
		switch n := w.up(i).(type) {
		case *ast.ParenExpr:
		case *ast.StarExpr:
			u.step(Star | Deep)
		case *ast.SelectorExpr:
			s := w.info.Selections[n]
			if s == nil {
				return
			}
			if s.Kind() != types.FieldVal {
				u.Op = method(s, w.info.TypeOf(n.X))
				return
			}
			if s.Indirect() {
				u.step(Field | Deep)
			} else {
				u.step(Field)
			}
		case *ast.IndexExpr:
			if n.X != cur || !w.info.Types[n].IsValue() {
				return
			}
			if u.Steps == 0 {
				u.Const = w.info.Types[n.Index].Value != nil
			}
			if isArray(w.info.TypeOf(n.X)) {
				u.step(Elem)
			} else {
				u.step(Elem | Deep)
			}
		default:
			w.operation(u, n, cur)
			return
		}
		cur = w.up(i)
	}
}

func (u *Use) step(p Part) {
	u.Part |= p
	u.Steps = max(u.Steps, u.Steps+1)
}

// method says what a method selected from an operand of type t does with it.
func method(s *types.Selection, t types.Type) Op {
	f, ok := s.Obj().(*types.Func)
	if !ok || s.Kind() != types.MethodVal {
		return Read
	}
	recv := f.Signature().Recv()
	switch {
	case recv == nil:
		return Read
	case isPointer(recv.Type()) && !isPointer(t):
		return MethodRef
	case isPointer(recv.Type()), types.IsInterface(recv.Type()):
		return MethodPtr
	}
	return MethodVal
}

// operation notes in u what n does with its operand cur.
func (w *walk) operation(u *Use, n, cur ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		assignment(u, n, cur)
	case *ast.ValueSpec:
		declared(u, n, cur)
	case *ast.Field:
		w.parameter(u)
	case *ast.IncDecStmt:
		u.Op, u.Tok = Assign, n.Tok
	case *ast.RangeStmt:
		if n.X == cur {
			u.Op = Over
		} else {
			u.Op, u.Tok = Assign, token.RANGE
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			u.Op = Addr
		}
	case *ast.SliceExpr:
		if _, ok := underlying(w.info.TypeOf(n.X)).(*types.Array); ok && n.X == cur {
			u.Op = Addr
		}
	case *ast.CallExpr:
		if n.Fun == cur {
			u.Op = Call
		} else if f, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && len(n.Args) == 1 {
			if b, ok := w.info.Uses[f].(*types.Builtin); ok && b.Name() == "len" {
				u.Op = Len
			}
		}
	}
}

func assignment(u *Use, n *ast.AssignStmt, cur ast.Node) {
	if cur.Pos() < n.TokPos {
		u.Op, u.Tok = Assign, n.Tok
		if len(n.Lhs) == 1 && len(n.Rhs) == 1 && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
			u.Value = n.Rhs[0]
		}
		return
	}
	if id, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 && id.Name == "_" {
		u.Op = Drop
	}
}

func declared(u *Use, n *ast.ValueSpec, cur ast.Node) {
	if cur.Pos() > n.Names[len(n.Names)-1].Pos() {
		return // a value
	}
	u.Op = Declare
	if len(n.Values) > 0 {
		u.Op, u.Tok = Define, token.VAR
	}
	if len(n.Values) == 1 {
		u.Value = n.Values[0]
	}
}

// parameter says of a name in a list of fields what it is.
func (w *walk) parameter(u *Use) {
	u.Op, u.Tok = Define, token.FUNC
	if t, ok := w.up(3).(*ast.FuncType); ok && t.Results != nil && ast.Node(t.Results) == w.up(2) {
		u.Op = Declare // a return assigns it
	}
}

func isPointer(t types.Type) bool {
	_, ok := underlying(t).(*types.Pointer)
	return ok
}

// isArray reports whether an index into a t leads to no other memory: a t is an array, or may be one.
func isArray(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return true
	}
	_, ok := underlying(t).(*types.Array)
	return ok
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}
