package proof

// Calls: who is called, and what that does to each operand. A literal of the family is
// called as a body; everything else by its summary: a spec line, else what was found out
// about the body, else the worst. Builtin functions are in table.go.

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/spec"
)

// A call is what one call instruction does.
type call struct {
	at        ssa.CallInstruction
	v         ssa.Value   // takes its results, nil if nothing does
	args      []ssa.Value // the receiver first
	fn        *types.Func // that is called, nil if it is not one alone
	sum       *Summary    // what it does; nil: bodies alone, or a builtin
	bodies    []*ssa.Function
	callbacks []*ssa.Function // literals that the callee may call
	builtin   string
	entry     *entry // of a builtin
	spawns    bool   // a goroutine runs bodies from here on
	given     bool   // the callee is an operand of a function here: its caller knows what it does
	placed
}

// placed is what the graph of points adds to a call.
type placed struct {
	does  []Param // what it does to each of args, as far as known; set by the graph of points
	point int     // where it is; the next one is behind it
}

func callOf(i ssa.Instruction) ssa.CallInstruction { c, _ := i.(ssa.CallInstruction); return c }

// resolve finds out what a call does, as far as the graph knows.
func (f *family) resolve(i ssa.CallInstruction) *call {
	com := i.Common()
	k := &call{at: i, args: com.Args}
	_, k.spawns = i.(*ssa.Go)
	if v, ok := i.(*ssa.Call); ok {
		k.v = v
	}
	if com.IsInvoke() {
		k.args = append([]ssa.Value{com.Value}, com.Args...)
		k.fn = com.Method
		k.sum = f.dispatched(com)
		if k.sum == nil && (!anyType(com.Value.Type()) || f.c.off[Callbacks]) {
			k.sum = cmp.Or(f.promised(com), f.c.effect(com.Method))
		}
		return f.listens(k)
	}
	switch v := com.Value.(type) {
	case *ssa.Builtin:
		k.builtin, k.entry = v.Name(), builtin(v.Name(), k.args, k.v)
		return k
	case *ssa.Function:
		if f.member[v] && v != f.root { // the root has other registers when it calls itself
			k.bodies = []*ssa.Function{v}
			return k
		}
		k.fn = origin(v)
		k.sum = f.c.effect(k.fn)
		if k.sum = f.where(k); f.c.outlives(k) {
			k.sum = nil
		}
		if groupMethod(k.fn) == "Go" {
			return f.starts(k)
		}
		return f.listens(k)
	}
	callees := f.of(com.Value)
	bodies, rest := f.bodies(callees)
	if len(bodies) > 0 && !f.some(rest, func(e elem) bool { return e.obj.kind != zeroObj }) {
		k.bodies = bodies
		return k
	}
	if k.sum = f.chosen(com); k.sum != nil {
		return f.listens(k)
	}
	k.args = append([]ssa.Value{com.Value}, com.Args...)
	k.sum = worst(len(k.args), com.Signature().Results().Len())
	if len(com.Args) == 1 {
		k.sum.Params[1].Hands = f.c.handsOn(com.Value)
	}
	if _, ok := com.Value.(*ssa.Parameter); ok { // of the root, or of a literal that nobody here calls
		k.given = !f.some(callees, func(e elem) bool {
			return e.obj.kind != paramObj || e.path != "" || !callable(e.obj.typ)
		})
	}
	// Who calls a function does not keep it. It may hand on what it holds to functions that it is given, and
	// store it in what else it is given.
	k.sum.Params[0] = Param{Gives: everyBit, Tells: slices.ContainsFunc(com.Args, func(a ssa.Value) bool {
		return f.takes(a) && (!k.given || !f.only(f.of(a), func(e elem) bool { return e.obj.kind == paramObj }))
	})}
	if f.some(callees, func(e elem) bool { return e.obj.kind == litObj }) {
		k.sum.Params[0] = anything
	}
	if f.handing != nil && com.Value == ssa.Value(f.handing) {
		k.sum.Params, k.sum.Results = make([]Param, len(k.args)), harmless(com.Signature()).Results
	}
	return f.listens(k)
}

