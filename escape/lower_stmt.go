package escape

// Source to flow form: branches and loops.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

func (l *lower) labeled(s *ast.LabeledStmt) {
	obj := l.p.info.Defs[s.Label]
	lt := l.label(obj)
	l.jump(lt.blk)
	l.start(lt.blk)
	if !l.f.gotos {
		l.f.seal(lt.blk)
	}
	switch b := s.Stmt.(type) {
	case *ast.ForStmt:
		l.forStmt(b, obj)
	case *ast.RangeStmt:
		l.rangeStmt(b, obj)
	case *ast.SwitchStmt:
		l.switchStmt(b, obj)
	case *ast.TypeSwitchStmt:
		l.typeSwitch(b, obj)
	case *ast.SelectStmt:
		l.selectStmt(b, obj)
	case *ast.BlockStmt, *ast.IfStmt:
		done := l.block("label.done")
		l.targets = append(l.targets, target{label: obj, brk: done, isSwitch: true})
		l.stmt(s.Stmt)
		l.targets = l.targets[:len(l.targets)-1]
		l.jump(done)
		l.sealAndStart(done)
	default:
		l.stmt(s.Stmt)
	}
}

func (l *lower) label(obj types.Object) *labelTarget {
	lt := l.labels[obj]
	if lt == nil {
		lt = &labelTarget{blk: l.block("label")}
		l.labels[obj] = lt
	}
	return lt
}

func (l *lower) branch(s *ast.BranchStmt) {
	var obj types.Object
	if s.Label != nil {
		obj = l.p.info.Uses[s.Label]
	}
	switch s.Tok {
	case token.GOTO:
		if l.splice != nil {
			l.f.declined = "goto in a function literal"
			return
		}
		l.leave(0, s.Pos())
		l.jump(l.label(obj).blk)
	case token.FALLTHROUGH:
		if l.fallto != nil {
			l.jump(l.fallto)
		}
	case token.BREAK, token.CONTINUE:
		for i := len(l.targets) - 1; i >= 0; i-- {
			t := l.targets[i]
			if obj != nil && t.label != obj {
				continue
			}
			if s.Tok == token.CONTINUE {
				if t.cont == nil {
					continue
				}
				l.leave(i+1, s.Pos())
				l.jump(t.cont)
				return
			}
			if obj == nil && t.label != nil && t.cont == nil && !t.isSwitch {
				continue
			}
			if obj == nil && t.isSwitch && t.label != nil && t.cont == nil && t.brk.label == "label.done" {
				continue // an unlabelled break does not leave a labelled block
			}
			l.leave(i, s.Pos())
			l.jump(t.brk)
			return
		}
		l.cur = nil
	}
}

// leave leaves the loops from the i-th target on: a function that is ranged over goes on
// after its body was left, before anything else happens.
func (l *lower) leave(i int, pos token.Pos) {
	for ; i < len(l.targets) && l.cur != nil; i++ {
		if x := l.targets[i].iter; x != nil {
			l.emit(opUse, nil, pos, x)
		}
	}
}

func (l *lower) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	l.branchRuledOut(s)
	then, els, done := l.block("if.then"), l.block("if.else"), l.block("if.done")
	l.cond(s.Cond, then, els)
	l.sealAndStart(then)
	under := l.under
	if l.copying() {
		l.under = l.flagsOf(slices.Clip(under), l.splice.lit, s.Cond, true)
	}
	l.blockStmt(s.Body)
	l.jump(done)
	l.sealAndStart(els)
	if l.copying() {
		l.under = l.flagsOf(slices.Clip(under), l.splice.lit, s.Cond, false)
	}
	switch e := s.Else.(type) {
	case nil:
		l.gap(&gap{kind: rewrite.Else, stmt: s, scope: s.Body.Lbrace}, s.Body.Rbrace)
	case *ast.BlockStmt:
		l.blockStmt(e)
	case *ast.IfStmt:
		l.gap(&gap{kind: rewrite.ElseIf, stmt: e, scope: s.Body.Lbrace}, e.Pos())
		l.ifStmt(e)
	}
	l.under = under
	l.jump(done)
	l.sealAndStart(done)
}

// folded reports whether cond is a constant that holds in every build.
func (l *lower) folded(e ast.Expr) (val, ok bool) {
	tv := l.p.info.Types[e]
	if tv.Value == nil || tv.Value.Kind() != constant.Bool {
		return false, false
	}
	fixed := true
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if c, ok := l.p.info.Uses[id].(*types.Const); ok && c.Pkg() != nil && !l.p.everyBuild(c) {
				fixed = false
			}
		}
		return true
	})
	return constant.BoolVal(tv.Value), fixed
}

// cond lowers a condition to jumps.
func (l *lower) cond(e ast.Expr, t, f *block) {
	if val, ok := l.folded(e); ok {
		if val {
			l.jump(t)
		} else {
			l.jump(f)
		}
		return
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		l.cond(x.X, t, f)
		return
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			l.cond(x.X, f, t)
			return
		}
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND:
			rhs := l.block("and.rhs")
			if holds, ok := l.always(x.X); ok && !holds {
				l.ruledOut(x.Y)
			}
			l.cond(x.X, rhs, f)
			l.sealAndStart(rhs)
			l.cond(x.Y, t, f)
			return
		case token.LOR:
			rhs := l.block("or.rhs")
			if holds, ok := l.always(x.X); ok && holds {
				l.ruledOut(x.Y)
			}
			l.cond(x.X, t, rhs)
			l.sealAndStart(rhs)
			l.cond(x.Y, t, f)
			return
		}
	}
	v := l.expr(e)
	l.branchOn(v, t, f)
}

