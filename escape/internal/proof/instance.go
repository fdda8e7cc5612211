package proof

// The run of a call that made what a walk follows. A call in a loop makes memory anew each time, and the
// graph has one object for all of it. So a walk with a part of such memory notes which registers may lead to
// what this run made. An address of it is nowhere else at first. Once one is put into memory, or into a
// literal, anybody may have read it there; then, and when what is followed is put into such memory once more,
// the runs are no longer told apart.

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// instance returns the objects that are made together with what a site makes, if that is a part of them.
func (f *family) instance(site *object) (all []*object) {
	for _, o := range f.objs {
		if site != nil && site.index >= partBase && o.kind == memObj && o.at == site.at {
			all = append(all, o)
		}
	}
	return all
}

// mayReach reports whether v may lead to what was made with the resource.
func (w *walker) mayReach(s *set, v ssa.Value) bool {
	return len(w.own) == 0 || w.has(s, markKey{kind: anyRun}) || w.leading(s, v, 0)
}

func (w *walker) leading(s *set, v ssa.Value, i int) bool {
	return w.has(s, markKey{kind: thisRun, k: key{v, i}})
}

// ofRun reports whether v leads to an element of which this is asked: one of other runs has nothing.
func (w *walker) ofRun(s *set, v ssa.Value, id int) bool {
	return !slices.Contains(w.own, w.f.elems[id].obj) || w.mayReach(s, v)
}

// leadsFrom notes whether register v leads to what was made with the resource.
func (w *walker) leadsFrom(s *set, v ssa.Value, i int, yes bool) {
	if m := (markKey{kind: thisRun, k: key{v, i}}); yes {
		s.add(w.id(m))
	} else {
		w.g.marks.remove(s, m)
	}
}

// traces notes where an instruction puts the addresses that it reads.
func (w *walker) traces(pt *point, s *set) {
	if len(w.own) == 0 {
		return
	}
	spreads := func(v ssa.Value) bool { return w.leading(s, v, 0) }
	some := false
	switch i := pt.instr.(type) {
	case *ssa.Store:
		some = spreads(i.Val)
	case *ssa.Call:
		some = w.tracesCall(w.g.calls[i], s)
	case *ssa.Return:
		some = pt.fn != w.f.root && slices.ContainsFunc(i.Results, spreads)
	case *ssa.DebugRef, *ssa.Phi, *ssa.If:
	case *ssa.MakeClosure, *ssa.Select:
		some = slices.ContainsFunc(slices.Collect(operands(i)), spreads)
	case ssa.Value:
		w.leadsFrom(s, i, 0, slices.ContainsFunc(pt.entry.from, func(src source) bool { return w.leadsOn(s, src) }))
	default:
		some = slices.ContainsFunc(slices.Collect(operands(i)), spreads)
	}
	if some {
		s.add(w.id(markKey{kind: anyRun}))
	}
}

// leadsOn reports whether a source may give what leads to what was made with the resource.
func (w *walker) leadsOn(s *set, src source) bool {
	if !w.leading(s, src.v, src.i) {
		return false
	}
	in := w.f.reach(w.f.from(src))
	return slices.ContainsFunc(w.own, func(o *object) bool { return slices.ContainsFunc(o.ids, in.has) })
}

// tracesCall reports whether a call may put an address that it is given into memory. What it returns may lead
// where its operands do.
func (w *walker) tracesCall(k *call, s *set) (puts bool) {
	for n, a := range k.args {
		keeps := k.sum == nil || k.does[n].Keeps || k.does[n].Into != nil || len(k.callbacks) > 0
		puts = puts || keeps && w.leading(s, a, 0)
	}
	was := ptr(*s)
	for j := range k.at.Common().Signature().Results().Len() {
		from := w.f.result(k, j).from
		for _, p := range k.sum.result(j).Parts {
			from = append(from, w.f.sources(k, p.Result, nil)...)
		}
		w.leadsFrom(s, k.v, j, slices.ContainsFunc(from, func(src source) bool { return w.leadsOn(was, src) }))
	}
	return puts
}
