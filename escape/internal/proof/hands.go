package proof

// What a function hands to one that it is given, as an iterator hands values to the body of a range: what it
// made, which nobody else has then, and which it does nothing more with. So it is the other one's, as if a
// call had returned it, and an operand of a literal is a site like a call: it makes what is followed anew
// each time that it is handed to the literal. What calls of the family give the literal is what it is.
//
// The call that hands it over is looked at as if it freed that: behind it nothing of the function may use it,
// free it, or hand it over again. An iterator that a function returns is one function, and what a literal
// captures is not known in that; one whose operand goes elsewhere than into calls of it hands nothing.

import (
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// hand makes what is handed to operand p of a literal; others is what parts of it may be that nobody knows.
// Nothing is known of one that others may call as well, or to which calls hand different things.
func (f *family) hand(p *ssa.Parameter, r Result, others set) set {
	if was, handed := f.owns[p]; handed && !reflect.DeepEqual(was, r) {
		return set{1 << unknownElem}
	}
	f.owns[p] = r
	if !r.Fresh {
		o := f.object(key{p, 0}, siteObj, p.Type())
		o.vouched, o.bare = r.Vouched, r.Bare
		return single(f.elem(o, ""))
	}
	out := f.memoryOf(p, 0, r, func(p Part) (s set) {
		if p.Unknown {
			s = others
		}
		return s
	})
	if r.Zero || p.Parent().Signature.Params().Len() > 1 {
		out.add(zeroElem)
	}
	return out
}

// handed lets what a literal is handed be made where it is entered. What a walk follows was another run's.
func (w *walker) handed(p phase, fn *ssa.Function, s *set) (phase, *set) {
	for _, q := range fn.Params {
		r, is := w.f.owns[q]
		switch {
		case !is:
			continue
		case w.sites != nil:
			w.sites.reached(q, p, s)
		case w.site != nil && w.site.at == ssa.Value(q) && p&phaseMask == newest:
			p = p&^phaseMask | older
		}
		s = w.renew(q, 0, r, s, func(Part) []source { return nil })
		if r.Zero && w.zero && w.site == nil {
			w.set(s, q, 0, true)
		}
	}
	return p, s
}

// handsOnly reports whether a call gives operand j of a literal nothing but what it hands over.
func (f *family) handsOnly(k *call, lit *ssa.Function, j int) bool {
	some, unknown := false, func(p Part) bool { return p.Unknown }
	for n, a := range k.args {
		inside, _ := f.bodies(f.handed(f.of(a)))
		if h := k.sum.param(n).Hands; !slices.Contains(inside, lit) {
			continue
		} else if j >= len(h) || !h[j].Owned && !h[j].Fresh ||
			slices.ContainsFunc(h[j].Parts, unknown) {
			return false
		}
		some = true
	}
	return some
}

// givenSome reports whether operand p of a literal is not nil in block b, neither what it is handed nor what
// calls of the family give it.
func (g *graph) givenSome(p *ssa.Parameter, b *ssa.BasicBlock, seen map[ssa.Value]bool) bool {
	all := p.Parent().Params
	last, n := all[len(all)-1], slices.Index(all, p)
	r, handed := g.f.owns[p]
	if !handed || !r.made() || last != p && isError(last.Type()) && !tested(last, b, token.EQL) {
		return false
	}
	for _, k := range g.calls {
		if slices.Contains(k.bodies, p.Parent()) && !g.neverNil(k.args[n], k.at.Block(), seen) {
			return false
		}
	}
	return true
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
	if o == nil {
		return -1
	}
	switch v := v.(type) {
	case *ssa.Extract:
		if v.Tuple == o.at {
			return v.Index
		}
	case *ssa.Parameter:
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
	if !ok {
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
	made := func(e elem) bool { return e.obj.kind == siteObj }
	if !slices.ContainsFunc(at, func(c *ssa.Call) bool {
		return slices.ContainsFunc(c.Call.Args, func(a ssa.Value) bool { return f.some(f.reach(f.of(a)), made) })
	}) {
		return nil
	}
	f = f.c.newFamily(f.root, f.theirs, p)
	g := newGraph(f, nil, nil)
	if f.tooBig || g.strange() != "" {
		return nil
	}
	out, some := make([]Result, sig.Params().Len()), false
	for j := range out {
		h := &handing{g: g, at: at, j: j}
		some = h.whole(&out[j]) || h.parts(&out[j]) || some
	}
	if !some {
		return nil
	}
	return out
}

// A handing is all calls of a function that the root is given, and the number of an operand.
type handing struct {
	g  *graph
	at []*ssa.Call
	j  int
}

// from returns what the operand may lead to.
func (h *handing) from() (s set) {
	for _, c := range h.at {
		s.union(h.g.f.of(c.Call.Args[h.j]))
	}
	return s
}

// alone reports whether no other operand leads to what is said.
func (h *handing) alone(is func(elem) bool) bool {
	f := h.g.f
	return !slices.ContainsFunc(h.at, func(c *ssa.Call) bool {
		for n, a := range c.Call.Args {
			if n != h.j && f.some(f.reach(f.of(a)), is) {
				return true
			}
		}
		return false
	})
}

// whole reports whether the operand is a resource that is made here, and that is handed over.
func (h *handing) whole(res *Result) bool {
	f, from := h.g.f, h.from()
	var sites []*object
	for e := range f.leads(f.reach(from)) {
		switch {
		case e.resource() && f.freedAs(e.obj, h.at[0].Call.Args[h.j].Type()):
			sites = append(sites, e.obj)
		case e.obj.kind != zeroObj:
			return false
		}
	}
	if len(sites) == 0 || !h.alone(func(e elem) bool { return slices.Contains(sites, e.obj) }) || !h.ends(sites, "", res) {
		return false
	}
	res.owned(f, sites)
	return true
}

// parts reports whether the operand leads to memory that is made here, and handed over with the resources in
// it.
func (h *handing) parts(res *Result) bool {
	f, from := h.g.f, h.from()
	content := contents{in: map[string]set{}, at: map[*object]string{}}
	if !h.g.gather(from, "", &content) {
		return false
	}
	for o, at := range content.at {
		if at != "" || !h.last(o) {
			return false
		}
	}
	parts, sites := f.sorted(content)
	if parts == nil || !h.alone(func(e elem) bool {
		_, memory := content.at[e.obj]
		return memory || sites[e.obj] != ""
	}) {
		return false
	}
	zero := Result{}
	h.ends(nil, "", &zero)
	for n := range parts {
		p := &parts[n]
		p.Unknown = p.Unknown || len(p.Derived) > 0
		p.Result = Result{Known: true}
		var own []*object
		for _, o := range f.objs {
			if at, ok := sites[o]; ok && at == p.Path {
				own = append(own, o)
			}
		}
		if len(own) == 0 {
			continue
		}
		t := partType(h.at[0].Call.Args[h.j].Type(), p.Path)
		if t == nil || slices.ContainsFunc(own, func(o *object) bool { return !f.freedAs(o, t) }) || !h.ends(own, p.Path, &p.Result) {
			return false
		}
		p.owned(f, own)
	}
	*res = Result{Fresh: true, Parts: parts, Zero: zero.Zero, Known: true}
	return true
}

// last reports whether nothing but registers leads to memory that is handed over, and none of these is read
// behind that, before the memory is made anew.
func (h *handing) last(o *object) bool {
	f := h.g.f
	leads := func(s set) bool { return f.some(s, func(e elem) bool { return e.obj == o }) }
	for id, s := range f.content {
		if f.elems[id].obj != o && leads(s) {
			return false
		}
	}
	made := o.at.(ssa.Instruction).Block()
	behind := map[*ssa.BasicBlock]bool{}
	for _, c := range h.at {
		maps.Copy(behind, reachable(func(b *ssa.BasicBlock) []*ssa.BasicBlock {
			if b == made {
				return nil
			}
			return b.Succs
		}, c.Block().Succs...))
	}
	delete(behind, made)
	for i := range f.instrs() {
		later := behind[i.Block()] || slices.ContainsFunc(h.at, func(c *ssa.Call) bool {
			return c.Block() == i.Block() && indexIn(i.Block(), i) > indexIn(i.Block(), c)
		})
		switch i.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Phi, *ssa.Defer, *ssa.Go: // they have it when another one is made
			later = true
		}
		for v := range operands(i) {
			if later && leads(f.of(v)) {
				return false
			}
		}
	}
	return true
}

// ends reports whether the calls hand over what sites make: the operand, or a part of what it leads to. They
// are looked at as frees of that. It notes when there is nothing; without sites, when the operand is nil.
func (h *handing) ends(sites []*object, path string, res *Result) bool {
	f := h.g.f
	var frees []*free
	var class set
	for _, c := range h.at {
		arg := c.Call.Args[h.j]
		x := &free{e: &edit{}, at: c, operand: operand{arg: arg, whole: arg, by: arg, from: f.of(arg)}, pts: f.of(arg),
			met: map[*object]bool{}, hands: res}
		switch {
		case path != "":
			x.parts, x.pts = []string{path}, f.load(f.along(x.from, path))
		case sites == nil: // no part of it
			x.parts, x.followed = []string{}, true
		}
		frees = append(frees, x)
	}
	good := true
	follow := func(o *object, zero bool) {
		w := f.c.walker(h.g, frees, o, zero, class)
		w.fault = func(_ int, rule Rule, _ string, _ ssa.Instruction) {
			if zero {
				res.Zero = true
			} else {
				good = good && f.c.off[rule]
			}
		}
		if w.run(); w.over != "" {
			good, res.Zero = false, true
		}
	}
	for _, o := range sites {
		class.union(setOf(o.ids))
		follow(o, false)
	}
	for _, o := range sites {
		if h.g.mayFail(o) {
			follow(o, true)
		}
	}
	follow(nil, true)
	return good
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
	s := c.does(one)
	if s == nil {
		return nil
	}
	return s.param(len(s.Params) - 1).Hands // in front of which a method value has its receiver
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
