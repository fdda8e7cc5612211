package proof

// Calls: who is called, and what that does to each operand. A literal of the family is
// called as a body; everything else by its summary: a spec line, else what was found out
// about the body, else the worst.

import (
	"cmp"
	"fmt"
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/spec"
)

// A call is what one call instruction does.
type call struct {
	at        ssa.CallInstruction
	args      []ssa.Value // the receiver first
	fn        *types.Func // that is called, nil if it is not one alone
	sum       *Summary    // what it does; nil: bodies alone, or a builtin
	bodies    []*ssa.Function
	callbacks []*ssa.Function // literals that the callee may call
	builtin   string
	spawns    bool // a goroutine runs bodies from here on
	given     bool // the callee is an operand of a function here: its caller knows what it does

	does  []Param // what it does to each of args, as far as sum and the others say; set by the graph of points
	point int     // where it is; the next one is behind it
}

// resolve finds out what a call does, as far as the graph knows.
func (f *family) resolve(i ssa.CallInstruction) *call {
	com := i.Common()
	k := &call{at: i, args: com.Args}
	if _, ok := i.(*ssa.Go); ok {
		k.spawns = true
	}
	if com.IsInvoke() {
		k.args = append([]ssa.Value{com.Value}, com.Args...)
		k.fn = com.Method
		if k.sum = f.dispatched(com); k.sum == nil && (!anyType(com.Value.Type()) || f.c.off[Callbacks]) {
			k.sum = f.c.effect(com.Method)
		}
		return f.listens(k)
	}
	switch v := com.Value.(type) {
	case *ssa.Builtin:
		k.builtin = v.Name()
		return k
	case *ssa.Function:
		if f.member[v] && v != f.root { // the root has other registers when it calls itself
			k.bodies = []*ssa.Function{v}
			return k
		}
		k.fn = origin(v)
		k.sum = f.c.effect(k.fn)
		if groupMethod(k.fn) == "Go" {
			return f.starts(k)
		}
		return f.listens(k)
	}
	known := true
	for id := range f.of(com.Value).all() {
		o := f.elems[id].obj
		if o.kind != litObj || !f.member[o.fn] {
			known = known && o.kind == zeroObj
			continue
		}
		if !slices.Contains(k.bodies, o.fn) {
			k.bodies = append(k.bodies, o.fn)
		}
	}
	if !known || len(k.bodies) == 0 {
		k.bodies = nil
		if k.sum = f.chosen(com); k.sum != nil {
			return f.listens(k)
		}
		k.args = append([]ssa.Value{com.Value}, com.Args...)
		k.sum = worst(len(k.args), com.Signature().Results().Len())
		// Who calls a function does not keep it. It may hand on what it holds to functions that it is given.
		k.sum.Params[0] = Param{Gives: true}
		for id := range f.of(com.Value).all() {
			if o := f.elems[id].obj; o.kind == litObj {
				k.sum.Params[0] = Param{Keeps: true, Frees: true, Stores: true}
			}
		}
		if q, ok := com.Value.(*ssa.Parameter); ok {
			k.given = true // of the root, or of a literal that is returned: nobody here calls it
			for id := range f.of(q).all() {
				k.given = k.given && f.elems[id].obj.kind == paramObj
			}
		}
		return f.listens(k)
	}
	return k
}

// chosen returns what the functions do, one of which a value is; nil if they are not all known.
func (f *family) chosen(com *ssa.CallCommon) *Summary {
	return f.oneOf(com.Value, func(v ssa.Value) *types.Func {
		if fn, ok := v.(*ssa.Function); ok && !f.member[fn] && len(fn.FreeVars) == 0 && !unsaid(origin(fn)) {
			return origin(fn)
		}
		return nil
	})
}

