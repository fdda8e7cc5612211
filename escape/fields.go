package escape

// Fields that own: what a method does to the resources that its receiver
// holds. A type whose destructor forgets one leaks it; a store over one that
// still owns loses it; a method that frees all of them is the type's free.

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

type fieldState = uint8

const (
	fOwned fieldState = 1 << iota // what the field held on entry, or got since
	fFreed
	fNil
	fGone  // handed on, or not known
	fSince // beside fOwned: got since
	fEmpty // beside fOwned: or nothing, as far as anybody has looked
	fTaken // a variable has it over from the field, which holds it still
	fHeld  // a variable has it, and nobody has freed it there
)

// A fieldUse is what a function does to one field of one parameter.
type fieldUse struct {
	field  *types.Var
	exit   fieldState
	frees  bool
	repeat bool
	insist bool     // its free goes wrong where it holds nothing
	lost   []*value // stores over a field that owns
}

// fieldUses follows the resource fields of parameter v through f.
func (w *flow) fieldUses(v *value) []*fieldUse {
	_, st := w.p.structOf(v.typ0())
	if st == nil {
		return nil
	}
	var out []*fieldUse
	for i := range st.NumFields() {
		if f := st.Field(i); w.p.isResource(f.Type()) {
			out = append(out, w.fieldUse(v, f))
		}
	}
	return out
}

func (w *flow) fieldUse(v *value, field *types.Var) *fieldUse {
	u := &fieldUse{field: field, repeat: true}
	isLoad := func(x *value) bool {
		x = origin(x)
		return x.op == opPart && (x.names(report.Field, field.Name()) || x.names(report.Part, "."+field.Name())) &&
			len(x.args) > 0 && origin(x.args[0]) == v
	}
	// leaves reports whether what was loaded goes somewhere that is not followed.
	var leaves func(x *value, depth int) bool
	leaves = func(x *value, depth int) bool {
		for _, y := range x.users {
			switch y.op {
			case opCall, opDefer, opCmp, opNot, opElem, opPart, opPure, opUse, opHold, opDiscard, opSet, opGap, opBound:
			case opCopy, opAddr:
				if depth > 8 || leaves(y, depth+1) {
					return true
				}
			case opStore:
				if y.args[0] == x && !(len(y.args) > 1 && origin(y.args[1]) == v) {
					return true
				}
			default:
				return true
			}
		}
		return false
	}
	isStore := func(x *value) bool {
		return x.op == opStore && len(x.args) > 1 && origin(x.args[1]) == v && x.names(report.InField, field.Name())
	}
	fresh := w.p.fresh(w.f.obj, field)
	in := map[*block]fieldState{w.f.rpo[0]: fOwned | fEmpty}
	lost := map[*value]bool{}
	outlives := map[*value]bool{}
	free := func(e ArgEffect, empty bool) {
		u.frees = true
		u.repeat = u.repeat && e.Repeatable
		u.insist = u.insist || empty && (nilable(field.Type()) && !e.NilOK || e.Insists)
	}
	step := func(x *value, s fieldState) fieldState {
		switch x.op {
		case opPart:
			if !isLoad(x) {
				return s
			}
			if leaves(x, 0) {
				return fGone
			}
			if _, known := outlives[x]; !known {
				outlives[x] = w.outlives(x, isStore)
			}
			if outlives[x] && s&fOwned != 0 {
				return s&^(fOwned|fSince) | fTaken | fHeld
			}
		case opStore:
			switch {
			case !isStore(x):
				if isLoad(x.args[0]) {
					return fGone // another field has it, too
				}
				return s
			case s&fOwned != 0 && (s&fSince != 0 || !fresh) && !isLoad(x.args[0]):
				lost[x] = true
			}
			if origin(x.args[0]).op == opNil {
				return s&(fHeld|fEmpty) | fNil
			}
			return s&fHeld | fOwned | fSince | fEmpty
		case opCall, opDefer:
			for j, a := range x.args {
				if x.call.params[j] < -1 {
					continue
				}
				e := x.call.sum.arg(x.call.params[j])
				switch {
				case isLoad(a):
					switch {
					case e.Freed.K == Always && outlives[origin(a)]:
						free(e, s&fEmpty != 0)
						if s&fTaken != 0 {
							s = s&^fTaken | fFreed
						}
						s &^= fHeld
					case e.Freed.K == Always:
						free(e, s&(fEmpty|fNil) != 0)
						s = s&^(fOwned|fSince) | fFreed
					case e.Freed.K != Never || e.Escapes.K != Never:
						s = fGone
					}
				case origin(a) == v:
					switch {
					case e.Freed.K == Always, slices.Contains(e.Fields, field.Name()):
						u.frees = true
						u.insist = u.insist || s&(fEmpty|fNil) != 0 && e.Insists
						s = s&^(fOwned|fSince) | fFreed
						if e.Resets {
							s = fNil
						}
					case e.Escapes.K != Never || e.Writes || e.Freed.K != Never, w.p.assignsField(x.fn, field):
						s = fGone
					}
				}
			}
		case opReturn:
			u.exit |= s &^ fEmpty
		}
		return s
	}
	out := map[*block]fieldState{}
	for again, n := true, 0; again && n < 50; n++ {
		again = false
		u.exit = 0
		clear(lost)
		for _, b := range w.f.rpo {
			s := in[b]
			if s == 0 {
				continue
			}
			for _, x := range b.instrs {
				s = step(x, s)
			}
			if s != out[b] {
				out[b] = s
				again = true
			}
			for i, t := range b.succs {
				e := s
				if b.cond != nil && len(b.succs) == 2 {
					if x, ok := nilTest(b.cond); ok && saysNil(x) && (isLoad(x) || origin(x) == v) {
						if (b.cond.tok == token.EQL) == (i == 0) {
							e = fNil // it holds nothing, or there is nothing to hold it
						} else if isLoad(x) {
							e &^= fEmpty
						}
					}
				}
				if in[t]|e != in[t] {
					in[t] |= e
					again = true
				}
			}
		}
	}
	for x := range lost {
		u.lost = append(u.lost, x)
	}
	slices.SortFunc(u.lost, func(a, b *value) int { return cmp.Compare(a.pos, b.pos) })
	return u
}

