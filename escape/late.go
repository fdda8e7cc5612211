package escape

// Late frees: the program frees on every path, but holds the memory through a
// loop, an allocation or a call that blocks. And raw pointers that outlive the
// last use of their buffer.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// blocking are functions known to wait.
var blocking = map[string]bool{
	"time.Sleep": true, "(*sync.WaitGroup).Wait": true, "(*sync.Cond).Wait": true,
	"(*golang.org/x/sync/errgroup.Group).Wait": true,
	"net/http.Get": true, "net/http.Post": true, "(*net/http.Client).Do": true, "net/http.ListenAndServe": true,
	"(*os/exec.Cmd).Run": true, "(*os/exec.Cmd).Wait": true, "(*os/exec.Cmd).Output": true, "(*os/exec.Cmd).CombinedOutput": true,
	"(*github.com/lastuse/lastuse/alloc.Stream).Sync":        true,
	"(*github.com/lastuse/lastuse/alloc.Stream).SyncContext": true,
	"(github.com/lastuse/lastuse/alloc.Event).Sync":          true,
}

// A lateness says why the frees of a group come late.
type lateness struct {
	cause string
	at    token.Pos
	after token.Pos // the last use
	obj   *object
	noFix string
	fixed bool // the plan of the group frees early
}

func (l *lateness) String(d *decider, what string) string {
	text := fmt.Sprintf("%s is freed late: %s at %s comes between its last use and its free", what, l.cause, d.p.line(l.at))
	if l.cause == deferInLoop {
		text = fmt.Sprintf("%s is freed late: the call deferred in a loop at %s runs when the function returns", what, d.p.line(l.at))
	}
	if l.noFix != "" {
		text += "; no fix: " + l.noFix
	}
	return text
}

// advance looks whether what the program frees in group x is freed late. If it
// is, and a fix is allowed, the plan becomes that of a program that frees
// nothing itself: frees that are no deferred calls are removed.
func (d *decider) advance(x *decision) {
	g := x.g
	deferred, explicit := false, false
	for _, o := range g.objs {
		if o.coll {
			return
		}
		for _, evs := range o.events {
			for _, e := range evs {
				switch {
				case e.kind == evUse:
				case e.kind == evFree && e.when.K == Always && e.m == mWhole && d.w.byFreer(o, e):
					if e.at.deferred != nil || d.f.inLiteral(e.at.pos) {
						deferred = true // it stays: it also runs when something panics
					} else {
						explicit = true
					}
				case e.kind == evDefer && e.when.K == Always && e.m == mWhole && d.w.byFreer(o, e):
					deferred = true
				default:
					return
				}
			}
		}
	}
	if !deferred && !explicit {
		return
	}
	pl := d.replan(g)
	if pl == nil {
		return
	}
	// What is planned already frees like the program does.
	for _, fp := range x.pl.plan {
		if fp.obj.events[fp.gap] == nil {
			fp.obj.events[fp.gap] = []event{{kind: evFree, at: fp.gap, ours: true}}
			defer delete(fp.obj.events, fp.gap)
		}
	}
	causes := map[int]bool{}
	for i, fp := range pl.plan {
		cause, at := d.lateness(fp)
		if cause == "" {
			continue
		}
		causes[i] = true
		if x.late == nil {
			x.late = &lateness{cause: cause, at: at, after: fp.gap.pos, obj: fp.obj}
		}
	}
	if x.late == nil {
		return
	}
	repeatable := true
	for _, o := range g.objs {
		repeatable = repeatable && x.pl.repeats[o]
	}
	if deferred && !repeatable {
		x.late.noFix = "a second free would be an error"
		return
	}
	var deletes []*value
	if !deferred {
		for _, o := range g.objs {
			o.eachEvent(func(e event) {
				if e.kind == evFree && !e.ours && !slices.Contains(deletes, e.at) {
					deletes = append(deletes, e.at)
				}
			})
		}
	}
	// All of the early frees, or, beside a deferred one, those that help.
	var frees []planned
	for i, fp := range pl.plan {
		leaks := slices.ContainsFunc(x.pl.plan, func(q freePoint) bool { return q.gap == fp.gap && q.obj == fp.obj })
		if deferred && !causes[i] && !leaks {
			continue
		}
		p, why := d.give(x, fp)
		if why != "" {
			x.late.noFix = why
			return
		}
		frees = append(frees, p.all()...)
	}
	if d.src == nil {
		x.late.noFix = "the source cannot be read"
		return
	}
	for _, at := range deletes {
		if _, ok := d.deletion(at); !ok {
			x.late.noFix = "the free at " + d.p.line(at.pos) + " does not stand on a line of its own"
			return
		}
	}
	if name := d.onlyIn(deletes); name != "" {
		x.late.noFix = "without the free, " + name + " would not be used"
		return
	}
	x.late.fixed = true
	x.frees, x.deletes, x.pl2 = frees, deletes, pl
}

