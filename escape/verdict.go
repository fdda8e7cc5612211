package escape

// What becomes of each buffer, and why.

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// typeName prints an object's type for people.
func (d *decider) typeName(t types.Type) string { return d.p.typeName(t) }

// typeName prints a type as the source writes it.
func (p *pkg) typeName(t types.Type) string {
	return strings.ReplaceAll(types.TypeString(t, p.qualifier), "_Ctype_", "C.")
}

// unnamed words a buffer that no variable holds.
func (d *decider) unnamed(o *object) string {
	if c := d.callOf(o); c != nil {
		return "the result of " + c.call.name
	}
	return "the " + d.typeName(o.def.typ0())
}

// holder returns the variable that holds o first.
func (d *decider) holder(o *object) string {
	for _, m := range o.def.users {
		for _, u := range m.users {
			if m.op == opPart && u.op == opSet && u.place.root.obj != nil && types.Identical(u.place.root.typ, o.def.typ0()) {
				return u.place.root.name // a struct that is followed field by field
			}
		}
	}
	for _, m := range o.order {
		if origin(m) != o.def {
			continue
		}
		for _, u := range m.users {
			switch {
			case u.op != opSet:
			case u.place.root.obj != nil:
				return u.place.String()
			case o.def.op == opOut:
				if p := d.pointer(u.place.root); p != "" {
					return p + u.place.name
				}
			}
		}
	}
	return ""
}

// pointer returns the first variable that holds the address of r.
func (d *decider) pointer(r *root) string {
	if vs := d.w.pointersTo(r); len(vs) > 0 {
		return vs[0].place.root.name
	}
	return ""
}

func (d *decider) callOf(o *object) *value {
	if o.def.op == opResult || o.def.op == opOut {
		return o.def.args[0]
	}
	return nil
}

// buffer writes the verdict on site o.
func (d *decider) buffer(x *decision, o *object) {
	b := &Buffer{Site: o.def.pos, Name: d.holder(o), Type: d.typeName(o.def.typ0())}
	if c := d.callOf(o); c != nil {
		b.Maker = c.call.name
		b.Site = c.pos
	}
	x.bufs[o] = b
	o.buf = b
	d.out.Buffers = append(d.out.Buffers, b)
	become := x.g.feeds(o)
	var frees, moves, returns, uses int
	var sink *event
	var sinkOwner *object
	for _, q := range become {
		q.eachEvent(func(e event) {
			switch e.kind {
			case evFree, evDefer:
				if e.ours {
					break
				}
				if e.own != nil && q != e.own {
					moves++
					if sink == nil {
						ev := e
						ev.why = "it is in a collection, one element of which is freed by another name"
						sink, sinkOwner = &ev, q
					}
					break
				}
				frees++
			case evMove:
				moves++
				if sink == nil || e.at.pos < sink.at.pos {
					ev := e
					sink, sinkOwner = &ev, q
				}
			case evReturn:
				if e.m == mView && !q.returned(e.at) {
					moves++
					if sink == nil {
						ev := e
						ev.why = "a view of it is returned"
						sink, sinkOwner = &ev, q
					}
				} else {
					returns++
				}
			case evRetain:
				moves++
				ev := e
				ev.why = "reference counted: retained by " + e.call.call.name
				sink, sinkOwner = &ev, q
			case evUse:
				uses++
			}
		})
	}
	if sink != nil && sink.why == byView && frees > 0 {
		moves, sink = moves-1, nil // it is freed as a whole, too
	}
	keep := func(why string) {
		b.Verdict = Kept
		b.Reason = why
		if sink != nil {
			b.Sink = sink.at.pos
			b.Callee = sink.callee
			b.captured = why == sink.why && sink.intoOuter()
			b.Path = d.w.path(sinkOwner, d.memberAt(sinkOwner, sink.at))
		}
	}
	var mine, saves []planned
	for _, p := range x.frees {
		switch {
		case !slices.Contains(become, p.obj):
		case p.save:
			saves = append(saves, p)
		default:
			mine = append(mine, p)
		}
	}
	if x.refused.why != "" {
		step := x.refused.step()
		if !step.Pos.IsValid() {
			step.Pos = b.Site
		}
		b.Stops = &step
	}
	switch {
	case x.why != "" && (x.pl == nil || len(x.pl.plan) == 0 && len(x.pl.unfixed) == 0):
		keep(x.why)
		if sink != nil && x.g.why != "" {
			b.Reason, b.captured = sink.why, sink.intoOuter()
		}
	case x.why != "":
		// Owned to the end on some path, and no fix.
		if !d.ownsPlan(x, become) {
			d.settled(x, become, b, frees, moves, returns, sink, keep)
			return
		}
		if e := piecewise(become); e != nil {
			keep("a loop frees what the collection holds element by element at " + report.At(e.at.pos) + ", and may be meant to reach all")
			return
		}
		b.Verdict = Reported
		b.Reason = x.why
		d.report(x, o, b, frees+moves+returns > 0, nil)
	case len(mine) > 0 || x.late != nil && x.late.fixed:
		b.Verdict = Inserted
		for _, p := range mine {
			b.Frees = append(b.Frees, Free{Pos: p.gap.pos, Text: rewrite.OneLine([]string{p.text}), Why: d.whyHere(p)})
		}
		slices.SortStableFunc(b.Frees, func(a, c Free) int { return cmp.Compare(a.Pos, c.Pos) })
		if x.noEdit != "" {
			b.Verdict, b.Reason = Reported, x.noEdit
			d.report(x, o, b, frees+moves+returns > 0, nil)
			return
		}
		d.report(x, o, b, frees+moves+returns > 0, mine, saves...)
	default:
		if retains, frees := d.countIn(o); len(become) == 1 && frees < 1+retains && frees > 0 {
			b.Verdict = Reported
			b.Reason = fmt.Sprintf("made with one reference, retained %s, released %s", times(retains), times(frees))
			d.miscounted(o, b)
			return
		}
		d.settled(x, become, b, frees, moves, returns, sink, keep)
		if x.late != nil {
			d.reportLate(x, o, b, nil)
		}
	}
}

