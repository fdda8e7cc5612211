package escape

// Source to flow form: calls, deferred calls, go statements, function literals.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
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

// callee is what a call's function operand turned out to be.
type callee struct {
	fn   *types.Func   // declared, nil if unknown
	recv *value        // receiver, evaluated
	lit  *ast.FuncLit  // literal to splice
	val  *value        // the function value, if it is neither
	set  []*types.Func // the declared functions that val may be, if these are all
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
				return l.devirtualize(c)
			case types.MethodExpr:
				return callee{fn: s.Obj().(*types.Func), expr: true}
			}
		}
	}
	if lit, ok := fun.(*ast.FuncLit); ok {
		return callee{lit: lit}
	}
	return l.calleeOf(l.expr(call.Fun))
}

// calleeOf looks through a function value.
func (l *lower) calleeOf(v *value) callee {
	for v = v.find(); v.op == opCopy; v = v.args[0].find() {
	}
	switch v.op {
	case opFunc:
		return callee{fn: v.fn, expr: v.note == "method expression"}
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

// targets lists the declared functions among which branches of this function choose
// v; nil if it may be something else.
func targets(v *value) []*types.Func {
	var out []*types.Func
	seen := map[*value]bool{}
	var visit func(v *value) bool
	visit = func(v *value) bool {
		v = errRoot(v.find()).find()
		switch {
		case seen[v]:
			return true
		case v.op == opFunc && v.note != "method expression":
			if !slices.Contains(out, v.fn.Origin()) {
				out = append(out, v.fn.Origin())
			}
			return len(out) <= maxTargets
		case v.op == opPhi && v.blk.sealed && len(v.args) == len(v.blk.preds):
			seen[v] = true
			return !slices.ContainsFunc(v.args, func(a *value) bool { return !visit(a) })
		}
		return false
	}
	if !visit(v) {
		return nil
	}
	return out
}

// devirtualize replaces an interface method by the method of the concrete type
// that the receiver was boxed from.
func (l *lower) devirtualize(c callee) callee {
	sig := c.fn.Type().(*types.Signature)
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) {
		return c
	}
	v := c.recv.find()
	for v.op == opCopy && v.note == "" && types.IsInterface(v.typ) {
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
	var set []*types.Func
	seen := map[*value]bool{}
	var visit func(v *value) bool
	visit = func(v *value) bool {
		v = errRoot(v.find()).find()
		switch {
		case seen[v]:
			return true
		case v.op == opPhi:
			seen[v] = true
			return v.blk.sealed && len(v.args) == len(v.blk.preds) && !slices.ContainsFunc(v.args, func(a *value) bool { return !visit(a) })
		case v.typ == nil || types.IsInterface(v.typ):
			return false
		}
		if _, ok := types.Unalias(v.typ).(*types.TypeParam); ok {
			return false
		}
		obj, index, _ := types.LookupFieldOrMethod(v.typ, true, l.p.types, c.fn.Name())
		m, ok := obj.(*types.Func)
		if !ok || len(index) != 1 {
			return false
		}
		if !slices.Contains(set, m.Origin()) {
			set = append(set, m.Origin())
		}
		return len(set) <= maxTargets
	}
	switch {
	case !visit(v) || len(set) == 0:
		return c
	case len(set) == 1:
		return callee{fn: set[0], recv: c.recv}
	}
	return callee{set: set, recv: c.recv}
}

func (l *lower) call(call *ast.CallExpr) []*value {
	if tv := l.p.info.Types[call.Fun]; tv.IsType() {
		return []*value{l.conversion(call, tv.Type)}
	}
	if b := l.builtin(call); b != "" {
		return l.callBuiltin(call, b)
	}
	c := l.callee(call)
	args := l.args(call)
	if g := l.waitGroup(call, "Go"); g != nil && len(args) == 1 {
		if f := l.calleeOf(args[0]); f.lit != nil && l.canSplice(f.lit) {
			if f.val != nil {
				f.val.spliced = true
			}
			l.joined(f.lit, nil, g, call.Pos())
			return nil
		}
	}
	res := l.finishCall(call, c, args, "")
	if g := l.waitGroup(call, "Wait"); g != nil {
		l.wait(g, call.Pos())
	}
	return res
}

func (l *lower) builtin(call *ast.CallExpr) string {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if b, ok := l.p.info.Uses[f].(*types.Builtin); ok {
			return b.Name()
		}
	case *ast.SelectorExpr:
		if b, ok := l.p.info.Uses[f.Sel].(*types.Builtin); ok {
			return "unsafe." + b.Name()
		}
	}
	return ""
}

func (l *lower) args(call *ast.CallExpr) []*value {
	if len(call.Args) == 1 {
		return l.exprN(call.Args[0])
	}
	var args []*value
	for _, a := range call.Args {
		args = append(args, l.expr(a))
	}
	return args
}

func (l *lower) conversion(call *ast.CallExpr, t types.Type) *value {
	v := l.expr(call.Args[0])
	o := opCopy
	from := l.p.typeOf(call.Args[0]).Underlying()
	if b, ok := from.(*types.Basic); ok && b.Info()&types.IsString != 0 {
		o = opPure
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&(types.IsString|types.IsFloat|types.IsComplex) != 0 {
		o = opElem
	}
	x := l.emit(o, t, call.Pos(), v)
	x.expr, x.end = call, call.End()
	return x
}

// finishCall emits the call of c with evaluated args; how is "" for a call,
// "defer" or "go".
func (l *lower) finishCall(call *ast.CallExpr, c callee, args []*value, how string) []*value {
	t := l.p.typeOf(call.Fun)
	sig, _ := t.Underlying().(*types.Signature)
	if sig == nil {
		if c.fn != nil {
			sig = c.fn.Type().(*types.Signature)
		} else if core := coreSignature(t); core != nil {
			sig = core
		} else {
			l.f.declined = "call of an unknown kind"
			return nil
		}
	}
	if c.lit != nil && how == "" && l.canSplice(c.lit) {
		if c.val != nil {
			c.val.spliced = true
		}
		l.direct = c.val == nil // one that has a name may be called again tomorrow
		return l.spliceBody(c.lit, args, call.Pos())
	}
	ci := &callInfo{spread: call.Ellipsis.IsValid(), deferred: how == "defer", goes: how == "go"}
	v := l.f.newValue(opCall, sig.Results())
	v.pos, v.end, v.expr, v.call = call.Pos(), call.End(), call, ci
	if how == "defer" {
		v.op = opDefer
	}
	if c.expr && c.fn != nil && len(args) > 0 { // (*T).M(recv, ...)
		c.recv, args = args[0], args[1:]
		msig := c.fn.Type().(*types.Signature)
		sig = msig
	}
	switch {
	case c.fn != nil:
		v.fn = c.fn.Origin()
		ci.sum = l.p.summaryOf(v.fn)
		ci.name = l.p.funcName(v.fn)
	case len(c.set) > 0:
		for i, f := range c.set {
			if s := l.p.summaryOf(f); i == 0 {
				ci.sum, ci.name = s, l.p.funcName(f)
			} else {
				ci.sum, ci.name = ci.sum.join(s), ci.name+" or "+l.p.funcName(f)
			}
		}
	default:
		ci.sum = worst(sig, "what it calls is not known here")
		ci.name = "the function value " + shown(call.Fun)
		if c.lit != nil {
			ci.name = "a function literal"
		}
	}
	np := sig.Params().Len()
	if c.recv != nil {
		v.args = append(v.args, c.recv)
		ci.params = append(ci.params, -1)
	}
	if c.fn == nil && c.val != nil {
		v.args = append(v.args, c.val)
		ci.params = append(ci.params, -2)
	}
	if c.fn == nil && c.lit != nil && c.val == nil {
		cl := l.closure(c.lit, sig)
		v.args = append(v.args, cl)
		ci.params = append(ci.params, -2)
	}
	for i, a := range args {
		if i >= np {
			i = np - 1
		}
		v.args = append(v.args, a)
		ci.params = append(ci.params, i)
	}
	if how == "" {
		l.spliceLent(v, args)
	}
	l.add(v)
	if how != "" {
		return []*value{v}
	}
	for i := range sig.Results().Len() {
		rt := sig.Results().At(i).Type()
		if tt, ok := l.p.info.Types[call]; ok && tt.Type != nil {
			if tup, ok := tt.Type.(*types.Tuple); ok {
				if i < tup.Len() {
					rt = tup.At(i).Type()
				}
			} else if sig.Results().Len() == 1 {
				rt = tt.Type
			}
		}
		r := l.emit(opResult, rt, call.Pos(), v)
		r.index, r.expr, r.end = i, call, call.End()
		ci.results = append(ci.results, r)
		if i == sig.Results().Len()-1 && isError(rt) {
			ci.errRes = r
		}
	}
	l.afterCall(v)
	if ci.sum.NoReturn {
		ci.noreturn = true
		l.cur.noreturn = true
		res := ci.results
		l.cur = nil
		if len(res) > 0 {
			return res
		}
		return nil
	}
	res := slices.Clone(ci.results)
	for i, r := range res {
		if i < len(ci.sum.Res) && ci.sum.Res[i].Owned && len(ci.sum.Res[i].Fields) > 0 {
			res[i] = l.fieldwise(v, r, ci.sum.Res[i].Fields)
		}
	}
	return res
}

// fieldwise takes result r of call apart, a struct or a pointer to one that
// owns through some of its fields: each of these is a buffer of its own.
func (l *lower) fieldwise(call, r *value, owned []string) *value {
	t := deref(r.typ)
	root := l.newRoot(nil, "result of "+call.call.name, t)
	if len(root.leaves) == 0 || len(root.leaves[0].path) == 0 {
		return r
	}
	for _, p := range root.leaves {
		var x *value
		if slices.Contains(owned, p.name) {
			x = l.emit(opOut, p.typ, r.pos, call, r)
			x.expr, x.end = r.expr, r.end
		} else {
			x = l.part(r, p.typ, r.pos, "field "+strings.TrimPrefix(p.name, "."), false)
		}
		l.writePlace(p, x, r.pos)
	}
	if !isPointer(r.typ) {
		return l.readRoot(root, r.pos)
	}
	a := l.addr(root, nil, r.typ, r.pos)
	a.note = "result"
	return a
}

// afterCall changes the variables whose addresses a call took: what it may
// have stored there is not known, and a buffer retained there is owed.
func (l *lower) afterCall(call *value) {
	for j, a := range call.args {
		pi := call.call.params[j]
		if pi < -1 {
			continue
		}
		r, path, ok := l.pointee(a)
		if !ok {
			continue
		}
		e := call.call.sum.arg(pi)
		if e.Escapes.K != Never && r.exposed == "" {
			l.exposeds = append(l.exposeds, exposure{r, "its variable's address is passed to " + call.call.name + ", which may keep it", call.pos})
			continue
		}
		if !e.Writes && !e.Retained {
			continue
		}
		for _, p := range r.leaves {
			if !hasPrefix(p.path, path) {
				continue
			}
			o := opUnknown
			if e.Retained && l.p.isResource(p.typ) {
				o = opOut
			} else if e.Retained {
				continue
			}
			x := l.emit(o, p.typ, call.pos, call)
			if o == opUnknown {
				x.args = nil
			}
			x.note = "stored by " + call.call.name
			l.writePlace(p, x, call.pos)
		}
	}
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

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return t != nil && types.Identical(t, errorType) }

func (l *lower) callBuiltin(call *ast.CallExpr, name string) []*value {
	t := l.p.typeOf(call)
	one := func(v *value) []*value {
		v.expr, v.end = call, call.End()
		return []*value{v}
	}
	switch name {
	case "append":
		args := l.args(call)
		v := l.emit(opAppend, t, call.Pos(), args...)
		if call.Ellipsis.IsValid() {
			v.note = "spread"
		}
		return one(v)
	case "copy":
		args := l.args(call)
		if len(args) == 2 {
			if s, ok := l.p.typeOf(call.Args[0]).Underlying().(*types.Slice); ok && !plain(s.Elem()) {
				st := l.emit(opStore, nil, call.Pos(), args[1], args[0])
				st.note = "copied into a slice"
			}
		}
		return one(l.emit(opElem, t, call.Pos(), args...))
	case "len", "cap":
		l.expr(call.Args[0])
		return one(l.emit(opUnknown, t, call.Pos()))
	case "new":
		el := deref(t)
		if l.p.splits(el) {
			r := l.newRoot(nil, "new", el)
			l.writeRoot(r, l.nilValue(el, call.Pos()), call.Pos())
			return one(l.addr(r, nil, t, call.Pos()))
		}
		if tv := l.p.info.Types[call.Args[0]]; !tv.IsType() { // new(expr)
			return one(l.emit(opPack, t, call.Pos(), l.expr(call.Args[0])))
		}
		v := l.emit(opPack, t, call.Pos())
		v.note = "new"
		return one(v)
	case "make":
		for _, a := range call.Args[1:] {
			l.expr(a)
		}
		v := l.emit(opPack, t, call.Pos())
		v.note = "make"
		return one(v)
	case "panic":
		v := l.expr(call.Args[0])
		if l.splice != nil && l.cur != nil {
			// No statement can be put in front of it here: like a call that
			// may panic, it ends the path and gets nothing.
			l.cur.noreturn = true
			l.cur = nil
			return nil
		}
		was := l.panicking
		l.panicking = true
		l.runDefers(call.Pos())
		l.panicking = was
		if l.cur != nil {
			l.emit(opPanic, nil, call.Pos(), v)
			l.cur = nil
		}
		return nil
	case "recover":
		if l.deferring != nil && !l.panicking {
			return one(l.nilValue(t, call.Pos())) // the function returns: there is no panic
		}
		return one(l.emit(opUnknown, t, call.Pos()))
	case "delete":
		args := l.args(call)
		v := l.emit(opUse, nil, call.Pos(), args...)
		v.note = "delete"
		return nil
	case "clear", "close", "print", "println":
		v := l.emit(opUse, nil, call.Pos(), l.args(call)...)
		v.note = name
		return nil
	case "unsafe.Slice", "unsafe.SliceData", "unsafe.Add", "unsafe.String", "unsafe.StringData":
		args := l.args(call)
		v := l.emit(opPart, t, call.Pos(), args[0])
		v.note = name
		return one(v)
	}
	return one(l.emit(opPure, t, call.Pos(), l.args(call)...))
}

// Function literals.

// closure emits the value of a literal that is called later.
func (l *lower) closure(lit *ast.FuncLit, t types.Type) *value {
	v := l.emit(opClosure, t, lit.Pos())
	v.lit = lit
	l.capture(v)
	return v
}

// capture notes which variables a literal mentions and what they hold now.
func (l *lower) capture(v *value) {
	seen := map[*root]bool{}
	ast.Inspect(v.lit.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o, ok := l.p.info.Uses[id].(*types.Var)
		if !ok || o.IsField() || (o.Pos() >= v.lit.Pos() && o.Pos() < v.lit.End()) {
			return true
		}
		r := l.root(o)
		if r == nil || seen[r] {
			return true
		}
		seen[r] = true
		v.captures = append(v.captures, r)
		for _, p := range r.leaves {
			v.args = append(v.args, l.readPlace(p))
			// A pointer to a followed object captures the object's contents.
			if pr, _, ok := l.pointee(v.args[len(v.args)-1]); ok && !seen[pr] {
				seen[pr] = true
				v.captures = append(v.captures, pr)
				for _, p := range pr.leaves {
					v.args = append(v.args, l.readPlace(p))
				}
			}
		}
		return true
	})
}

func (l *lower) canSplice(lit *ast.FuncLit) bool {
	depth := 0
	for s := l.splice; s != nil; s = s.up {
		if s.lit == lit {
			return false // recursion
		}
		depth++
	}
	return depth < maxDepth && l.splices < maxSplice && !hasGoto(lit.Body) && !l.p.recovers(lit.Body)
}

// spliceBody lowers the body of lit here, with its parameters set to args; it
// returns its results.
func (l *lower) spliceBody(lit *ast.FuncLit, args []*value, pos token.Pos) []*value {
	l.splices++
	l.spliced[lit]++
	direct := l.direct
	l.direct = false
	sig, _ := l.p.typeOf(lit).(*types.Signature)
	if sig == nil {
		l.f.declined = "function literal without a type"
		return nil
	}
	s := &splice{up: l.splice, lit: lit, sig: sig, exit: l.block("literal.exit"), direct: direct}
	for i := range sig.Results().Len() {
		t := sig.Results().At(i).Type()
		s.results = append(s.results, &place{root: &root{name: "result", typ: t}, typ: t})
	}
	saveT, saveD, saveF, saveL := l.targets, l.defers, l.fallto, l.labels
	l.targets, l.defers, l.fallto, l.labels = nil, nil, nil, map[types.Object]*labelTarget{}
	l.splice = s
	np := sig.Params().Len()
	for i := range np {
		v := sig.Params().At(i)
		var x *value
		switch {
		case i < len(args) && !(sig.Variadic() && i == np-1):
			x = args[i]
		case sig.Variadic() && i == np-1 && len(args) >= np:
			x = l.emit(opPack, v.Type(), pos, args[np-1:]...)
			x.note = "literal"
		default:
			x = l.emit(opUnknown, v.Type(), pos)
		}
		if v.Name() != "" && v.Name() != "_" {
			l.writeRoot(l.declareAgain(v), x, v.Pos())
		}
	}
	for i := range sig.Results().Len() {
		if v := sig.Results().At(i); v.Name() != "" && v.Name() != "_" {
			l.writeRoot(l.declareAgain(v), l.nilValue(v.Type(), pos), v.Pos())
		}
	}
	l.stmtList(lit.Body, lit.Body.List, lit.Body.Lbrace+1)
	if l.cur != nil {
		l.ret(nil, lit.Body.Rbrace)
	}
	l.sealAndStart(s.exit)
	if len(s.exit.preds) == 0 {
		l.cur = nil
	} else {
		l.runDefers(pos)
	}
	l.targets, l.fallto, l.labels = saveT, saveF, saveL
	l.defers = saveD
	l.splice = s.up
	var res []*value
	for _, p := range s.results {
		res = append(res, l.readPlace(p))
	}
	return res
}

// spliceLent splices the bodies of literals among the arguments that the
// callee only calls: they run any number of times during the call.
func (l *lower) spliceLent(call *value, args []*value) {
	for i, a := range call.args {
		pi := call.call.params[i]
		if pi < -1 {
			continue
		}
		v := a.find()
		for v.op == opCopy {
			v = v.args[0].find()
		}
		if v.op != opClosure || !l.canSplice(v.lit) {
			continue
		}
		if e := call.call.sum.arg(pi); !e.borrow() || call.call.sum.returned(pi) {
			continue // it may run after the call
		}
		v.spliced = true
		call.args[i] = l.emit(opUnknown, v.typ, v.pos) // lent, not kept
		sig, _ := l.p.typeOf(v.lit).(*types.Signature)
		var params []*value
		if sig != nil {
			for k := range sig.Params().Len() {
				t := sig.Params().At(k).Type()
				var of []*value
				for _, o := range args {
					if o.find() != v && !plain(o.find().typ0()) {
						of = append(of, o)
					}
				}
				if call.call.params[0] == -1 {
					of = append(of, call.args[0])
				}
				x := l.emit(opPart, t, v.pos, of...)
				if len(of) == 0 || plain(t) {
					x.op = opUnknown
					x.args = nil
				}
				x.note = "lent to the literal"
				params = append(params, x)
			}
		}
		head, body, done := l.block("lent.head"), l.block("lent.body"), l.block("lent.done")
		l.jump(head)
		l.start(head)
		l.depth++
		l.either(body, done)
		l.sealAndStart(body)
		l.spliceBody(v.lit, params, v.pos)
		l.jump(head)
		l.f.seal(head)
		l.depth--
		l.sealAndStart(done)
	}
}

func (v *value) typ0() types.Type {
	if v.typ == nil {
		return types.Typ[types.Invalid]
	}
	return v.typ
}

func (l *lower) goStmt(s *ast.GoStmt) {
	if b := l.builtin(s.Call); b != "" {
		l.emit(opUse, nil, s.Pos(), l.args(s.Call)...)
		return
	}
	c := l.callee(s.Call)
	args := l.args(s.Call)
	if c.lit != nil && l.canSplice(c.lit) {
		if g := l.doneGroup(c.lit); g != nil {
			if c.val != nil {
				c.val.spliced = true
			}
			l.joined(c.lit, args, g, s.Pos())
			return
		}
	}
	v := l.finishCall(s.Call, c, args, "go")
	if len(v) == 1 {
		v[0].op = opGo
		v[0].pos = s.Pos()
	}
}

func (l *lower) deferStmt(s *ast.DeferStmt) {
	if b := l.builtin(s.Call); b != "" {
		l.emit(opUse, nil, s.Pos(), l.args(s.Call)...)
		return
	}
	c := l.callee(s.Call)
	args := l.args(s.Call)
	d := &deferred{stmt: s, reg: &place{root: &root{name: "defer"}, typ: types.Typ[types.Bool]}}
	if c.lit != nil && l.canSplice(c.lit) && !l.looping() {
		d.lit = c.lit
		if c.val != nil {
			c.val.spliced = true
		}
		for _, a := range args {
			p := &place{root: &root{name: "deferred", typ: a.typ0()}, typ: a.typ0()}
			l.f.write(p, l.cur0(), a)
			d.args = append(d.args, p)
		}
		l.register(d)
		return
	}
	if c.lit != nil && l.looping() && l.canSplice(c.lit) {
		// It runs once for each iteration, at the end of the function, on the
		// variables of that iteration.
		if c.val != nil {
			c.val.spliced = true
		}
		l.deferInLoop(d, c.lit, args)
		return
	}
	vs := l.finishCall(s.Call, c, args, "defer")
	if len(vs) != 1 {
		return
	}
	v := vs[0]
	v.pos = s.Pos()
	d.call = v
	for _, a := range v.args {
		r, _, ok := l.pointee(a)
		if !ok {
			continue
		}
		if l.looping() {
			l.exposeds = append(l.exposeds, exposure{r, "its variable's address goes to a call deferred in a loop", s.Pos()})
			continue
		}
		// The call reads the variable when it runs, not now.
		d.late = true
	}
	if d.late {
		for _, a := range v.args {
			p := &place{root: &root{name: "deferred", typ: a.find().typ0()}, typ: a.find().typ0()}
			l.f.write(p, l.cur0(), a)
			d.args = append(d.args, p)
		}
		v.op = opDiscard // its operands are not used yet
		v.args = nil
		l.register(d)
		return
	}
	for i, a := range v.args {
		if plain(a.find().typ0()) || !v.call.sum.arg(v.call.params[i]).borrow() {
			continue // freed or gone from here on: see opDefer
		}
		l.keepFor(d, a)
	}
	if len(d.args) > 0 {
		l.register(d)
	}
}

// keepFor makes a an operand of d, which reads it when it runs. In a loop that is
// the latest one at each exit, through a phi that keeps all of them in use.
func (l *lower) keepFor(d *deferred, a *value) {
	p := &place{root: &root{name: "deferred", typ: a.find().typ0()}, typ: a.find().typ0()}
	l.f.write(p, l.cur0(), a)
	d.args = append(d.args, p)
}

func (l *lower) register(d *deferred) {
	l.f.write(d.reg, l.cur0(), l.constBool(true))
	l.defers = append(l.defers, d)
}

func (l *lower) looping() bool { return l.depth > 0 || l.f.gotos }

// deferInLoop lowers a literal deferred in a loop where it is registered: each
// free in it counts as a deferred free from here on; what it reads is in use until
// the exits.
func (l *lower) deferInLoop(d *deferred, lit *ast.FuncLit, args []*value) {
	pos := d.stmt.Pos()
	first := len(l.f.blocks)
	start, at := l.cur0(), len(l.cur0().instrs)
	done := l.block("defer.done")
	saved := l.defers
	l.defers = nil
	l.spliceBody(lit, args, pos)
	l.defers = saved
	l.jump(done)
	l.sealAndStart(done)
	mark := func(v *value) {
		if v.op == opCall {
			v.call.deferred = true
			v.op = opDefer
			v.pos = pos
		}
	}
	for _, v := range start.instrs[at:] {
		mark(v)
	}
	for _, b := range l.f.blocks[first:] {
		for _, v := range b.instrs {
			mark(v)
		}
	}
	inside := slices.Clone(start.instrs[at:])
	for _, b := range l.f.blocks[first:] {
		inside = append(inside, b.instrs...)
	}
	for _, a := range readBy(inside) {
		l.keepFor(d, a)
	}
	if len(d.args) > 0 {
		l.register(d)
	}
}

// readBy returns the values from outside that the instructions read, in the order in
// which they do. Freeing a value, or testing it for nil, is not reading it.
func readBy(instrs []*value) []*value {
	in := map[*value]bool{}
	for _, v := range instrs {
		in[v] = true
	}
	// What the copies and phis inside stand for.
	var roots func(v *value, seen map[*value]bool) []*value
	roots = func(v *value, seen map[*value]bool) []*value {
		v = v.find()
		if v == nil || seen[v] {
			return nil
		}
		seen[v] = true
		if !in[v] {
			return []*value{v}
		}
		if v.op != opCopy && v.op != opPhi {
			return nil // its own operands are looked at where it stands
		}
		var out []*value
		for _, a := range v.args {
			out = append(out, roots(a, seen)...)
		}
		return out
	}
	var out []*value
	for _, v := range instrs {
		switch v.op {
		case opCopy, opPhi, opSet, opCmp, opNot, opDiscard, opGap:
			continue
		}
		for j, a := range v.args {
			if v.call != nil && v.call.sum != nil && (v.call.params[j] < -1 || !v.call.sum.arg(v.call.params[j]).borrow()) {
				continue // gone from here on: see opDefer
			}
			for _, r := range roots(a, map[*value]bool{}) {
				if !plain(r.typ0()) && r.op != opNil && r.op != opConst && !slices.Contains(out, r) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}
