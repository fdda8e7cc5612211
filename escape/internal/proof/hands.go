package proof

// What a function hands to one that it is given, as an iterator hands values to the body of a range: what it
// made, which nobody else has then, and which it does nothing more with. So it is the other one's, as if a
// call had returned it, and an operand of a literal is a site like a call: it makes what is followed anew
// each time that the literal is entered.
//
// The call that hands it over is looked at as if it freed that: behind it nothing of the function may use it,
// free it, or hand it over again. An iterator that a function returns is a literal, and what it captures is
// not known in that; one whose operand goes elsewhere than into calls of it hands nothing.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// hand makes what is handed to operand p of a literal.
func (f *family) hand(p *ssa.Parameter, r Result) set {
	o := f.object(key{p, 1}, siteObj, p.Type())
	o.vouched, o.bare = r.Vouched, r.Bare
	f.owns[p] = r
	return single(f.elem(o, ""))
}

// handed returns p where a literal is entered that is handed what a walk follows: that was another run's.
func (w *walker) handed(p phase, fn *ssa.Function, s *set) phase {
	for _, q := range fn.Params {
		if _, is := w.f.owns[q]; is && w.sites != nil {
			w.sites.reached(q, p, s)
		} else if is && w.site != nil && w.site.at == ssa.Value(q) && p&phaseMask == newest {
			p = p&^phaseMask | older
		}
	}
	return p
}

// beside returns what there is beside what a site makes, that among it: results, or operands.
func (o *object) beside() *types.Tuple {
	if p, handed := o.at.(*ssa.Parameter); handed {
		return p.Parent().Signature.Params()
	}
	return o.at.(*ssa.Call).Call.Signature().Results()
}

// besides returns the number of a value among what a site makes, -1 if it is none of that.
func (o *object) besides(v ssa.Value) int {
	switch v := v.(type) {
	case *ssa.Extract:
		if o != nil && v.Tuple == o.at {
			return v.Index
		}
	case *ssa.Parameter:
		if o == nil {
			break
		}
		if p, handed := o.at.(*ssa.Parameter); handed && p.Parent() == v.Parent() {
			return slices.Index(v.Parent().Params, v)
		}
	}
	return -1
}

// isHanded reports whether a phase is that of what was handed to a function.
func (w *walker) isHanded(p phase) bool {
	p &= phaseMask
	return p >= ours && w.frees[p-ours].hands != nil
}

// hands returns what the root hands to its operand p, which is a function; nil if that is nothing.
func (f *family) hands(p *ssa.Parameter) (out []Result) {
	sig, ok := p.Type().Underlying().(*types.Signature)
	if !ok || sig.Variadic() {
		return nil
	}
	var at []*ssa.Call
	for _, i := range *p.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Call:
			if i.Call.Value != ssa.Value(p) || slices.Contains(i.Call.Args, ssa.Value(p)) {
				return nil
			}
			at = append(at, i)
		default:
			return nil
		}
	}
	var g *graph
	for j := range sig.Params().Len() {
		sites := f.handedBy(at, j)
		if sites == nil {
			continue
		}
		if g == nil {
			g, out = newGraph(f, nil, nil), make([]Result, sig.Params().Len())
		}
		if g.strange() == "" {
			f.c.handsOver(g, at, j, sites, &out[j])
		}
	}
	if !slices.ContainsFunc(out, func(r Result) bool { return r.Owned }) {
		return nil
	}
	return out
}

// handedBy returns the sites that make operand j of all of some calls, and that no other operand leads to;
// nil if it may be anything else.
func (f *family) handedBy(at []*ssa.Call, j int) (sites []*object) {
	for _, c := range at {
		s := f.of(c.Call.Args[j])
		for e := range f.leads(s) {
			switch {
			case e.resource() && f.freedAs(e.obj, c.Call.Args[j].Type()) && s.has(f.elem(e.obj, "")):
				if !slices.Contains(sites, e.obj) {
					sites = append(sites, e.obj)
				}
			case e.obj.kind != zeroObj:
				return nil
			}
		}
	}
	own := func(e elem) bool { return slices.Contains(sites, e.obj) }
	for _, c := range at {
		for n, a := range c.Call.Args {
			if n != j && f.some(f.reach(f.of(a)), own) {
				return nil
			}
		}
	}
	return sites
}

// handsOver shows that calls hand over operand j, which sites make, and when it is nothing.
func (c *checker) handsOver(g *graph, at []*ssa.Call, j int, sites []*object, res *Result) {
	var frees []*free
	var class set
	for _, k := range at {
		arg := k.Call.Args[j]
		frees = append(frees, &free{e: &edit{}, at: k, operand: operand{arg: arg, whole: arg}, pts: g.f.of(arg), met: map[*object]bool{}, hands: res})
	}
	good := true
	follow := func(o *object, zero bool) {
		w := c.walker(g, frees, o, zero, class)
		w.fault = func(_ int, rule Rule, _ string, _ ssa.Instruction) {
			if zero {
				res.Zero = true
			} else {
				good = good && c.off[rule]
			}
		}
		w.run()
		good = good && w.over == ""
	}
	for _, o := range sites {
		class.union(setOf(o.ids))
		follow(o, false)
	}
	for _, o := range sites {
		if g.mayFail(o) {
			follow(o, true)
		}
	}
	follow(nil, true)
	res.Owned = good
	res.Vouched = !slices.ContainsFunc(sites, func(o *object) bool { return !o.vouched || g.f.wrapped(o) })
	res.Bare = !g.f.nilInside(sites)
}

// returnsHanding returns what result j of fn hands to the function that it is called with, if all that is
// returned there is one function, which has one operand.
func (c *checker) returnsHanding(fn *ssa.Function, j int) []Result {
	var one *ssa.Function
	for i := range instrsOf(fn) {
		r, ok := i.(*ssa.Return)
		if !ok {
			continue
		}
		v := r.Results[j]
		if t, ok := v.(*ssa.ChangeType); ok {
			v = t.X
		}
		if m, ok := v.(*ssa.MakeClosure); ok {
			v = m.Fn
		}
		f, ok := v.(*ssa.Function)
		if !ok || one != nil && f != one || len(f.Params) != 1 {
			return nil
		}
		one = f
	}
	if one == nil {
		return nil
	}
	return c.does(one).param(0).Hands
}

// handsOn returns what a function that a call returned hands to the one that it is called with.
func (c *checker) handsOn(v ssa.Value) []Result {
	n := 0
	for {
		switch x := v.(type) {
		case *ssa.ChangeType:
			v = x.X
			continue
		case *ssa.Extract:
			v, n = x.Tuple, x.Index
			continue
		case *ssa.Call:
			if fn := x.Call.StaticCallee(); fn != nil {
				return c.effect(origin(fn)).result(n).Hands
			}
		}
		return nil
	}
}
