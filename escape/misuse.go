package escape

// Findings about what the program does by itself: uses after a free, second
// frees.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// findings reports uses and frees in a wrong state.
func (d *decider) findings() {
	of := map[*group]*decision{}
	for _, x := range d.all {
		if of[x.g] == nil {
			of[x.g] = x
		}
	}
	for _, g := range d.w.groups {
		if g.why != "" || len(g.objs) == 0 || !g.freesItself() {
			continue
		}
		g = g.objs[0].group // as it was decided last
		var pl *planner
		if x := of[g]; x != nil {
			pl = x.pl
		}
		if pl == nil || len(pl.plan) > 0 {
			pl = g.dry()
		}
		if pl == nil {
			continue
		}
		seen := map[string]bool{}
		for _, is := range pl.issues {
			o := is.obj
			if d.skip(o) || d.resets(o) || d.w.shared(o) || d.w.takenOut(o, is.at) {
				continue
			}
			name := d.holder(o)
			if name == "" && o.def.place != nil {
				name = o.def.place.String()
			}
			if name == "" {
				name = d.unnamed(o)
			}
			freed := d.freedAt(g, o)
			maybe := "is "
			if !is.must {
				maybe = "may be "
			}
			fd := &Finding{Pos: is.at.pos, End: max(is.at.end, is.at.pos)}
			where := ""
			if freed.IsValid() {
				where = " at " + report.At(freed)
				fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: freed, End: freed, Message: "freed here"})
			}
			switch {
			case is.ev.why == byClear, is.ev.why == byDelete:
				lost := d.w.givenSite(o)
				if lost == nil || d.skip(lost) {
					continue
				}
				fd = d.dropped(lost, name, is.ev.why[len("dropped by "):], is.at.pos)
			case is.st == sMoved && is.ev.why == byGoroutine:
				fd.Category = CategoryUseAfterFree
				fd.Message = name + " is used by a goroutine that nobody waits for, and freed at " + report.At(is.at.pos)
				o.eachEvent(func(e event) {
					if e.kind == evMove && fd.Pos == is.at.pos {
						fd.Pos, fd.End = e.at.pos, e.at.pos
					}
				})
				fd.Related = []analysis.RelatedInformation{{Pos: is.at.pos, End: is.at.pos, Message: "freed here"}}
			case is.st == sMoved && is.ev.why == onChannel:
				fd.Category = CategoryDoubleFree
				fd.Message = name + " is freed after it was sent on a channel: it is the receiver's"
				fd.Related = nil
			case is.st == sMoved:
				fd.Category = CategoryUseAfterFree
				fd.Message = name + " is used after it was put back into a pool"
				fd.Related = nil
			case is.ev.kind == evFree || is.ev.kind == evDefer:
				fd.Category = CategoryDoubleFree
				fd.Message = name + " " + maybe + "freed twice: first" + where
				if is.st&sDeferred != 0 {
					fd.Message = name + " " + maybe + "freed twice: here and by the deferred call" + where
				}
			case is.ev.kind == evReturn:
				fd.Category = CategoryUseAfterFree
				fd.Message = name + " " + maybe + "returned after it is freed" + where
				if is.st&sDeferred != 0 {
					fd.Message = name + " " + maybe + "returned although a deferred call frees it" + where
				}
			case is.ev.why == "free":
				fd.Category = CategoryDoubleFree
				fd.Message = "a view of " + name + " is freed after " + name + " " + maybe + "freed" + where
			default:
				fd.Category = CategoryUseAfterFree
				fd.Message = name + " " + maybe + "used after it is freed" + where
			}
			if fd.Buffer == nil {
				fd.Buffer = o.buf
			}
			key := fd.Category + d.p.fset.Position(fd.Pos).String()
			if seen[key] {
				continue
			}
			seen[key] = true
			d.out.Findings = append(d.out.Findings, fd)
		}
	}
}

// resets reports whether freeing o only empties it: then it may be used and
// freed again.
func (d *decider) resets(o *object) bool {
	fs := d.p.freersOf(o.def.typ0())
	return len(fs) > 0 && !slices.ContainsFunc(fs, func(f *freer) bool { return !f.resets })
}

// takenOut reports whether all of o that is used at the point is fields that were set
// to nil somewhere: x := o.f; o.f = nil takes what the field held out of o.
func (w *flow) takenOut(o *object, at *value) bool {
	taken := false
	for _, a := range at.args {
		if _, ok := o.members[a]; !ok {
			continue
		}
		emptied := false
		for m, n := a, 0; m != nil && m != o.def && n < 100; m, n = o.from[m], n+1 {
			if m.note.Kind == report.Field && m.op == opPart {
				emptied = emptied || w.empties(o, m.note.Name)
			}
		}
		if !emptied {
			return false
		}
		taken = true
	}
	return taken
}

