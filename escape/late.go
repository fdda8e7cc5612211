package escape

// Late frees: the program frees on every path, but holds the memory through a
// loop, an allocation or a call that blocks.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
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
	text := fmt.Sprintf("%s is freed late: %s at %s comes between its last use and its free", what, l.cause, report.At(l.at))
	if l.cause == deferInLoop {
		text = fmt.Sprintf("%s is freed late: the call deferred in a loop at %s runs when the function returns", what, report.At(l.at))
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
	deferred, inLiteral, explicit, named := false, false, false, false
	for _, o := range g.objs {
		if o.coll {
			return
		}
		for _, evs := range o.events {
			for _, e := range evs {
				switch {
				case e.kind == evUse:
				case e.kind == evFree && e.when.K == Always && e.m == mWhole && d.w.byFreer(o, e):
					switch {
					case e.at.deferred != nil:
						deferred = true // it stays: it also runs when something panics
						named = named || d.f.inLiteral(e.at.pos)
					case d.f.inLiteral(e.at.pos):
						inLiteral = true
					default:
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
	if !deferred && !inLiteral && !explicit {
		return
	}
	pl := d.replan(g, !deferred && !inLiteral)
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
	d.lates = map[*object]*lateSearch{}
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
	if inLiteral && explicit && !deferred {
		// its free stays, and what the others are for depends on it
		x.late.noFix = "a function literal frees it as well"
		return
	}
	if deferred = deferred || inLiteral; deferred && !repeatable {
		x.late.noFix = "a second free would be an error"
		return
	}
	if inLiteral || named {
		x.late.noFix = "the function literal that frees it would read its name behind the free"
		return
	}
	var deletes []*value
	if !deferred {
		deletes = freesOf(g)
	}
	// All of the early frees, or, beside a deferred one, those that help.
	leaks := map[gapKey]bool{}
	for _, q := range x.pl.plan {
		leaks[gapKey{q.obj, q.gap}] = true
	}
	var frees []planned
	for i, fp := range pl.plan {
		if deferred && !causes[i] && !leaks[gapKey{fp.obj, fp.gap}] {
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
		if !d.f.rewriter().Removable(d.src, at.expr) {
			x.late.noFix = "the free at " + report.At(at.pos) + " does not stand on a line of its own, or frees by no name"
			return
		}
	}
	names := map[string]bool{}
	for _, p := range frees {
		names[p.name] = true
	}
	if name := d.f.rewriter().OnlyIn(d.takenOut(deletes), names); name != "" {
		x.late.noFix = "without the free, " + name + " would not be used"
		return
	}
	x.late.fixed = true
	x.frees, x.deletes, x.pl2 = frees, deletes, pl
}

// freesOf lists the calls by which the program frees the objects of groups.
func freesOf(groups ...*group) []*value {
	var out []*value
	seen := map[*value]bool{}
	for _, g := range groups {
		for _, o := range g.objs {
			o.eachEvent(func(e event) {
				if e.kind == evFree && !e.ours && !seen[e.at] {
					seen[e.at] = true
					out = append(out, e.at)
				}
			})
		}
	}
	return out
}

// tests lists the tests of which moving all frees would leave nothing, in order.
func (d *decider) tests() []ast.Stmt {
	if d.emptied == nil {
		d.emptied = append([]ast.Stmt{}, d.takenOut(freesOf(d.w.groups...))...)
	}
	return d.emptied
}

// replan plans g as if the program freed nothing; moved says that its frees are taken out,
// and with them the tests around them.
func (d *decider) replan(g *group, moved bool) *planner {
	gone := d.tests()
	in := func(v *value) bool {
		i, _ := slices.BinarySearchFunc(gone, v.pos+1, func(s ast.Stmt, p token.Pos) int { return cmp.Compare(s.Pos(), p) })
		return moved && i > 0 && v.pos < gone[i-1].End()
	}
	saved := make([]map[*value][]event, len(g.objs))
	for i, o := range g.objs {
		saved[i] = o.events
		o.events = map[*value][]event{}
		for at, evs := range saved[i] {
			if slices.ContainsFunc(evs, func(e event) bool {
				if h := e.held(); h == report.HeldFrees || h == report.HeldNames || e.why == byLook && in(at) {
					return e.kind == evDefer
				}
				return e.kind == evUse || e.kind == evDefer
			}) {
				o.events[at] = []event{{kind: evUse, at: at}}
			}
		}
	}
	g2 := &group{w: g.w, objs: g.objs, caution: g.caution}
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

// lateness finds what comes between an early free and the program's own.
func (d *decider) lateness(fp freePoint) (string, token.Pos) {
	o := fp.obj
	ls := d.lates[o]
	if ls == nil {
		ls = d.w.searchLate(o)
		d.lates[o] = ls
	}
	if !ls.explicit && ls.inLoop.IsValid() {
		return deferInLoop, ls.inLoop
	}
	if ls.shared {
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
			if v.op != opCall && v.op != opRecv && v.op != opSend || !ls.after(it.b, i) {
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
		for i, s := range it.b.succs {
			if seen[s] || d.w.absent(o, it.b, i) {
				continue
			}
			seen[s] = true
			if s.order > it.b.order && s != o.def.blk {
				for _, p := range s.preds {
					if p.order >= s.order && p.order >= 0 && !d.w.frees(s) && ls.after(s, 0) {
						return "the loop", firstPos(s)
					}
				}
			}
			stack = append(stack, item{s, 0})
		}
	}
	return "", token.NoPos
}

// absent reports whether b tests o for nil, and its i-th successor is where o is: nothing
// waits to be freed there.
func (w *flow) absent(o *object, b *block, i int) bool {
	if b.cond == nil || len(b.succs) != 2 {
		return false
	}
	c, is := b.cond, i == 0
	for c.op == opNot {
		c, is = c.args[0], !is
	}
	x, ok := nilTest(c)
	if !ok || !saysNil(x) || origin(x) != o.def {
		return false
	}
	return (c.tok == token.EQL) == is
}

// A lateSearch is what the searches for one object's late frees share.
type lateSearch struct {
	explicit bool      // the program frees it by a call that is not deferred
	inLoop   token.Pos // where a call that frees it is deferred in a loop
	deferred bool
	shared   bool
	frees    *finder
}

// searchLate prepares the search for o, by its events as they are now.
func (w *flow) searchLate(o *object) *lateSearch {
	s := &lateSearch{shared: w.shared(o)}
	at := append(w.takeovers(o), o.def.where())
	for v, evs := range o.events {
		for _, e := range evs {
			switch e.kind {
			case evFree:
				s.explicit = true
				at = append(at, v)
			case evDefer:
				s.deferred = true
				if v.blk.loopDepth > 0 && o.def.blk.loopDepth > 0 && (!s.inLoop.IsValid() || v.pos < s.inLoop) {
					s.inLoop = v.pos
				}
			}
		}
	}
	s.frees = newFinder(o.def.where(), at, func(v *value) turn {
		switch {
		case slices.ContainsFunc(o.events[v], func(e event) bool { return e.kind == evFree }):
			return found
		case v == o.def.where(), w.becomes(o, v):
			return leave
		}
		return goOn
	})
	return s
}

// after reports whether the program frees the object on some path from instruction i
// of b.
func (s *lateSearch) after(b *block, i int) bool { return s.deferred || s.frees.from(b, i) }

// takeovers lists the phis that take over o.
func (w *flow) takeovers(o *object) []*value {
	var out []*value
	for _, m := range o.order {
		if origin(m) != o.def {
			continue
		}
		for _, u := range m.users {
			if u.op == opPhi && w.owner[u] {
				out = append(out, u)
			}
		}
	}
	return out
}

// frees reports whether the loop with this head only frees elements.
func (w *flow) frees(head *block) bool {
	if w.freeing == nil {
		w.freeing = map[*block]bool{}
		for _, l := range w.f.loops {
			w.freeing[l.head] = w.freeing[l.head] || w.marks[l.mark] != nil
		}
	}
	return w.freeing[head]
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
