package find

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about types: which of their fields own, by all that the package stores there, and what the
// method that frees them leaves.

// A FieldFinding is fields that own, and that a method leaves or overwrites.
type FieldFinding struct {
	SSA    *ssa.Function // the method
	Method *types.Func
	Type   *types.Named
	Fields []string  // their names, in the order of the type
	Lost   token.Pos // where something else is stored there; NoPos: the method ends the value
	Named  bool      // by its name alone: it frees nothing
}

// stores counts what is stored in a field: what its function made and keeps nowhere else, and other things.
type stores struct {
	owned, other int
	begins       bool // also in a value that is made there, as constructors do
}

// Fields lists what the methods of the package's types forget and lose, in the order of the source.
func Fields(pkg []*own.Func, frees *effect.Frees) []FieldFinding {
	put := map[*types.Var]*stores{}
	methods := map[*types.Named][]*method{}
	for _, f := range pkg {
		count(put, f, frees)
		if m := methodOf(f); m != nil && (frees.Of(m.of) == nil || frees.Parts(m.of) != nil) {
			methods[m.of] = append(methods[m.of], m)
		}
	}
	var out []FieldFinding
	for n, ms := range methods {
		out = append(out, forgotten(n, ms, put, frees)...)
		out = append(out, lost(n, ms, put)...)
	}
	slices.SortFunc(out, func(a, b FieldFinding) int {
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
				continue
			}
			field := fieldOf(s.Addr)
			if c, ok := s.Val.(*ssa.Const); field == nil || ok && c.Value == nil || !frees.Resource(field.Type()) {
				continue
			}
			if put[field] == nil {
				put[field] = &stores{}
			}
			if onlyInto(f, s, field) {
				put[field].owned++
				put[field].begins = put[field].begins || !memory.IsLent(s.Addr.(*ssa.FieldAddr).X)
			} else {
				put[field].other++
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
	t := a.X.Type().Underlying().(*types.Pointer).Elem()
	if n := named(t); n != nil {
		t = n
	}
	return t.Underlying().(*types.Struct).Field(a.Field)
}

// onlyInto reports whether what a store puts into a field was made in its function, and goes into no other
// variable that outlives that.
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
	return true
}

// owns reports whether all that is ever stored in a field was made for it.
func (s *stores) owns() bool { return s != nil && s.owned > 0 && s.other == 0 }

// forgotten returns what the method that frees most fields of a type leaves, unless another one may free it.
func forgotten(n *types.Named, methods []*method, put map[*types.Var]*stores, frees *effect.Frees) []FieldFinding {
	var free *method
	for _, m := range methods {
		// One that sets what it freed to nothing may well be followed by more.
		sure := len(m.freed) > len(m.emptied) || isEnd(n, m.fn, frees)
		if m.ends() && sure && !m.returns && (free == nil || len(m.freed) > len(free.freed)) {
			free = m
		}
	}
	if free == nil {
		return nil
	}
	out := FieldFinding{SSA: free.ssa, Method: free.fn, Type: n, Named: len(free.freed) == 0}
	s := n.Underlying().(*types.Struct)
	for k := range s.NumFields() {
		handled := func(m *method) bool { return m.ends() && (m.all || m.freed[k] || m.given[k]) }
		if put[s.Field(k)].owns() && !slices.ContainsFunc(methods, handled) {
			out.Fields = append(out.Fields, s.Field(k).Name())
		}
	}
	if len(out.Fields) == 0 {
		return nil
	}
	return []FieldFinding{out}
}

// lost returns where methods give a field something else which constructors fill, and neither free what was
// there, nor look whether there is anything.
func lost(n *types.Named, methods []*method, put map[*types.Var]*stores) (out []FieldFinding) {
	s := n.Underlying().(*types.Struct)
	for _, m := range methods {
		for k := range s.NumFields() {
			had, at := put[s.Field(k)], m.set[k]
			known := m.all || m.leads || m.freed[k] || m.given[k] || m.tested[k]
			if at == nil || known || !had.owns() || !had.begins {
				continue
			}
			out = append(out, FieldFinding{SSA: m.ssa, Method: m.fn, Type: n, Fields: []string{s.Field(k).Name()}, Lost: at.Pos()})
		}
	}
	return out
}

// isEnd reports whether a method is named as what ends a value: as io.Closer's, or as a free of one of its
// fields.
func isEnd(n *types.Named, m *types.Func, frees *effect.Frees) bool {
	s := n.Underlying().(*types.Struct)
	for k := range s.NumFields() {
		if free := frees.Of(s.Field(k).Type()); free != nil && free.Func != nil && free.Func.Name() == m.Name() {
			return true
		}
	}
	return m.Name() == "Close"
}