// piecewise returns a free in a loop of some element of a collection that holds one
// of the objects, or of a view of one, nil if there is none. Which indices the loop sees is not followed:
// it may be all.
func piecewise(objs []*object) *event {
	var found *event
	for _, o := range objs {
		o.eachEvent(func(e event) {
			some := (e.kind == evFree || e.kind == evDefer) && !e.ours && e.m == mMaybe || e.why == byView
			if found == nil && some && e.at.blk != nil && e.at.blk.loopDepth > 0 {
				found = &e
			}
		})
	}
	return found
}

// perhaps returns a free that may or may not happen and after which nobody knows
// whether the buffer is owned; nil if the program is sure to free it.
func (d *decider) perhaps(x *decision, become []*object) *event {
	if x.pl == nil {
		return nil
	}
	lost := false
	for _, e := range x.pl.exits {
		for _, q := range become {
			if j := x.g.index(q); j >= 0 {
				for c := range x.g.n {
					lost = lost || e.st[j*x.g.n+c]&sMoved != 0
				}
			}
		}
	}
	var found *event
	for _, q := range become {
		q.eachEvent(func(e event) {
			if !lost || found != nil || e.kind != evFree && e.kind != evDefer || e.ours {
				return
			}
			switch {
			case e.when.K == IfTrue || e.when.K == IfFalse:
				e.why = fmt.Sprintf("%s frees it if %s is %t, which is not known here", e.call.call.name, e.call.operandName(int(e.when.Arg)), e.when.K == IfTrue)
			case e.why == "a part":
				e.why = e.call.call.name + " frees a part of what it holds"
			case e.m == mMaybe && q.holder:
				e.why = "what it holds is freed piece by piece"
			case e.when.K == Maybe:
				e.why = e.call.call.name + " frees it on some paths"
			default:
				return
			}
			e.callee = ""
			if e.call != nil {
				e.callee = e.call.call.name
			}
			found = &e
		})
	}
	return found
}

// operandName names operand i of the summary of call v.
func (v *value) operandName(i int) string {
	if v.call.sum.Recv {
		i--
	}
	if v.fn != nil && i >= 0 && i < v.fn.Signature().Params().Len() {
		if n := v.fn.Signature().Params().At(i).Name(); n != "" && n != "_" {
			return n
		}
	}
	return "argument " + itoa(i)
}

// returned reports whether o itself is among the results of the return at.
func (o *object) returned(at *value) bool {
	for _, e := range o.events[at] {
		if e.kind == evReturn && e.m == mWhole {
			return true
		}
	}
	return false
}

func (d *decider) ownsPlan(x *decision, become []*object) bool {
	for _, q := range become {
		if x.pl.unfixed[q] != nil {
			return true
		}
		for _, fp := range x.pl.plan {
			if fp.obj == q {
				return true
			}
		}
	}
	return false
}

// intoOuter reports whether a buffer leaves into a variable of an enclosing function.
func (e *event) intoOuter() bool { return e.at.op == opSet && e.at.place.root.outer }

// settled is the verdict on a buffer that needs nothing.
func (d *decider) settled(x *decision, become []*object, b *Buffer, frees, moves, returns int, sink *event, keep func(string)) {
	switch {
	case sink != nil:
		keep(sink.why)
	case returns > 0:
		b.Verdict, b.Reason = Moved, "returned to the caller"
	case frees > 0:
		if e := d.perhaps(x, become); e != nil {
			sink = e
			keep(e.why)
			return
		}
		b.Verdict = Freed
	default:
		keep("it lives until the program, or its goroutine, ends")
	}
}

// countIn counts how often o is retained and freed, if all of that happens in the
// block that makes it, once each, and nothing else may hold a reference; else it
// returns zeros.
func (d *decider) countIn(o *object) (retains, frees int) {
	if d.w.shared(o) {
		return 0, 0
	}
	same := true
	o.eachEvent(func(e event) {
		switch {
		case e.kind == evUse:
		case e.at.blk != o.def.where().blk || e.m != mWhole || e.kind != evRetain && e.when.K != Always:
			same = false
		case e.kind == evRetain:
			retains++
		case e.kind == evFree, e.kind == evDefer:
			frees++
		default:
			same = false
		}
	})
	if !same || retains == 0 {
		return 0, 0
	}
	return retains, frees
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return itoa(n) + " times"
}

// miscounted reports a buffer of which more references are taken than given back.
func (d *decider) miscounted(o *object, b *Buffer) {
	what := b.Name
	if what == "" {
		what = d.unnamed(o)
	}
	fd := &Finding{Category: CategoryLeak, Pos: b.Site, End: b.Site, Buffer: b, Message: what + " keeps a reference: " + b.Reason}
	if c := d.callOf(o); c != nil && c.end.IsValid() {
		fd.End = c.end
	}
	d.out.Findings = append(d.out.Findings, fd)
}

func (d *decider) memberAt(o *object, at *value) *value {
	for _, a := range at.args {
		if _, ok := o.members[a]; ok {
			return a
		}
	}
	return nil
}