func (l *lower) branchOn(v *value, t, f *block) {
	if l.cur == nil {
		return
	}
	l.cur.cond = v
	link(l.cur, t)
	link(l.cur, f)
	l.cur = nil
}

// either goes to t or f; nobody knows which.
func (l *lower) either(t, f *block) {
	if l.cur == nil {
		return
	}
	link(l.cur, t)
	link(l.cur, f)
	l.cur = nil
}

func (l *lower) forStmt(s *ast.ForStmt, label types.Object) {
	if s.Init != nil {
		l.stmt(s.Init)
		l.headGap(s)
	}
	l.depth++
	head, body, post := l.block("for.head"), l.block("for.body"), l.block("for.post")
	l.depth--
	done := l.block("for.done")
	l.jump(head)
	l.start(head)
	l.depth++
	if s.Cond != nil {
		if holds, ok := l.always(s.Cond); ok && !holds {
			l.ruledOut(s.Body)
		}
		l.cond(s.Cond, body, done)
	} else {
		l.jump(body)
	}
	l.sealAndStart(body)
	l.targets = append(l.targets, target{label: label, brk: done, cont: post})
	l.blockStmt(s.Body)
	l.targets = l.targets[:len(l.targets)-1]
	l.jump(post)
	l.sealAndStart(post)
	if s.Post != nil {
		l.stmt(s.Post)
	}
	l.jump(head)
	l.f.seal(head)
	l.depth--
	l.sealAndStart(done)
	if len(done.preds) == 0 {
		l.cur = nil
	}
}

func (l *lower) rangeStmt(s *ast.RangeStmt, label types.Object) {
	x := l.expr(s.X)
	xt := l.p.typeOf(s.X)
	_, isFunc := xt.Underlying().(*types.Signature)
	_, isChan := xt.Underlying().(*types.Chan)
	l.mayPanic(s.X.Pos())
	l.emit(opUse, nil, s.X.Pos(), x)
	l.headGap(s)
	l.depth++
	head, body := l.block("range.head"), l.block("range.body")
	l.depth--
	done := l.block("range.done")
	l.jump(head)
	l.start(head)
	l.depth++
	if isFunc {
		// Each iteration is a call of the body by the iterator.
		l.mayPanic(s.X.Pos())
		l.emit(opUse, nil, s.X.Pos(), x)
	}
	seen := l.block("range.seen") // all elements were seen
	l.either(body, seen)
	mark := l.f.newValue(opLoopFree, nil, x)
	mark.pos, mark.blk = s.X.Pos(), seen
	seen.instrs = append(seen.instrs, mark)
	link(seen, done)
	l.f.seal(seen)
	l.sealAndStart(body)
	loop := &elemLoop{coll: x, head: head, body: body, mark: mark}
	keyIsElem := isFunc || isChan
	elem := func(e ast.Expr, part bool) {
		if e == nil {
			return
		}
		if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
			return
		}
		var v *value
		t := l.p.typeOf(e)
		if id, ok := e.(*ast.Ident); ok && s.Tok == token.DEFINE {
			if o := l.p.info.Defs[id]; o != nil {
				t = o.Type()
			}
		}
		switch {
		case !part:
			if _, isMap := xt.Underlying().(*types.Map); isMap {
				v = l.emit(opElem, t, e.Pos(), x)
			} else {
				v = l.emit(opUnknown, t, e.Pos())
			}
		case isFunc:
			v = l.emit(opPart, t, e.Pos(), x)
			v.note.Kind = report.Iterated
		case isChan:
			v = l.emit(opRecv, t, e.Pos(), x)
		default:
			v = l.part(x, t, e.Pos(), report.Note{Kind: report.Element}, true)
			loop.elem = v
		}
		if s.Tok == token.DEFINE {
			if o, ok := l.p.info.Defs[e.(*ast.Ident)].(*types.Var); ok {
				l.writeRoot(l.declareAgain(o), v, e.Pos())
				return
			}
		}
		l.assign(e, v)
	}
	elem(s.Key, keyIsElem || isMapKeyPart(xt, l.p))
	elem(s.Value, true)
	depth := len(l.indexed)
	if key, ok := s.Key.(*ast.Ident); ok && loop.elem == nil && l.p.collects(xt) {
		// for i := range xs: the element is xs[i].
		if id, ok := ast.Unparen(s.X).(*ast.Ident); ok {
			xs, _ := l.p.info.Uses[id].(*types.Var)
			i, _ := l.p.info.ObjectOf(key).(*types.Var)
			if xs != nil && i != nil && !l.p.vars().Assigns(s.Body, xs) && !l.p.vars().Assigns(s.Body, i) {
				loop.elem = l.part(x, elemType(xt), id.Pos(), report.Note{Kind: report.Element}, true)
				l.indexed = append(l.indexed, indexedElem{xs, i, loop.elem})
			}
		}
	}
	if loop.elem != nil {
		l.f.loops = append(l.f.loops, loop)
	}
	t := target{label: label, brk: done, cont: head}
	// what a spec is about yields last
	if c := copied(x); isFunc && !(c.op == opResult && c.args[0].call.sum.Decided) {
		t.iter = x
	}
	l.targets = append(l.targets, t)
	l.blockStmt(s.Body)
	l.targets = l.targets[:len(l.targets)-1]
	l.indexed = l.indexed[:depth]
	l.jump(head)
	l.f.seal(head)
	l.depth--
	l.sealAndStart(done)
}

func isMapKeyPart(t types.Type, p *pkg) bool {
	m, ok := t.Underlying().(*types.Map)
	return ok && !p.plain(m.Key())
}
