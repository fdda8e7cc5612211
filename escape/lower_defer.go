package escape

// Source to flow form: go and defer statements.

import (
	"go/ast"
	"go/types"
	"slices"
)

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
		if b != "print" && b != "println" && b != "recover" {
			l.bystander(s)
		}
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
		if ci := v.call; ci != nil && slices.Contains(v.args, a) {
			if i := slices.Index(v.args, a); touchOf(ci.sum, ci.sum.arg(ci.params[i])) == touchFrees {
				l.inLoops = append(l.inLoops, exposure{r, "assigned again, and cleaned up by a deferred call", s.Pos()})
			}
		}
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
		if l.p.isNumber(a.find().typ0()) || !v.call.sum.arg(v.call.params[i]).borrow() {
			continue // freed or gone from here on: see opDefer
		}
		l.keepFor(d, a)
	}
	if len(d.args) > 0 {
		l.register(d)
	} else if !harmless(v, l.p.typeOf(s.Call.Fun)) {
		l.bystander(s)
	}
}

// bystander registers a deferred call that needs no buffer: it may panic when it runs,
// and then what was deferred before it runs because of a panic. Or it recovers.
func (l *lower) bystander(s *ast.DeferStmt) {
	d := &deferred{stmt: s, reg: &place{root: &root{name: "defer"}, typ: types.Typ[types.Bool]}}
	if len(l.heldBy(d)) > 0 || slices.ContainsFunc(l.armed, func(d *deferred) bool { return len(d.held) > 0 }) {
		l.register(d)
	}
}

// harmless reports whether the deferred call v of a function of type t is known not to
// panic, or to end the process if it goes wrong.
func harmless(v *value, t types.Type) bool {
	if v.fn == nil {
		n, ok := types.Unalias(t).(*types.Named)
		return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "context" && n.Obj().Name() == "CancelFunc"
	}
	switch v.fn.FullName() {
	case "(*sync.Mutex).Unlock", "(*sync.RWMutex).Unlock", "(*sync.RWMutex).RUnlock":
		return true
	}
	return len(v.call.params) == 1 && v.call.sum.Decided && v.call.sum.arg(v.call.params[0]).Freed.K == Always
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
	d.held = grouped(l.heldBy(d))
	l.armed = append(l.armed, d)
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
	saved, armed := l.defers, l.armed
	l.defers, l.armed = nil, nil
	l.spliceBody(lit, args, pos)
	l.defers, l.armed = saved, armed
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
	for _, a := range l.p.readBy(inside) {
		l.keepFor(d, a)
	}
	for _, h := range l.heldByLiteral(lit, map[*ast.FuncLit]bool{}) {
		l.inLoops = append(l.inLoops, exposure{h.root, "assigned again, and read by a call deferred in a loop", pos})
	}
	if len(d.args) > 0 {
		l.register(d)
	}
}

// readBy returns the values from outside that the instructions read, in the order in
// which they do. Freeing a value, or testing it for nil, is not reading it.
func (p *pkg) readBy(instrs []*value) []*value {
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
		case opCopy, opPhi, opSet, opCmp, opNot, opDiscard, opGap, opHold:
			continue
		}
		for j, a := range v.args {
			if v.call != nil && v.call.sum != nil && (v.call.params[j] < -1 || !v.call.sum.arg(v.call.params[j]).borrow()) {
				continue // gone from here on: see opDefer
			}
			for _, r := range roots(a, map[*value]bool{}) {
				if !p.isNumber(r.typ0()) && r.op != opNil && r.op != opConst && !slices.Contains(out, r) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}
