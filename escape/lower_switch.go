package escape

// Source to flow form: switch, type switch, select.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

func (l *lower) switchStmt(s *ast.SwitchStmt, label types.Object) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	var tag *value
	if s.Tag != nil {
		tag = l.expr(s.Tag)
	}
	done := l.block("switch.done")
	var bodies []*block
	for range s.Body.List {
		bodies = append(bodies, l.block("case"))
	}
	dflt := -1
	for i, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		if cc.List == nil {
			dflt = i
			continue
		}
		for _, e := range cc.List {
			next := l.block("case.next")
			if s.Tag == nil {
				if holds, ok := l.always(e); ok && !holds && len(cc.List) == 1 {
					l.ruledOut(cc)
				} else if ok && holds {
					l.ruledOut(clausesAfter(s.Body, i)...)
				}
				l.cond(e, bodies[i], next)
			} else {
				v := l.expr(e)
				a, v := l.compared(tag, s.Tag, v, e)
				if l.p.uneven(s.Tag, e) {
					l.mayPanic(e.Pos())
				}
				c := l.emit(opCmp, types.Typ[types.Bool], e.Pos(), a, v)
				c.tok = token.EQL
				l.branchOn(c, bodies[i], next)
			}
			l.sealAndStart(next)
		}
	}
	last := l.cur
	if dflt >= 0 {
		l.jump(bodies[dflt])
	} else {
		if last != nil {
			nd := l.block("no.default")
			l.jump(nd)
			l.sealAndStart(nd)
		}
		l.gap(&gap{kind: rewrite.Default, stmt: s, list: s.Body, scope: s.Body.Lbrace}, s.Body.Rbrace)
		l.jump(done)
	}
	l.targets = append(l.targets, target{label: label, brk: done, isSwitch: true})
	for i, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		up := l.fallto
		l.fallto = nil
		if i+1 < len(bodies) {
			l.fallto = bodies[i+1]
		}
		// The block of the next case stays open for fallthrough.
		l.start(bodies[i])
		l.f.seal(bodies[i])
		l.caseBody(cc, cc.Body, cc.Colon+1)
		l.fallto = up
		l.jump(done)
	}
	l.targets = l.targets[:len(l.targets)-1]
	l.sealAndStart(done)
}

// clausesAfter lists the clauses that come after the i-th, and the default, wherever it is.
func clausesAfter(b *ast.BlockStmt, i int) []ast.Node {
	var out []ast.Node
	for j, c := range b.List {
		if j > i || c.(*ast.CaseClause).List == nil {
			out = append(out, c)
		}
	}
	return out
}

// caseBody lowers the statements of a clause; fallthrough must stay last.
func (l *lower) caseBody(list ast.Node, stmts []ast.Stmt, head token.Pos) {
	l.stmtList(list, stmts, head)
}

func (l *lower) typeSwitch(s *ast.TypeSwitchStmt, label types.Object) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	var x *value
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = l.expr(a.X.(*ast.TypeAssertExpr).X)
	case *ast.AssignStmt:
		x = l.expr(ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr).X)
	}
	done := l.block("switch.done")
	l.targets = append(l.targets, target{label: label, brk: done, isSwitch: true})
	hasDefault := false
	var dfl *ast.CaseClause
	clause := func(cc *ast.CaseClause) {
		if v, ok := l.p.info.Implicits[cc].(*types.Var); ok {
			c := l.emit(opCopy, v.Type(), cc.Pos(), x)
			l.writeRoot(l.declareAgain(v), c, cc.Pos())
		}
		l.stmtList(cc, cc.Body, cc.Colon+1)
		l.jump(done)
	}
	concrete := concreteType(x)
	for i, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		if cc.List == nil {
			hasDefault, dfl = true, cc
			continue
		}
		body, next := l.block("case"), l.block("case.next")
		switch l.matches(concrete, cc.List) {
		case yes:
			l.ruledOut(clausesAfter(s.Body, i)...)
			l.jump(body)
		case no:
			l.ruledOut(cc)
			l.jump(next)
		default:
			l.either(body, next)
		}
		l.sealAndStart(body)
		clause(cc)
		l.sealAndStart(next)
	}
	if hasDefault {
		clause(dfl)
	} else {
		l.gap(&gap{kind: rewrite.Default, stmt: s, list: s.Body, scope: s.Body.Lbrace}, s.Body.Rbrace)
		l.jump(done)
	}
	l.targets = l.targets[:len(l.targets)-1]
	l.sealAndStart(done)
}