// takes reports whether a function that is called with v may store something in what v leads to.
func (f *family) takes(v ssa.Value) bool {
	_, basic := v.Type().Underlying().(*types.Basic)
	return (!basic || isUnsafe(v.Type())) && !f.literals(v)
}

// bodies returns the literals of the family in s, and the rest of it.
func (f *family) bodies(s set) (fns []*ssa.Function, rest set) {
	for id := range s.all() {
		if o := f.elems[id].obj; o.kind != litObj || !f.member[o.fn] {
			rest.add(id)
		} else if !slices.Contains(fns, o.fn) {
			fns = append(fns, o.fn)
		}
	}
	return fns, rest
}

// literals reports whether v is nothing but literals of the family.
func (f *family) literals(v ssa.Value) bool {
	fns, rest := f.bodies(f.of(v))
	return len(fns) > 0 && rest.empty()
}

// chosen returns what the functions do, one of which a value is; nil if they are not all known.
func (f *family) chosen(com *ssa.CallCommon) *Summary {
	return f.oneOf(com.Value, func(v ssa.Value) *types.Func {
		if fn, ok := v.(*ssa.Function); ok && !f.member[fn] && len(fn.FreeVars) == 0 {
			return origin(fn)
		}
		return nil
	})
}

// dispatched returns what a method does that is called on an interface whose dynamic types are
// known; nil if they are not.
func (f *family) dispatched(com *ssa.CallCommon) *Summary {
	return f.oneOf(com.Value, func(v ssa.Value) *types.Func {
		if v, ok := v.(*ssa.MakeInterface); ok && !slices.ContainsFunc(namesOf(v.X.Type()), f.c.renamed) {
			sel := f.c.prog.MethodSets.MethodSet(v.X.Type()).Lookup(com.Method.Pkg(), com.Method.Name())
			if sel != nil && len(sel.Index()) == 1 {
				return sel.Obj().(*types.Func)
			}
		}
		return nil
	})
}

// oneOf returns what the callees do of all that v may come from; nil if one is not known.
func (f *family) oneOf(v ssa.Value, callee func(ssa.Value) *types.Func) *Summary {
	var sum *Summary
	seen := map[ssa.Value]bool{}
	var visit func(v ssa.Value) bool
	visit = func(v ssa.Value) bool {
		if seen[v] {
			return true
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.Phi:
			return !slices.ContainsFunc(v.Edges, func(e ssa.Value) bool { return !visit(e) })
		case *ssa.ChangeType:
			return visit(v.X)
		case *ssa.ChangeInterface:
			return visit(v.X)
		}
		fn := callee(v)
		s := f.c.invoked(fn)
		sum = worse(sum, s)
		return s != nil && !unsaid(fn)
	}
	if !visit(v) {
		return nil
	}
	return sum
}

// starts reads g.Go(f): f runs in a goroutine. One that is started at an exit nobody waits for.
func (f *family) starts(k *call) *call {
	fns, rest := f.bodies(f.of(k.args[len(k.args)-1]))
	if _, late := k.at.(*ssa.Defer); !late && len(fns) > 0 && rest.empty() {
		k.spawns, k.bodies, k.sum = true, fns, nil
	} else {
		k.sum = worst(2, k.fn.Signature().Results().Len())
		k.sum.Params = []Param{{}, {Keeps: true}}
	}
	return k
}

// listens finds the literals that a callee may call.
func (f *family) listens(k *call) *call {
	if k.sum == nil {
		k.sum = worst(len(k.args), k.at.Common().Signature().Results().Len())
	}
	for n, a := range k.args {
		if k.sum.param(n).Keeps && !f.yields(a) {
			continue
		}
		fns, _ := f.bodies(f.handed(f.of(a)))
		for _, fn := range fns {
			if !slices.Contains(k.callbacks, fn) {
				k.callbacks = append(k.callbacks, fn)
			}
		}
	}
	return k
}

// yield is what go/ssa calls the body of a range over a function. The language has it run
// while the loop does, and panics otherwise.
const yield = "range-over-func yield"

