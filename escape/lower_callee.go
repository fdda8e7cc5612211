package escape

// Source to flow form: what a call's function operand is.

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// funcOf returns the declared function that e names, through instantiation.
func (p *pkg) funcOf(e ast.Expr) *types.Func {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		f, _ := p.info.Uses[x].(*types.Func)
		return f
	case *ast.SelectorExpr:
		if p.info.Selections[x] == nil {
			f, _ := p.info.Uses[x.Sel].(*types.Func)
			return f
		}
	case *ast.IndexExpr:
		return p.funcOf(x.X)
	case *ast.IndexListExpr:
		return p.funcOf(x.X)
	}
	return nil
}

// called returns the declared function or method that call names; nil if it names none.
func (p *pkg) called(call *ast.CallExpr) *types.Func {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if s := p.info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
			return s.Obj().(*types.Func)
		}
	}
	return p.funcOf(call.Fun)
}

// callee is what a call's function operand turned out to be.
type callee struct {
	fn   *types.Func   // declared, nil if unknown
	recv *value        // receiver, evaluated
	lit  *ast.FuncLit  // literal to splice
	val  *value        // the function value, if it is neither
	set  []*types.Func // the declared functions that val may be, if these are all
	sum  *Summary      // what all do that may be called, if neither is known but these are
	name string        // goes with sum
	expr bool          // method expression: the receiver is the first argument
}

func (l *lower) callee(call *ast.CallExpr) callee {
	fun := ast.Unparen(call.Fun)
	if f := l.p.funcOf(fun); f != nil {
		return callee{fn: f}
	}
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if s := l.p.info.Selections[sel]; s != nil {
			switch s.Kind() {
			case types.MethodVal:
				c := callee{fn: s.Obj().(*types.Func), recv: l.receiver(sel, s)}
				c = l.devirtualize(c)
				if r := c.fn; r != nil && types.IsInterface(r.Signature().Recv().Type()) {
					if sum := l.p.closedMethod(r.Origin()); sum != nil {
						c.fn, c.sum, c.name = nil, sum, l.p.funcName(r)
					}
				}
				return c
			case types.MethodExpr:
				return callee{fn: s.Obj().(*types.Func), expr: true}
			}
		}
	}
	if lit, ok := fun.(*ast.FuncLit); ok {
		return callee{lit: lit}
	}
	c := l.calleeOf(l.expr(call.Fun))
	if c.fn == nil && c.lit == nil && len(c.set) == 0 {
		targets := l.p.closedCall(call.Fun)
		c.sum, c.name = l.p.closedSummary(targets), "the function value "+shown(call.Fun)
		if len(targets) == 1 && l.p.decls[targets[0].fn] != nil {
			c.name = l.p.funcName(targets[0].fn)
		}
	}
	return c
}

// calleeOf looks through a function value.
func (l *lower) calleeOf(v *value) callee {
	for v = v.find(); v.op == opCopy && v.from == nil; v = v.args[0].find() {
	}
	switch v.op {
	case opFunc:
		return callee{fn: v.fn, expr: v.note.Kind == report.MethodOfType}
	case opBound:
		return l.devirtualize(callee{fn: v.fn, recv: v.args[0].find()})
	case opClosure:
		return callee{lit: v.lit, val: v}
	}
	return callee{val: v, set: targets(v)}
}

// shown prints the expression of a function value for people.
func shown(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return shown(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return shown(e.X) + "[…]"
	case *ast.CallExpr:
		return shown(e.Fun) + "(…)"
	}
	return "here"
}

// maxTargets bounds the functions among which a branch chooses.
const maxTargets = 8

// chosen lists the declared functions that branches of this function choose among
// for v; nil if it may be something else. leaf says what a value that is no choice
// stands for, nil if that is not known.
func chosen(v *value, leaf func(v *value) *types.Func) []*types.Func {
	var out []*types.Func
	seen := map[*value]bool{}
	var visit func(v *value) bool
	visit = func(v *value) bool {
		v = copied(v.find()).find()
		switch {
		case seen[v]:
			return true
		case v.op == opPhi:
			seen[v] = true
			return v.blk.sealed && len(v.args) == len(v.blk.preds) && !slices.ContainsFunc(v.args, func(a *value) bool { return !visit(a) })
		}
		f := leaf(v)
		if f == nil {
			return false
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
		return len(out) <= maxTargets
	}
	if !visit(v) {
		return nil
	}
	return out
}

// targets lists the declared functions, or the methods of method values, among which
// branches choose v: one or the other, as their operands differ.
func targets(v *value) []*types.Func {
	kind := opInvalid
	return chosen(v, func(v *value) *types.Func {
		bound := v.op == opBound && !types.IsInterface(v.fn.Signature().Recv().Type())
		if !bound && (v.op != opFunc || v.note.Kind == report.MethodOfType) || kind != opInvalid && kind != v.op {
			return nil
		}
		kind = v.op
		return v.fn.Origin()
	})
}

// devirtualize replaces an interface method by the method of the concrete type
// that the receiver was boxed from.
func (l *lower) devirtualize(c callee) callee {
	sig := c.fn.Type().(*types.Signature)
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) {
		return c
	}
	v := c.recv.find()
	asserted := func(k report.Kind) bool { return k == report.Nothing || k == report.CommaOK }
	for v.op == opCopy && v.from == nil && asserted(v.note.Kind) && types.IsInterface(v.typ) {
		v = v.args[0].find()
	}
	if v.op == opPhi {
		return l.oneOf(c, v)
	}
	if v.typ == nil || types.IsInterface(v.typ) {
		return c
	}
	if _, ok := types.Unalias(v.typ).(*types.TypeParam); ok {
		return c
	}
	obj, index, _ := types.LookupFieldOrMethod(v.typ, true, l.p.types, c.fn.Name())
	m, ok := obj.(*types.Func)
	if !ok {
		return c
	}
	recv := l.promoted(v, v.typ, index[:len(index)-1], m, c.recv.pos)
	return callee{fn: m, recv: recv}
}

// oneOf resolves an interface method whose receiver is chosen by branches of this
// function among values of known types.
func (l *lower) oneOf(c callee, v *value) callee {
	set := chosen(v, func(v *value) *types.Func {
		if v.typ == nil || v.op == opCopy || types.IsInterface(v.typ) {
			return nil
		}
		if _, ok := types.Unalias(v.typ).(*types.TypeParam); ok {
			return nil
		}
		obj, index, _ := types.LookupFieldOrMethod(v.typ, true, l.p.types, c.fn.Name())
		m, ok := obj.(*types.Func)
		if !ok || len(index) != 1 {
			return nil
		}
		return m.Origin()
	})
	switch len(set) {
	case 0:
		return c
	case 1:
		return callee{fn: set[0], recv: c.recv}
	}
	return callee{set: set, recv: c.recv}
}

func coreSignature(t types.Type) *types.Signature {
	tp, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return nil
	}
	c, ok := tp.Constraint().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for e := range c.EmbeddedTypes() {
		if s, ok := e.Underlying().(*types.Signature); ok {
			return s
		}
		if u, ok := e.(*types.Union); ok && u.Len() == 1 {
			if s, ok := u.Term(0).Type().Underlying().(*types.Signature); ok {
				return s
			}
		}
	}
	return nil
}
