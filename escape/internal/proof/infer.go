package proof

// From a body to its summary.

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// ordered returns the functions that are looked into, callees before callers.
func (c *checker) ordered() []*ssa.Function {
	byObj := map[*types.Func]*ssa.Function{}
	var list []*types.Func
	for _, d := range c.decls() {
		if fn := c.prog.FuncValue(d); fn != nil && fn.Blocks != nil && c.sums[d] == nil {
			byObj[d] = fn
			list = append(list, d)
		}
	}
	var out []*ssa.Function
	seen := map[*types.Func]bool{}
	var visit func(o *types.Func)
	var callees func(fn *ssa.Function)
	callees = func(fn *ssa.Function) {
		for i := range instrsOf(fn) {
			k := callOf(i)
			if k == nil {
				continue
			}
			if k.Common().StaticCallee() != nil {
				visit(origin(k.Common().StaticCallee()))
			} else if k.Common().IsInvoke() {
				for m := range c.named(k.Common().Method) {
					visit(m)
				}
			}
		}
		for _, a := range fn.AnonFuncs {
			callees(a)
		}
	}
	visit = func(o *types.Func) {
		if fn := byObj[o]; fn != nil && !seen[o] {
			seen[o] = true
			callees(fn)
			out = append(out, fn)
		}
	}
	for _, o := range list {
		visit(o)
	}
	return out
}

// infer finds out what a function does, whoever calls it, and where that depends on whose some operands are,
// what it does where they are the library's.
func (c *checker) infer(fn *ssa.Function) *Summary {
	f := c.family(fn)
	s := c.summary(fn, f)
	if f.asked != 0 {
		s.Theirs, s.Where = f.asked, c.summary(fn, c.newFamily(fn, f.asked, nil))
	}
	return s
}

// summary reads the summary of a function off its graph, and off walks with what it returns.
func (c *checker) summary(fn *ssa.Function, f *family) *Summary {
	n := fn.Signature.Results().Len()
	if f.tooBig || c.otherwise(fn, false) {
		return worst(len(fn.Params), n)
	}
	c.running(f)
	s := &Summary{Params: make([]Param, len(fn.Params)), Results: make([]Result, n), Recovers: recovers(fn)}
	for i, p := range fn.Params {
		s.Params[i] = f.params[i]
		s.Params[i].NilOK, s.Params[i].Waits, s.Params[i].Hands = c.zeroReturns(fn, p), f.waits(p), f.hands(p)
		if s.Params[i].Frees {
			c.silent(fn, p, &s.Params[i])
			s.Params[i].FreesIf = f.onlyIf(i)
		}
	}
	appends(fn, s)
	moves(fn, s)
	in := map[*object]int{} // by site: how many results may be it
	var g *graph
	for j, r := range f.rets[fn] {
		res := &s.Results[j]
		res.Known, res.Exact = true, len(r) > 0
		for id := range r.all() {
			e := f.elems[id]
			res.Exact = res.Exact && e.obj.kind == paramObj && e.path == ""
		}
		for id := range f.reach(r).all() {
			switch e := f.elems[id]; e.obj.kind {
			case siteObj:
				in[e.obj]++
			case paramObj:
				k := e.obj.index
				direct := r.has(id) && e.path == "" && !f.retyped(e.obj, fn.Signature.Results().At(j).Type())
				if direct && !slices.Contains(res.Is, k) {
					res.Is = append(res.Is, k)
				} else if !direct {
					res.derives(e)
				}
			}
		}
	}
	for j, r := range f.rets[fn] {
		s.Results[j].Hands = c.returnsHanding(fn, j)
		is := owned(f, r, in, fn.Signature.Results().At(j).Type())
		if !is && !f.mayBeFresh(j) {
			f.readResult(j, &s.Results[j])
			continue
		}
		if g == nil {
			g = newGraph(f, nil, nil)
		}
		if is {
			c.ownedResult(g, fn, j, &s.Results[j])
		} else {
			c.freshResult(g, fn, j, &s.Results[j])
		}
	}
	return s
}

// running finds the operands that goroutines use, and those that ones have which may still run when the root
// is left.
func (c *checker) running(f *family) {
	starts := false
	for i := range f.instrs() {
		k := callOf(i)
		starts = starts || k != nil && f.resolve(k).spawns
	}
	if !starts {
		return
	}
	g := newGraph(f, nil, nil)
	g.breaks = true
	for i, k := range g.calls {
		if !g.spawned[i.Parent()] {
			continue
		}
		for _, v := range append(slices.Clone(k.args), i.Common().Value) {
			f.lends(f.reach(f.of(v)), Param{Together: true})
		}
	}
	w := c.walker(g, nil, nil, false, nil)
	for id, e := range f.elems {
		if e.obj.kind == paramObj {
			w.class.add(id)
		}
	}
	w.end = func(s *set, panics bool) {
		for _, sp := range g.spawns {
			if w.has(s, markKey{kind: running, at: sp.at}) {
				f.lends(sp.reaches, Param{Keeps: !panics, Runs: panics})
			}
		}
	}
	if w.run(); w.over != "" || g.strange() != "" {
		for _, sp := range g.spawns {
			f.lends(sp.reaches, Param{Keeps: true})
		}
	}
}

