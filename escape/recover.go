package escape

// Recovered panics: paths that the flow form does not have. A function that
// recovers may return from anywhere inside it.

import (
	"go/ast"
	"go/types"
)

// recovers reports whether a call that body defers may recover from a panic.
func (p *pkg) recovers(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			found = found || p.mayRecover(n.Call)
			return false
		}
		return !found
	})
	return found
}

// mayRecover reports whether the deferred call may recover.
func (p *pkg) mayRecover(call *ast.CallExpr) bool {
	if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		return p.callsRecover(lit.Body)
	}
	f := p.funcOf(call.Fun)
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f == nil {
		if s := p.info.Selections[sel]; s != nil {
			f, _ = s.Obj().(*types.Func)
		}
	}
	if f == nil {
		if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
			if _, builtin := p.info.Uses[id].(*types.Builtin); builtin {
				return id.Name == "recover"
			}
		}
		return true // a function value
	}
	f = f.Origin()
	if d := p.decls[f]; d != nil && d.Body != nil {
		return p.callsRecover(d.Body)
	}
	// A function of which something is known is taken to leave panics alone.
	return p.summaryOf(f).Unknown
}

// callsRecover reports whether body itself, not a literal in it, calls recover.
func (p *pkg) callsRecover(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && id.Name == "recover" {
				if _, ok := p.info.Uses[id].(*types.Builtin); ok {
					found = true
				}
			}
		}
		return !found
	})
	return found
}

// afterRecover widens what is inferred of a function that recovers: whatever
// happens on a path that ends in a panic happens to callers, too.
func (p *pkg) afterRecover(f *fn, w *flow, s *Summary) {
	if !p.recovers(f.body) {
		return
	}
	s.NoReturn = false
	for _, o := range w.objs {
		if o.kind != objParam {
			continue
		}
		e := &s.Args[o.def.index]
		o.eachEvent(func(ev event) {
			switch {
			case ev.kind == evMove && e.Escapes.K == Never:
				e.Escapes = When{K: Always}
			case (ev.kind == evFree || ev.kind == evDefer) && e.Freed.K == Never:
				e.Freed, e.Repeatable = When{K: Maybe}, ev.repeat
			}
		})
	}
	res := f.sig.Results()
	for i := range s.Res {
		r := &s.Res[i]
		switch {
		case !r.Owned:
		case res.At(i).Name() != "": // whatever it held
			r.Owned, r.Fields = false, nil
		case !r.Flagged: // the zero value, as the boolean is false
			r.MayNil = true
		}
	}
}

// callsRecovering reports whether f calls a function that recovers: what f is given to
// call may be called there.
func (f *fn) callsRecovering() bool {
	for _, b := range f.rpo {
		for _, v := range b.instrs {
			if v.call != nil && v.call.sum != nil && v.call.sum.Recovers {
				return true
			}
		}
	}
	return false
}
