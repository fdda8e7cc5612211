package find

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// isRaw reports whether values of a type are addresses that keep no handle alive.
func isRaw(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr)
}

// byRaw reports whether a value is a raw pointer, or was made of one.
func (r *finder) byRaw(v ssa.Value) bool {
	for ; v != nil; v = r.g.MadeOf(v) {
		t := v.Type()
		if p, ok := v.(*memory.Field); ok {
			t = p.Of()
		}
		if isRaw(t) {
			return true
		}
	}
	return false
}

// onlyRaw reports whether, from a point on, nothing needs a token but raw pointers.
func (r *finder) onlyRaw(p *own.Point, t own.Token) bool {
	for _, v := range p.NeededBy(t) {
		if !r.byRaw(v) {
			return false
		}
	}
	return true
}
