package escape

// Source to flow form: what deferred code would read if something panicked now.
//
// Deferred calls are lowered where a function returns and where it panics by a
// statement. A call, an index or a division may panic as well, and then deferred
// code runs on what the variables hold at that point: not what they hold at the
// returns, and by other branches, as the flag that says "all went well" is not set
// yet. There is no edge for each of these points; instead, an opHold in front of
// each names what deferred code would read, so that it is in use until nothing
// can panic any more, or until its variable holds something else.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// What deferred code does to the content of a variable.
type touching uint8

const (
	touchNone  touching = iota // overwrites it
	touchNames                 // frees it where that may be repeated, or compares it
	touchFrees                 // frees it, and a second free would be an error
	touchReads
)

// A held variable, or an operand kept for the call.
type held struct {
	root  *root  // a variable that the call mentions or points to
	place *place // or an operand
	how   touching
	under []flagTest // only where these are what it wants
}

// heldBy lists what the deferred call d would touch. If it recovers, the function
// returns what its named results hold then.
func (l *lower) heldBy(d *deferred) []held {
	var out []held
	if l.splice == nil && l.p.mayRecover(d.stmt.Call) {
		for i := range l.f.sig.Results().Len() {
			if r := l.f.sig.Results().At(i); r.Name() != "" && r.Name() != "_" && !l.p.isNumber(r.Type()) {
				out = append(out, held{root: l.declareAgain(r), how: touchReads})
			}
		}
	}
	switch {
	case d.lit != nil:
		for i, p := range d.args {
			if how := l.p.parameter(d.lit, i); how != touchNone {
				out = append(out, held{place: p, how: how})
			}
		}
		return append(out, l.heldByLiteral(d.lit, map[*ast.FuncLit]bool{})...)
	case d.late: // the operands have been read
		for i, p := range d.args {
			ci := d.call.call
			if how := touchOf(ci.sum, ci.sum.arg(ci.params[i])); ci.params[i] < -1 {
				out = append(out, held{place: p, how: touchReads})
			} else if how > touchNames {
				out = append(out, held{place: p, how: how})
			}
		}
	default:
		for _, p := range d.args {
			out = append(out, held{place: p, how: touchReads})
		}
	}
	return out
}

// touchOf says what a call with summary s does to an operand with effect e.
func touchOf(s *Summary, e ArgEffect) touching {
	switch {
	case e.Freed.K != Always:
		return touchReads
	case e.Repeatable && s.Decided:
		return touchNames
	}
	return touchFrees
}

// heldByLiteral lists the variables from outside that lit mentions, and what it does to each.
func (l *lower) heldByLiteral(lit *ast.FuncLit, seen map[*ast.FuncLit]bool) []held {
	if seen[lit] {
		return nil
	}
	seen[lit] = true
	var out []held
	add := func(h held) {
		for i := range out {
			if out[i].root == h.root && slices.Equal(out[i].under, h.under) {
				out[i].how = max(out[i].how, h.how)
				return
			}
		}
		out = append(out, h)
	}
	inspectPath(lit.Body, func(path []ast.Node) {
		id, ok := path[len(path)-1].(*ast.Ident)
		if !ok {
			return
		}
		o, ok := l.p.info.Uses[id].(*types.Var)
		if !ok || o.IsField() || l.p.isNumber(o.Type()) || o.Pos() >= lit.Pos() && o.Pos() < lit.End() {
			return
		}
		if c := l.lits[o]; c != nil { // a literal with a name
			for _, h := range l.heldByLiteral(c.lit, seen) {
				h.under = append(l.flagsAround(lit, path), h.under...)
				add(h)
			}
			return
		}
		if r := l.root(o); r != nil {
			if how := l.p.mention(path); how != touchNone {
				add(held{root: r, how: how, under: l.flagsAround(lit, path)})
			}
		}
	})
	return out
}

// mention says what happens to the variable whose identifier ends path.
func (p *pkg) mention(path []ast.Node) touching {
	cur := path[len(path)-1]
	for i := len(path) - 2; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.ParenExpr, *ast.StarExpr:
		case *ast.UnaryExpr:
			if n.Op != token.AND {
				return touchReads
			}
		case *ast.SelectorExpr:
			sel := p.info.Selections[n]
			if sel == nil {
				return touchReads
			}
			if sel.Kind() == types.FieldVal {
				break
			}
			if call, ok := path[max(i-1, 0)].(*ast.CallExpr); ok && call.Fun == ast.Expr(n) && sel.Kind() == types.MethodVal {
				s := p.summaryOf(sel.Obj().(*types.Func).Origin())
				return touchOf(s, s.arg(-1))
			}
			return touchReads
		case *ast.IndexExpr:
			if n.X != cur {
				return touchReads
			}
		case *ast.CallExpr:
			return p.passed(n, cur)
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (p.info.Types[n.X].IsNil() || p.info.Types[n.Y].IsNil()) {
				return touchNames
			}
			return touchReads
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return e == cur }) {
				return touchNone
			}
			return touchReads
		case *ast.RangeStmt:
			if n.X != cur {
				return touchReads
			}
			return p.ranged(n)
		default:
			return touchReads
		}
		cur = path[i]
	}
	return touchReads
}

// passed says what call does to its operand arg.
func (p *pkg) passed(call *ast.CallExpr, arg ast.Node) touching {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := p.info.Uses[id].(*types.Builtin); ok && (b.Name() == "len" || b.Name() == "cap") {
			return touchNames
		}
	}
	f := p.called(call)
	i := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return e == arg })
	if f == nil || i < 0 {
		return touchReads
	}
	n := f.Signature().Params().Len()
	if n == 0 || f.Signature().Variadic() && i >= n-1 {
		return touchReads
	}
	s := p.summaryOf(f.Origin())
	return touchOf(s, s.arg(i))
}