// concreteType returns the type of what is in the interface v, nil if unknown.
func concreteType(v *value) types.Type {
	for v.op == opCopy && v.from == nil && v.typ != nil && types.IsInterface(v.typ) {
		v = v.args[0].find()
	}
	if v.op == opNil || v.typ == nil || types.IsInterface(v.typ) {
		return nil
	}
	return v.typ
}

// matches decides whether a value of type t takes a case with these types.
func (l *lower) matches(t types.Type, list []ast.Expr) tri {
	if t == nil || !l.p.isResource(t) {
		return unknown
	}
	for _, e := range list {
		c := l.p.typeOf(e)
		if l.p.info.Types[e].IsNil() {
			continue
		}
		if _, ok := types.Unalias(c).(*types.TypeParam); ok {
			return unknown
		}
		if types.Identical(c, t) {
			return yes
		}
		if i, ok := c.Underlying().(*types.Interface); ok && types.Implements(t, i) {
			return yes
		}
	}
	return no
}

func (l *lower) selectStmt(s *ast.SelectStmt, label types.Object) {
	done := l.block("select.done")
	if len(s.Body.List) == 0 {
		if l.cur != nil {
			l.cur.noreturn = true
		}
		l.cur = nil
		l.sealAndStart(done)
		l.cur = nil
		return
	}
	// Operands are evaluated once, before any case is taken.
	type comm struct{ ch, val *value }
	comms := make([]comm, len(s.Body.List))
	for i, c := range s.Body.List {
		switch a := c.(*ast.CommClause).Comm.(type) {
		case *ast.SendStmt:
			comms[i] = comm{l.expr(a.Chan), l.expr(a.Value)}
		case *ast.ExprStmt:
			comms[i].ch = l.expr(ast.Unparen(a.X).(*ast.UnaryExpr).X)
		case *ast.AssignStmt:
			comms[i].ch = l.expr(ast.Unparen(a.Rhs[0]).(*ast.UnaryExpr).X)
		}
	}
	l.targets = append(l.targets, target{label: label, brk: done, isSwitch: true})
	for i, c := range s.Body.List {
		cc := c.(*ast.CommClause)
		body := l.block("comm")
		var next *block
		if i+1 < len(s.Body.List) {
			next = l.block("comm.next")
			l.either(body, next)
		} else {
			l.jump(body)
		}
		l.sealAndStart(body)
		switch a := cc.Comm.(type) {
		case *ast.SendStmt:
			l.mayPanic(a.Arrow)
			l.emit(opSend, nil, a.Arrow, comms[i].val, comms[i].ch)
		case *ast.ExprStmt:
			l.emit(opRecv, l.p.typeOf(a.X), a.Pos(), comms[i].ch)
		case *ast.AssignStmt:
			v := l.emit(opRecv, l.p.typeOf(a.Rhs[0]), a.Pos(), comms[i].ch)
			ok := l.emit(opUnknown, types.Typ[types.Bool], a.Pos())
			vals := []*value{v, ok}
			l.defineAll(a.Lhs, vals, a.Tok)
		}
		l.stmtList(cc, cc.Body, cc.Colon+1)
		l.jump(done)
		if next != nil {
			l.sealAndStart(next)
		}
	}
	l.targets = l.targets[:len(l.targets)-1]
	l.sealAndStart(done)
}
