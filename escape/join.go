package escape

// Goroutines that are joined in the same function: what they use is in use
// until the Wait; a path to the end without a Wait hands it to them for good.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// What is known of a goroutine that is joined by the text that it leaves: a label where it
// is started, a note where somebody waits for it.
const (
	joinedHead = "go.head"
	joinedUse  = "goroutine"
)

// A join is one go statement whose end somebody waits for.
type join struct {
	head  *block // where the goroutine is started
	group *root  // the WaitGroup or errgroup.Group
	open  *place
	held  []*place
}

// waitGroup finds the local variable that is the receiver of a call of a
// method with this name on a group that goroutines are joined by.
func (l *lower) waitGroup(call *ast.CallExpr, names ...string) *root {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	f, ok := l.p.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "sync" && f.Pkg().Path() != "golang.org/x/sync/errgroup" {
		return nil
	}
	for _, n := range names {
		if f.Name() != n {
			continue
		}
		t := types.TypeString(deref(f.Signature().Recv().Type()), nil)
		if t != "sync.WaitGroup" && t != "golang.org/x/sync/errgroup.Group" {
			return nil
		}
		if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
			if v, ok := l.p.info.Uses[id].(*types.Var); ok {
				if r := l.root(v); r != nil && !r.outer {
					return r
				}
			}
		}
	}
	return nil
}

// doneGroup finds the group that a goroutine's body calls Done of, and that was told of
// the goroutine before.
func (l *lower) doneGroup(lit *ast.FuncLit) *root {
	var r *root
	for _, s := range lit.Body.List {
		var call *ast.CallExpr
		switch s := s.(type) {
		case *ast.DeferStmt:
			call = s.Call
		case *ast.ExprStmt:
			if s == lit.Body.List[len(lit.Body.List)-1] {
				call, _ = ast.Unparen(s.X).(*ast.CallExpr)
			}
		}
		if call != nil {
			if g := l.waitGroup(call, "Done"); g != nil && l.added[g] { // else Wait may come before the Add
				r = g
			}
		}
	}
	return r
}

// joined lowers a goroutine with the body lit that group waits for.
func (l *lower) joined(lit *ast.FuncLit, args []*value, group *root, pos token.Pos) {
	cl := l.f.newValue(opClosure, nil)
	cl.lit, cl.pos = lit, pos
	l.capture(cl)
	j := &join{group: group, open: &place{root: &root{name: "joined"}, typ: types.Typ[types.Bool]}}
	head, body, done := l.block(joinedHead), l.block("go.body"), l.block("go.done")
	j.head = head
	l.jump(head)
	l.start(head)
	l.depth++
	l.either(body, done)
	l.sealAndStart(body)
	l.spliceBody(lit, args, pos)
	l.jump(head)
	l.f.seal(head)
	l.depth--
	l.sealAndStart(done)
	for _, a := range append(cl.args, args...) {
		if a = a.find(); l.p.isNumber(a.typ0()) {
			continue
		}
		p := &place{root: &root{name: "held", typ: a.typ0()}, typ: a.typ0()}
		l.f.write(p, l.cur0(), a)
		j.held = append(j.held, p)
	}
	l.f.write(j.open, l.cur0(), l.constBool(true))
	l.joins = append(l.joins, j)
}

// wait ends what goroutines of the group use.
func (l *lower) wait(group *root, pos token.Pos) {
	for _, j := range l.joins {
		if j.group != group || l.cur == nil {
			continue
		}
		l.use(j, opUse, pos)
		l.f.write(j.open, l.cur0(), l.nilValue(types.Typ[types.Bool], pos))
	}
}

func (l *lower) use(j *join, o op, pos token.Pos) {
	var args []*value
	for _, p := range j.held {
		args = append(args, l.readPlace(p))
	}
	if len(args) > 0 {
		v := l.emit(o, nil, pos, args...)
		v.note.Kind = report.Joined
		if l.f.started == nil {
			l.f.started = map[*value]*block{}
		}
		l.f.started[v] = j.head
		if o == opGo {
			v.call = &callInfo{goes: true, sum: &Summary{Unknown: true}, name: "a goroutine"}
			for range args {
				v.call.params = append(v.call.params, -2)
			}
		}
	}
}

// unjoined hands what goroutines still use at an exit to them.
func (l *lower) unjoined(pos token.Pos) {
	for _, j := range l.joins {
		if l.cur == nil {
			return
		}
		open := l.readPlace(j.open).find()
		if closed(open) {
			continue
		}
		run, done := l.block("go.open"), l.block("go.closed")
		l.opens = append(l.opens, l.cur)
		l.branchOn(open, run, done)
		l.sealAndStart(run)
		l.use(j, opGo, pos)
		l.jump(done)
		l.sealAndStart(done)
	}
}

// neverOpen drops the branches for goroutines that turn out to be joined on all
// paths, which in a function with labels is known at its end.
func (l *lower) neverOpen() {
	for _, b := range l.opens {
		if !closed(b.cond) {
			continue
		}
		run := b.succs[0]
		b.cond, b.succs = nil, b.succs[1:]
		run.preds = slices.DeleteFunc(run.preds, func(p *block) bool { return p == b })
	}
}

// closed reports whether every value of the flag is nil, through loops in loops.
func closed(v *value) bool {
	seen := map[*value]bool{}
	stack := []*value{v.find()}
	for len(stack) > 0 && len(seen) < 1000 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case v.op == opNil || seen[v]:
			continue
		case v.op != opPhi || len(v.args) == 0:
			return false
		}
		seen[v] = true
		for _, a := range v.args {
			stack = append(stack, a.find())
		}
	}
	return len(stack) == 0
}
