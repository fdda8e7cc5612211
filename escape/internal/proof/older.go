package proof

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// older returns the objects of which an older instance may be reached when a newer one has been made: they
// are in memory, in what is deferred, or in a register that the making does not make anew. What a goroutine
// has is not asked here, whether a method of a group or a go statement starts it: while it runs, its marks
// say so (joins), and nothing that it can reach is overwritten.
func (f *family) older() map[*object]bool {
	if f.olds != nil {
		return f.olds
	}
	f.olds = map[*object]bool{}
	captured := map[*object][]*object{} // by literal
	for k, s := range f.vals {
		renewed := renewedWith(k.v)
		for id := range s.all() {
			if o := f.elems[id].obj; !renewed && !makes(k.v, o) {
				f.olds[o] = true
			}
		}
	}
	for e, s := range f.content {
		holder := f.elems[e].obj
		for id := range s.all() {
			if o := f.elems[id].obj; holder.kind == litObj {
				captured[holder] = append(captured[holder], o)
			} else {
				f.olds[o] = true
			}
		}
	}
	var spread func(o *object)
	spread = func(o *object) {
		for _, c := range captured[o] {
			if !f.olds[c] {
				f.olds[c] = true
				spread(c)
			}
		}
	}
	for _, o := range f.objs {
		if f.olds[o] {
			spread(o)
		}
	}
	return f.olds
}

// makes reports whether o is made where v is computed.
func makes(v ssa.Value, o *object) bool {
	e, ok := v.(*ssa.Extract)
	return (v == o.at || ok && e.Tuple == o.at) && !outlives(v)
}

// renewedWith reports whether register v is an address in its operand, or an operand of a literal: no
// code reads it, once what it leads to has been made anew, before it has been computed anew as well.
func renewedWith(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Slice, *ssa.FreeVar, *ssa.Parameter:
		return !outlives(v)
	}
	return false
}

// outlives reports whether a register is an operand of what is deferred.
func outlives(v ssa.Value) bool {
	return slices.ContainsFunc(*v.Referrers(), func(r ssa.Instruction) bool {
		_, defers := r.(*ssa.Defer)
		return defers
	})
}