// replan plans g as if the program freed nothing.
func (d *decider) replan(g *group) *planner {
	saved := make([]map[*value][]event, len(g.objs))
	for i, o := range g.objs {
		saved[i] = o.events
		o.events = map[*value][]event{}
		for at, evs := range saved[i] {
			if slices.ContainsFunc(evs, func(e event) bool { return e.kind == evUse || e.kind == evDefer }) {
				o.events[at] = []event{{kind: evUse, at: at}}
			}
		}
	}
	g2 := &group{w: g.w, objs: g.objs}
	var pl *planner
	if g2.prepare(); g2.why == "" {
		g2.liveness()
		pl = g2.newPlanner(false)
		if pl.run() != "" || len(pl.unfixed) > 0 {
			pl = nil
		}
	}
	for i, o := range g.objs {
		o.events = saved[i]
	}
	return pl
}

// byFreer reports whether the event is a call of the function that frees o's
// type, and not of one that happens to consume it.
func (w *flow) byFreer(o *object, e event) bool {
	for _, f := range w.p.freersOf(o.def.typ0()) {
		if f.usable && e.at.fn == f.fn {
			return true
		}
	}
	return false
}

const deferInLoop = "a deferred call in a loop"

// counted reports whether values of type t are reference counted: whether one of
// their methods takes one more reference.
func (p *pkg) counted(t types.Type) bool {
	if t == nil {
		return false
	}
	if v := p.counts.At(t); v != nil {
		return v.(bool)
	}
	var ms *types.MethodSet
	if base := deref(t); types.IsInterface(base) {
		ms = types.NewMethodSet(base)
	} else {
		ms = types.NewMethodSet(types.NewPointer(base))
	}
	found := false
	for m := range ms.Methods() {
		if f, ok := m.Obj().(*types.Func); ok && f.Signature().Params().Len() == 0 {
			found = found || p.summaryOf(f).arg(-1).Retained
		}
	}
	p.counts.Set(t, found)
	return found
}

// shared reports whether o is reference counted and something else may hold a
// reference: then an earlier free need not give back anything. What takes o and
// makes a buffer, or takes it beside another one, may keep it.
func (w *flow) shared(o *object) bool {
	if !w.p.counted(o.def.typ0()) {
		return false
	}
	for at := range o.events {
		switch {
		case at.op != opCall && at.op != opDefer:
			if at.op == opAppend || at.op == opStore {
				return true
			}
			continue
		case at.call.sum.Unknown:
			return true
		}
		for _, r := range at.call.results {
			if w.p.holdsResource(r.typ0()) {
				return true
			}
		}
		for j, a := range at.args {
			if _, ours := o.members[a]; !ours && at.call.params[j] >= -1 && w.p.holdsResource(a.typ0()) {
				return true
			}
		}
	}
	return false
}

// allocates reports whether call v is known to allocate: it makes a buffer, and not
// merely one more reference to what it is given.
func (w *flow) allocates(v *value) bool {
	for i, r := range v.call.results {
		if i >= len(v.call.sum.Res) || !v.call.sum.Res[i].Owned {
			continue
		}
		if !w.p.counted(r.typ0()) {
			return true
		}
		if !slices.ContainsFunc(v.args, func(a *value) bool { return w.p.holdsResource(a.typ0()) }) {
			return true
		}
	}
	return false
}

