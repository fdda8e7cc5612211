package member

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about types: which of their fields own, by all that the package stores there, and what the
// method that frees them leaves.

// A Finding is fields that own, and that a method leaves or overwrites.
type Finding struct {
	SSA    *ssa.Function // the method
	Method *types.Func
	Type   *types.Named
	Fields []string  // their names, in the order of the type
	Lost   token.Pos // where something else is stored there; NoPos: the method ends the value
	Named  bool      // by its name alone: it frees nothing
	Only   string    // the field without which it leaves them, or whose free fails where it does; "": always
	Made   token.Pos // where they are made
	Waits  bool      // in them, which are channels, things may wait
	Item   bool      // an item of one is lost
	Said   string    // the line that says who frees them, although the method does
	Early  token.Pos // where they are freed before a reference is taken to what is put there, which Lost is
}

// stores counts what is stored in a field: what its function made and keeps nowhere else, and other things.
type stores struct {
	owned, other int
	through      int             // of owned: by calls that are given the field's address
	first        token.Pos       // where something that it owns is stored
	begun        []*ssa.Function // that store it in a value that is made there, as constructors do
	free         []*ssa.Function // that free it, of what others have made, and are no methods of the type
	in           map[*ssa.Function]bool
	room         bool // it is given a channel in which things may wait
}

// Fields lists what the methods of the package's types forget and lose, in the order of the source.
func Fields(pkg []*own.Func, frees *effect.Frees) []Finding {
	put := map[*types.Var]*stores{}
	methods := map[*types.Named][]*method{}
	for _, f := range pkg {
		count(put, f, frees)
		if m := methodOf(f); m != nil {
			methods[m.of] = append(methods[m.of], m)
		}
	}
	items(put, pkg, frees)
	var out []Finding
	for n, ms := range methods {
		out = append(out, forgotten(n, ms, put, frees)...)
		out = append(out, lost(n, ms, put)...)
		out = append(out, renewed(n, ms, frees)...)
		out = append(out, stopped(n, ms, frees)...)
	}
	for _, f := range pkg {
		out = append(out, replaced(f, methods)...)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Method.Pos(), b.Method.Pos()), cmp.Compare(a.Lost, b.Lost))
	})
	return out
}

// count notes what a function stores in fields that have room for a handle.
func count(put map[*types.Var]*stores, f *own.Func, frees *effect.Frees) {
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			s, ok := i.(*ssa.Store)
			if !ok {
				besides(put, f, i)
				waits(put, f, i)
				through(put, f, i)
				continue
			}
			field := fieldOf(s.Addr)
			if m, ok := s.Val.(*ssa.MakeChan); ok && field != nil {
				p := at(put, field, s)
				p.room = !memory.Zero(m.Size)
				if !lent(s.Addr) {
					p.begun = append(p.begun, f.SSA)
				}
			}
			if c, ok := s.Val.(*ssa.Const); field == nil || ok && c.Value == nil {
				continue
			}
			p := at(put, field, s)
			p.in[f.SSA] = true
			if _, empty := s.Val.(*ssa.MakeMap); empty || !frees.Resource(field.Type()) {
				continue
			}
			if !onlyInto(f, s, field) {
				p.other++
				continue
			}
			p.owned++
			if !lent(s.Addr) {
				p.begun = append(p.begun, f.SSA)
			}
		}
	}
}

// at returns what is stored in a field, which an instruction does.
func at(put map[*types.Var]*stores, field *types.Var, i ssa.Instruction) *stores {
	if put[field] == nil {
		put[field] = &stores{first: i.Pos(), in: map[*ssa.Function]bool{}}
	}
	return put[field]
}

// waits notes what an instruction sends on the channel in a field, if that is its function's to send.
func waits(put map[*types.Var]*stores, f *own.Func, i ssa.Instruction) {
	s, ok := i.(*ssa.Send)
	if !ok {
		return
	}
	load, ok := s.Chan.(*ssa.UnOp)
	if !ok || fieldOf(load.X) == nil {
		return
	}
	p := at(put, fieldOf(load.X), s)
	if given(f, s.X) {
		p.first = s.Pos()
		p.owned++
	} else {
		p.other++
	}
}

// through notes what a call puts into what is in a field, of which it is given the address. What is called
// with nothing else may end that.
func through(put map[*types.Var]*stores, f *own.Func, i ssa.Instruction) {
	a, ok := i.(*ssa.FieldAddr)
	if !ok {
		return
	}
	if EndsAt(f, a) {
		at(put, fieldOf(a), i).other++
	}
	for _, u := range *a.Referrers() {
		c, ok := u.(*ssa.Call)
		if !ok || f.Marks(c) {
			continue
		}
		if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
			continue
		}
		for k, v := range calls.Operands(&c.Call) {
			if v != ssa.Value(a) {
				continue
			}
			for _, m := range f.Summary(&c.Call).Param(k).Made {
				p := at(put, fieldOf(a), i)
				p.first = cmp.Or(m.Pos, p.first)
				p.owned, p.through = p.owned+1, p.through+1
			}
		}
	}
}

