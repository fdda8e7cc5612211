package proof

// A hoist evaluates an expression earlier than the statement that it stands in. That is
// right if nothing that the statement evaluates before it could affect it or see it, and
// if its name means nothing else. Go leaves open in which order a variable is read and a
// function is called; go/ssa decides it, and so does the compiler. Where a hoist could
// make a difference there, it is withheld.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

// hoistFault returns why h is not shown; "" if it is.
func (c *checker) hoistFault(h *hoist, vars variables) string {
	if len(h.read) != len(h.names) {
		return "a name that was made is not read just once"
	}
	ours := map[*ast.Ident]ast.Expr{}
	for i, id := range h.read {
		if c.info.Uses[id] == nil || c.info.Uses[id] != c.info.Defs[h.names[i]] {
			return "the names are not read in the order in which they are made"
		}
		if vars.written[c.info.Uses[id]] {
			return "a copy is written, or has its address taken, in place of what it was made of"
		}
		ours[id] = nil
		if len(h.subs) == len(h.read) {
			ours[id] = h.subs[i]
		}
		if b, ok := c.info.TypeOf(id).Underlying().(*types.Basic); ok && b.Kind() == types.Uintptr {
			return "an address that is a number is kept under a name, and what is there may move"
		}
	}
	stmt := h.stmt
	for l, ok := stmt.(*ast.LabeledStmt); ok; l, ok = stmt.(*ast.LabeledStmt) {
		if vars.goals[c.info.Defs[l.Label]] {
			return "a value is computed before a label that a goto leads to"
		}
		stmt = l.Stmt
	}
	if slices.ContainsFunc(h.subs, untypedShift) {
		return "the type of a shift comes from where it stands"
	}
	a := ahead{c, ours, vars.shared, h.read[len(h.read)-1], map[ast.Expr]bool{}}
	for i, x := range h.subs {
		later := slices.ContainsFunc(h.subs[i+1:], func(x ast.Expr) bool { return a.calls(x, token.NoPos) })
		if a.loose(x) && (later || a.calls(stmt, h.read[i].End())) {
			return "a variable is read before a call that may change it, and Go does not say which comes first"
		}
	}
	for _, x := range h.subs { // a name may be made of others
		if why := a.within(x); why != "" {
			return why
		}
	}
	return a.within(stmt)
}

// within returns what in n could affect the values of the names that n reads, or see that they are computed
// before n; "" if nothing could.
func (a ahead) within(n ast.Node) string {
	a.last = nil
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && a.is(id) {
			a.last = id
		}
		return true
	})
	switch {
	case a.last == nil:
		return ""
	case a.idle(n):
		return "a value is computed that was not, as only its type or length is asked for"
	}
	return a.of(n)
}

// calls reports whether behind pos n calls a function or receives, in what is evaluated with it.
func (a ahead) calls(n ast.Node, pos token.Pos) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncLit, *ast.BlockStmt:
			return false
		case *ast.CallExpr:
			found = found || x.Pos() >= pos && !a.c.info.Types[x.Fun].IsType()
		case *ast.UnaryExpr:
			found = found || x.Pos() >= pos && x.Op == token.ARROW
		}
		return true
	})
	return found
}

// loose reports whether an expression does something outside of calls, which compilers may do late: it reads
// what others may change, or it may panic.
func (a ahead) loose(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		x, ok := n.(ast.Expr)
		if !ok || found || a.c.info.Types[x].IsType() {
			return !found
		}
		switch x := x.(type) {
		case *ast.CallExpr:
			if f := a.c.info.Types[x.Fun]; !f.IsType() {
				found = ofUnsafe(x, a.c.info) != "" // they may panic
				return f.IsBuiltin()
			}
		case *ast.UnaryExpr:
			if x.Op == token.ARROW {
				return false
			}
		}
		found = a.expr(x) != ""
		_, lit := x.(*ast.FuncLit)
		return !lit
	})
	return found
}

// idle reports whether a name is read in what a program does not compute.
func (a ahead) idle(n ast.Node) bool {
	return slices.ContainsFunc(idle(n, a.c.info), func(x ast.Expr) bool {
		found := false
		ast.Inspect(x, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && a.is(id)
			return true
		})
		return found
	})
}

