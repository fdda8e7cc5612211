package memory

import (
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Collection is slices that are made of one another, with the slots that they are in, or a map, which own
// what is in them: it is known what is put there, and that all of it is made here. Each of its members is a
// value of its own. It stands where an ssa.Value does.
type Collection struct {
	Members []ssa.Value
	Fresh   []ssa.Value // members that are made, with nothing in them
	is      map[ssa.Value]bool
	node    int // where it begins
	at      int
}

// A Filled is what a call makes and puts into a slice that is in a slot. It stands where an ssa.Value does.
type Filled struct {
	Call *ssa.Call
	Slot ssa.Value
	Into *Collection
}

func (p *Filled) Name() string                  { return fmt.Sprintf("into %s by %s", p.Slot.Name(), p.Call.Name()) }
func (p *Filled) String() string                { return p.Name() }
func (p *Filled) Type() types.Type              { return Pointee(p.Slot.Type()).Underlying().(*types.Slice).Elem() }
func (p *Filled) Parent() *ssa.Function         { return p.Call.Parent() }
func (p *Filled) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (p *Filled) Pos() token.Pos                { return posOf(p.Call) }

// NewCollection returns a collection with one member.
func NewCollection(v ssa.Value) *Collection {
	c := &Collection{is: map[ssa.Value]bool{}}
	c.Add(v)
	return c
}

func (c *Collection) Name() string                  { return "all in " + c.Members[0].Name() }
func (c *Collection) String() string                { return c.Name() }
func (c *Collection) Type() types.Type              { return c.Members[0].Type() }
func (c *Collection) Parent() *ssa.Function         { return c.Members[0].Parent() }
func (c *Collection) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (c *Collection) Pos() token.Pos                { return c.Members[0].Pos() }

// Add adds a member; nothing is none.
func (c *Collection) Add(v ssa.Value) {
	if _, nothing := v.(*ssa.Const); !nothing && !c.is[v] {
		c.is[v] = true
		c.Members = append(c.Members, v)
	}
}

// Has reports whether a value is a slice or map of a collection, or a slot of one.
func (c *Collection) Has(v ssa.Value) bool { return c.is[v] }

// owners has what is known of collections.
type owners struct {
	collections map[ssa.Value]*Collection           // by member
	partOf      map[ssa.Instruction]ssa.Instruction // what puts in what another one has prepared
	loops       map[ssa.Instruction]*freeing        // by what begins them: see FindLoops
	within      map[ssa.Instruction]bool            // what takes elements in such a loop
}

func newOwners() owners {
	return owners{map[ssa.Value]*Collection{}, map[ssa.Instruction]ssa.Instruction{}, map[ssa.Instruction]*freeing{},
		map[ssa.Instruction]bool{}}
}

// Collected reports whether a value is a member of a collection.
func (f *Func) Collected(v ssa.Value) bool { return f.collections[v] != nil }

// Collect makes a collection known, which begins with some values.
func (f *Func) Collect(c *Collection, begin []ssa.Value) {
	for _, m := range c.Members {
		f.collections[m] = c
	}
	c.node, c.at = f.Beginning(begin)
}

// Stands lets an instruction stand for another one that is a part of what it does.
func (f *Func) Stands(i, part ssa.Instruction) { f.partOf[part] = i }

// Part reports whether another instruction stands for one.
func (f *Func) Part(i ssa.Instruction) bool { return f.partOf[i] != nil }