// fieldOf returns the field of which an address is one; nil if it is another.
func fieldOf(addr ssa.Value) *types.Var {
	a, ok := addr.(*ssa.FieldAddr)
	if !ok {
		return nil
	}
	return FieldAt(a.X, a.Field)
}

// FieldAt returns a field of what an address leads to, by its number.
func FieldAt(addr ssa.Value, k int) *types.Var {
	return fieldAt(addr.Type().Underlying().(*types.Pointer).Elem(), k)
}

func fieldAt(t types.Type, k int) *types.Var {
	if n := Named(t); n != nil {
		t = n
	}
	return t.Underlying().(*types.Struct).Field(k)
}

// fieldsOf lists the fields of a struct, and behind each that is a struct without a name those of that: they
// are its own as well.
func fieldsOf(t types.Type) (out []*types.Var) {
	for v := range t.Underlying().(*types.Struct).Fields() {
		out = append(out, v)
		if isNested(v) {
			out = append(out, fieldsOf(v.Type())...)
		}
	}
	return out
}

func isNested(v *types.Var) bool { _, yes := types.Unalias(v.Type()).(*types.Struct); return yes }

// lent reports whether a field is one of something that the caller has.
func lent(addr ssa.Value) bool {
	for a, ok := addr.(*ssa.FieldAddr); ok; a, ok = addr.(*ssa.FieldAddr) {
		addr = a.X
	}
	return memory.IsLent(addr)
}

// IsStruct reports whether a type is a struct.
func IsStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// onlyInto reports whether what a store puts into a field was made in its function, and goes into no other
// variable that outlives that, and that it does not free itself.
func onlyInto(f *own.Func, s *ssa.Store, field *types.Var) bool {
	holds := f.Holds(s.Val)
	ours := func(h pointsto.Hold) bool { return h.As == pointsto.Whole && h.Site.Param < 0 }
	if len(holds) == 0 || slices.ContainsFunc(holds, func(h pointsto.Hold) bool { return !ours(h) }) {
		return false
	}
	same := func(v ssa.Value) bool {
		return slices.ContainsFunc(holds, func(h pointsto.Hold) bool { return f.May(v, h.Site) })
	}
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			switch i := i.(type) {
			case *ssa.Store:
				_, local := i.Addr.(*ssa.Alloc)
				if !local && same(i.Val) && fieldOf(i.Addr) != field {
					return false
				}
			case *ssa.MapUpdate:
				if same(i.Value) {
					return false
				}
			case *ssa.Send:
				if same(i.X) {
					return false
				}
			}
		}
	}
	return !takesBack(f, s, holds)
}

// owns reports whether all that is ever stored in a field was made for it.
func (s *stores) owns() bool { return s != nil && s.owned > 0 && s.other == 0 }

// An ending is the method that ends values of a type, and those of the type that it calls for that.
type ending struct {
	*method
	with  []*method
	known bool // a spec says so, or it was found; else it is what frees the most
}

// endOf returns what ends values of a type; nil if nothing does.
func endOf(n *types.Named, methods []*method, frees *effect.Frees) *ending {
	var end *ending
	free := frees.Of(types.NewPointer(n))
	if free != nil && free.Resets {
		free = nil // whoever calls it may go on with the value
	}
	for _, m := range methods {
		if free != nil && free.Func == m.fn && m.ends() {
			end = &ending{method: m, known: true}
			break
		}
		// One that sets what it freed to nothing may well be followed by more.
		sure := len(m.freed) > len(m.emptied) || isEnd(n, m.fn, frees) || calls.CountsDown(m.f.SSA)
		if free == nil && m.ends() && sure && !m.returns && (end == nil || len(m.freed) > len(end.freed)) {
			end = &ending{method: m}
		}
	}
	if end != nil {
		end.with = with(end.method, methods)
	}
	return end
}

