package pointsto

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about fields, and elements by a constant index, of a variable in memory or of a
// value that is a struct or an array. Each that has room for a handle is a slot of its own, as
// long as the whole is only got at in ways that are understood.

// A Field is a slot in a variable or an object, whose address Root is, or in a value. It stands
// where an ssa.Value does: for the address of the part, or for the part of the value.
type Field struct {
	Root   ssa.Value
	Path   []int
	Memory bool // Root is an address
}

func (p *Field) Name() string                  { return p.Root.Name() + p.digits() }
func (p *Field) String() string                { return p.Name() }
func (p *Field) Parent() *ssa.Function         { return p.Root.Parent() }
func (p *Field) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (p *Field) Pos() token.Pos                { return p.Root.Pos() }

// starts reports whether one of two paths leads into the other.
func starts(path, with []int) bool {
	n := min(len(path), len(with))
	return slices.Equal(path[:n], with[:n])
}

func (p *Field) digits() string {
	var b strings.Builder
	for _, k := range p.Path {
		fmt.Fprintf(&b, ".%d", k)
	}
	return b.String()
}

// Type returns the type of the address, or of the part of a value.
func (p *Field) Type() types.Type {
	if p.Memory {
		return types.NewPointer(p.Of())
	}
	return p.Of()
}

// Text returns what stands behind the name of the whole.
func (p *Field) Text() string {
	return effect.PathText(whole(p.Root, p.Memory), p.Path)
}

// Of returns the type of what the field holds.
func (p *Field) Of() types.Type { return effect.At(whole(p.Root, p.Memory), p.Path) }

// whole returns the type of what is divided.
func whole(root ssa.Value, memory bool) types.Type {
	if memory {
		return pointee(root.Type())
	}
	return root.Type()
}

// fields lists the fields of a variable of this function, or of a value.
func (f *Func) fields(root ssa.Value) []*Field {
	have, ok := f.split[root]
	if ok {
		return have
	}
	memory := f.inMemory(root)
	if _, captured := root.(*ssa.FreeVar); !captured && (!memory || ir.SteadyIndexes(root) && !f.IsSlot(root)) {
		for _, path := range f.in.Frees.Paths(whole(root, memory)) {
			have = append(have, &Field{root, path, memory})
		}
	}
	f.split[root] = have
	return have
}

// Parts lists the parts of what v is, or is the address of.
func (f *Func) Parts(v ssa.Value) []*Field {
	if root, path, sure := f.resolve(v); !sure || len(path) > 0 || root != v {
		return nil
	}
	return f.fields(v)
}

// field returns the field of root at a path: root itself if that is empty, nil if there is none.
func (f *Func) field(root ssa.Value, path []int) ssa.Value {
	if len(path) == 0 {
		return root
	}
	for _, p := range f.fields(root) {
		if slices.Equal(p.Path, path) {
			return p
		}
	}
	return nil
}

// resolve returns the variable in memory that v is an address in, and the path to it; the path
// ends in front of an index that is not constant, and of a slice, which sure tells. Where v is
// no such address, it is v.
func (f *Func) resolve(v ssa.Value) (root ssa.Value, path []int, sure bool) {
	var x ssa.Value
	step := -1
	switch i := v.(type) {
	case *ssa.FieldAddr:
		x, step = i.X, i.Field
	case *ssa.IndexAddr:
		x = i.X
		if c, ok := i.Index.(*ssa.Const); ok && c.Value != nil {
			n, _ := constant.Int64Val(c.Value)
			step = int(n)
		}
	case *ssa.Slice:
		x = i.X
	}
	if x == nil {
		return v, nil, true
	}
	root, path, sure = f.resolve(x)
	if !f.inMemory(root) {
		return v, nil, true
	}
	if sure && step >= 0 {
		return root, append(path, step), true
	}
	return root, path, false
}

// A reach says how an operand leads to a slot.
type reach uint8

const (
	none  reach = iota
	same        // it is the slot
	outer       // the slot is a part of it
	inner       // it is a part of what is in the slot
	some        // it is an element by an index that is not known, perhaps the slot
)

// reaches returns how operand x leads to v, which is an origin.
func (f *Func) reaches(x, v ssa.Value) reach {
	p, ok := v.(*Field)
	switch {
	case x == v:
		return same
	case !ok && f.Origin(x) == v:
		return inner
	case !ok:
		return none
	case x == p.Root:
		return outer
	case !p.Memory:
		return none
	}
	root, path, sure := f.resolve(x)
	switch {
	case root != p.Root || !starts(path, p.Path):
		return none
	case !sure && len(path) < len(p.Path):
		return some
	case len(path) < len(p.Path):
		return outer
	case len(path) == len(p.Path) && sure:
		return same
	}
	return inner
}

// fieldActs lists what an instruction does to a part.
func (f *Func) fieldActs(i ssa.Instruction, of *Field) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	memory := of.Memory
	keep := one(Keep, nil)
	switch i := i.(type) {
	case *ssa.UnOp:
		switch r := f.reaches(i.X, of); {
		case !memory || i.Op != token.MUL:
			return keep
		case r == same:
			return one(Copy, i)
		case r == outer:
			_, path, _ := f.resolve(i.X)
			return one(Copy, f.field(i, of.Path[len(path):]))
		case r == some:
			return f.taken(i, i, of)
		}
		return f.derived(i, of)
	case *ssa.Field:
		if of.Path[0] != i.Field {
			return nil
		}
		return one(Copy, f.field(i, of.Path[1:]))
	case *ssa.Index:
		if c, ok := i.Index.(*ssa.Const); !ok || i.X != of.Root {
			return one(Unwrap, i)
		} else if n, _ := constant.Int64Val(c.Value); of.Path[0] != int(n) {
			return nil
		}
		return one(Copy, f.field(i, of.Path[1:]))
	case *ssa.Phi:
		if !memory {
			return one(Copy, f.field(i, of.Path))
		}
	case *ssa.ChangeType:
		if !memory {
			return one(Copy, f.field(i, of.Path))
		}
	case *ssa.MakeInterface:
		if !memory {
			return one(Wrap, i)
		}
	case *ssa.BinOp:
		return one(Read, nil)
	case *ssa.Return:
		return one(Leave, nil)
	case *ssa.Store:
		return f.storeField(i, of)
	case *ssa.Call:
		return f.call(i, &i.Call, of)
	case *ssa.Defer:
		return f.deferred(i, of)
	}
	return keep
}

// storeField is what a store does to a part: it is set, or is a part of a value that is stored.
func (f *Func) storeField(s *ssa.Store, of *Field) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: s, Op: op, Of: of, To: to}} }
	if s.Val != of.Root || of.Memory {
		if f.Sets(s, of) && f.reaches(s.Val, of) == none {
			return nil
		}
		return one(Keep, nil)
	}
	if c := f.container(s.Addr); c != nil {
		return one(Wrap, c)
	}
	root, path, sure := f.resolve(s.Addr)
	switch to := f.field(root, slices.Concat(path, of.Path)); {
	case !f.inMemory(root) || !f.isClosed(root) || isLent(root):
		return one(Keep, nil)
	case to != nil && sure:
		return one(Copy, to)
	}
	return one(Wrap, root)
}

// Sets reports whether an instruction gives a slot what it holds from then on.
func (f *Func) Sets(i ssa.Instruction, v ssa.Value) bool {
	s, ok := i.(*ssa.Store)
	if !ok || !f.IsSlot(v) {
		return false
	}
	r := f.reaches(s.Addr, v)
	return r == same || r == outer
}
