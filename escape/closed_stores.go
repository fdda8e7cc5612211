package escape

// What a package stores where function values are read: assignments, composite literals,
// arguments of functions that it alone calls, returns.

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// findStores notes every store into a slot, and the slots into which something is stored
// that is not seen.
func (p *pkg) findStores() {
	called := map[*ast.Ident]bool{} // names of functions that are called where they stand
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && p.called(call) != nil {
				called[nameIn(call.Fun)] = true
			}
			return true
		})
	}
	for f, d := range p.decls {
		if d.Type.Results != nil {
			for i := range f.Signature().Results().Len() {
				p.funcs.openVar(f.Signature().Results().At(i)) // deferred code may change it
			}
		}
		if f.Exported() || p.saidElsewhere(f.Name()) {
			p.openParams(f)
		}
		p.funcs.openVar(f.Signature().Recv())
	}
	for _, o := range p.info.Implicits {
		if v, ok := o.(*types.Var); ok {
			p.funcs.openVar(v) // of a type switch
		}
	}
	for id, o := range p.info.Uses {
		f, ok := o.(*types.Func)
		if !ok || f.Pkg() != p.types {
			continue
		}
		if r := f.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			for _, m := range p.methodsNamed(f.Name()) {
				p.openParams(m) // it may be called by that interface
			}
		} else if !called[id] {
			p.openParams(f.Origin())
		}
	}
	for _, f := range p.files {
		for _, g := range f.Comments {
			for _, c := range g.List {
				p.openNamed(c.Text)
			}
		}
		s := storeFinder{p: p, vs: p.funcs}
		ast.Inspect(f, s.visit)
	}
}

// nameIn returns the name that a function operand ends in.
func nameIn(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return nameIn(e.X)
	case *ast.IndexListExpr:
		return nameIn(e.X)
	}
	return nil
}

func (vs *funcValues) openVar(v *types.Var) {
	if v != nil {
		vs.open[funcSlot{v: v}] = true
	}
}

// openParams gives up the parameters of f: others may call it.
func (p *pkg) openParams(f *types.Func) {
	for i := range f.Signature().Params().Len() {
		p.funcs.openVar(f.Signature().Params().At(i))
	}
}

// openNamed gives up the parameters of the function that a directive hands to others.
func (p *pkg) openNamed(comment string) {
	for _, d := range []string{"//go:linkname ", "//export "} {
		if rest, ok := strings.CutPrefix(comment, d); ok && len(strings.Fields(rest)) > 0 {
			if f, ok := p.types.Scope().Lookup(strings.Fields(rest)[0]).(*types.Func); ok {
				p.openParams(f)
			}
		}
	}
}

// storeFinder walks a file.
type storeFinder struct {
	p    *pkg
	vs   *funcValues
	path []ast.Node
}

func (s *storeFinder) visit(n ast.Node) bool {
	if n == nil {
		s.path = s.path[:len(s.path)-1]
		return true
	}
	s.path = append(s.path, n)
	switch n := n.(type) {
	case *ast.FuncLit:
		s.openFields(n.Type.Params)
		s.openFields(n.Type.Results)
	case *ast.AssignStmt:
		s.pairs(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		if len(n.Values) > 0 {
			var lhs []ast.Expr
			for _, id := range n.Names {
				lhs = append(lhs, id)
			}
			s.pairs(lhs, n.Values)
		}
	case *ast.RangeStmt:
		s.unseen(n.Key)
		s.unseen(n.Value)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			s.unseen(n.X)
		}
	case *ast.SelectorExpr:
		if sel := s.p.info.Selections[n]; sel != nil && sel.Kind() != types.FieldVal {
			s.unseen(n.X) // the method may get its address
		}
	case *ast.CompositeLit:
		s.composite(n)
	case *ast.ReturnStmt:
		s.returns(n)
	case *ast.CallExpr:
		s.call(n)
	}
	return true
}

// store puts x into what e names.
func (s *storeFinder) store(e ast.Expr, x funcStore) {
	if id, ok := e.(*ast.Ident); ok {
		if v, ok := s.p.info.Defs[id].(*types.Var); ok && s.p.local(v) {
			s.vs.stored[funcSlot{v: v}] = append(s.vs.stored[funcSlot{v: v}], x)
			return
		}
	}
	if _, call := ast.Unparen(e).(*ast.CallExpr); call {
		return
	}
	if slot, ok := s.p.slotOf(e); ok {
		s.vs.stored[slot] = append(s.vs.stored[slot], x)
	}
}