// outlives reports whether x, which was read from a field, is used after the field got
// something else.
func (w *flow) outlives(x *value, isStore func(*value) bool) bool {
	uses := map[*value]bool{}
	var follow func(x *value)
	follow = func(x *value) {
		for _, u := range x.users {
			if !uses[u] && u.op != opSet && u.op != opGap && u.op != opDiscard {
				if uses[u] = true; !w.p.plain(u.typ0()) {
					follow(u)
				}
			}
		}
	}
	follow(x)
	stores := storesBefore(uses, x, isStore)
	if len(stores) == 0 {
		return false
	}
	for u := range uses {
		if u.op == opPhi { // other ways than from x lead there as well
			return search(x.blk, x.at+1, func(y *value) turn {
				switch {
				case y == x:
					return leave
				case stores[y]:
					return found
				}
				return goOn
			})
		}
	}
	return true
}

// storesBefore lists the stores from which a path leads to one of the uses and does not
// pass x. It walks back from the uses, so it sees no more than lies between.
func storesBefore(uses map[*value]bool, x *value, isStore func(*value) bool) map[*value]bool {
	stores := map[*value]bool{}
	seen := map[*block]bool{} // from the end
	var stack []*block
	back := func(b *block, i int) { // from the i-th instruction on
		for ; i >= 0; i-- {
			y := b.instrs[i]
			if isStore(y) {
				stores[y] = true
			}
			if y == x || uses[y] {
				return // what comes before a use is walked from there
			}
		}
		for _, p := range b.preds {
			if !seen[p] {
				seen[p] = true
				stack = append(stack, p)
			}
		}
	}
	for u := range uses {
		if u.blk != nil && u.blk.order >= 0 {
			back(u.blk, u.at-1)
		}
	}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		back(b, len(b.instrs)-1)
	}
	return stores
}