// with returns a method and those of its type that it calls, and so on.
func with(m *method, methods []*method) []*method {
	all := []*method{m}
	for k := 0; k < len(all); k++ {
		for _, m := range methods {
			if slices.Contains(all[k].calls, m.fn) && !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// handles reports whether field k may be freed in what ends a value, or by another method without operands:
// by one that does something like that, if it is not known what ends values. Of what only calls put there
// that are given the field's address, no call that is given more than that is the end.
func (e *ending) handles(k int, has *stores, methods []*method, frees *effect.Frees) bool {
	does := func(m *method) bool { return m.all || len(m.freed[k]) > 0 || m.given[k] }
	other := func(m *method) bool {
		like := m.given[k] || m.all && (len(m.freed) > 0 || isEnd(m.of, m.fn, frees))
		return m.ends() && (len(m.freed[k]) > 0 || !e.known && like)
	}
	return slices.ContainsFunc(e.with, does) || has.through < has.owned && slices.ContainsFunc(methods, other)
}

// beside reports whether a function, which frees a field, leaves all to what ends the value that this frees.
func (e *ending) beside(f *ssa.Function, put map[*types.Var]*stores) bool {
	for k, v := range fieldsOf(e.of) {
		frees := func(m *method) bool { return len(m.freed[k]) > 0 }
		if put[v] != nil && slices.Contains(put[v].free, f) && slices.ContainsFunc(e.with, frees) {
			return false
		}
	}
	return true
}

// only returns the field, another one than k, that must be there where what ends a value frees field k, and
// that some function which makes k for a new value leaves alone; -1 if there is none.
func (e *ending) only(k int, put map[*types.Var]*stores) int {
	s := fieldsOf(e.of)
	on := -1
	for _, m := range e.with {
		if m.all || m.given[k] {
			return -1
		}
		for _, i := range m.freed[k] {
			j := m.behind(i)
			if j < 0 || j == k || on >= 0 && j != on {
				return -1
			}
			on = j
		}
	}
	alone := func(f *ssa.Function) bool { return put[s[on]] == nil || !put[s[on]].in[f] }
	if on < 0 || !slices.ContainsFunc(put[s[k]].begun, alone) {
		return -1
	}
	return on
}

// forgotten returns what the method that ends values of a type leaves, always or where another field is nil.
func forgotten(n *types.Named, methods []*method, put map[*types.Var]*stores, frees *effect.Frees) (out []Finding) {
	end := endOf(n, methods, frees)
	if end == nil {
		return nil
	}
	all := Finding{SSA: end.f.SSA, Method: end.fn, Type: n, Named: len(end.freed) == 0 && !end.known && !calls.CountsDown(end.f.SSA)}
	s := fieldsOf(n)
	for k, v := range s {
		has := put[v]
		if !has.owns() || slices.ContainsFunc(has.free, func(f *ssa.Function) bool { return end.beside(f, put) }) {
			continue
		}
		if isChan(v.Type()) {
			out = append(out, abandoned(n, k, has, end, methods, frees)...)
			continue
		}
		if !end.handles(k, has, methods, frees) {
			all.Fields = append(all.Fields, v.Name())
			all.Made = cmp.Or(all.Made, has.first)
		} else if on := end.only(k, put); on >= 0 {
			out = append(out, Finding{SSA: end.f.SSA, Method: end.fn, Type: n, Fields: []string{v.Name()},
				Only: s[on].Name(), Made: has.first})
		}
	}
	if len(all.Fields) > 0 {
		out = append(out, all)
	}
	return out
}

func isChan(t types.Type) bool { _, yes := t.Underlying().(*types.Chan); return yes }

// abandoned returns the methods that end values of a type, and leave what waits in the channel in field k:
// what ends them, and those that are named so, since nobody receives behind these.
func abandoned(n *types.Named, k int, has *stores, end *ending, methods []*method, frees *effect.Frees) (out []Finding) {
	takes := func(m *method) bool { return m.all || m.given[k] || m.took[k] != 0 }
	for _, m := range methods {
		ends := m == end.method || m.ends() && isEnd(n, m.fn, frees)
		if has.room && ends && !slices.ContainsFunc(with(m, methods), takes) {
			name := fieldsOf(n)[k].Name()
			out = append(out, Finding{SSA: m.f.SSA, Method: m.fn, Type: n, Fields: []string{name}, Waits: true, Made: has.first})
		}
	}
	return out
}

// lost returns where methods give a field something else which constructors fill, and neither free what was
// there, nor look whether there is anything; or another channel, and nothing receives what waits in the one
// that was there.
func lost(n *types.Named, methods []*method, put map[*types.Var]*stores) (out []Finding) {
	for _, m := range methods {
		for k, v := range fieldsOf(n) {
			had, at := put[v], m.set[k]
			if at == nil || !had.owns() {
				continue
			}
			known := m.all || len(m.calls) > 0 || len(m.freed[k]) > 0
			waits := isChan(v.Type())
			if waits {
				takes := func(m *method) bool { return m.given[k] || m.took[k]&receives != 0 }
				known = !had.room || v.Exported() || slices.ContainsFunc(with(m, methods), takes)
			}
			if !known && !m.given[k] && !m.tested[k] && len(had.begun) > 0 {
				out = append(out, Finding{SSA: m.f.SSA, Method: m.fn, Type: n, Fields: []string{v.Name()}, Lost: at.Pos(), Waits: waits})
			}
		}
	}
	return out
}

// isEnd reports whether a method is named as what ends a value: as io.Closer's, or as a free of one of its
// fields.
func isEnd(n *types.Named, m *types.Func, frees *effect.Frees) bool {
	for _, v := range fieldsOf(n) {
		if free := frees.Of(v.Type()); free != nil && free.Func != nil && free.Func.Name() == m.Name() {
			return true
		}
	}
	return m.Name() == "Close"
}
