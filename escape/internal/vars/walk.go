package vars

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// New reads files, which info is about.
func New(info *types.Info, files []*ast.File) *Index {
	x := &Index{vars: map[*types.Var]*variable{}}
	byStart := func(a, b *ast.File) int { return cmp.Compare(a.FileStart, b.FileStart) }
	files = slices.SortedFunc(slices.Values(files), byStart)
	for _, f := range files {
		w := &walk{x: x, info: info}
		ast.Inspect(f, w.visit)
	}
	slices.SortStableFunc(x.uses, func(a, b Use) int { return cmp.Compare(a.ID.Pos(), b.ID.Pos()) })
	for i, u := range x.uses {
		s := x.vars[u.Var]
		if s == nil {
			s = &variable{}
			x.vars[u.Var] = s
		}
		s.at = append(s.at, int32(i))
		s.shared = s.shared || u.Op == Addr && !u.Deep || u.Lit != nil && !within(u.Lit.Node, u.Var.Pos())
	}
	return x
}

// walk is the way through a file.
type walk struct {
	x    *Index
	info *types.Info
	path []ast.Node
	lit  *Lit
}

func (w *walk) visit(n ast.Node) bool {
	if n == nil {
		if _, ok := w.path[len(w.path)-1].(*ast.FuncLit); ok {
			w.lit = w.lit.Up
		}
		w.path = w.path[:len(w.path)-1]
		return true
	}
	w.path = append(w.path, n)
	switch n := n.(type) {
	case *ast.FuncLit:
		w.lit = &Lit{Node: n, Up: w.lit}
		w.x.lits = append(w.x.lits, w.lit)
	case *ast.Ident:
		w.ident(n)
	}
	return true
}

// up returns the i-th node above the end of the path, nil if there is none.
func (w *walk) up(i int) ast.Node {
	if i = len(w.path) - 1 - i; i < 0 {
		return nil
	}
	return w.path[i]
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
	u := Use{Var: v, ID: id, Lit: w.lit}
	w.climb(&u)
	if w.info.Defs[id] != nil && u.Op == Assign {
		u.Op = Define
	}
	w.x.uses = append(w.x.uses, u)
}

// climb goes up from the identifier to what is done with it.
func (w *walk) climb(u *Use) {
	var cur ast.Node = u.ID
	for i := 1; ; i++ {
		deep := false
		switch n := w.up(i).(type) {
		case *ast.ParenExpr:
			cur = n
			continue
		case *ast.StarExpr:
			deep = true
		case *ast.SelectorExpr:
			s := w.info.Selections[n]
			if s == nil {
				return
			}
			if s.Kind() != types.FieldVal {
				u.Op = method(s, w.info.TypeOf(n.X))
				return
			}
			deep = s.Indirect()
		case *ast.IndexExpr:
			if n.X != cur || !w.info.Types[n].IsValue() {
				return
			}
			deep = !isArray(w.info.TypeOf(n.X))
		default:
			w.operation(u, n, cur)
			return
		}
		u.Part, u.Deep = true, u.Deep || deep
		cur = w.up(i)
	}
}

// method says what a method selected from an operand of type t does with it.
func method(s *types.Selection, t types.Type) Op {
	f, ok := s.Obj().(*types.Func)
	if ok && s.Kind() == types.MethodVal && f.Signature().Recv() != nil && isPointer(f.Signature().Recv().Type()) && !isPointer(t) {
		return Addr
	}
	return Read
}

// operation notes in u what n does with its operand cur.
func (w *walk) operation(u *Use, n, cur ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if cur.Pos() < n.TokPos {
			u.Op, u.Tok = Assign, n.Tok
		}
	case *ast.ValueSpec:
		if cur.Pos() > n.Names[len(n.Names)-1].Pos() {
			return // a value
		}
		u.Op = Declare
		if len(n.Values) > 0 {
			u.Op, u.Tok = Define, token.VAR
		}
	case *ast.Field:
		u.Op, u.Tok = Define, token.FUNC
		if t, ok := w.up(3).(*ast.FuncType); ok && t.Results != nil && ast.Node(t.Results) == w.up(2) {
			u.Op = Declare // a return assigns it
		}
	case *ast.IncDecStmt:
		u.Op, u.Tok = Assign, n.Tok
	case *ast.RangeStmt:
		if n.X != cur {
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
