package proof

// From a body to its summary.

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// ordered returns the functions of the package that have bodies, callees before callers.
func (c *checker) ordered() []*ssa.Function {
	byObj := map[*types.Func]*ssa.Function{}
	var list []*types.Func
	for _, d := range c.decls() {
		if fn := c.prog.FuncValue(d); fn != nil && fn.Blocks != nil {
			byObj[d] = fn
			list = append(list, d)
		}
	}
	var out []*ssa.Function
	seen := map[*types.Func]bool{}
	var visit func(o *types.Func)
	var callees func(fn *ssa.Function)
	callees = func(fn *ssa.Function) {
		for _, b := range fn.Blocks {
			for _, i := range b.Instrs {
				if k, ok := i.(ssa.CallInstruction); ok {
					if callee := k.Common().StaticCallee(); callee != nil {
						visit(origin(callee))
					}
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

// infer reads the summary of a function off its graph, and off walks with what it returns.
func (c *checker) infer(fn *ssa.Function) *Summary {
	f := c.family(fn)
	n := fn.Signature.Results().Len()
	if f.tooBig {
		return worst(len(fn.Params), n)
	}
	c.running(f)
	s := &Summary{Params: make([]Param, len(fn.Params)), Results: make([]Result, n)}
	for i, p := range fn.Params {
		s.Params[i] = Param{Keeps: f.keeps[i], Gives: f.given[i], Frees: f.frees[i], Runs: f.runs[i], Stores: f.stores[i], NilOK: zeroReturns(fn, p)}
		if f.frees[i] {
			s.Params[i].Silent, s.Params[i].Repeatable = c.silent(fn, p)
			s.Params[i].FreesIf = f.onlyIf(i)
		}
	}
	in := map[*object]int{} // by site: how many results may be it
	var g *graph
	for j, r := range f.rets[fn] {
		res := &s.Results[j]
		res.Known = true
		for id := range f.reach(r).all() {
			switch e := f.elems[id]; e.obj.kind {
			case siteObj:
				in[e.obj]++
			case paramObj:
				k := e.obj.param(f)
				if direct := r.has(id) && e.path == ""; direct && !slices.Contains(res.Is, k) {
					res.Is = append(res.Is, k)
				} else if !direct && !slices.Contains(res.Derived, k) {
					res.Derived = append(res.Derived, k)
				}
			}
		}
	}
	for j, r := range f.rets[fn] {
		if owned(f, r, in) {
			if g == nil {
				g = newGraph(f, nil, nil)
			}
			c.ownedResult(g, fn, j, &s.Results[j])
		}
	}
	return s
}

// running finds the operands that goroutines have which may still run when the root is left.
func (c *checker) running(f *family) {
	starts := func(fn *ssa.Function) bool {
		return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
			return slices.ContainsFunc(b.Instrs, func(i ssa.Instruction) bool { k := callOf(i); return k != nil && f.resolve(k).spawns })
		})
	}
	if !slices.ContainsFunc(f.fns, starts) {
		return
	}
	g := newGraph(f, nil, nil)
	g.breaks = true
	w := c.walker(g, nil, nil, false, nil)
	for id, e := range f.elems {
		if e.obj.kind == paramObj {
			w.class.add(id)
		}
	}
	has := func(sp *spawn, as []bool) {
		for id := range sp.reaches.all() {
			if o := f.elems[id].obj; o.kind == paramObj {
				as[o.param(f)] = true
			}
		}
	}
	w.end = func(s *set, panics bool) {
		for _, sp := range g.spawns {
			if w.has(s, markKey{kind: running, at: sp.at}) {
				has(sp, map[bool][]bool{false: f.keeps, true: f.runs}[panics])
			}
		}
	}
	if w.run(); w.over || g.recursive() {
		for _, sp := range g.spawns {
			has(sp, f.keeps)
		}
	}
}

// owned reports whether a result is nothing but resources made here, each of them only in this result.
func owned(f *family, r set, in map[*object]int) bool {
	some := false
	for id := range r.all() {
		switch e := f.elems[id]; {
		case e.obj.kind == siteObj && e.path == "" && in[e.obj] == 1:
			some = true
		case e.obj.kind == zeroObj:
		default:
			return false
		}
	}
	return some
}

// ownedResult shows that result j is the caller's, and when it is zero.
func (c *checker) ownedResult(g *graph, fn *ssa.Function, j int, res *Result) {
	f := g.f
	var class set
	var sites []*object
	for id := range f.rets[fn][j].all() {
		if o := f.elems[id].obj; o.kind == siteObj {
			sites = append(sites, o)
			for _, q := range o.ids {
				class.add(q)
			}
		}
	}
	if g.recursive() {
		return
	}
	good, bare, withOK := true, false, 0
	for _, o := range sites {
		var own set
		for _, q := range o.ids {
			own.add(q)
		}
		w := c.walker(g, nil, o, false, own)
		w.ret = func(s *set, p phase, i *ssa.Return) {
			if !w.touched(s, i.Results[j]) {
				return
			}
			good = good && p&phaseMask != freed
			res.Beside = res.Beside || g.denies(i, o, p&phaseMask)
			for id := range s.all() {
				switch w.mark(id).kind {
				case left, offered, held:
					good = false
				}
			}
		}
		if w.run(); w.over || !good {
			return
		}
	}
	zero := func(o *object) {
		w := c.walker(g, nil, o, true, class)
		w.ret = func(s *set, p phase, i *ssa.Return) {
			if !w.holds(s, i.Results[j]) {
				return
			}
			last := i.Results[len(i.Results)-1]
			switch {
			case len(i.Results) > 1 && isError(last.Type()) && (nonNil(last, i.Block()) || o != nil && p&phaseMask == newest && !g.maybeZero(o) && errorOf(last, o)):
			case len(i.Results) > 1 && (isFalse(last) || o != nil && p&phaseMask == newest && saysOK(last, o)):
				withOK++
			default:
				bare = true
			}
		}
		w.run()
		bare = bare || w.over
	}
	zero(nil)
	for _, o := range sites {
		if g.mayFail(o) {
			zero(o)
		}
	}
	res.Owned, res.Zero = true, bare || withOK > 0
	if last := fn.Signature.Results().Len(); !bare && withOK > 0 {
		res.OK = last
	}
}

// nonNil reports whether an error is one for sure in block b.
func nonNil(v ssa.Value, b *ssa.BasicBlock) bool {
	switch x := v.(type) {
	case *ssa.MakeInterface:
		return true
	case *ssa.Call:
		if f := x.Call.StaticCallee(); f != nil && f.Object() != nil {
			if name := f.Object().(*types.Func).FullName(); name == "errors.New" || name == "fmt.Errorf" {
				return true
			}
		}
	}
	return tested(v, b, token.NEQ)
}

// tested reports whether b runs only where v was found to be nil, or not to be nil, as op says.
func tested(v ssa.Value, b *ssa.BasicBlock, op token.Token) bool {
	for ; b != nil && b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) != 1 {
			continue
		}
		p := b.Preds[0]
		i, ok := p.Instrs[len(p.Instrs)-1].(*ssa.If)
		if !ok || p.Succs[0] == p.Succs[1] {
			continue
		}
		cmp, ok := i.Cond.(*ssa.BinOp)
		if !ok || cmp.X != v || !isNilConst(cmp.Y) || cmp.Op != token.EQL && cmp.Op != token.NEQ {
			continue
		}
		if (cmp.Op == op) == (p.Succs[0] == b) {
			return true
		}
	}
	return false
}

// denies reports whether the last result of a return, an error or a flag, may say that o is not there.
func (g *graph) denies(i *ssa.Return, o *object, p phase) bool {
	if len(i.Results) < 2 {
		return false
	}
	last := i.Results[len(i.Results)-1]
	whose := p == newest && !g.beside(o)
	switch {
	case isError(last.Type()):
		return !isNilConst(last) && !tested(last, i.Block(), token.EQL) && !(whose && errorOf(last, o))
	case isBool(last.Type()):
		c, ok := last.(*ssa.Const)
		return (!ok || isFalse(c)) && !(whose && saysOK(last, o))
	}
	return false
}

func isNilConst(v ssa.Value) bool { c, ok := v.(*ssa.Const); return ok && c.Value == nil }

func isFalse(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.String() == "false"
}

// errorOf reports whether v is the error of the call that makes o.
func errorOf(v ssa.Value, o *object) bool {
	e, ok := v.(*ssa.Extract)
	return ok && e.Tuple == o.at && isError(e.Type())
}

// saysOK reports whether v is err == nil, err the error of the call that makes o.
func saysOK(v ssa.Value, o *object) bool {
	b, ok := v.(*ssa.BinOp)
	return ok && b.Op == token.EQL && isNilConst(b.Y) && errorOf(b.X, o)
}

// zeroReturns reports whether a function that is given nil, or zero, looks at that and returns.
func zeroReturns(fn *ssa.Function, p *ssa.Parameter) bool {
	b := fn.Blocks[0]
	for _, i := range b.Instrs {
		switch i.(type) {
		case *ssa.DebugRef, *ssa.Field, *ssa.BinOp, *ssa.If:
		default:
			return false
		}
	}
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	cmp, ok := i.Cond.(*ssa.BinOp)
	if !ok || !isNilConst(cmp.Y) || cmp.Op != token.EQL && cmp.Op != token.NEQ {
		return false
	}
	x := cmp.X
	for {
		f, ok := x.(*ssa.Field)
		if !ok {
			break
		}
		x = f.X
	}
	if x != ssa.Value(p) {
		return false
	}
	to := b.Succs[0]
	if cmp.Op == token.NEQ {
		to = b.Succs[1]
	}
	for _, i := range to.Instrs {
		switch i.(type) {
		case *ssa.DebugRef, *ssa.Return, *ssa.RunDefers:
		default:
			return false
		}
	}
	return true
}

// silent reports whether a body does nothing but free parameter p and write its fields, and
// whether all that it frees may be freed again.
func (c *checker) silent(fn *ssa.Function, p *ssa.Parameter) (silent, repeatable bool) {
	repeatable = true
	of := func(v ssa.Value) bool {
		for {
			switch x := v.(type) {
			case *ssa.FieldAddr:
				v = x.X
			case *ssa.Field:
				v = x.X
			case *ssa.UnOp:
				v = x.X
			default:
				return v == ssa.Value(p)
			}
		}
	}
	own := func(v ssa.Value) bool { // a field of what p points to, not of what that leads to
		for {
			f, ok := v.(*ssa.FieldAddr)
			if !ok {
				return v == ssa.Value(p)
			}
			v = f.X
		}
	}
	if len(fn.AnonFuncs) > 0 {
		return false, false
	}
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			switch i := i.(type) {
			case *ssa.DebugRef, *ssa.Jump, *ssa.If, *ssa.Return, *ssa.BinOp:
			case *ssa.FieldAddr, *ssa.Field:
				if !of(i.(ssa.Value)) {
					return false, false
				}
			case *ssa.UnOp:
				if i.Op != token.NOT && (i.Op != token.MUL || !of(i)) {
					return false, false
				}
			case *ssa.Store:
				if _, zero := i.Val.(*ssa.Const); !zero || !own(i.Addr) {
					return false, false
				}
			case *ssa.Call:
				callee := i.Call.StaticCallee()
				if callee == nil || len(i.Call.Args) != 1 || !of(i.Call.Args[0]) {
					return false, false
				}
				q := c.effect(origin(callee)).param(0)
				if !q.Frees || !q.Silent {
					return false, false
				}
				repeatable = repeatable && q.Repeatable
			default:
				return false, false
			}
		}
	}
	return true, repeatable
}