// idle returns the expressions in n that a program does not compute: constants, such as the length of an
// array, arrays of which a range takes the indices alone, and what unsafe is asked the size of. go/ssa
// computes them, but for constants.
func idle(n ast.Node, info *types.Info) (out []ast.Expr) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.RangeStmt:
			t := pointed(info.TypeOf(x.X))
			if v, ok := x.Value.(*ast.Ident); inPlace(t) && (x.Value == nil || ok && v.Name == "_") {
				out = append(out, x.X)
			}
		case ast.Expr:
			call, _ := x.(*ast.CallExpr)
			if info.Types[x].Value != nil || call != nil && asksSize(call, info) {
				out = append(out, x)
			}
		}
		return true
	})
	return out
}

// asksSize reports whether a call asks unsafe for a size, which is no constant where it depends on a type
// parameter.
func asksSize(call *ast.CallExpr, info *types.Info) bool {
	return slices.Contains([]string{"Sizeof", "Alignof", "Offsetof"}, ofUnsafe(call, info))
}

// ofUnsafe returns the name of the function of package unsafe that is called; "" if it is another.
func ofUnsafe(call *ast.CallExpr, info *types.Info) string {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	}
	if b, ok := info.Uses[id].(*types.Builtin); ok && b.Pkg() == types.Unsafe {
		return b.Name()
	}
	return ""
}

// ahead looks at what a statement evaluates before the last of the names that were made for it.
type ahead struct {
	c      *checker
	ours   map[*ast.Ident]ast.Expr // what they were made of; nil: with others
	shared map[types.Object]bool
	last   *ast.Ident
	called map[ast.Expr]bool // methods of interfaces
}

// is reports whether a name is one of those.
func (a ahead) is(id *ast.Ident) bool {
	_, ours := a.ours[id]
	return ours
}

// fresh reports whether x is one of those and leads to what a call made that cannot fail. By the words of
// owned nobody else has it, and it is not nil, so it makes no difference when it is read.
func (a ahead) fresh(x ast.Expr) bool {
	id, _ := x.(*ast.Ident)
	call, _ := a.ours[id].(*ast.CallExpr)
	if call == nil {
		return false
	}
	r := a.c.effect(typeutil.StaticCallee(a.c.info, call)).result(0)
	return r.Owned && !r.Zero && len(r.Derived) == 0
}

// of returns what could affect the value of a name, or see that it is computed before n; "" if nothing
// could. All that is not listed could.
func (a ahead) of(n ast.Node) string {
	why := ""
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil || why != "" || n.Pos() > a.last.Pos() {
			return false
		}
		if x, ok := n.(ast.Expr); ok {
			if a.c.info.Types[x].IsType() {
				return false
			}
			why = a.expr(x)
			_, lit := n.(*ast.FuncLit)
			return !lit
		}
		before := func(s ast.Node) bool { return s.Pos().IsValid() && s.End() <= a.last.Pos() }
		switch x := n.(type) {
		case *ast.ReturnStmt, *ast.AssignStmt, *ast.ExprStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt,
			*ast.RangeStmt, *ast.DeclStmt, *ast.ValueSpec:
			return true
		case *ast.GenDecl: // behind a first name there, another may mean something else
			if len(x.Specs) == 1 {
				return true
			}
		case *ast.IfStmt:
			if (x.Init == nil || !before(x.Init)) && !before(x.Cond) {
				return true
			}
		case *ast.SwitchStmt:
			if x.Init == nil || !before(x.Init) {
				return true
			}
		case *ast.ForStmt:
			if x.Init != nil && !before(x.Init) {
				return true
			}
		}
		why = "a statement, or a part of one, comes before the value that is computed first"
		return false
	})
	return why
}

