package escape

// Source to flow form: function literals, which stand in their caller's blocks where
// they are called in place or lent to a function that only calls them.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

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
	for _, o := range l.p.vars().Outer(v.lit) {
		r := l.root(o)
		if r == nil || seen[r] {
			continue
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
	}
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
	direct, named := l.direct, l.named
	l.direct, l.named = false, false
	sig, _ := l.p.typeOf(lit).(*types.Signature)
	if sig == nil {
		l.f.declined = "function literal without a type"
		return nil
	}
	s := &splice{up: l.splice, lit: lit, sig: sig, exit: l.block("literal.exit"), direct: direct, named: named}
	if d := l.deferring; d != nil && l.splice == nil && ast.Unparen(d.Call.Fun) == lit {
		s.deferred = d
	}
	for i := range sig.Results().Len() {
		t := sig.Results().At(i).Type()
		s.results = append(s.results, &place{root: &root{name: "result", typ: t}, typ: t})
	}
	saveT, saveD, saveF, saveL := l.targets, l.defers, l.fallto, l.labels
	armed := l.armed
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
			x.note.Kind = report.Literal
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
	l.defers, l.armed = saveD, armed
	l.splice = s.up
	var res []*value
	for _, p := range s.results {
		res = append(res, l.renewed(l.readPlace(p), pos))
	}
	return res
}

// lent is the body of a literal that is lent to a function: how often that calls it,
// and whether it does, is not known.
type lent struct {
	up    *lent
	after *value // stands where the function has returned
	round *block // where each call begins, if they come one after the other
}

// lentSince reports whether u stands in the body of a literal that was lent after o
// came into being; it does not where the calls come one after the other and o is what a variable holds
// when one of them begins.
func (o *object) lentSince(u *value) bool {
	if x := u.blk.lent; x != nil && x.round == o.def.blk {
		return false
	}
	for x := u.blk.lent; x != nil; x = x.up {
		if x == o.def.blk.lent {
			return false
		}
	}
	return u.blk.lent != o.def.blk.lent
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
		for v.op == opCopy && v.from == nil {
			v = v.args[0].find()
		}
		if v.op != opClosure || !l.canSplice(v.lit) {
			continue
		}
		if call.call.sum.Recovers && l.p.vars().AssignsOuter(v.lit) {
			continue // it may end anywhere
		}
		if e := call.call.sum.arg(pi); !e.borrow() || call.call.sum.returned(pi) {
			continue // it may run after the call
		}
		if call.call.sum.shows(pi) && l.p.returnsAddress(v) {
			continue // what it returns is returned
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
					if o.find() != v && !l.p.plain(o.find().typ0()) {
						of = append(of, o)
					}
				}
				if call.call.params[0] == -1 {
					of = append(of, call.args[0])
				}
				x := l.emit(opPart, t, v.pos, of...)
				if len(of) == 0 || l.p.plain(t) {
					x.op = opUnknown
					x.args = nil
				}
				x.note.Kind = report.Lent
				params = append(params, x)
			}
		}
		calls := l.callsLent(call, i, v)
		if calls == CallsOnce {
			l.direct = true
			l.spliceLentBody(v, params)
			continue
		}
		head, body, done := l.block("lent.head"), l.block("lent.body"), l.block("lent.done")
		l.jump(head)
		l.start(head)
		l.depth++
		l.either(body, done)
		lent := &lent{up: l.lent}
		l.lent, body.lent = lent, lent
		l.sealAndStart(body)
		if l.direct = calls == CallsInTurn; l.direct {
			lent.round = head
		}
		l.spliceLentBody(v, params)
		l.lent = lent.up
		l.jump(head)
		l.f.seal(head)
		l.depth--
		l.sealAndStart(done)
		lent.after = l.emit(opUnknown, v.typ, v.pos)
	}
}

// spliceLentBody splices the body of the literal v, which is lent with params.
func (l *lower) spliceLentBody(v *value, params []*value) {
	if res := l.spliceBody(v.lit, params, v.pos); l.cur != nil && len(res) > 0 {
		l.emit(opUse, nil, v.pos, res...) // by who calls it
	}
}

// callsLent says how call calls the literal v, its operand i, as far as statements may be put
// into it: it stands there, has no name by which it is called elsewhere, and is the only
// function that the callee is given. If that has the address of a variable as well, it may
// change that before the literal runs or afterwards.
func (l *lower) callsLent(call *value, i int, v *value) Calling {
	if v.lit.Pos() < call.pos || v.lit.End() > call.end {
		return CallsAnyhow
	}
	for j, a := range call.args {
		if _, _, ok := l.pointee(a); j != i && (ok || isFunc(a.find().typ0())) {
			return CallsAnyhow
		}
	}
	return call.call.sum.arg(call.call.params[i]).Calls
}