// ruledOut reports whether the condition under which a call frees is known to be false.
func (k *call) ruledOut(p Param) bool {
	n := max(p.FreesIf, -p.FreesIf) - 1
	if n < 0 || n >= len(k.args) {
		return false
	}
	c, ok := k.args[n].(*ssa.Const)
	return ok && c.Value != nil && c.Value.String() != fmt.Sprint(p.FreesIf > 0)
}

// yields reports whether v is the body of a range over a function.
func (f *family) yields(v ssa.Value) bool {
	return f.only(f.of(v), func(e elem) bool { return e.obj.kind == litObj && e.obj.fn.Synthetic == yield })
}

// walked reports whether operand n of a call is nothing but literals of which all runs are seen.
func (f *family) walked(k *call, n int) bool {
	v := k.args[n]
	sig, ok := v.Type().Underlying().(*types.Signature)
	returns := ok && k.sum.Said && (search{c: f.c, said: true}).returns(sig)
	return f.literals(v) && !returns && (!k.sum.param(n).Keeps || f.yields(v))
}

// param returns what a call does to operand n.
func (f *family) param(k *call, n int) Param {
	p := k.sum.param(n)
	into := p.Into
	if !k.grows() {
		into = nil
	} else if into != nil || k.grown(n) {
		p.Keeps, p.Stores = false, p.Stores && !k.grown(n)
	} else if f.moved(k, n) {
		p.Keeps, p.Stores = false, false
	}
	if f.yields(k.args[n]) {
		p.Keeps, p.Stores, p.Clears = false, false, nil
		return p
	}
	if k.sum == nil {
		return p
	}
	p.Stores = p.Stores || f.c.decodes(k, n)
	p.or(f.c.constrained(k, n))
	for m, a := range k.args {
		if m == n {
			continue
		}
		p.or(f.c.hands(k, m, p.Gives.has(m)))
		if p.Gives.has(m) && !f.c.settings(k.fn, a.Type()) && f.calls(k, m, true) && !f.walked(k, m) {
			if p.or(f.taken(a)); k.sum.param(m).Keeps { // it may be called later
				p.or(anything)
			}
		}
		p.Tells = p.Tells || k.sum.param(m).Gives.has(n) && f.takes(a) && callable(k.args[n].Type())
	}
	// What a function holds, it may store in what it is called with; of one that is an operand, the caller
	// knows.
	operand := func(e elem) bool { return e.obj.kind == paramObj && e.path == "" && callable(e.obj.typ) }
	if p.Tells && callable(k.args[n].Type()) && !f.walked(k, n) && !f.only(f.of(k.args[n]), operand) {
		p.Keeps, p.Numbers = true, nil
	}
	if p.Keeps && p.Numbers != nil {
		p.Keeps = !f.areNumbers(f.numbersIn(k.args[n], p.Numbers))
	}
	p.Into = into
	return p
}

// call lets a call flow.
func (f *family) call(i ssa.CallInstruction) {
	k := f.resolve(i)
	if k.builtin != "" {
		if k.entry.makes && k.v != nil {
			f.memory(k.v)
		}
		f.does(k.entry, k.v)
		return
	}
	for _, b := range k.bodies {
		for n, p := range b.Params[:min(len(b.Params), len(k.args))] {
			f.flow(p, 0, f.of(k.args[n]))
		}
		for n, r := range f.rets[b] {
			if k.v != nil && groupMethod(k.fn) != "Go" { // a group has what its goroutines return
				f.flow(k.v, n, r)
			} else {
				f.escape(r)
			}
		}
	}
	if k.sum == nil {
		return
	}
	f.operands(k)
	if k.v != nil {
		f.results(k)
	}
}

