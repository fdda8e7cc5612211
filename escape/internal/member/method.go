package member

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// A method is what a method of a struct does to the fields of its receiver, which go by their
// numbers in what fieldsOf lists.
type method struct {
	of      *types.Named
	fn      *types.Func
	f       *own.Func
	freed   map[int][]ssa.Instruction // by these, on some path
	emptied map[int]bool              // likewise, and set to nothing
	set     map[int]*ssa.Store        // given something else
	tested  map[int]bool              // compared with something
	given   map[int]bool              // somebody else may have them
	took    map[int]taking            // from the channel in them
	all     bool                      // somebody else may have all
	calls   []*types.Func             // others of the type, which are looked at by themselves
	returns bool                      // it returns something that may be one
}

// A taking is how a method sees to what waits in a channel.
type taking uint8

const (
	receives taking = 1 << iota
	closes          // so that who receives elsewhere comes to an end
)

// methodOf returns what a method of a struct of its package does to fields; nil for other functions.
func methodOf(f *own.Func) *method {
	fn := calls.Declared(f.SSA)
	if fn == nil || fn.Signature().Recv() == nil {
		return nil
	}
	n := Named(fn.Signature().Recv().Type())
	if n == nil || n.Obj().Pkg() != fn.Pkg() {
		return nil
	}
	if _, ok := n.Underlying().(*types.Struct); !ok {
		return nil
	}
	m := &method{of: n, fn: fn, f: f, freed: map[int][]ssa.Instruction{}, emptied: map[int]bool{}, set: map[int]*ssa.Store{},
		tested: map[int]bool{}, given: map[int]bool{}, took: map[int]taking{}}
	m.follow(f, f.SSA.Params[0])
	for k := range m.emptied {
		if len(m.freed[k]) == 0 {
			delete(m.emptied, k)
		}
	}
	return m
}

// Named returns the type that a value or a pointer has a name by; nil if it has none.
func Named(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	if n == nil {
		return nil
	}
	return n.Origin()
}

// follow looks at the uses of the receiver, or of the variable that has a copy of it.
func (m *method) follow(f *own.Func, recv ssa.Value) {
	for _, i := range *recv.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.FieldAddr:
			m.address(f, i, m.index(FieldAt(i.X, i.Field)))
		case *ssa.Field:
			m.value(f, i, m.index(fieldAt(i.X.Type(), i.Field)))
		case *ssa.Store: // of a receiver that is a value, into its variable
			if a, ok := i.Addr.(*ssa.Alloc); ok && i.Val == recv {
				m.follow(f, a)
			} else {
				m.all = true
			}
		case *ssa.BinOp:
		case ssa.CallInstruction:
			for k, a := range calls.Operands(i.Common()) {
				if a == recv && !f.Marks(i) && !f.Summary(i.Common()).Params[k].Borrows() {
					if fn := calls.Called(i.Common()); m.like(fn) {
						m.calls = append(m.calls, fn)
					} else {
						m.all = true
					}
				}
			}
		default:
			m.all = true
		}
	}
}

// ends reports whether the method is one that may end its receiver: it takes nothing else.
func (m *method) ends() bool { return m.fn.Signature().Params().Len() == 0 }

// like reports whether a function is another such method of the type.
func (m *method) like(fn *types.Func) bool {
	return fn != nil && fn.Signature().Recv() != nil && fn.Signature().Params().Len() == 0 &&
		Named(fn.Signature().Recv().Type()) == m.of
}

// index returns the number of a field: see fieldsOf.
func (m *method) index(v *types.Var) int { return slices.Index(fieldsOf(m.of), v) }

// address looks at the uses of the address of field k.
func (m *method) address(f *own.Func, a ssa.Value, k int) {
	nested := k >= 0 && isNested(fieldsOf(m.of)[k])
	for _, i := range *a.Referrers() {
		if at, ok := i.(*ssa.FieldAddr); ok && nested {
			m.address(f, at, m.index(FieldAt(at.X, at.Field)))
			continue
		}
		_, debug := i.(*ssa.DebugRef)
		m.all = m.all || nested && !debug
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			m.value(f, i, k)
		case *ssa.Store:
			if c, ok := i.Val.(*ssa.Const); ok && c.Value == nil {
				m.emptied[k] = true
			} else if m.set[k] == nil {
				m.set[k] = i
			}
			m.given[k] = m.given[k] || i.Val == a
		case ssa.CallInstruction:
			m.call(f, i, a, k)
		default:
			m.given[k] = true
		}
	}
}

// value looks at the uses of what field k holds.
func (m *method) value(f *own.Func, v ssa.Value, k int) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.BinOp:
			m.tested[k] = true
		case *ssa.FieldAddr, *ssa.Field, *ssa.Index, *ssa.IndexAddr, *ssa.UnOp: // a part, freed by itself
			u, ok := i.(*ssa.UnOp)
			if ok && u.Op == token.ARROW {
				m.took[k] |= receives
			}
			m.value(f, i.(ssa.Value), k)
		case *ssa.Send: // what is sent waits in the channel; the channel goes nowhere
			m.given[k] = m.given[k] || i.X == v
		case *ssa.Store:
			c, ok := i.Val.(*ssa.Const)
			m.given[k] = m.given[k] || !ok || c.Value != nil
		case ssa.CallInstruction:
			m.call(f, i, v, k)
		case *ssa.Return:
			m.given[k], m.returns = true, true
		default:
			m.given[k] = true
		}
	}
}

// call notes what a call does to what field k holds.
func (m *method) call(f *own.Func, i ssa.CallInstruction, v ssa.Value, k int) {
	if f.Marks(i) {
		return
	}
	if b, ok := i.Common().Value.(*ssa.Builtin); ok {
		switch b.Name() {
		case "len", "cap":
		case "close":
			m.took[k] |= closes
		default:
			m.given[k] = true
		}
		return
	}
	for n, a := range calls.Operands(i.Common()) {
		if a != v {
			continue
		}
		switch p := f.Summary(i.Common()).Params[n]; {
		case p.Freed.Cond != effect.Never:
			m.freed[k] = append(m.freed[k], i)
		case !p.Borrows():
			m.given[k] = true
		}
	}
}

// behind returns the field of the receiver that is not nil wherever an instruction runs; -1 if none is known.
func (m *method) behind(i ssa.Instruction) int {
	on := -1
	yes, _ := ir.NonNil(i.Block(), nil, func(v ssa.Value) bool {
		load, ok := v.(*ssa.UnOp)
		if !ok {
			return false
		}
		a, ok := load.X.(*ssa.FieldAddr)
		if ok = ok && a.X == m.f.SSA.Params[0]; ok {
			on = m.index(fieldOf(a))
		}
		return ok
	})
	if !yes {
		return -1
	}
	return on
}

// EndsAt reports whether a method is called with an address alone, and is not known to look at it only.
func EndsAt(f *own.Func, a ssa.Value) bool {
	return slices.ContainsFunc(*a.Referrers(), func(i ssa.Instruction) bool {
		c, ok := i.(ssa.CallInstruction)
		if !ok || f.Marks(i) {
			return false
		}
		all := calls.Operands(c.Common())
		if p := f.Summary(c.Common()).Param(0); len(all) == 1 && all[0] == a {
			return !p.Borrows() && len(p.Made) == 0
		}
		return false
	})
}
