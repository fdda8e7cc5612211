package find

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// isRaw reports whether values of a type are addresses that keep no handle alive.
func isRaw(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr)
}

// findRaw finds the values of the group that lead to a buffer by raw pointers alone: these, and what is made
// of nothing else.
func (r *finder) findRaw() {
	r.byRaw = map[ssa.Value]bool{}
	if !slices.ContainsFunc(r.g.Values, func(v ssa.Value) bool { return isRaw(typeOf(v)) }) {
		return
	}
	from := map[ssa.Value][]ssa.Value{}
	for _, v := range r.g.Values {
		for _, i := range r.f.Users(v) {
			for _, a := range r.f.Acts(i, v) {
				from[a.To] = append(from[a.To], v)
			}
		}
	}
	for _, v := range r.g.Values {
		r.byRaw[v] = isRaw(typeOf(v)) || len(from[v]) > 0
	}
	for again := true; again; {
		again = false
		for _, v := range r.g.Values {
			if r.byRaw[v] && !isRaw(typeOf(v)) && slices.ContainsFunc(from[v], func(w ssa.Value) bool { return !r.byRaw[w] }) {
				r.byRaw[v], again = false, true
			}
		}
	}
}

// typeOf returns the type of a value, or of the part that it is.
func typeOf(v ssa.Value) types.Type {
	if p, ok := v.(*memory.Field); ok {
		return p.Of()
	}
	return v.Type()
}

// onlyRaw reports whether, from a point on, nothing needs a token but by raw pointers.
func (r *finder) onlyRaw(p *own.Point, t own.Token) bool {
	return !slices.ContainsFunc(p.NeededBy(t), func(v ssa.Value) bool { return !r.byRaw[v] })
}

// rawInside reports whether an act calls a literal that takes nothing but raw pointers out of what it
// captures, as cgo makes one of a call.
func (r *finder) rawInside(a pointsto.Act) bool {
	c, ok := a.Instr.(*ssa.Call)
	if !ok || calls.Literal(&c.Call) == nil {
		return false
	}
	m, ok := c.Call.Value.(*ssa.MakeClosure)
	if !ok {
		return false
	}
	some := false
	for n, b := range m.Bindings {
		if r.f.Reaches(b, a.Of) == memory.None {
			continue
		}
		if some = r.takesRaw(m.Fn.(*ssa.Function).FreeVars[n]); !some {
			return false
		}
	}
	return some
}

// takesRaw reports whether all that is made of a value are raw pointers, and there is one.
func (r *finder) takesRaw(v ssa.Value) bool {
	some := false
	for _, i := range *v.Referrers() {
		if _, debug := i.(*ssa.DebugRef); debug || r.f.In.IR.Marks(i) {
			continue
		}
		switch i := i.(type) {
		case *ssa.UnOp, *ssa.FieldAddr, *ssa.Field:
			if to := i.(ssa.Value); !isRaw(to.Type()) && !r.takesRaw(to) {
				return false
			}
		default:
			return false
		}
		some = true
	}
	return some
}