// lateness finds what comes between an early free and the program's own.
func (d *decider) lateness(fp freePoint) (string, token.Pos) {
	o := fp.obj
	explicit := false
	o.eachEvent(func(e event) { explicit = explicit || e.kind == evFree })
	for at, evs := range o.events {
		for _, e := range evs {
			if !explicit && e.kind == evDefer && at.blk.loopDepth > 0 && o.def.blk.loopDepth > 0 {
				return deferInLoop, at.pos
			}
		}
	}
	if d.w.shared(o) {
		return "", token.NoPos
	}
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	stack := []item{{fp.gap.blk, fp.gap.at + 1}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		stopped := false
		for i := it.i; i < len(it.b.instrs) && !stopped; i++ {
			v := it.b.instrs[i]
			for _, e := range o.events[v] {
				if e.kind == evFree {
					stopped = true
				}
			}
			if stopped || v == o.def.where() {
				stopped = true
				break
			}
			if v.op != opCall && v.op != opRecv && v.op != opSend || !d.w.freedAfter(o, it.b, i) {
				continue
			}
			switch v.op {
			case opCall:
				if d.w.allocates(v) {
					return "the allocation by " + v.call.name, v.pos
				}
				if v.fn != nil && blocking[v.fn.FullName()] {
					return "the call of " + v.call.name + ", which waits,", v.pos
				}
			case opRecv, opSend:
				return "a channel operation", v.pos
			}
		}
		if stopped {
			continue
		}
		for _, s := range it.b.succs {
			if seen[s] {
				continue
			}
			seen[s] = true
			if s.order > it.b.order && s != o.def.blk {
				for _, p := range s.preds {
					if p.order >= s.order && p.order >= 0 && !d.w.frees(s) && d.w.freedAfter(o, s, 0) {
						return "the loop", firstPos(s)
					}
				}
			}
			stack = append(stack, item{s, 0})
		}
	}
	return "", token.NoPos
}

// freedAfter reports whether the program frees o on some path from instruction i
// of b.
func (w *flow) freedAfter(o *object, b *block, i int) bool {
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	for _, evs := range o.events {
		for _, e := range evs {
			if e.kind == evDefer {
				return true
			}
		}
	}
	stack := []item{{b, i}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		stopped := false
		for _, v := range it.b.instrs[it.i:] {
			for _, e := range o.events[v] {
				if e.kind == evFree {
					return true
				}
			}
			if v == o.def.where() {
				stopped = true
				break
			}
			if v.op == opPhi && w.owner[v] && slices.ContainsFunc(v.args, func(a *value) bool { return origin(a) == o.def }) {
				stopped = true
				break
			}
		}
		if stopped {
			continue
		}
		for _, s := range it.b.succs {
			if !seen[s] {
				seen[s] = true
				stack = append(stack, item{s, 0})
			}
		}
	}
	return false
}

// frees reports whether the loop with this head only frees elements.
func (w *flow) frees(head *block) bool {
	for _, l := range w.f.loops {
		if l.head == head && w.marks[l.mark] != nil {
			return true
		}
	}
	return false
}

func firstPos(b *block) token.Pos {
	for range 10 {
		for _, v := range b.instrs {
			if v.pos.IsValid() && v.op != opPhi {
				return v.pos
			}
		}
		if len(b.succs) == 0 {
			break
		}
		b = b.succs[0]
	}
	return token.NoPos
}

// onlyIn returns the name of a variable that is read nowhere but in the calls at:
// without them the function would not compile.
func (d *decider) onlyIn(at []*value) string {
	in := func(n ast.Node) bool {
		return slices.ContainsFunc(at, func(v *value) bool { return v.expr.Pos() <= n.Pos() && n.End() <= v.expr.End() })
	}
	var vars []*types.Var // read in the calls
	read := map[*types.Var]bool{}
	written := map[*ast.Ident]bool{}
	ast.Inspect(d.f.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := ast.Unparen(e).(*ast.Ident); ok && n.Tok == token.ASSIGN {
					written[id] = true
				}
			}
		case *ast.Ident:
			v, ok := d.p.info.Uses[n].(*types.Var)
			switch {
			case !ok || v.IsField() || written[n]:
			case in(n):
				vars = append(vars, v)
			default:
				read[v] = true
			}
		}
		return true
	})
	for _, v := range vars {
		param := v.Parent() == d.p.info.Scopes[d.f.typ]
		if !read[v] && !param && v.Parent() != d.p.types.Scope() {
			return v.Name()
		}
	}
	return ""
}

