package escape

// Source to flow form: calls, and what they do to variables whose address they get.

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
)

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
	if g := l.waitGroup(call, "Add"); g != nil {
		l.added[g] = true
	}
	return res
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
		l.direct, l.named = c.val == nil, c.val != nil // which may be called again tomorrow
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
	case c.sum != nil:
		ci.sum, ci.name = c.sum, c.name
	default:
		ci.sum = worst(sig, "what it calls is not known here")
		ci.name = "the function value " + shown(call.Fun)
		if c.lit != nil {
			ci.name = "a function literal"
		}
	}
	np := sig.Params().Len()
	if c.recv != nil {
		c.recv = l.renewed(c.recv, call.Pos())
	}
	for i, a := range args {
		args[i] = l.renewed(a, call.Pos())
	}
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
		l.mayPanic(call.Pos())
		l.spliceLent(v, args)
		l.mayPanic(call.Pos())
	}
	to := l.replays(v)
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
		if l.p.plain(rt) && v.fn != nil && !l.p.plain(v.fn.Origin().Signature().Results().At(i).Type()) {
			ci.sum = ci.sum.number(i)
		}
		if i == sig.Results().Len()-1 && isError(rt) {
			ci.errRes = r
		}
		if i == sig.Results().Len()-1 && slices.ContainsFunc(ci.sum.Res, func(e ResEffect) bool { return e.Flagged }) {
			ci.okRes = r
		}
	}
	l.afterCall(v)
	l.replay(v, to)
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
			x = l.part(r, p.typ, r.pos, report.Note{Kind: report.Field, Name: strings.TrimPrefix(p.name, ".")}, false)
		}
		l.writePlace(p, x, r.pos)
	}
	if !isPointer(r.typ) {
		return l.readRoot(root, r.pos)
	}
	root.result = l.addr(root, nil, r.typ, r.pos)
	return root.result
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
			l.changed(r, path, call.pos)
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
			l.writePlace(p, x, call.pos)
		}
	}
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return t != nil && types.Identical(t, errorType) }

func (v *value) typ0() types.Type {
	if v.typ == nil {
		return types.Typ[types.Invalid]
	}
	return v.typ
}
