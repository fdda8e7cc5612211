package escape

// Plans made again, where collections had better own what they hold.

import "slices"

// tighten plans again where buffers in a collection were to be freed one by one and
// some of them found no place for that: the collection then owns them, if it helps.
func (d *decider) tighten() {
	lost := d.unplanned()
	tight := map[*value]bool{}
	for _, t := range d.w.loosened {
		if slices.ContainsFunc(t.given, func(a *value) bool { return lost[origin(a)] }) {
			for _, v := range t.tree {
				tight[v] = true
			}
		}
	}
	if len(tight) == 0 {
		return
	}
	first := *d
	d.f.tight = tight
	d.f.flow = analyze(d.f)
	d.f.tight = nil
	d.w, d.all, d.raws = d.f.flow, nil, nil
	if d.planAll(); len(d.unplanned()) >= len(lost) {
		*d = first
		d.f.flow = d.w
	}
}

// unplanned returns what came into being here and is to be freed here, but is not:
// no place was found, or it is in a collection from which the program frees an
// element by another name.
func (d *decider) unplanned() map[*value]bool {
	lost := map[*value]bool{}
	for _, x := range d.all {
		for _, o := range x.sites {
			if slices.ContainsFunc(x.g.feeds(o), x.partlyFreed) {
				lost[o.def] = true
			}
		}
		if x.why == "" || x.pl == nil {
			continue
		}
		for _, o := range x.sites {
			if d.ownsPlan(x, x.g.feeds(o)) {
				lost[o.def] = true
			}
		}
	}
	return lost
}

// partlyFreed reports whether o is a collection of which the program frees an element
// by a name that the element has beside it, so that it is not known from there on what o owns.
func (x *decision) partlyFreed(o *object) bool {
	g := x.g
	j := g.index(o)
	if j < 0 || x.pl == nil {
		return false
	}
	found := false
	o.eachEvent(func(e event) {
		if found || e.kind != evFree && e.kind != evDefer || e.ours || e.own == nil || e.own == o {
			return
		}
		if out := g.out[e.at.blk]; out != nil {
			found = slices.ContainsFunc(out[j*g.n:(j+1)*g.n], func(s state) bool { return s&sMoved != 0 })
		}
	})
	return found
}
