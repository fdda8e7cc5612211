package memory

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
	return effect.PathText(TypeOf(p.Root, p.Memory), p.Path)
}

// Sayable reports whether package pkg can name the field.
func (p *Field) Sayable(pkg *types.Package) bool {
	return effect.Sayable(TypeOf(p.Root, p.Memory), p.Path, pkg)
}

// Of returns the type of what the field holds.
func (p *Field) Of() types.Type { return effect.At(TypeOf(p.Root, p.Memory), p.Path) }

// TypeOf returns the type of what is divided.
func TypeOf(root ssa.Value, memory bool) types.Type {
	if memory {
		return Pointee(root.Type())
	}
	return root.Type()
}

// Fields lists the fields of a variable of this function, or of a value.
func (f *Func) Fields(root ssa.Value) []*Field {
	have, ok := f.split[root]
	if ok {
		return have
	}
	memory := f.InMemory(root)
	if _, captured := root.(*ssa.FreeVar); !captured && (!memory || ir.SteadyIndexes(root) && !f.IsSlot(root) && ir.ToItself(root) == nil) {
		for _, path := range f.In.Frees.Paths(TypeOf(root, memory)) {
			have = append(have, &Field{root, path, memory})
		}
	}
	f.split[root] = have
	return have
}

// Parts lists the parts of what v is, or is the address of.
func (f *Func) Parts(v ssa.Value) []*Field {
	if root, path, sure := f.Resolve(v); !sure || len(path) > 0 || root != v {
		return nil
	}
	return f.Fields(v)
}

// Field returns the field of root at a path: root itself if that is empty, nil if there is none.
func (f *Func) Field(root ssa.Value, path []int) ssa.Value {
	if len(path) == 0 {
		return root
	}
	for _, p := range f.Fields(root) {
		if slices.Equal(p.Path, path) {
			return p
		}
	}
	return nil
}

// Resolve returns the variable in memory that v is an address in, and the path to it; the path
// ends in front of an index that is not constant, and of a slice, which sure tells. Where v is
// no such address, it is v.
func (f *Func) Resolve(v ssa.Value) (root ssa.Value, path []int, sure bool) {
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
		if at := f.lifted.Read(v); at != v {
			if root, path, sure = f.Resolve(at); f.InMemory(root) {
				return root, path, sure
			}
		}
		return v, nil, true
	}
	root, path, sure = f.Resolve(x)
	if !f.InMemory(root) {
		return v, nil, true
	}
	if sure && step >= 0 {
		return root, append(path, step), true
	}
	return root, path, false
}

// read returns the variable or the object that a pointer leads to which v is read of, else v.
func (f *Func) read(v ssa.Value) ssa.Value {
	if root, path, sure := f.Resolve(v); sure && len(path) == 0 {
		return root
	}
	return v
}

// A Reach says how an operand leads to a slot.
type Reach uint8

const (
	None  Reach = iota // it does not
	Same               // it is the slot
	Outer              // the slot is a part of it
	Inner              // it is a part of what is in the slot
	Some               // it is an element by an index that is not known, perhaps the slot
)

// Reaches returns how operand x leads to v, which is an origin.
func (f *Func) Reaches(x, v ssa.Value) Reach {
	p, ok := v.(*Field)
	if to := f.pointer(x); to != nil {
		x = to
	}
	switch x = f.read(x); {
	case x == v:
		return Same
	case !ok && f.Origin(x) == v:
		return Inner
	case !ok:
		return None
	case x == p.Root:
		return Outer
	case !p.Memory:
		return None
	}
	root, path, sure := f.Resolve(x)
	switch {
	case root != p.Root || !starts(path, p.Path):
		return None
	case !sure && len(path) < len(p.Path):
		return Some
	case len(path) < len(p.Path):
		return Outer
	case len(path) == len(p.Path) && sure:
		return Same
	}
	return Inner
}

// Sets reports whether an instruction gives a slot what it holds from then on.
func (f *Func) Sets(i ssa.Instruction, v ssa.Value) bool {
	s, ok := i.(*ssa.Store)
	if !ok || !f.IsSlot(v) || f.pointer(s.Addr) != nil {
		return false
	}
	r := f.Reaches(s.Addr, v)
	return r == Same || r == Outer
}
