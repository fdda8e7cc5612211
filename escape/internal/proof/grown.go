package proof

// Callees that append: a method which puts an operand into a slice in a field of its receiver, and does no
// more. For the caller that is what append is for who calls it: what was in the slice moves along to memory
// that the call makes, or the operand is put behind it where it is.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// appends notes in the summary of a function that it only appends operands to a slice in a field of what
// another one points to, each once.
func appends(fn *ssa.Function, s *Summary) {
	if len(fn.Blocks) != 1 || fn.Signature.Results().Len() > 0 {
		return
	}
	var app *ssa.Call
	var put []int
	to, over := Slot{Operand: -1}, false
	slot := func(addr ssa.Value) (out Slot, ok bool) {
		for n, p := range fn.Params {
			_, pointer := p.Type().Underlying().(*types.Pointer)
			if path, loads := fieldOf(addr, p); pointer && loads == 0 && path != "" && !indexed(path) {
				return Slot{n, path}, true
			}
		}
		return out, false
	}
	for _, i := range fn.Blocks[0].Instrs {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.FieldAddr, *ssa.Alloc, *ssa.IndexAddr, *ssa.Return:
		case *ssa.UnOp:
			at, ok := slot(i.X)
			if !ok || to.Operand >= 0 {
				return
			}
			to = at
		case *ssa.Slice:
			if i.Low != nil || i.High != nil || i.Max != nil || !isBacking(i.X) {
				return
			}
		case *ssa.Call:
			if b, is := i.Call.Value.(*ssa.Builtin); !is || b.Name() != "append" || app != nil {
				return
			}
			_, slot := i.Call.Args[0].(*ssa.UnOp)
			if _, given := i.Call.Args[1].(*ssa.Slice); !slot || !given {
				return
			}
			app = i
		case *ssa.Store:
			if at, ok := i.Addr.(*ssa.IndexAddr); ok && isBacking(at.X) {
				q, _ := i.Val.(*ssa.Parameter)
				n := slices.Index(fn.Params, q)
				if n < 0 || slices.Contains(put, n) {
					return
				}
				put = append(put, n)
			} else if at, ok := slot(i.Addr); !ok || at != to || app == nil || i.Val != ssa.Value(app) {
				return
			} else {
				over = true
			}
		default:
			return
		}
	}
	if !over {
		return
	}
	for _, n := range put {
		s.Params[to.Operand].Grown |= bit(n)
		s.Params[n].Into = []Slot{to}
	}
}

// grows reports whether what a call puts into slices is seen: it happens where the call stands.
func (k *call) grows() bool {
	c, ok := k.at.(*ssa.Call)
	return ok && k.sum != nil && !k.given && c.Call.Signature().Results().Len() == 0
}

// grown reports whether all that a call does to operand n is that others are put into slices of it.
func (k *call) grown(n int) bool {
	by := k.sum.param(n).Grown
	for m := range k.args {
		to := k.sum.param(m).Into
		if by.has(m) && !slices.ContainsFunc(to, func(at Slot) bool { return at.Operand == n }) {
			return false
		}
	}
	return by != 0
}

// slots returns the slice that a call puts operand n into: where it is, the memory that the call makes, and
// the elements there, of what was there before as well.
func (f *family) slots(k *call, n int, to Slot) (at, made, elems, before set) {
	at = f.inside(f.of(k.args[to.Operand]), to.Path)
	o := f.object(key{k.v, 0}, memObj, types.NewSlice(k.args[n].Type()))
	made, before = single(f.elem(o, "")), f.inside(f.load(at), index)
	elems = f.inside(made, index)
	elems.union(before)
	return at, made, elems, before
}

// grow puts operand n of a call into a slice.
func (f *family) grow(k *call, n int, to Slot) {
	at, made, elems, before := f.slots(k, n, to)
	f.store(made, set{1 << zeroElem}, true, true)
	f.store(elems, f.load(before), true, true)
	f.store(elems, f.of(k.args[n]), true, true)
	f.store(at, made, true, true)
}

// grow lets a call put operand n into a slice. It is nowhere twice where what is there moves along.
func (w *walker) grow(k *call, n int, to Slot, s *set) *set {
	at, made, elems, before := w.f.slots(k, n, to)
	is, leads := w.brings(s, source{v: k.args[n]})
	if !w.zero && w.loaded(s, k.args[to.Operand], at) {
		s.add(w.id(markKey{kind: left, at: k.at})) // a slice that is the resource is another one
	}
	if w.loaded(s, k.args[to.Operand], before) {
		for id := range w.f.inside(made, index).all() {
			w.into(s, id)
		}
	}
	s = w.storeIn(s, elems, is, leads, k.at)
	return w.storeIn(s, at, false, leads || w.leadsTo(s, k.args[to.Operand]), k.at)
}
