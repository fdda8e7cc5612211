package escape

// Types that own through their fields, and the methods that free them: which
// fields, and whether only what is owned is ever stored there.

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// A holding is what a struct type of the package owns through its fields.
type holding struct {
	named  *types.Named
	owned  map[string]int // stores of owned values, by field
	other  map[string]int // of anything else but nil
	empty  map[string]int // of nil, or of what may be nil
	free   *types.Func    // the destructor
	freed  map[string]bool
	insist map[string]bool // it goes wrong where they are nil
	forget []string        // fields that it forgets
}

// closed reports whether the type has a free of its own and only what is owned is
// ever stored in the fields that it frees: whatever is stored, freeing is right.
func (h *holding) closed(p *pkg) bool {
	if h == nil || h.free == nil {
		return false
	}
	if _, ok := p.freeing[h.free]; !ok {
		return false
	}
	for name := range h.freed {
		if h.other[name] > 0 || h.insist[name] && h.empty[name] > 0 {
			return false
		}
	}
	return true
}

var destructorNames = map[string]bool{"Free": true, "Close": true, "Release": true, "Destroy": true, "Dispose": true, "Drop": true}

// structOf returns the named struct of this package that t is or points to.
func (p *pkg) structOf(t types.Type) (*types.Named, *types.Struct) {
	n, ok := types.Unalias(deref(t)).(*types.Named)
	if !ok || n.Obj().Pkg() != p.types {
		return nil, nil
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return nil, nil
	}
	return n.Origin(), s
}

// fresh reports whether the field is empty, for all we know, when f is called: f
// sets values up, as testify's SetupTest does, or is a helper of functions that
// empty the field first.
func (p *pkg) fresh(f *types.Func, field *types.Var) bool {
	if f == nil {
		return true
	}
	for _, prefix := range []string{"setup", "init", "open", "start"} {
		if strings.HasPrefix(strings.ToLower(f.Name()), prefix) {
			return true
		}
	}
	if f.Exported() {
		return false
	}
	return p.emptiedBefore(f, field)
}

// holdings finds out which fields of the package's structs own, and which
// methods free them.
func (p *pkg) holdings(fns []*fn) map[*types.Named]*holding {
	hs := map[*types.Named]*holding{}
	get := func(t types.Type) *holding {
		n, _ := p.structOf(t)
		if n == nil || p.isDeclared(n) || !p.holdsResource(n) {
			return nil
		}
		h := hs[n]
		if h == nil {
			h = &holding{named: n, owned: map[string]int{}, other: map[string]int{}, empty: map[string]int{}, freed: map[string]bool{}}
			hs[n] = h
		}
		return h
	}
	note := func(w *flow, h *holding, field string, at *value) {
		v := origin(at.args[0])
		o := w.byDef[v]
		if at.op == opStore && (v.op == opNil || o == nil || o.kind == objPhi || o.mayNil || o.errRes != nil) {
			h.empty[field]++ // set otherwise, it is known at each return what a field holds
		}
		switch {
		case v.op == opNil:
		case o != nil && o.kind != objParam && o.onlyInto(at):
			h.owned[field]++
		default:
			h.other[field]++
		}
	}
	for _, f := range fns {
		if f.flow == nil || f.declined != "" {
			continue
		}
		for _, b := range f.rpo {
			for _, v := range b.instrs {
				switch {
				case v.op == opSet && len(v.place.path) == 1:
					if h := get(v.place.root.typ); h != nil && v.args[0].op != opPart {
						note(f.flow, h, strings.TrimPrefix(v.place.name, "."), v)
					}
				case v.op == opStore && len(v.args) == 2:
					sel, ok := v.expr.(*ast.SelectorExpr)
					if !ok {
						continue
					}
					if h := get(p.typeOf(sel.X)); h != nil {
						note(f.flow, h, sel.Sel.Name, v)
					}
				}
			}
		}
	}
	type release struct {
		of    *holding
		field string
	}
	elsewhere := map[release][]*types.Func{} // destructors that free a field, on whatever paths
	for _, f := range fns {
		if f.obj == nil || f.flow == nil || f.declined != "" || f.sig.Recv() == nil || f.sig.Params().Len() > 0 || len(f.params) == 0 {
			continue
		}
		h := get(f.sig.Recv().Type())
		if h == nil {
			continue
		}
		var uses []*fieldUse
		if !p.guarded(f, func() { uses = f.flow.fieldUses(f.params[0]) }) {
			continue
		}
		for _, u := range uses {
			if key := (release{h, u.field.Name()}); u.frees && destructorNames[f.obj.Name()] {
				elsewhere[key] = append(elsewhere[key], f.obj)
			}
		}
		any := slices.ContainsFunc(uses, func(u *fieldUse) bool { return u.frees })
		if !any && !destructorNames[f.obj.Name()] || h.free != nil && !any {
			continue
		}
		freed, insist := map[string]bool{}, map[string]bool{}
		var forget []string
		repeat, resets := true, true
		for _, u := range uses {
			name := u.field.Name()
			switch {
			case u.frees && u.exit&^(fFreed|fNil) == 0:
				freed[name], insist[name] = true, u.insist
				repeat = repeat && (u.repeat || u.exit == fNil)
				resets = resets && u.exit == fNil
			case !u.frees && u.exit&fOwned != 0 && u.exit&(fGone|fTaken|fHeld) == 0 && h.owned[name] > 0 && h.other[name] == 0:
				forget = append(forget, name)
			}
		}
		if resets && !destructorNames[f.obj.Name()] {
			continue // it makes room, and does not end the life of its receiver
		}
		if h.free != nil && len(freed) <= len(h.freed) {
			continue
		}
		h.free, h.freed, h.insist, h.forget = f.obj, freed, insist, forget
		complete := len(freed) > 0 && len(forget) == 0
		for name := range h.owned {
			complete = complete && freed[name]
		}
		if complete {
			p.freeing[f.obj] = ArgEffect{Freed: When{K: Always}, Repeatable: repeat, Resets: resets, NilOK: isPointer(f.sig.Recv().Type()) && p.toleratesNil(f, f.params[0]),
				Insists: slices.ContainsFunc(uses, func(u *fieldUse) bool { return u.insist })}
		}
	}
	for _, h := range hs {
		// What another destructor frees is for whoever calls both.
		h.forget = slices.DeleteFunc(h.forget, func(name string) bool {
			return slices.ContainsFunc(elsewhere[release{h, name}], func(f *types.Func) bool { return f != h.free })
		})
	}
	return hs
}

// onlyInto reports whether o goes into a field at instruction at, and nowhere else.
func (o *object) onlyInto(at *value) bool {
	for _, m := range o.order {
		if origin(m) != o.def {
			continue
		}
		for _, u := range m.users {
			switch {
			case u == at:
			case u.op == opSet && len(u.place.path) > 0 && !(at.op == opSet && u.place.copies(at.place)), u.op == opStore && u.args[0] == m, u.op == opSend && u.args[0] == m:
				return false
			}
		}
	}
	return true
}

// copies reports whether p and q are the same field of structs of one type, as of a
// literal and of the variable that it is assigned to.
func (p *place) copies(q *place) bool {
	return slices.Equal(p.path, q.path) && types.Identical(p.root.typ, q.root.typ)
}

// isDeclared reports whether a spec or directive says how to free t.
func (p *pkg) isDeclared(t types.Type) bool {
	return slices.ContainsFunc(p.freersOf(t), func(f *freer) bool { return f.declared })
}
