package escape

// How a function calls the functions that it is given. A literal that is only called on the
// caller's goroutine, one call after the other, may be edited like a loop's body, and one that
// is called once like a block: what the literal last uses can be freed in it.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A Calling says how a function calls one that it is given. The zero Calling says nothing: it
// may do so later, in deferred code, on other goroutines, several at once.
type Calling uint8

const (
	CallsAnyhow Calling = iota
	CallsInTurn         // before it returns, on its goroutine, one call after the other; perhaps never
	CallsOnce           // in turn, and once before each return
)

func (c Calling) String() string {
	switch c {
	case CallsInTurn:
		return "called in turn"
	case CallsOnce:
		return "called once"
	}
	return "called anyhow"
}

// inferCalling says of each operand of f that is a function how f calls it.
func (p *pkg) inferCalling(f *fn, s *Summary) {
	if s.Recovers {
		return // a call may end anywhere, and f goes on
	}
	vars := slices.Collect(f.sig.Params().Variables())
	if r := f.sig.Recv(); r != nil {
		vars = append([]*types.Var{r}, vars...)
	}
	for i, v := range vars {
		if i < len(s.Args) && isFunc(v.Type()) && s.Args[i].borrow() && p.vars().Fixed(v) {
			s.Args[i].Calls = p.callingOf(f, v)
		}
	}
}

// callingOf says how f calls its parameter v, which holds what it was given for good.
func (p *pkg) callingOf(f *fn, v *types.Var) Calling {
	var calls []*ast.CallExpr
	how := CallsOnce
	inspectPath(f.body, func(path []ast.Node) {
		id, ok := path[len(path)-1].(*ast.Ident)
		if !ok || p.info.Uses[id] != v {
			return
		}
		call, c := p.mentionCalls(f, path)
		how = min(how, c)
		if call != nil {
			calls = append(calls, call)
		}
	})
	if how == CallsOnce && (len(calls) != 1 || !f.passesOnce(calls[0])) {
		return CallsInTurn
	}
	return how
}

// mentionCalls returns the call through which f calls the function whose name ends path, and how
// that calls it: nil where the name is only compared.
func (p *pkg) mentionCalls(f *fn, path []ast.Node) (*ast.CallExpr, Calling) {
	for _, n := range path {
		switch n.(type) {
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt:
			return nil, CallsAnyhow
		}
	}
	i := len(path) - 1
	cur := path[i]
	for i--; i >= 0; i-- {
		if _, ok := path[i].(*ast.ParenExpr); !ok {
			break
		}
		cur = path[i]
	}
	switch n := path[max(i, 0)].(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return nil, CallsOnce
		}
	case *ast.CallExpr:
		if n.Fun == cur {
			return n, CallsOnce
		}
		g := p.called(n)
		arg := slices.IndexFunc(n.Args, func(e ast.Expr) bool { return e == cur })
		if g == nil || arg < 0 || g.Signature().Variadic() && arg >= g.Signature().Params().Len()-1 {
			return nil, CallsAnyhow
		}
		if g.Origin() == f.obj && g.Origin().Signature().Params().At(arg) == p.info.Uses[path[len(path)-1].(*ast.Ident)] {
			return n, CallsInTurn // by itself, which calls it as we find out
		}
		return n, p.summaryOf(g.Origin()).arg(arg).Calls
	}
	return nil, CallsAnyhow
}

// passesOnce reports whether every way from the entry of f to a return goes through call once.
func (f *fn) passesOnce(call *ast.CallExpr) bool {
	var at *block
	for _, b := range f.rpo {
		for _, v := range b.instrs {
			if v.op != opCall || v.expr != ast.Expr(call) {
				continue
			}
			if at != nil {
				return false
			}
			at = b
		}
	}
	if at == nil {
		return false
	}
	around := spread(ahead, at, f.rpo[0])
	for _, r := range f.exits {
		if r.blk != at && around[r.blk] {
			return false
		}
	}
	for _, s := range at.succs {
		if spread(ahead, nil, s)[at] {
			return false
		}
	}
	return true
}