// empties reports whether nil is stored in a field of o.
func (w *flow) empties(o *object, field string) bool {
	if w.emptied == nil {
		w.emptied = map[string][]*value{}
		for _, b := range w.f.rpo {
			for _, v := range b.instrs {
				if v.op != opStore || len(v.args) < 2 || origin(v.args[0]).op != opNil {
					continue
				}
				if v.note.Kind == report.InField {
					w.emptied[v.note.Name] = append(w.emptied[v.note.Name], v.args[1])
				}
			}
		}
	}
	return slices.ContainsFunc(w.emptied[field], func(of *value) bool { _, ok := o.members[of]; return ok })
}

// dropped reports a buffer that a collection loses without a free.
func (d *decider) dropped(lost *object, coll, how string, at token.Pos) *Finding {
	fd := &Finding{Category: CategoryLeak, Pos: lost.def.pos, End: lost.def.pos, Buffer: lost.buf}
	what := d.holder(lost)
	if what == "" {
		what = d.unnamed(lost)
	}
	if c := d.callOf(lost); c != nil {
		fd.Pos, fd.End = c.pos, max(c.end, c.pos)
	}
	fd.Message = what + ", put into " + coll + ", is lost: " + how + " at " + report.At(at) + " drops it without a free"
	fd.Related = []analysis.RelatedInformation{{Pos: at, End: at, Message: "dropped here"}}
	return fd
}

// givenSite returns the first buffer that is put into o.
func (w *flow) givenSite(o *object) *object {
	var first *object
	for _, v := range w.given(o) {
		if q := w.byDef[origin(v)]; q != nil && q.kind == objSite && !q.coll && (first == nil || q.def.pos < first.def.pos) {
			first = q
		}
	}
	return first
}

// replaced reports elements of local maps that another one replaces under the same
// constant key, without a look at the map between.
func (d *decider) replaced() {
	isMap := func(o *object) bool {
		_, ok := o.def.typ0().Underlying().(*types.Map)
		return ok && o.coll && o.group != nil && o.group.why == ""
	}
	if !slices.ContainsFunc(d.w.objs, isMap) {
		return
	}
	found := map[*object][]*Finding{}
	for _, b := range d.f.rpo {
		last := map[*object]map[string]*value{}
		for _, v := range b.instrs {
			for k, a := range v.args {
				o := d.w.byDef[origin(a)]
				if o == nil || !isMap(o) || slices.ContainsFunc(v.args[:k], func(x *value) bool { return origin(x) == o.def }) {
					continue
				}
				ix, ok := v.expr.(*ast.IndexExpr)
				if v.op != opStore || !ok || d.p.info.Types[ix.Index].Value == nil {
					if v.op != opSet && v.op != opCopy {
						delete(last, o)
					}
					continue
				}
				key := d.p.info.Types[ix.Index].Value.ExactString()
				if was := last[o][key]; was != nil {
					if q := d.w.byDef[origin(was.args[0])]; q != nil && q.kind == objSite && !d.skip(q) {
						found[o] = append(found[o], d.dropped(q, "the map under "+key, "the store", v.pos))
					}
				}
				if last[o] == nil {
					last[o] = map[string]*value{}
				}
				last[o][key] = v
			}
		}
	}
	for _, o := range d.w.objs {
		d.out.Findings = append(d.out.Findings, found[o]...)
	}
}

// freesItself reports whether the program frees something of the group, or
// hands it to somebody who does.
func (g *group) freesItself() bool {
	for _, o := range g.objs {
		for _, evs := range o.events {
			for _, e := range evs {
				if e.why == byClear || e.why == byDelete || (e.kind == evFree || e.kind == evDefer) && !e.ours || e.callee == "(*sync.Pool).Put" {
					return true
				}
			}
		}
	}
	return false
}

// freedAt returns the first place where the program frees o.
func (d *decider) freedAt(g *group, o *object) token.Pos {
	best := token.NoPos
	for _, q := range g.objs {
		q.eachEvent(func(e event) {
			if (e.kind == evFree || e.kind == evDefer) && (!best.IsValid() || q == o) {
				if !best.IsValid() || q == o && best > e.at.pos {
					best = e.at.pos
				}
			}
		})
	}
	return best
}
