package escape

// Source to flow form: returns, and the deferred calls that run there.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

func (l *lower) returnStmt(s *ast.ReturnStmt) {
	l.ret(s, s.Pos())
}

// ret lowers a return, written (s) or at the end of the body.
func (l *lower) ret(s *ast.ReturnStmt, pos token.Pos) {
	sig := l.f.sig
	if l.splice != nil {
		sig = l.splice.sig
	}
	n := sig.Results().Len()
	named := n > 0 && sig.Results().At(0).Name() != ""
	var vals []*value
	if s != nil && len(s.Results) > 0 {
		if len(s.Results) == 1 && n > 1 {
			vals = l.tuple(s.Results[0], n)
		} else {
			for _, e := range s.Results {
				vals = append(vals, l.expr(e))
			}
		}
	}
	if l.splice != nil {
		if named && vals == nil {
			for i := range n {
				vals = append(vals, l.readResult(sig.Results().At(i), pos))
			}
		}
		l.leave(0, pos)
		for i, v := range vals {
			if i < len(l.splice.results) {
				l.f.write(l.splice.results[i], l.cur0(), l.box(v, l.splice.results[i].typ, pos))
			}
		}
		l.jump(l.splice.exit)
		return
	}
	if s != nil && len(s.Results) > 0 {
		// Before the named results are given: what is written there stands in
		// front of the return.
		g := l.emit(opGap, nil, pos)
		g.gap = &gap{kind: rewrite.Return, stmt: s, scope: s.Pos()}
	}
	if named && vals != nil {
		for i, v := range vals {
			if r := sig.Results().At(i); r.Name() != "_" {
				l.writeRoot(l.declareAgain(r), v, pos)
			}
		}
	}
	if l.cur == nil {
		return
	}
	l.leave(0, pos)
	l.runDefers(pos)
	l.unjoined(pos)
	if l.cur == nil {
		return
	}
	if named && (vals == nil || len(l.defers) > 0) {
		given := vals
		vals = nil
		for i := range n {
			r := sig.Results().At(i)
			if r.Name() == "_" && given != nil {
				vals = append(vals, given[i]) // deferred code cannot reach it
				continue
			}
			vals = append(vals, l.readResult(r, pos))
		}
	}
	for i, v := range vals {
		if i < n {
			vals[i] = l.box(l.renewed(v, pos), sig.Results().At(i).Type(), pos)
		}
	}
	r := l.emit(opReturn, nil, pos, vals...)
	l.f.exits = append(l.f.exits, r)
	l.cur = nil
}

func (l *lower) cur0() *block {
	if l.cur == nil {
		l.cur = l.f.newBlock("dead")
		l.cur.sealed = true
	}
	return l.cur
}

func (l *lower) readResult(v *types.Var, pos token.Pos) *value {
	if v.Name() == "_" || v.Name() == "" {
		return l.nilValue(v.Type(), pos)
	}
	return l.readRoot(l.declareAgain(v), pos)
}

// runDefers runs, last first, what was registered.
func (l *lower) runDefers(pos token.Pos) {
	armed := l.armed
	defer func() { l.armed = armed }()
	for i := len(l.defers) - 1; i >= 0; i-- {
		d := l.defers[i]
		l.armed = armed[: len(armed)-len(l.defers)+i : len(armed)-len(l.defers)+i]
		reg := l.readPlace(d.reg).find()
		if reg.op == opNil {
			continue // not registered on this path
		}
		var done *block
		if !(reg.op == opConst && reg.index == 1) {
			run := l.block("defer.run")
			done = l.block("defer.done")
			l.branchOn(reg, run, done)
			l.sealAndStart(run)
		}
		was := l.deferring
		if was == nil {
			l.deferring = d.stmt
		}
		var args []*value
		for _, p := range d.args {
			args = append(args, l.readPlace(p))
		}
		if d.lit != nil {
			saved := l.defers
			l.defers = nil
			l.spliceBody(d.lit, args, pos)
			l.defers = saved
		} else if d.late {
			c := l.f.newValue(opCall, nil)
			c.pos, c.end, c.expr, c.fn = pos, pos, d.call.expr, d.call.fn
			ci := *d.call.call
			ci.deferred = false
			ci.results, ci.errRes, ci.okRes = nil, nil, nil
			c.call = &ci
			for _, a := range args {
				if r, path, ok := l.pointee(a); ok {
					a = l.addr(r, path, a.typ, pos)
				}
				c.args = append(c.args, a)
			}
			l.mayPanic(pos)
			l.add(c)
			l.afterCall(c)
			if call, ok := c.expr.(*ast.CallExpr); ok {
				if g := l.waitGroup(call, "Wait"); g != nil {
					l.wait(g, pos)
				}
			}
		} else {
			l.mayPanic(pos)
		}
		if d.lit == nil && !d.late && len(args) > 0 {
			u := l.emit(opUse, nil, d.stmt.Pos(), args...)
			u.note.Kind = report.Deferred
		}
		l.deferring = was
		if done != nil {
			l.jump(done)
			l.sealAndStart(done)
		}
		if l.cur == nil {
			return
		}
	}
}
