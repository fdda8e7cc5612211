package calls

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// mostTargets bounds the functions that a call may choose from.
const mostTargets = 32

// A Target is a function that a call may run. One of Func, Body and Var is set.
type Target struct {
	Var   *types.Var    // it is in a variable of a package, and a line of a spec says what it does
	Func  *types.Func   // it is declared
	Body  *ssa.Function // it is a literal
	Bound bool          // a method value: the receiver is given already
}

// A slot is a place that function values are read from: a value, a variable in memory, an
// unexported field by its name, or result n of a function.
type slot struct {
	of any // ssa.Value, *ssa.Function, string
	n  int
}

// A finder follows function values back from where they are called to what is stored in the
// places that they are read from, without regard to order.
type finder struct {
	w    *World
	seen map[slot]bool
	out  []Target
}

// Targets lists what a call may run that names no function; nil if that is not known.
func (w *World) Targets(c *ssa.CallCommon) []Target {
	if c.IsInvoke() {
		if ts, ok := chosen(c); ok {
			return ts
		}
		return w.implementers(c.Method)
	}
	if ts, ok := w.known[c.Value]; ok {
		return ts
	}
	w.known[c.Value] = nil // for what is asked meanwhile
	f := &finder{w: w, seen: map[slot]bool{}}
	if f.value(c.Value) && len(f.out) > 0 {
		w.known[c.Value] = f.out
	}
	return w.known[c.Value]
}

func (f *finder) add(t Target) bool {
	if !slices.Contains(f.out, t) {
		f.out = append(f.out, t)
	}
	return len(f.out) <= mostTargets
}

// visit reports whether a slot is met for the first time.
func (f *finder) visit(s slot) bool {
	was := f.seen[s]
	f.seen[s] = true
	return !was
}

// value adds what v may be, and reports whether that is known.
func (f *finder) value(v ssa.Value) bool {
	if !f.visit(slot{of: v}) {
		return true
	}
	switch v := v.(type) {
	case *ssa.Const:
		return v.IsNil() // which nobody can call
	case *ssa.Function:
		return f.function(v)
	case *ssa.MakeClosure:
		return f.function(v.Fn.(*ssa.Function))
	case *ssa.ChangeType:
		return f.value(v.X)
	case *ssa.Phi:
		return f.all(v.Edges)
	case *ssa.Parameter:
		return f.param(v)
	case *ssa.UnOp:
		return v.Op == token.MUL && f.load(v.X)
	case *ssa.Field:
		return f.field(fieldOf(v.X.Type(), v.Field))
	case *ssa.Call:
		return f.result(&v.Call, 0)
	case *ssa.Extract:
		c, ok := v.Tuple.(*ssa.Call)
		return ok && f.result(&c.Call, v.Index)
	}
	return false
}

func (f *finder) all(vs []ssa.Value) bool {
	for _, v := range vs {
		if !f.value(v) {
			return false
		}
	}
	return true
}

// function adds what a value that is a function of SSA runs.
func (f *finder) function(g *ssa.Function) bool {
	switch fn := Declared(g); {
	case fn != nil:
		return f.add(Target{Func: fn.Origin()})
	case expression(g) != nil:
		return f.add(Target{Func: expression(g)})
	case Method(g) != nil:
		m := Method(g)
		return !types.IsInterface(m.Signature().Recv().Type()) && f.add(Target{Func: m, Bound: true})
	case g.Parent() != nil && g.Syntax() != nil:
		return f.add(Target{Body: g})
	}
	return false
}

// param adds what the calls of a function give it, if these are all seen.
func (f *finder) param(p *ssa.Parameter) bool {
	fn := Declared(p.Parent())
	if fn == nil || !f.w.alone(fn) {
		return false
	}
	k := slices.Index(p.Parent().Params, p)
	for _, c := range f.w.calls[fn] {
		if k >= len(c.Args) || !f.value(c.Args[k]) {
			return false
		}
	}
	return true
}

// load adds what is stored where an address leads.
func (f *finder) load(addr ssa.Value) bool {
	switch a := addr.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		return f.cell(a)
	case *ssa.FieldAddr:
		return f.field(fieldOf(a.X.Type(), a.Field))
	case *ssa.Global:
		v, ok := a.Object().(*types.Var)
		return ok && f.w.said != nil && f.w.said(v) && f.add(Target{Var: v})
	}
	return false
}

