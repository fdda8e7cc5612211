package escape

// Findings about what the program does by itself: uses after a free, second
// frees.

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// findings reports uses and frees in a wrong state.
func (d *decider) findings() {
	for _, g := range d.w.groups {
		if g.why != "" || len(g.objs) == 0 || !g.freesItself() {
			continue
		}
		g = g.objs[0].group // as it was decided last
		var pl *planner
		for _, x := range d.all {
			if x.g == g {
				pl = x.pl
				break
			}
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
			if d.skip(o) || d.resets(o) || d.w.shared(o) {
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
				where = " at " + d.p.line(freed)
				fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: freed, End: freed, Message: "freed here"})
			}
			switch {
			case is.st == sMoved && is.ev.why == byGoroutine:
				fd.Category = CategoryUseAfterFree
				fd.Message = name + " is used by a goroutine that nobody waits for, and freed at " + d.p.line(is.at.pos)
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
			key := fd.Category + d.p.fset.Position(fd.Pos).String()
			if seen[key] {
				continue
			}
			seen[key] = true
			fd.Buffer = o.buf
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

// freesItself reports whether the program frees something of the group, or
// hands it to somebody who does.
func (g *group) freesItself() bool {
	for _, o := range g.objs {
		for _, evs := range o.events {
			for _, e := range evs {
				if (e.kind == evFree || e.kind == evDefer) && !e.ours || e.callee == "(*sync.Pool).Put" {
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
