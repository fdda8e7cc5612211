package memory

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about slices and maps that are made here. Which of the slices that an append
// gives share elements nobody knows, so all that are made of one another are one thing, and
// that is a holder of all that was ever put into one of them.

// A Container is slices that may share elements, with the arrays behind them, or maps that may
// be one, of which nobody knows but this function. It stands where an ssa.Value does.
type Container struct {
	members map[ssa.Value]bool
	order   []ssa.Value // the same
	users   []ssa.Instruction
	closed  bool
	node    int // where it begins
	at      int
}

func (c *Container) Name() string                  { return "elements of " + c.order[0].Name() }
func (c *Container) String() string                { return c.Name() }
func (c *Container) Type() types.Type              { return c.order[0].Type() }
func (c *Container) Parent() *ssa.Function         { return c.order[0].Parent() }
func (c *Container) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (c *Container) Pos() token.Pos                { return c.order[0].Pos() }

// Container returns what v is a slice or map of, or an address in; nil if that is not known.
func (f *Func) Container(v ssa.Value) *Container {
	for {
		switch i := v.(type) {
		case *ssa.FieldAddr:
			v = i.X
			continue
		case *ssa.IndexAddr:
			v = i.X
			continue
		}
		break
	}
	if f.collections[v] != nil {
		return nil // it owns them
	}
	if c, ok := f.containers[v]; ok {
		return c
	}
	if !elements(v) {
		return nil
	}
	c := &Container{members: map[ssa.Value]bool{}, closed: true}
	c.add(v)
	for k := 0; k < len(c.order) && c.closed; k++ {
		_, known := f.containers[c.order[k]]
		c.closed = !known && f.collections[c.order[k]] == nil // and not closed
		c.made(c.order[k])
		if c.closed {
			f.visit(c, c.order[k])
		}
	}
	if c.closed {
		c.node, c.at = f.Beginning(c.order)
	} else {
		c.members[v] = true
	}
	for m := range c.members {
		f.containers[m] = nil
		if c.closed {
			f.containers[m] = c
		}
	}
	return f.containers[v]
}

// AllIn reports whether a slice has all that is in its container, wherever an instruction runs.
func (f *Func) AllIn(v ssa.Value, at ssa.Instruction) bool {
	made, ok := v.(ssa.Instruction)
	return ok && !slices.ContainsFunc(f.Container(v).order, func(m ssa.Value) bool {
		more, appends := m.(*ssa.Call)
		return IsCut(m) || appends && m != v && ir.Leads(more, at, made)
	})
}

// elements reports whether v is a slice or a map, or an array that is sliced.
func elements(v ssa.Value) bool {
	switch v.Type().Underlying().(type) {
	case *types.Slice, *types.Map:
		_, constant := v.(*ssa.Const)
		return !constant
	}
	a, ok := v.(*ssa.Alloc)
	if ok {
		for _, i := range *a.Referrers() {
			if s, is := i.(*ssa.Slice); is && s.X == v {
				return true
			}
		}
	}
	return false
}

func (c *Container) add(v ssa.Value) {
	if _, nothing := v.(*ssa.Const); !nothing && !c.members[v] {
		c.members[v] = true
		c.order = append(c.order, v)
	}
}

// made adds what a member is made of.
func (c *Container) made(v ssa.Value) {
	switch i := v.(type) {
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap:
	case *ssa.Phi:
		for _, e := range i.Edges {
			c.add(e)
		}
	case *ssa.ChangeType:
		c.add(i.X)
	case *ssa.Slice:
		c.closed = c.closed && elements(i.X)
		c.add(i.X)
	case *ssa.Call:
		if b, ok := i.Call.Value.(*ssa.Builtin); !ok || b.Name() != "append" {
			c.closed = false
			return
		}
		c.add(i.Call.Args[0])
	default:
		c.closed = false
	}
}

// visit adds what is made of a member, or of an address in it, and lists what uses it. The
// container is not closed if something is done with it that is not understood.
func (f *Func) visit(c *Container, v ssa.Value) {
	for _, i := range *v.Referrers() {
		if _, debug := i.(*ssa.DebugRef); debug || f.In.IR.Marks(i) {
			if f.In.IR.Reads(i) {
				c.users = append(c.users, i)
			}
			continue
		}
		switch i := i.(type) {
		case *ssa.Phi, *ssa.ChangeType:
			c.closed = c.closed && c.members[v]
			c.add(i.(ssa.Value))
			continue
		case *ssa.Slice:
			c.closed = c.closed && c.members[v]
			c.add(i)
			continue
		case *ssa.IndexAddr, *ssa.FieldAddr:
			f.visit(c, i.(ssa.Value))
			continue
		case *ssa.Range:
			c.users = append(c.users, *i.Referrers()...)
			continue
		case *ssa.UnOp, *ssa.Lookup, *ssa.BinOp, *ssa.Return:
		case *ssa.Store:
			c.closed = c.closed && i.Val != v
		case *ssa.MapUpdate:
			c.closed = c.closed && i.Key != v && i.Value != v
		case *ssa.Call:
			f.visitCall(c, i, v)
		default:
			c.closed = false
		}
		c.users = append(c.users, i)
	}
}

func (f *Func) visitCall(c *Container, i *ssa.Call, v ssa.Value) {
	if b, ok := i.Call.Value.(*ssa.Builtin); ok {
		switch b.Name() {
		case "append":
			if i.Call.Args[0] == v {
				c.add(i)
			}
		case "len", "cap", "clear", "delete", "copy":
		default:
			c.closed = false
		}
		return
	}
	s := f.Summary(&i.Call)
	for k, a := range calls.Operands(&i.Call) {
		c.closed = c.closed && (a != v || s.Param(k).Borrows() && !s.Gives(k))
	}
	c.closed = c.closed && i.Call.Value != v
}

// Beginning returns where some values come into being: nothing of what was in them before can be got at from
// there on, as all that are used behind are made behind.
func (f *Func) Beginning(order []ssa.Value) (node, at int) {
	var top *ssa.BasicBlock
	for _, m := range order {
		b := m.(ssa.Instruction).Block()
		for top != nil && !top.Dominates(b) {
			top = top.Idom()
		}
		if top == nil {
			top = b
		}
	}
	merges, found := false, false
	for _, m := range order {
		if m.(ssa.Instruction).Block() != top {
			continue
		}
		if _, phi := m.(*ssa.Phi); phi {
			merges = true
		}
		if n, i, _ := f.Graph.Where(m.(ssa.Instruction)); !found || n < node || n == node && i < at {
			node, at, found = n, i, true
		}
	}
	if merges {
		top = top.Idom()
	}
	if merges || !found {
		node, at, _ = f.Graph.Where(top.Instrs[len(top.Instrs)-1])
	}
	return node, at
}