// onlyIf finds the operand on which it depends whether operand i is freed.
func (f *family) onlyIf(i int) int {
	found := 0
	for _, fn := range f.fns {
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				c := callOf(in)
				if c == nil || !f.freesParam(c, i) {
					continue
				}
				cond := 0
				if _, call := in.(*ssa.Call); call && fn == f.root {
					cond = conditionOf(fn, b)
				}
				if cond == 0 || found != 0 && cond != found {
					return 0
				}
				found = cond
			}
		}
	}
	return found
}

// freesParam reports whether a call may free operand i.
func (f *family) freesParam(c ssa.CallInstruction, i int) bool {
	k := f.resolve(c)
	for n, a := range k.args {
		if k.sum == nil || !k.sum.param(n).Frees || k.ruledOut(k.sum.param(n)) {
			continue
		}
		for id := range f.reach(f.of(a)).all() {
			if o := f.elems[id].obj; o.kind == paramObj && o.param(f) == i {
				return true
			}
		}
	}
	return false
}

// conditionOf returns the operand of fn that is true, or false, wherever b runs: a test of it
// has b behind one of its edges alone.
func conditionOf(fn *ssa.Function, b *ssa.BasicBlock) int {
	for ; b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) != 1 {
			continue
		}
		p := b.Preds[0]
		i, ok := p.Instrs[len(p.Instrs)-1].(*ssa.If)
		if !ok || p.Succs[0] == p.Succs[1] {
			continue
		}
		for n, q := range fn.Params {
			if i.Cond != ssa.Value(q) {
				continue
			}
			if p.Succs[0] == b {
				return n + 1
			}
			return -n - 1
		}
	}
	return 0
}