// lends notes what is done to the operands of the root in s.
func (f *family) lends(s set, does Param) {
	for e := range f.leads(s) {
		if e.obj.kind == paramObj {
			f.params[e.obj.index].or(does)
		}
	}
}

// owned reports whether a result of type t is nothing but resources made here, each of them only in this
// result.
func owned(f *family, r set, in map[*object]int, t types.Type) bool {
	some := false
	return !f.some(r, func(e elem) bool {
		one := e.resource() && in[e.obj] == 1 && f.freedAs(e.obj, t)
		some = some || one
		return !one && e.obj.kind != zeroObj
	}) && some
}

// ownedResult shows that result j is the caller's, and when it is zero.
func (c *checker) ownedResult(g *graph, fn *ssa.Function, j int, res *Result) {
	var sites []*object
	for id := range g.f.rets[fn][j].all() {
		if o := g.f.elems[id].obj; o.kind == siteObj {
			sites = append(sites, o)
		}
	}
	if g.strange() == "" {
		leads := func(w *walker, s *set, _ phase, i *ssa.Return) bool { return w.touched(s, i.Results[j]) }
		c.ownedAt(g, fn, sites, leads, itIs(j), res)
	}
}

// itIs says whether result j may be what a walk follows.
func itIs(j int) inReturn {
	return func(w *walker, s *set, _ phase, i *ssa.Return) bool { return w.holds(s, i.Results[j]) }
}

// An inReturn says whether what a return returns in some place holds, or leads to, what a walk follows.
type inReturn func(w *walker, s *set, p phase, i *ssa.Return) bool

// ownedAt shows that what sites make is the caller's where it is returned, and when there is nothing.
func (c *checker) ownedAt(g *graph, fn *ssa.Function, sites []*object, leads, holds inReturn, res *Result) {
	good := true
	var class set
	for _, o := range sites {
		own := setOf(o.ids)
		class.union(own)
		w := c.walker(g, nil, o, false, own)
		w.ret = func(s *set, p phase, i *ssa.Return) {
			if !leads(w, s, p, i) {
				return
			}
			good = good && p&phaseMask != freed
			res.Beside = res.Beside || w.denies(i.Results, i, p)
			for id := range s.all() {
				switch w.mark(id).kind {
				case left, offered, held:
					good = good && c.off[Confined]
				case twice:
					good = good && c.off[Once]
				}
			}
		}
		if w.run(); w.over != "" || !good {
			return
		}
	}
	res.owned(g.f, sites)
	c.zeros(g, fn, sites, class, holds, res)
}

// owned notes that the result is what sites make.
func (r *Result) owned(f *family, sites []*object) {
	r.Owned = true
	r.Vouched = !slices.ContainsFunc(sites, func(o *object) bool { return !o.vouched || f.wrapped(o) })
	r.Bare = !f.nilInside(sites)
}

// nilInside reports whether the zero of one of sites, or nil, may be in an interface as a pointer.
func (f *family) nilInside(sites []*object) bool {
	nothing := func(e elem) bool { return e.obj.kind == zeroObj || slices.Contains(sites, e.obj) }
	for i := range f.instrs() {
		if m, ok := i.(*ssa.MakeInterface); ok && f.some(f.of(m.X), nothing) {
			return true
		}
	}
	return slices.ContainsFunc(sites, func(o *object) bool { return types.IsInterface(o.typ) && !o.bare })
}

// zeros finds out when zero is returned, the constant or that of a site.
func (c *checker) zeros(g *graph, fn *ssa.Function, sites []*object, class set, holds inReturn, res *Result) {
	bare, withOK := false, 0
	zero := func(o *object) {
		w := c.walker(g, nil, o, true, class)
		w.ret = func(s *set, p phase, i *ssa.Return) {
			last := i.Results[len(i.Results)-1]
			switch one := len(i.Results) == 1; {
			case !holds(w, s, p, i), w.fails(i.Results, i, p):
			case !one && isBool(last.Type()) && w.value(last, isTrue, p) == no:
				withOK++
			default:
				bare = true
			}
		}
		w.run()
		bare = bare || w.over != ""
	}
	zero(nil)
	for _, o := range sites {
		if g.mayFail(o) {
			zero(o)
		}
	}
	res.Zero = bare || withOK > 0
	if !bare && withOK > 0 {
		res.OK = fn.Signature.Results().Len()
	}
}

// fails reports whether the last of what a return or a call gives is an error.
func (w *walker) fails(given []ssa.Value, i ssa.Instruction, p phase) bool {
	last := given[len(given)-1]
	return len(given) > 1 && isError(last.Type()) && w.nilAt(last, i, p) == no
}

// denies reports whether the last of what a return or a call gives, an error or a flag, may say that nothing
// was made.
func (w *walker) denies(given []ssa.Value, i ssa.Instruction, p phase) bool {
	if len(given) < 2 {
		return false
	}
	last := given[len(given)-1]
	switch {
	case isError(last.Type()):
		return w.nilAt(last, i, p) != yes && !tested(last, i.Block(), token.EQL)
	case isBool(last.Type()):
		return w.value(last, isTrue, p) != yes
	}
	return false
}