// dispatched returns what a method does that is called on an interface whose dynamic types are
// known; nil if they are not.
func (f *family) dispatched(com *ssa.CallCommon) *Summary {
	return f.oneOf(com.Value, func(v ssa.Value) *types.Func {
		if v, ok := v.(*ssa.MakeInterface); ok {
			sel := types.NewMethodSet(v.X.Type()).Lookup(com.Method.Pkg(), com.Method.Name())
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
		s := f.c.effect(callee(v))
		sum = worse(sum, s)
		return s != nil
	}
	if !visit(v) {
		return nil
	}
	return sum
}

// worse joins what two functions do, one of which is called.
func worse(a, b *Summary) *Summary {
	if a == nil || b == nil || a == b {
		return cmp.Or(b, a)
	}
	s := &Summary{Params: make([]Param, len(a.Params)), Results: make([]Result, len(a.Results))}
	for i, p := range a.Params {
		q := b.param(i)
		if p.FreesIf != q.FreesIf {
			p.FreesIf = 0
		}
		s.Params[i] = Param{Keeps: p.Keeps || q.Keeps, Gives: p.Gives || q.Gives, Frees: p.Frees || q.Frees, Empties: p.Empties || q.Empties, Runs: p.Runs || q.Runs,
			Together: p.Together || q.Together, Stores: p.Stores || q.Stores, FreesIf: p.FreesIf, Repeatable: p.Repeatable && q.Repeatable}
	}
	for i, p := range a.Results {
		q := b.result(i)
		s.Results[i] = Result{Known: p.Known && q.Known && !p.Fresh && !q.Fresh, Derived: slices.Concat(p.Derived, p.Is, q.Derived, q.Is)}
		if p.Owned && q.Owned {
			s.Results[i].Owned, s.Results[i].Zero, s.Results[i].Beside = true, p.Zero || q.Zero || p.OK != q.OK, p.Beside || q.Beside
		}
	}
	return s
}

// starts reads g.Go(f): f runs in a goroutine.
func (f *family) starts(k *call) *call {
	k.sum = &Summary{Params: []Param{{}, {Keeps: true}}, Results: make([]Result, k.fn.Signature().Results().Len())}
	lits := f.of(k.args[len(k.args)-1])
	var bodies []*ssa.Function
	for id := range lits.all() {
		if o := f.elems[id].obj; o.kind == litObj && f.member[o.fn] {
			bodies = append(bodies, o.fn)
		} else {
			return k
		}
	}
	if len(bodies) > 0 {
		k.spawns, k.bodies, k.sum = true, bodies, nil
	}
	return k
}

// listens finds the literals that a callee may call.
func (f *family) listens(k *call) *call {
	if k.sum == nil {
		k.sum = worst(len(k.args), k.at.Common().Signature().Results().Len())
	}
	for n, a := range k.args {
		p := f.param(k, n)
		for id := range f.handed(f.of(a)).all() {
			o := f.elems[id].obj
			if o.kind != litObj || !f.member[o.fn] || p.Keeps {
				continue
			}
			if !slices.Contains(k.callbacks, o.fn) {
				k.callbacks = append(k.callbacks, o.fn)
			}
		}
	}
	return k
}

// yield is what go/ssa calls the body of a range over a function. The language has it run
// while the loop does, and panics otherwise.
const yield = "range-over-func yield"

func (s *Summary) param(n int) Param {
	if s == nil || n >= len(s.Params) {
		return Param{Keeps: true, Frees: true, Stores: true}
	}
	return s.Params[n]
}

// ruledOut reports whether the condition under which a call frees is known to be false.
func (k *call) ruledOut(p Param) bool {
	n := max(p.FreesIf, -p.FreesIf) - 1
	if n < 0 || n >= len(k.args) {
		return false
	}
	c, ok := k.args[n].(*ssa.Const)
	return ok && c.Value != nil && c.Value.String() != fmt.Sprint(p.FreesIf > 0)
}

// param returns what a call does to operand n.
func (f *family) param(k *call, n int) Param {
	p := k.sum.param(n)
	if onlyYields(f, f.of(k.args[n])) {
		p.Keeps, p.Stores = false, false
		return p
	}
	p.Stores = p.Stores || f.c.decodes(k, n)
	for m, a := range k.args {
		p.Keeps = p.Keeps || m != n && k.fn != nil && f.c.hands(k.fn, a)
		if callable(a.Type()) && m != n && p.Gives && !f.literals(a) {
			q := f.taken(a)
			p.Keeps, p.Frees, p.Stores = p.Keeps || q.Keeps, p.Frees || q.Frees, p.Stores || q.Stores
		}
	}
	return p
}

// taken is what a function that is not a literal of the family does to what it is called with.
func (f *family) taken(v ssa.Value) (p Param) {
	fn, ok := v.(*ssa.Function)
	if !ok {
		return worst(1, 0).Params[0]
	}
	s := f.c.effect(origin(fn))
	if fn.Parent() != nil {
		s = f.c.bare(fn)
	}
	if s == nil {
		return worst(1, 0).Params[0]
	}
	for _, q := range s.Params {
		p.Keeps, p.Frees, p.Stores = p.Keeps || q.Keeps, p.Frees || q.Frees, p.Stores || q.Stores
	}
	for n, r := range s.Results {
		_, basic := fn.Signature.Results().At(n).Type().Underlying().(*types.Basic)
		p.Keeps = p.Keeps || !basic && (!r.Known || len(r.Derived)+len(r.Is) > 0) // a number is used up by who asks
	}
	return p
}

// bare is what a literal does that captures nothing.
func (c *checker) bare(fn *ssa.Function) *Summary {
	s, ok := c.literals[fn]
	if !ok {
		c.literals[fn] = nil // for one that leads to itself
		s = c.infer(fn)
		c.literals[fn] = s
	}
	return s
}

// callable reports whether a value of type t may be a function.
func callable(t types.Type) bool {
	_, fn := t.Underlying().(*types.Signature)
	_, param := t.(*types.TypeParam)
	return fn || param
}

// literals reports whether v is nothing but literals of the family.
func (f *family) literals(v ssa.Value) bool {
	some := false
	for id := range f.of(v).all() {
		o := f.elems[id].obj
		if o.kind != litObj || !f.member[o.fn] {
			return false
		}
		some = true
	}
	return some
}

func (s *Summary) result(n int) Result {
	if s == nil || n >= len(s.Results) {
		return Result{}
	}
	return s.Results[n]
}

// worst is what nobody knows.
func worst(params, results int) *Summary {
	s := &Summary{Params: make([]Param, params), Results: make([]Result, results)}
	for i := range s.Params {
		s.Params[i] = Param{Keeps: true, Frees: true, Stores: true}
	}
	return s
}

// origin returns the function as it was declared, without the wrapper of an instance.
func origin(fn *ssa.Function) *types.Func {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	o, _ := fn.Object().(*types.Func)
	if o == nil || o.Signature().Recv() != nil && fn.Signature.Recv() == nil && fn.Signature.Params().Len() > 0 &&
		anyType(fn.Signature.Params().At(0).Type()) {
		return nil // or T.M, which is a method of a type that nobody knows
	}
	return o.Origin()
}

// effect returns what a function does; nil if nobody knows.
func (c *checker) effect(fn *types.Func) *Summary {
	if fn == nil {
		return nil
	}
	fn = fn.Origin()
	if s, ok := c.effects[fn]; ok {
		return s
	}
	body, ours := c.sums[fn]
	if !ours && fn.Pkg() != c.pkg && c.in.Facts != nil {
		body = c.in.Facts(fn)
	}
	if c.off[Bodies] && body == nil && fn.Pkg() != nil {
		body = harmless(fn.Signature())
	}
	s := body
	if c.in.Specs != nil {
		line, ok := c.in.Specs.Lookup(spec.FullName(fn))
		if ok && !(body != nil && body.Said && line.Level < spec.Flag) {
			s = written(line, fn.Signature(), body)
			s.Said = line.Level > spec.Embedded && line.Level < spec.Flag
		}
	}
	if groupMethod(fn) != "" {
		s = harmless(fn.Signature())
	}
	if s != nil && fn.Pkg() != nil && slices.Contains(rearrange, fn.Pkg().Path()) {
		for i := range s.Params {
			s.Params[i].Empties = true
		}
	}
	if ours || fn.Pkg() != c.pkg {
		c.effects[fn] = s
	}
	return s
}

// harmless is a function that uses its operands and no more.
func harmless(sig *types.Signature) *Summary {
	n := sig.Params().Len()
	if sig.Recv() != nil {
		n++
	}
	s := &Summary{Params: make([]Param, n), Results: make([]Result, sig.Results().Len())}
	for i := range s.Results {
		s.Results[i].Known = true
	}
	return s
}

// written is what a spec line says; operands without a clause are as body has them.
func written(line *spec.Line, sig *types.Signature, body *Summary) *Summary {
	first := 0
	if sig.Recv() != nil {
		first = 1
	}
	s := &Summary{Params: make([]Param, first+sig.Params().Len()), Results: make([]Result, sig.Results().Len())}
	said := make([]bool, len(s.Params))
	number := func(o spec.Operand) int {
		if o.Kind == spec.Recv {
			return 0
		}
		return first + o.Index
	}
	clauses := spec.Bind(line.Clauses, sig)
	for _, c := range clauses {
		if c.Operand.Kind == spec.Result {
			s.Results[c.Operand.Index].take(c, number)
			continue
		}
		n := number(c.Operand)
		said[n] = true
		p := &s.Params[n]
		p.Together = body != nil && body.param(n).Together
		switch c.Effect {
		case spec.Freed:
			p.Frees, p.Silent, p.Repeatable = true, true, c.Repeatable
			switch c.Cond.Kind {
			case spec.ArgTrue:
				p.FreesIf = 1 + number(c.Cond.Arg)
			case spec.ArgFalse:
				p.FreesIf = -1 - number(c.Cond.Arg)
			}
			_, pointer := c.Operand.Type(sig).Underlying().(*types.Pointer)
			p.NilOK = body != nil && body.param(n).NilOK || c.Repeatable && !pointer
		case spec.Borrowed:
			p.Gives = line.Level == spec.Embedded // lines of libraries say nothing of what functions do that they call
		default:
			p.Keeps = true
		}
	}
	for i := range s.Params {
		if viewed := slices.ContainsFunc(s.Results, func(r Result) bool { return slices.Contains(r.Derived, i) || slices.Contains(r.Is, i) }); !said[i] && !viewed {
			s.Params[i] = body.param(i)
		}
	}
	for i := range s.Results {
		r, b := &s.Results[i], body.result(i)
		if !r.Owned && len(r.Derived)+len(r.Is) == 0 {
			// What is only borrowed does not outlast the call in a result.
			lasting := func(of []int) []int {
				return slices.DeleteFunc(slices.Clone(of), func(n int) bool { return said[n] && !s.Params[n].Keeps })
			}
			*r = Result{Owned: b.Owned, Zero: b.Zero, OK: b.OK, Beside: b.Beside, Derived: lasting(b.Derived), Is: lasting(b.Is), Fresh: b.Fresh, Parts: b.Parts}
			r.Exact = b.Exact && len(r.Is) == len(b.Is)
		} else if r.Owned && body != nil {
			r.Zero = r.Zero && b.Zero
		}
		r.Known = true
	}
	return s
}

// take adds a clause about a result.
func (r *Result) take(c spec.Clause, number func(spec.Operand) int) {
	switch c.Effect {
	case spec.Owned:
		r.Owned = true
		r.Zero = c.Cond.Kind != spec.Always && c.Cond.Kind != spec.OnSuccess
	case spec.Views:
		r.Derived = append(r.Derived, number(c.Of))
	case spec.Is:
		r.Is, r.Exact = append(r.Is, number(c.Of)), true
	}
}

// groupMethod returns the name of a method of sync.WaitGroup or errgroup.Group, Go for TryGo; "" if fn is
// another.
func groupMethod(fn *types.Func) string {
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync" && fn.Pkg().Path() != "golang.org/x/sync/errgroup" {
		return ""
	}
	switch name := spec.FullName(fn); {
	case fn.Name() == "TryGo":
		return "Go"
	case strings.HasPrefix(name, "(*sync.WaitGroup)."), strings.HasPrefix(name, "(*golang.org/x/sync/errgroup.Group)."):
		return fn.Name()
	}
	return ""
}

// call lets a call flow.
func (f *family) call(i ssa.CallInstruction) {
	k := f.resolve(i)
	if k.builtin != "" {
		f.builtin(k)
		return
	}
	v, _ := i.(*ssa.Call)
	for _, b := range k.bodies {
		args := k.args
		if k.sum == nil && groupMethod(k.fn) == "Go" {
			args = nil
		}
		for n, p := range b.Params {
			if n < len(args) {
				f.flow(p, 0, f.of(args[n]))
			}
		}
		for n, r := range f.rets[b] {
			if v != nil && args != nil {
				f.flow(v, n, r)
			} else {
				f.escape(r)
			}
		}
	}
	if k.sum == nil {
		return
	}
	f.operands(k)
	if v != nil {
		f.results(k, v)
	}
}

// operands lets what a callee does to its operands flow.
func (f *family) operands(k *call) {
	var all set
	all.add(unknownElem)
	for _, a := range k.args {
		if !f.literals(a) { // a literal is called, not looked into
			all.union(f.lentParts(f.of(a)))
		}
	}
	for n, a := range k.args {
		p, s := f.param(k, n), f.of(a)
		if n == 0 && f.c.exchanges(k.fn) {
			f.store(s, set{1 << unknownElem}, true)
		}
		r := f.reach(s)
		if k.given && n > 0 && !k.spawns {
			s = f.gives(s)
			p.Frees, p.Stores = false, false // what the caller's function does, the caller knows
		}
		if p.Keeps || k.spawns {
			f.escape(s)
		}
		for id := range r.all() {
			switch o := f.elems[id].obj; {
			case o.kind == memObj && p.Stores:
				f.put(id, set{1 << unknownElem})
			case o.kind == paramObj:
				j := o.param(f)
				f.frees[j] = f.frees[j] || p.Frees
				f.stores[j] = f.stores[j] || p.Stores || p.Empties
				f.runs[j] = f.runs[j] || p.Runs
				f.together[j] = f.together[j] || p.Together
			case o.kind == litObj && !p.Keeps && f.member[o.fn]:
				f.calledBack(o, all)
			case o.kind == litObj && !f.member[o.fn]:
				f.escape(s)
			}
		}
	}
}

// gives notes that operands of the root are handed to a function that is one, too, and returns
// the rest of s.
func (f *family) gives(s set) set {
	var rest set
	for id := range f.reach(s).all() {
		if o := f.elems[id].obj; o.kind != paramObj {
			rest.add(id)
		} else if i := o.param(f); !f.given[i] {
			f.given[i], f.changed = true, true
		}
	}
	return rest
}

func onlyYields(f *family, s set) bool {
	if len(s) == 0 {
		return false
	}
	for id := range s.all() {
		if o := f.elems[id].obj; o.kind != litObj || o.fn.Synthetic != yield {
			return false
		}
	}
	return true
}

// results lets what a callee returns flow.
func (f *family) results(k *call, v *ssa.Call) {
	n := v.Call.Signature().Results().Len()
	for j := range n {
		r := k.sum.result(j)
		var s set
		if j == 0 && k.fn != nil && k.fn.Name() == "WithContext" && k.fn.FullName() == "golang.org/x/sync/errgroup.WithContext" {
			f.memory(v) // a group that nobody else has
			continue
		}
		if r.Fresh {
			f.flow(v, j, f.fresh(k, v, j, r))
			continue
		}
		if r.Owned {
			s.union(single(f.elem(f.object(key{v, j}, siteObj, resultType(v, j)), "")))
			s.add(zeroElem)
		} else if !r.Exact {
			s.add(unknownElem)
		}
		for _, a := range r.Is {
			s.union(f.of(k.args[a]))
		}
		for _, a := range r.Derived {
			s.union(f.lentParts(f.of(k.args[a])))
		}
		if !r.Known {
			for _, a := range k.args {
				s.union(f.lentParts(f.of(a)))
			}
		}
		f.flow(v, j, s)
	}
}

func resultType(v *ssa.Call, j int) types.Type { return v.Call.Signature().Results().At(j).Type() }

// builtin lets a call of a builtin function flow.
func (f *family) builtin(k *call) {
	v, _ := k.at.(*ssa.Call)
	switch k.builtin {
	case "append":
		if v == nil {
			return
		}
		f.memory(v)
		f.flow(v, 0, f.of(k.args[0]))
		to := f.inside(f.of(v), index)
		for _, a := range k.args {
			f.store(to, f.load(f.inside(f.of(a), index)), true)
		}
	case "copy":
		f.store(f.inside(f.of(k.args[0]), index), f.load(f.inside(f.of(k.args[1]), index)), true)
	case "clear":
		f.store(f.inside(f.of(k.args[0]), index), set{1 << zeroElem}, true)
	case "len", "cap", "print", "println", "delete", "close", "real", "imag", "complex", "Sizeof":
	case "recover":
		if v != nil {
			f.flow(v, 0, set{1 << unknownElem})
		}
	case "ssa:deferstack":
	case "Add", "Slice", "SliceData", "String", "StringData":
		f.flow(v, 0, f.somewhere(f.parts(f.of(k.args[0]))))
	default: // min, max, ssa:wrapnilchk
		for _, a := range k.args {
			if v != nil {
				f.flow(v, 0, f.parts(f.of(a)))
			}
		}
	}
}

// tells reports whether a value that becomes an interface may be asked for something by those
// who print, compare or write it, or call a method of the interface, that does more than look at it.
func (c *checker) tells(v ssa.Value) bool {
	if c.off[Callbacks] {
		return false
	}
	if i, ok := v.(*ssa.ChangeType); ok { // a type parameter's constraint may be that interface
		return anyType(i.X.Type()) && types.IsInterface(i.Type())
	}
	i, ok := v.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	t := i.X.Type()
	k, ok := c.telling.At(t).(bool)
	if !ok {
		k = c.asks(t, &typeutil.Map{})
		c.telling.Set(t, k)
	}
	if ms := i.Type().Underlying().(*types.Interface); !k && !types.IsInterface(t) {
		for n := range ms.NumMethods() {
			m, _, _ := types.LookupFieldOrMethod(t, true, ms.Method(n).Pkg(), ms.Method(n).Name())
			fn, _ := m.(*types.Func)
			p := c.effect(fn).param(0)
			k = k || p.Keeps || p.Stores
		}
	}
	return k
}

// asked are the methods that others call on a value that they are handed as an interface.
var asked = []string{"String", "Error", "Format", "GoString", "Is", "As", "Unwrap", "Less", "Len", "Swap",
	"MarshalJSON", "MarshalText", "MarshalBinary", "AppendText", "AppendBinary", "LogValue", "Value", "Write", "Read", "Scan",
	"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "WriteTo", "ReadFrom", "WriteString", "ReadByte", "ReadRune", "ReadAt", "WriteAt",
	"IsZero", "MarshalJSONTo", "UnmarshalJSONFrom", "UnreadByte", "UnreadRune", "Stat", "ReadDir", "ReadFile", "Info"}

// handed are those of them that get another operand of the call, or a part of it, which no contract forbids
// to keep.
var handed = []string{"Is", "As", "Unwrap", "Format", "Scan", "WriteTo", "ReadFrom", "WriteString"}

// hands reports whether v is an interface of a value of which fn may ask to keep another operand.
func (c *checker) hands(fn *types.Func, v ssa.Value) bool {
	for {
		x, ok := v.(*ssa.ChangeInterface)
		if !ok {
			break
		}
		v = x.X
	}
	if c.off[Callbacks] {
		return false
	}
	i, ok := v.(*ssa.MakeInterface)
	if !ok || anyType(i.X.Type()) {
		c, isNil := v.(*ssa.Const)
		return !(isNil && c.Value == nil) && types.IsInterface(v.Type()) && fn.Pkg() != nil && slices.Contains(relays, fn.Pkg().Path())
	}
	if k, ok := c.handing.At(i.X.Type()).(bool); ok {
		return k
	}
	keeps := false
	for m := range askedOf(i.X.Type(), handed) {
		s := c.effect(m)
		keeps = keeps || m.Name() == "Unwrap" // to anybody's
		for n := range m.Signature().Params().Len() {
			keeps = keeps || s.param(n+1).Keeps
		}
	}
	c.handing.Set(i.X.Type(), keeps)
	return keeps
}

// askedOf returns the methods of t, or of a pointer to it, that have one of these names.
func askedOf(t types.Type, names []string) iter.Seq[*types.Func] {
	if _, pointer := t.Underlying().(*types.Pointer); !pointer {
		t = types.NewPointer(t)
	}
	return func(yield func(*types.Func) bool) {
		for m := range types.NewMethodSet(t).Methods() {
			if fn, ok := m.Obj().(*types.Func); ok && slices.Contains(names, fn.Name()) && !yield(fn) {
				return
			}
		}
	}
}

// anyType reports whether t stands for a type that nobody knows here. Its values never became an interface.
func anyType(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// returnsPart reports whether a method may return, as an interface, what its receiver holds: an error that
// its caller hands on. Unwrap is known to.
func returnsPart(m *types.Func, s *Summary) bool {
	for n := range m.Signature().Results().Len() {
		r := s.result(n)
		if m.Name() != "Unwrap" && types.IsInterface(m.Signature().Results().At(n).Type()) && (!r.Known || slices.Contains(slices.Concat(r.Derived, r.Is), 0)) {
			return true
		}
	}
	return false
}

func (c *checker) asks(t types.Type, seen *typeutil.Map) bool {
	if anyType(t) {
		return true
	}
	if types.IsInterface(t) || seen.Set(t, true) != nil {
		return false
	}
	for m := range askedOf(t, asked) {
		s := c.effect(m)
		if p := s.param(0); p.Keeps || p.Stores || p.Frees || returnsPart(m, s) {
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() { // nobody can ask a field that it may not name
			if f := u.Field(i); (f.Exported() || f.Embedded()) && c.asks(f.Type(), seen) {
				return true
			}
		}
	case *types.Pointer:
		return c.asks(u.Elem(), seen)
	case *types.Slice:
		return c.asks(u.Elem(), seen)
	case *types.Array:
		return c.asks(u.Elem(), seen)
	case *types.Map:
		return c.asks(u.Elem(), seen) || c.asks(u.Key(), seen)
	}
	return false
}
