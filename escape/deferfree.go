package escape

// Frees for buffers that deferred code reads.

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// deferFree plans for objects that deferred code reads: they can be freed only
// after it, so by a deferred call that is registered before it. What a call that is
// deferred in a loop reads becomes, around the loop, what the calls of all rounds read:
// each round's buffer is freed by its own name, right after the call of its round.
//
// Where it is read on some paths only, and used behind where those join the others, no
// free can tell the paths apart: the call is then deferred before they part, and frees
// late on those that do not read it. So levels are tried, from the inside out: at each, first
// for what deferred code reads, then also for what may become that in a later round of a loop.
func (d *decider) deferFree(x *decision) {
	for level := 0; ; level++ {
		done, more := d.deferAt(x, level, false)
		if !done {
			done, more = d.deferAt(x, level, true)
		}
		if done || !more {
			return
		}
	}
}

// deferAt plans deferred frees before the level-th statement around the first deferred
// one that reads each buffer, or, with around, what it becomes in a later round; it reports
// whether that did, and whether there is another level.
func (d *decider) deferAt(x *decision, level int, around bool) (done, more bool) {
	g := x.g
	var added []planned
	guarded := map[*object]bool{} // whose free would need a test for nil
	undo := map[*object]*value{}
	for _, o := range g.objs {
		next := g.feeds(o)
		if o.coll || d.f.gotos || !slices.ContainsFunc(next, func(q *object) bool { return x.pl.unfixed[q] != nil && !q.coll }) {
			continue
		}
		stmt := readDeferred(next)
		if !around && stmt != nil {
			stmt = readDeferred(g.forward(o))
		}
		gaps := d.gapsAround(stmt, o)
		if len(gaps) == 0 {
			continue
		}
		gp := gaps[min(level, len(gaps)-1)]
		more = more || level < len(gaps)-1
		if d.endangers(gp, level == 0, next) {
			continue
		}
		p, why := d.give(x, freePoint{obj: o, gap: gp})
		if why != "" || p.keep || p.place == nil || strings.Contains(p.text, "\n") {
			continue
		}
		if n, _ := d.give(x, freePoint{obj: o, gap: gp, isNil: true}); n.text != p.text {
			guarded[o] = true
		}
		p.text, p.deferred = "defer "+p.text, true
		undo[o] = gp
		added = append(added, p)
	}
	for o, gp := range undo {
		o.event(gp, event{kind: evDefer, when: When{K: Always}, m: mWhole, repeat: x.pl.repeats[o], ours: true})
	}
	if len(added) == 0 {
		return false, more
	}
	g2 := &group{w: g.w, objs: g.objs, caution: g.caution}
	if g2.prepare(); g2.why == "" {
		g2.liveness()
		pl := g2.newPlanner(false)
		pl.defers = map[*object]bool{}
		for o := range undo {
			for _, q := range g2.feeds(o) {
				pl.defers[q] = true
			}
		}
		if pl.run() == "" && len(pl.unfixed) == 0 && !pl.blames(added, guarded) {
			x.g, x.pl = g2, pl
			for _, o := range g.objs {
				o.group = g2
			}
			x.frees = added
			return true, more
		}
	}
	for o, gp := range undo {
		o.events[gp] = slices.DeleteFunc(o.events[gp], func(e event) bool { return e.ours })
		if len(o.events[gp]) == 0 {
			delete(o.events, gp)
		}
	}
	return false, more
}

// gapsAround lists the gaps in front of stmt and of the statements around it at which
// a variable holds o, from the inside out.
func (d *decider) gapsAround(stmt ast.Stmt, o *object) []*value {
	if stmt == nil {
		return nil
	}
	var out []*value
	for _, n := range slices.Backward(d.f.rewriter().PathTo(stmt)) {
		s, ok := n.(ast.Stmt)
		if !ok {
			continue
		}
		if gp := d.gapBefore(s); gp != nil {
			if d.w.nameAt(o, gp) == nil {
				break
			}
			out = append(out, gp)
		}
	}
	return out
}

// forward returns what o may become without a further round of a loop, o first.
func (g *group) forward(o *object) []*object {
	g.feeds(o)
	seen := map[*object]bool{o: true}
	out := []*object{o}
	for i := 0; i < len(out); i++ {
		for _, q := range g.next[out[i]] {
			if !seen[q] && q.def.blk.order > out[i].def.blk.order {
				seen[q] = true
				out = append(out, q)
			}
		}
	}
	return out
}

// readDeferred returns the first deferred statement that reads what a buffer is or
// becomes; nil if there is none, at most one that reads it after a panic, or if the
// program frees it itself.
func readDeferred(objs []*object) ast.Stmt {
	var stmt ast.Stmt
	read, own := false, false
	for _, o := range objs {
		o.eachEvent(func(e event) {
			own = own || e.kind == evFree || e.kind == evDefer
			read = read || e.at.deferred != nil && !e.holds()
			if s := e.at.deferred; s != nil && (stmt == nil || s.Pos() < stmt.Pos()) {
				stmt = s
			}
		})
	}
	if !read || own {
		return nil
	}
	return stmt
}

// blames reports whether a deferred free of the plan is due where its object
// is not owned, or may be nil and must not be freed then, or is followed by another free
// of it, or by something through which it leaves.
func (pl *planner) blames(added []planned, guarded map[*object]bool) bool {
	for _, is := range pl.issues {
		if pl.defers[is.obj] && (is.ev.ours || is.st&sDeferred != 0) {
			return true
		}
	}
	for _, p := range added {
		g := pl.g
		j := g.index(p.obj)
		for c := range g.n {
			s := pl.before[gapKey{p.obj, p.gap}]
			if len(s) > 0 && (s[j*g.n+c]&^(sOwned|sNil) != 0 || s[j*g.n+c]&sNil != 0 && guarded[p.obj]) {
				return true
			}
		}
	}
	return false
}

// gapBefore returns the gap in front of a statement.
func (d *decider) gapBefore(stmt ast.Stmt) *value {
	if d.before == nil {
		d.before = map[ast.Stmt]*value{}
		for _, b := range d.f.rpo {
			for _, i := range b.gaps {
				if g := b.instrs[i].gap; g.kind == rewrite.InList && len(g.inner) == 0 && g.next != nil && d.before[g.next] == nil {
					d.before[g.next] = b.instrs[i]
				}
			}
		}
	}
	return d.before[stmt]
}