// operands lets what a callee does to its operands flow.
func (f *family) operands(k *call) {
	for n, a := range k.args {
		p, s := f.param(k, n), f.of(a)
		frees, spoiled := f.frees(p, s), f.spoiled(p, a)
		for _, to := range p.Into {
			f.grow(k, n, to)
		}
		if f.moved(k, n) {
			f.move(k, n)
		}
		f.passes(k, n, p.Gives)
		if n == 0 && f.c.exchanges(k.fn) {
			f.store(s, set{1 << unknownElem}, true, true)
		}
		r := f.reach(s)
		for id := range f.cleared(s, p).all() {
			f.put(id, set{1 << zeroElem})
		}
		if k.given && n > 0 && !k.spawns {
			s = f.gives(s) // what the caller's function does, the caller knows
			frees, spoiled, p.Stores, p.Clears = nil, nil, false, nil
		}
		if p.Keeps || k.spawns {
			f.escape(s)
		} else if p.Numbers != nil { // no more of it is kept
			f.escape(f.numbersIn(a, p.Numbers))
		}
		for id := range r.all() {
			switch o := f.elems[id].obj; {
			case o.kind == memObj && (p.Stores || spoiled.has(id) || f.dataIn(id, a)):
				f.put(id, set{1 << unknownElem})
			case o.kind == paramObj:
				ends := p.Ends || p.Frees && !p.Keeps || n == 0 && f.c.says(k.fn, spec.Freed)
				ends = ends && f.elems[id].path == "" && s.has(id)
				f.params[o.index].or(Param{Frees: frees.has(id), Ends: ends, Stores: p.Stores || p.Empties, Runs: p.Runs,
					Counts: p.Counts, Together: p.Together, Tells: p.Tells && callable(o.typ)})
				f.passesOn(o, a, p.Clears)
			case o.kind == litObj && slices.Contains(k.callbacks, o.fn):
				var handed []Result
				if s.has(id) {
					handed = k.sum.param(n).Hands
				}
				f.calledBack(o, f.lentBy(k), handed)
			case o.kind == litObj && !f.member[o.fn]:
				f.escape(s)
			}
		}
	}
}

// lentBy returns what a callee may call literals with: all that it is lent, but for what these have, since
// literals are called and not looked into.
func (f *family) lentBy(k *call) set {
	all := single(unknownElem)
	for _, a := range k.args {
		if !f.literals(a) {
			all.union(f.lentParts(f.of(a)))
		}
	}
	return all
}

// frees returns what a callee may free that does p to what leads to s.
func (f *family) frees(p Param, s set) set {
	if !p.Frees {
		return nil
	}
	var from set
	for id := range s.all() {
		if len(p.Parts) == 0 || f.elems[id].obj.kind != memObj {
			from.add(id)
		}
		from.union(f.inParts(single(id), p.Parts))
	}
	return f.closure(from, func(o *object) bool { return !p.Alone || o.kind != siteObj })
}

// results lets what a callee returns flow.
func (f *family) results(k *call) {
	for j := range k.at.Common().Signature().Results().Len() {
		switch r := k.sum.result(j); {
		case j == 0 && k.fn != nil && k.fn.Name() == "WithContext" && pathOf(k.fn) == "golang.org/x/sync/errgroup":
			f.memory(k.v) // a group that nobody else has
		case r.Fresh:
			f.flow(k.v, j, f.fresh(k, j, r))
		case r.Owned && f.keepsFunction(k):
			f.flow(k.v, j, single(unknownElem))
		case r.Owned:
			o := f.object(key{k.v, j}, siteObj, k.resultType(j))
			o.vouched, o.bare = r.Vouched, r.Bare
			id := f.elem(o, "")
			f.flow(k.v, j, single(id))
			is, views := f.result(k, j).apart()
			f.flow(k.v, j, f.outcome(is))
			f.put(id, f.outcome(views))
		case f.optional(k, j):
			f.flow(k.v, j, single(zeroElem)) // nobody has anything by it
		default:
			f.flow(k.v, j, f.outcome(f.result(k, j)))
		}
	}
}

// keepsFunction reports whether a callee may keep a function that it is given: what frees its result may call
// that, and nobody knows what it does.
func (f *family) keepsFunction(k *call) bool {
	for n := range k.args {
		if f.calls(k, n, false) && f.param(k, n).Keeps {
			return true
		}
	}
	return false
}

func (k *call) resultType(j int) types.Type { return k.at.Common().Signature().Results().At(j).Type() }