// expr is of for one expression, without its operands.
func (a ahead) expr(x ast.Expr) string {
	done := x.End() <= a.last.Pos() // it is computed before the name is read
	const panics = "what comes before the value that is computed first may panic"
	switch x := x.(type) {
	case *ast.BasicLit, *ast.ParenExpr, *ast.FuncLit, *ast.KeyValueExpr:
		return ""
	case *ast.CompositeLit:
		switch t := a.c.info.TypeOf(x).Underlying().(type) {
		case *types.Map:
			if !safe(token.EQL, t.Key()) {
				return panics
			}
		case *types.Interface: // of a type parameter
			return panics
		}
		return ""
	case *ast.Ident:
		if !a.is(x) && a.shared[a.c.info.Uses[x]] {
			return "variable " + x.Name + ", which others may change, is read before the value that is computed first"
		}
		return ""
	case *ast.SelectorExpr:
		s := a.c.info.Selections[x]
		if s == nil || !done {
			return ""
		}
		f, _ := s.Obj().(*types.Func)
		if len(s.Index()) == 1 && a.fresh(x.X) || !s.Indirect() && (s.Kind() != types.MethodVal || !ofInterface(f)) {
			return ""
		}
		if s.Kind() == types.MethodVal && len(s.Index()) == 1 && (pointerMethod(s) || a.called[x]) {
			return "" // only the pointer is read, or the call panics, behind its operands
		}
		return "what a pointer leads to is read before the value that is computed first"
	case *ast.CallExpr:
		if !done {
			a.called[x.Fun] = types.IsInterface(a.c.info.TypeOf(receiver(x.Fun)))
			return ""
		}
		if !a.c.info.Types[x.Fun].IsType() {
			return "a call comes before the value that is computed first"
		}
		from := a.c.info.TypeOf(x.Args[0])
		_, param := from.(*types.TypeParam)
		if _, slice := from.Underlying().(*types.Slice); (slice || param) && !isSlice(a.c.info.TypeOf(x)) {
			return "what a slice leads to is read before the value that is computed first"
		}
		return ""
	case *ast.TypeAssertExpr:
		if done {
			return panics
		}
		return ""
	case *ast.StarExpr:
		if !done || a.fresh(x.X) {
			return ""
		}
	case *ast.UnaryExpr:
		_, made := x.X.(*ast.CompositeLit)
		if x.Op == token.ARROW || x.Op == token.AND && !made {
			return "a receive or an address comes before the value that is computed first"
		}
		return ""
	case *ast.BinaryExpr:
		if done && !safe(x.Op, a.c.info.TypeOf(x.X)) {
			return panics
		}
		return ""
	}
	if i, ok := x.(*ast.IndexExpr); ok {
		if _, instance := a.c.info.TypeOf(i.X).(*types.Signature); instance {
			return ""
		}
	}
	return panics
}

// safe reports whether an operation on operands of type t cannot panic.
func safe(op token.Token, t types.Type) bool {
	switch op {
	case token.QUO, token.REM, token.SHL, token.SHR:
		return false
	case token.EQL, token.NEQ:
		b, ok := t.Underlying().(*types.Basic)
		_, pointer := t.Underlying().(*types.Pointer)
		return pointer || ok && b.Kind() != types.Invalid
	}
	return true
}

// receiver returns what stands before the last dot of a call's function.
func receiver(fun ast.Expr) ast.Expr {
	if s, ok := fun.(*ast.SelectorExpr); ok {
		return s.X
	}
	return fun
}

func pointerMethod(s *types.Selection) bool {
	_, ok := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	return ok
}

func isSlice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// untypedShift reports whether e has a shift outside of calls, whose type may depend on
// what it is assigned to.
func untypedShift(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr, *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			found = found || x.Op == token.SHL || x.Op == token.SHR
		}
		return true
	})
	return found
}

// namesFault returns why the names that were made in a declaration are not shown to be
// read by nothing but what replaces an expression and what frees.
func (c *checker) namesFault(d *differ) string {
	made, ok := map[types.Object]bool{}, map[*ast.Ident]bool{}
	for _, id := range d.defs {
		if c.info.Defs[id] == nil {
			return "a name that was made is not new"
		}
		made[c.info.Defs[id]] = true
	}
	for _, h := range d.hoists {
		for _, id := range h.read {
			ok[id] = true
		}
	}
	why := ""
	for _, e := range d.edits {
		if e.kind == Named && !isSave(e.stmt) {
			continue
		}
		ast.Inspect(e.stmt, func(n ast.Node) bool {
			if id, isID := n.(*ast.Ident); isID {
				ok[id] = e.kind != Deleted
				if id.Name == "nil" && !c.info.Types[id].IsNil() {
					why = "what is named nil there is something else"
				}
			}
			return true
		})
	}
	ast.Inspect(d.decl, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID && !ok[id] && made[c.info.Uses[id]] {
			why = "the new name " + id.Name + " takes the place of another"
		}
		return true
	})
	if why == "" {
		why = c.unreadFault(d)
	}
	return why
}