// deletion removes the statement that is the call at.
func (d *decider) deletion(at *value) (analysis.TextEdit, bool) {
	var none analysis.TextEdit
	call, ok := at.expr.(*ast.CallExpr)
	if !ok {
		return none, false
	}
	stmt, _, why := d.statementOf(call)
	ex, isExpr := stmt.(*ast.ExprStmt)
	if why != "" || !isExpr || ex.X != ast.Expr(call) {
		return none, false
	}
	from, to := d.src.off(stmt.Pos()), d.src.off(stmt.End())
	_, first := d.src.indent(from)
	end, clean := d.src.restIsComment(to)
	if !first || !clean || strings.TrimSpace(string(d.src.text[to:end])) != "" {
		return none, false
	}
	if end < len(d.src.text) && d.src.text[end] == '\r' {
		end++
	}
	if end < len(d.src.text) {
		end++
	}
	return d.src.edit(d.src.lineStart(from), end, ""), true
}

// Raw pointers.

// cMemory reports whether t is a pointer to memory of C's: the address itself,
// which no handle of Go's keeps alive.
func cMemory(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	switch e := types.Unalias(p.Elem()).(type) {
	case *types.Basic:
		return true
	case *types.Named:
		return strings.HasPrefix(e.Obj().Name(), "_Ctype_")
	}
	return false
}

func rawType(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr)
}

// raw reports whether member m of o was reached through a raw pointer.
func (o *object) raw(m *value) bool {
	for i := 0; m != nil && m != o.def && i < 100; i++ {
		if rawType(m.typ0()) {
			return !rawType(o.def.typ0())
		}
		m = o.from[m]
	}
	return false
}

// rawLast returns a use through a raw pointer after which the buffer is not
// used otherwise, nil if there is none.
func (w *flow) rawLast(o *object) *value {
	if rawType(o.def.typ0()) || cMemory(o.def.typ0()) {
		return nil
	}
	isRaw := func(at *value) bool {
		any := false
		for _, a := range at.args {
			if _, ok := o.members[a]; ok {
				if !o.raw(a) {
					return false
				}
				any = true
			}
		}
		return any
	}
	var raws []*value
	for at := range o.events {
		if isRaw(at) && (at.op == opCall || at.op == opUse) {
			raws = append(raws, at)
		}
	}
	slices.SortFunc(raws, func(a, b *value) int { return int(a.pos - b.pos) })
	for _, at := range raws {
		if !w.usedAfter(o, at, isRaw) {
			return at
		}
	}
	return nil
}

// usedAfter reports whether an event of o that is not raw can be reached from at.
func (w *flow) usedAfter(o *object, at *value, isRaw func(*value) bool) bool {
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	stack := []item{{at.blk, at.at + 1}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		stopped := false
		for i := it.i; i < len(it.b.instrs); i++ {
			v := it.b.instrs[i]
			if v == o.def.where() {
				stopped = true
				break
			}
			if len(o.events[v]) > 0 && !isRaw(v) {
				return true
			}
			if v.op == opPhi && w.owner[v] && slices.ContainsFunc(v.args, func(a *value) bool { return origin(a) == o.def }) {
				return true // goes on under another name
			}
		}
		if stopped {
			continue
		}
		for _, s := range it.b.succs {
			if !seen[s] {
				seen[s] = true
				stack = append(stack, item{s, 0})
			}
		}
	}
	return false
}

// importEdit adds an import of path to the file; nil if it has one.
func (p *pkg) importEdit(s *source, path string) []analysis.TextEdit {
	quoted := `"` + path + `"`
	for _, im := range s.tree.Imports {
		if im.Path.Value == quoted {
			return nil
		}
	}
	nl := s.newline()
	for _, d := range s.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if !g.Lparen.IsValid() {
			o := s.off(g.End())
			return []analysis.TextEdit{s.edit(o, o, nl+"import "+quoted)}
		}
		// Into the first group, in order.
		at := s.off(g.Lparen) + 1
		for i, sp := range g.Specs {
			im := sp.(*ast.ImportSpec)
			if i > 0 && s.file.Line(im.Pos()) > s.file.Line(g.Specs[i-1].End())+1 || im.Path.Value > quoted {
				break
			}
			at = s.off(im.End())
		}
		return []analysis.TextEdit{s.edit(at, at, nl+"\t"+quoted)}
	}
	o := s.off(s.tree.Name.End())
	return []analysis.TextEdit{s.edit(o, o, nl+nl+"import "+quoted)}
}
