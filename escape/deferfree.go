package escape

// Frees for buffers that deferred code reads.

import (
	"go/ast"
	"slices"
	"strings"
)

// deferFree plans for objects that deferred code reads: they can be freed only
// after it, so by a deferred call that is registered before it.
func (d *decider) deferFree(x *decision) {
	g := x.g
	var added []planned
	guarded := map[*object]bool{} // whose free would need a test for nil
	undo := map[*object]*value{}
	for _, o := range g.objs {
		if x.pl.unfixed[o] == nil || o.coll {
			continue
		}
		var stmt *ast.DeferStmt
		own, read := false, false
		o.eachEvent(func(e event) {
			own = own || e.kind == evFree || e.kind == evDefer
			read = read || e.at.deferred != nil && !e.holds()
			if s := e.at.deferred; s != nil && (stmt == nil || s.Pos() < stmt.Pos()) {
				stmt = s
			}
		})
		if !read {
			continue // at most after a panic: it can be freed before the function returns
		}
		gp := d.gapBefore(stmt)
		if own || gp == nil || gp.blk.loopDepth > 0 || d.f.gotos {
			continue
		}
		p, why := d.give(x, freePoint{obj: o, gap: gp})
		if why != "" || p.keep || p.place == nil || strings.Contains(p.text, "\n") {
			continue
		}
		if q, _ := d.give(x, freePoint{obj: o, gap: gp, isNil: true}); q.text != p.text {
			guarded[o] = true
		}
		p.text, p.deferred = "defer "+p.text, true
		o.event(gp, event{kind: evDefer, when: When{K: Always}, m: mWhole, repeat: p.repeatable, ours: true})
		undo[o] = gp
		added = append(added, p)
	}
	if len(added) == 0 {
		return
	}
	g2 := &group{w: g.w, objs: g.objs}
	if g2.prepare(); g2.why == "" {
		g2.liveness()
		pl := g2.newPlanner(false)
		if pl.run() == "" && len(pl.unfixed) == 0 && !pl.blames(added, guarded) {
			x.g, x.pl = g2, pl
			for _, o := range g.objs {
				o.group = g2
			}
			x.frees = added
			return
		}
	}
	for o, gp := range undo {
		o.events[gp] = slices.DeleteFunc(o.events[gp], func(e event) bool { return e.ours })
		if len(o.events[gp]) == 0 {
			delete(o.events, gp)
		}
	}
}

// blames reports whether a deferred free of the plan is due where its object
// is not owned, or may be nil and must not be freed then, or is followed by another free
// or a return of it.
func (pl *planner) blames(added []planned, guarded map[*object]bool) bool {
	for _, is := range pl.issues {
		for _, p := range added {
			if is.obj == p.obj && (is.ev.ours || is.st&sDeferred != 0) {
				return true
			}
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
				if g := b.instrs[i].gap; g.kind == gapStmt && len(g.inner) == 0 && g.next != nil && d.before[g.next] == nil {
					d.before[g.next] = b.instrs[i]
				}
			}
		}
	}
	return d.before[stmt]
}