// ranged says what a loop does to the elements of what it ranges over.
func (p *pkg) ranged(s *ast.RangeStmt) touching {
	id, ok := s.Value.(*ast.Ident)
	if !ok || id.Name == "_" {
		if s.Value == nil {
			return touchNone // elements by index are mentioned by themselves
		}
		return touchReads
	}
	v := p.info.Defs[id]
	if v == nil {
		return touchReads
	}
	return p.mentioned(s.Body, v)
}

// parameter says what a literal does to its i-th parameter.
func (p *pkg) parameter(lit *ast.FuncLit, i int) touching {
	sig, _ := p.typeOf(lit).(*types.Signature)
	if sig == nil || i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return touchReads
	}
	return p.mentioned(lit.Body, sig.Params().At(i))
}

// mentioned says what happens to v below n.
func (p *pkg) mentioned(n ast.Node, v types.Object) touching {
	how := touchNone
	inspectPath(n, func(path []ast.Node) {
		if use, ok := path[len(path)-1].(*ast.Ident); ok && p.info.Uses[use] == v {
			how = max(how, p.mention(path))
		}
	})
	return how
}

// mayPanic stands in front of what may panic.
func (l *lower) mayPanic(pos token.Pos) {
	if len(l.armed) == 0 || l.cur == nil {
		return
	}
	if l.heldAt == l.cur && l.heldLen == len(l.cur.instrs) && l.heldFor == len(l.armed) {
		return // nothing happened since
	}
	for _, d := range l.armed {
		if len(d.held) == 0 || l.readPlace(d.reg).find().op == opNil {
			continue
		}
		for at := 0; at < len(d.held); {
			// Those under the same flags, in one go.
			to := at + 1
			for to < len(d.held) && slices.Equal(d.held[at].under, d.held[to].under) {
				to++
			}
			l.holdAll(d, d.held[at:to], pos)
			at = to
		}
	}
	if l.cur != nil {
		l.heldAt, l.heldLen, l.heldFor = l.cur, len(l.cur.instrs), len(l.armed)
	}
}

// holdAll emits what the deferred call d would read and free of hs, which are under the
// same flags.
func (l *lower) holdAll(d *deferred, hs []held, pos token.Pos) {
	var reads, frees, names []*value
	seen := map[*root]bool{}
	for _, h := range hs {
		to := &reads
		switch h.how {
		case touchFrees:
			to = &frees
		case touchNames:
			to = &names
		}
		if h.place != nil {
			l.hold(to, l.readPlace(h.place), seen)
		} else {
			l.holdRoot(to, h.root, seen)
		}
	}
	if len(reads)+len(frees)+len(names) == 0 {
		return
	}
	var flags []*value
	var wants []bool
	if reg := l.readPlace(d.reg).find(); reg.op == opPhi { // not registered on all paths
		flags, wants = append(flags, reg), append(wants, true)
	}
	for _, f := range hs[0].under {
		if v := l.flagNow(f); v != nil {
			flags, wants = append(flags, v), append(wants, f.want)
		}
	}
	for _, x := range []struct {
		vals []*value
		kind report.Kind
	}{{reads, report.HeldReads}, {frees, report.HeldFrees}, {names, report.HeldNames}} {
		if len(x.vals) > 0 {
			v := l.emit(opHold, nil, pos, append(x.vals, flags...)...)
			v.note.Kind, v.deferred, v.wants, v.under = x.kind, d.stmt, wants, hs[0].under
		}
	}
}

// hold adds v and what it leads to.
func (l *lower) hold(to *[]*value, v *value, seen map[*root]bool) {
	v = v.find()
	if v.op == opNil || v.op == opConst || l.p.isNumber(v.typ0()) {
		return
	}
	if !slices.Contains(*to, v) {
		*to = append(*to, v)
	}
	if r, _, ok := l.pointee(v); ok {
		l.holdRoot(to, r, seen)
	}
	for _, r := range v.captures {
		l.holdRoot(to, r, seen)
	}
}

// holdRoot adds what variable r holds now.
func (l *lower) holdRoot(to *[]*value, r *root, seen map[*root]bool) {
	if seen[r] {
		return
	}
	seen[r] = true
	for _, p := range r.leaves {
		if !l.p.isNumber(p.typ) {
			l.hold(to, l.readPlace(p), seen)
		}
	}
}

// panics reports whether evaluating e itself, beside its operands and what it calls,
// may panic.
func (l *lower) panics(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
		return true
	case *ast.SelectorExpr:
		s := l.p.info.Selections[x]
		return s != nil && (s.Indirect() || isPointer(l.p.typeOf(x.X)) || types.IsInterface(l.p.typeOf(x.X)))
	case *ast.UnaryExpr:
		return x.Op == token.AND
	case *ast.BinaryExpr:
		switch x.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			return true
		case token.EQL, token.NEQ:
			return l.p.uneven(x.X, x.Y)
		}
	}
	return false
}

// reassigned exposes the variables that a literal deferred in a loop mentions and that
// are assigned more than once: which content it will read is not known where it is
// registered.
func (l *lower) reassigned() {
	if len(l.inLoops) == 0 {
		return
	}
	first, again := map[*place]token.Pos{}, map[*place]bool{}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			if v.op != opSet {
				continue
			}
			if pos, ok := first[v.place]; !ok {
				first[v.place] = v.pos
			} else if pos != v.pos {
				again[v.place] = true
			}
		}
	}
	for _, x := range l.inLoops {
		for _, p := range x.r.leaves {
			if again[p] {
				l.exposeds = append(l.exposeds, x)
				break
			}
		}
	}
}