// unseen gives up what e names: it gets a value that is not seen.
func (s *storeFinder) unseen(e ast.Expr) {
	switch x := e.(type) {
	case nil:
		return
	case *ast.Ident:
		if v, ok := s.p.info.Defs[x].(*types.Var); ok {
			s.vs.openVar(v)
			return
		}
	}
	if _, call := ast.Unparen(e).(*ast.CallExpr); call {
		return
	}
	if slot, ok := s.p.slotOf(e); ok {
		s.vs.open[slot] = true
	}
}

func (s *storeFinder) pairs(lhs, rhs []ast.Expr) {
	for i, e := range lhs {
		switch {
		case len(lhs) == len(rhs):
			s.store(e, funcStore{rhs[i], -1})
		case len(rhs) == 1 && isCall(rhs[0]):
			s.store(e, funcStore{rhs[0], i})
		default:
			s.unseen(e)
		}
	}
}

func isCall(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok
}

// composite stores the elements of a struct.
func (s *storeFinder) composite(lit *ast.CompositeLit) {
	t := s.p.typeOf(lit)
	if t == nil {
		return
	}
	switch u := deref(t).Underlying().(type) {
	case *types.Struct:
		for i, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok {
					if slot, ok := s.p.fieldSlot(s.p.info.Uses[id]); ok {
						s.vs.stored[slot] = append(s.vs.stored[slot], funcStore{kv.Value, -1})
					}
				}
			} else if slot, ok := s.p.fieldSlot(u.Field(i)); ok {
				s.vs.stored[slot] = append(s.vs.stored[slot], funcStore{e, -1})
			}
		}
	case *types.Array, *types.Slice, *types.Map:
	default: // of a type parameter, say
		s.vs.all = true
	}
}

// returns stores what the function or literal around it returns.
func (s *storeFinder) returns(ret *ast.ReturnStmt) {
	for i := len(s.path) - 1; i >= 0; i-- {
		var f *types.Func
		switch n := s.path[i].(type) {
		case *ast.FuncLit:
			f = s.p.literal(n)
		case *ast.FuncDecl:
			f, _ = s.p.info.Defs[n.Name].(*types.Func)
		default:
			continue
		}
		if f == nil {
			return
		}
		results := f.Signature().Results()
		for j := range results.Len() {
			slot := funcSlot{result: f, index: j}
			switch {
			case results.At(j).Name() != "": // deferred code may change it
				s.vs.open[slot] = true
			case len(ret.Results) == results.Len():
				s.vs.stored[slot] = append(s.vs.stored[slot], funcStore{ret.Results[j], -1})
			case len(ret.Results) == 1:
				s.vs.stored[slot] = append(s.vs.stored[slot], funcStore{ret.Results[0], j})
			}
		}
		return
	}
}

// call stores the arguments of a call of a function of this package.
func (s *storeFinder) call(call *ast.CallExpr) {
	if tv := s.p.info.Types[call.Fun]; tv.IsType() {
		s.conversion(call, tv.Type)
		return
	}
	f := s.p.called(call)
	if f == nil || f.Pkg() != s.p.types {
		return
	}
	f = f.Origin()
	params := f.Signature().Params()
	for i := range params.Len() {
		slot := funcSlot{v: params.At(i)}
		switch {
		case f.Signature().Variadic() && i == params.Len()-1:
			s.vs.open[slot] = true
		case len(call.Args) == 1 && params.Len() > 1:
			s.vs.stored[slot] = append(s.vs.stored[slot], funcStore{call.Args[0], i})
		case i < len(call.Args):
			s.vs.stored[slot] = append(s.vs.stored[slot], funcStore{call.Args[i], -1})
		}
	}
}

// conversion gives up the fields of what a raw pointer is taken for.
func (s *storeFinder) conversion(call *ast.CallExpr, to types.Type) {
	if len(call.Args) != 1 {
		return
	}
	from := s.p.typeOf(call.Args[0])
	if b, ok := from.Underlying().(*types.Basic); !ok || b.Kind() != types.UnsafePointer && b.Kind() != types.Uintptr {
		return
	}
	if _, ok := to.Underlying().(*types.Pointer); ok && holdsFunc(deref(to)) {
		s.vs.all = true
	}
}

// holdsFunc reports whether values of type t contain a function.
func holdsFunc(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Array:
		return holdsFunc(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if holdsFunc(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}

func (s *storeFinder) openFields(list *ast.FieldList) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			if v, ok := s.p.info.Defs[id].(*types.Var); ok {
				s.vs.openVar(v)
			}
		}
	}
}