// field adds what is stored in fields of one name, in whatever structs they are: structs
// convert into one another, if their fields are of one type.
func (f *finder) field(v *types.Var) bool {
	w := f.w
	if v == nil || !w.names(v) || w.leaks[v.Name()] || w.raw || w.away.Says(v.Name()) || w.away.Unkeyed() {
		return false
	}
	if !f.visit(slot{of: v}) {
		return true
	}
	for _, val := range w.stored[v.Name()] {
		if fits(v.Type(), val.Type()) && !f.value(val) {
			return false
		}
	}
	return true
}

// fits reports whether a place of type t may hold a value of type u, if both are functions. Types of a
// generic struct go by other names in each of its methods, so it asks for no more than their numbers.
func fits(t, u types.Type) bool {
	a, ok := t.Underlying().(*types.Signature)
	b, is := u.Underlying().(*types.Signature)
	return !ok || !is || a.Params().Len() == b.Params().Len() && a.Results().Len() == b.Results().Len()
}

// cell adds what is stored in a variable in memory, here or in literals that capture it.
func (f *finder) cell(v ssa.Value) bool {
	if !f.visit(slot{of: v, n: 1}) {
		return true
	}
	if fv, ok := v.(*ssa.FreeVar); ok {
		k := slices.Index(fv.Parent().FreeVars, fv)
		for _, m := range f.w.made[fv.Parent()] {
			if _, ok := m.Bindings[k].(*ssa.FreeVar); !ok && !isAlloc(m.Bindings[k]) || !f.cell(m.Bindings[k]) {
				return false
			}
		}
	}
	for _, u := range *v.Referrers() {
		switch u := u.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.Store:
			if u.Addr != v || u.Val == v || !f.value(u.Val) {
				return false
			}
		case *ssa.MakeClosure:
			for k, b := range u.Bindings {
				if b == v && (Method(u.Fn.(*ssa.Function)) != nil || !f.cell(u.Fn.(*ssa.Function).FreeVars[k])) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

func isAlloc(v ssa.Value) bool {
	_, ok := v.(*ssa.Alloc)
	return ok
}

// result adds what the functions return that a call may run.
func (f *finder) result(c *ssa.CallCommon, n int) bool {
	bodies := f.w.bodies(c)
	for _, b := range bodies {
		if !f.visit(slot{of: b, n: n}) {
			continue
		}
		for _, block := range b.Blocks {
			r, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return)
			if ok && !f.value(r.Results[n]) {
				return false
			}
		}
	}
	return len(bodies) > 0
}

// bodies lists what a call runs; nil if that is not known, or not all of it is seen.
func (w *World) bodies(c *ssa.CallCommon) []*ssa.Function {
	ts := w.Runs(c)
	var out []*ssa.Function
	for _, t := range ts {
		b := t.Body
		if b == nil {
			if t.Func == nil || len(w.away.bodies(t.Func)) > 0 {
				return nil
			}
			b = w.pkg.Prog.FuncValue(t.Func)
		}
		if b == nil || len(b.Blocks) == 0 {
			return nil
		}
		out = append(out, b)
	}
	return out
}

// Runs lists what a call may run, be it named or not; nil if that is not known.
func (w *World) Runs(c *ssa.CallCommon) []Target {
	if fn := Called(c); fn != nil && !c.IsInvoke() {
		return []Target{{Func: fn.Origin()}}
	}
	if f := Literal(c); f != nil {
		return []Target{{Body: f}}
	}
	return w.Targets(c)
}

// implementers lists the methods that a call of method m of an interface may run; nil if
// others can be added. An exported one can: another package may embed what implements the
// interface, and override it.
func (w *World) implementers(m *types.Func) []Target {
	if m.Exported() || m.Pkg() != w.pkg.Pkg || w.away.Says(m.Name()) {
		return nil
	}
	var out []Target
	for _, fn := range w.methods[m.Name()] {
		s, want := fn.Signature(), m.Signature()
		switch {
		case types.Identical(plain(fn), plain(m)):
			out = append(out, Target{Func: fn})
		case s.RecvTypeParams().Len() > 0 && s.Params().Len() == want.Params().Len() &&
			s.Results().Len() == want.Results().Len():
			return nil // it may be the same once it is instantiated
		}
	}
	if len(out) > mostTargets {
		return nil
	}
	return out
}

// plain returns the signature of a method without its receiver.
func plain(fn *types.Func) *types.Signature {
	s := fn.Signature()
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}
