package pointsto

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about collections: slices and maps that are made here and own what is in them. A buffer that
// is put into one is the collection's from then on, and what it was is a view. Each slice is a value of its
// own: an append makes one that is the whole of what was put in, and what it was made of is that no more.

// A gathering is a collection in the making.
type gathering struct {
	*memory.Collection
	puts   []put
	closed bool // it is known what is put in
	holes  bool // elements of it may be nothing
	gives  bool // it owns the better: see chosen
}

// A put is a value that an instruction puts into a slice or map, which is to from then on.
type put struct {
	at            ssa.Instruction
	part          ssa.Instruction // of it, which uses base or val; may be nil
	base, val, to ssa.Value       // val is nil if what is called makes it
	of            *memory.Collection
}

// findCollections finds the collections of a function, and adds a site for each.
func (f *Func) findCollections() {
	seen := map[ssa.Value]bool{}
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			switch i := i.(type) {
			case *ssa.MakeSlice, *ssa.MakeMap, *ssa.Slice:
				f.findCollection(i.(ssa.Value), seen)
			case *ssa.Call:
				if f.findGrown(i, seen); memory.Appended(i) != nil {
					f.findCollection(i, seen)
				}
			}
		}
	}
}

// findCollection finds the collection that a slice or map belongs to, if it was not seen before.
func (f *Func) findCollection(v ssa.Value, seen map[ssa.Value]bool) {
	if seen[v] || !f.Collects(v) {
		return
	}
	c := f.collect(v)
	for _, m := range c.Members {
		seen[m] = true
	}
	if c.closed && f.chosen(c) {
		f.own(c)
	}
}

// collect finds what a slice or map is one collection with.
func (f *Func) collect(v ssa.Value) *gathering {
	c := &gathering{Collection: memory.NewCollection(v), closed: true}
	for k := 0; k < len(c.Members) && c.closed; k++ {
		f.madeOf(c, c.Members[k])
		f.extend(c, c.Members[k])
	}
	return c
}

// own makes a collection one that owns.
func (f *Func) own(c *gathering) {
	for _, p := range c.puts {
		f.intake[p.at] = append(f.intake[p.at], p)
		if p.part != nil {
			f.Stands(p.at, p.part)
		}
		if p.val == nil {
			f.site(&Site{Value: &memory.Filled{Call: p.at.(*ssa.Call), Slot: p.to, Into: c.Collection}, Param: -1})
		}
	}
	f.Collect(c.Collection, c.anchors())
	f.site(&Site{Value: c.Collection, Param: -1, Holes: c.holes})
}

// madeOf adds what a member is made of.
func (f *Func) madeOf(c *gathering, v ssa.Value) {
	if f.IsSlot(v) {
		f.setTo(c, v)
		return
	}
	switch i := v.(type) {
	case *ssa.MakeMap:
		c.Fresh = append(c.Fresh, v)
	case *ssa.MakeSlice:
		c.Fresh, c.holes = append(c.Fresh, v), c.holes || !memory.Zero(i.Len)
	case *ssa.Slice:
		f.listed(c, i)
	case *ssa.Phi:
		for _, e := range i.Edges {
			c.Add(e)
		}
	case *ssa.ChangeType:
		c.Add(i.X)
	case *ssa.UnOp:
		s := f.Origin(i.X)
		c.closed = c.closed && f.IsSlot(s) && f.Reaches(i.X, s) == memory.Same
		c.Add(s)
	case *ssa.Call:
		if list := memory.Appended(i); list != nil {
			f.appends(c, i, list)
			return
		}
		c.isMade(f, v)
	default:
		c.isMade(f, v)
	}
}

// anchors lists the values with which members come into being: for what is put into it, that is before.
func (c *gathering) anchors() []ssa.Value {
	var out []ssa.Value
	for _, m := range c.Members {
		switch i := m.(type) {
		case *ssa.Slice:
			m = i.X
		case *ssa.Call:
			if memory.Appended(i) != nil {
				m = i.Call.Args[1].(*ssa.Slice).X
			}
		}
		out = append(out, memory.RootOf(m))
	}
	return out
}

// isMade is for members that a call gives.
func (c *gathering) isMade(f *Func, v ssa.Value) {
	s := f.made[v]
	c.closed = c.closed && s != nil && s.Param < 0
	c.gives = true
}

// setTo adds what is stored in a slot.
func (f *Func) setTo(c *gathering, v ssa.Value) {
	root := memory.RootOf(v)
	_, own := root.(*ssa.Alloc)
	given := f.made[v] // else what an object has there from the start may be anybody's
	if !own && (given == nil || given.Param >= 0) || !f.isClosed(v) || len(f.put[v]) > 0 {
		c.closed = false
		return
	}
	_, field := v.(*memory.Field)
	c.gives = c.gives || field
	for _, u := range f.Users(v) {
		switch i := u.(type) {
		case *ssa.Store:
			if !f.Sets(i, v) || memory.IsCut(i.Val) { // then it has a view
				continue
			}
			if _, nothing := i.Val.(*ssa.Const); !nothing && f.Reaches(i.Addr, v) != memory.Same {
				c.closed = false
				continue
			}
			c.Add(i.Val)
		case *ssa.UnOp:
			if i.Op == token.MUL && f.Reaches(i.X, v) == memory.Same {
				c.Add(i)
			}
		case *ssa.Call:
			f.grown(c, i, v)
		}
	}
}

// extend adds what is made of a member, and what is put into it.
func (f *Func) extend(c *gathering, v ssa.Value) {
	if f.IsSlot(v) {
		return
	}
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.Phi:
			if !slices.ContainsFunc(i.Edges, memory.IsCut) { // else it is a view
				c.Add(i)
			}
		case *ssa.ChangeType:
			c.Add(i)
		case *ssa.Call:
			if list := memory.Appended(i); list != nil && i.Call.Args[0] == v {
				c.Add(i)
			}
			c.gives = c.gives || f.ends(i, v)
		case *ssa.Return:
			c.gives = true
		case *ssa.Range:
			each, _ := f.FreesEach(i)
			c.gives = c.gives || each
		case *ssa.Store:
			if s := f.Origin(i.Addr); i.Val == v && f.IsSlot(s) && f.Reaches(i.Addr, s) == memory.Same {
				c.Add(s)
			}
		case *ssa.MapUpdate:
			if i.Map == v {
				f.puts(c, put{i, nil, v, i.Value, v, c.Collection})
			}
		case *ssa.IndexAddr:
			f.putAt(c, i, v)
		}
	}
}

// ends reports whether a call frees what is in a slice or map.
func (f *Func) ends(i *ssa.Call, v ssa.Value) bool {
	if each, _ := f.FreesEach(i); each {
		return true
	}
	if _, builtin := i.Call.Value.(*ssa.Builtin); builtin {
		return false
	}
	s := f.Summary(&i.Call)
	for k, a := range calls.Operands(&i.Call) {
		if a == v && s.Param(k).Freed.Cond != effect.Never {
			return true
		}
	}
	return false
}

// putAt is for the address of an element: what is stored there is put in.
func (f *Func) putAt(c *gathering, at *ssa.IndexAddr, v ssa.Value) {
	var stores []*ssa.Store
	others := false
	for _, i := range *at.Referrers() {
		if s, ok := i.(*ssa.Store); ok && s.Addr == at {
			stores = append(stores, s)
		} else if _, debug := i.(*ssa.DebugRef); !debug {
			others = true
		}
	}
	if len(stores) == 0 {
		return
	}
	c.closed = c.closed && !others && len(stores) == 1
	f.puts(c, put{stores[0], at, v, stores[0].Val, v, c.Collection})
}

// listed is for a slice of a new array: what was stored there before is put in.
func (f *Func) listed(c *gathering, s *ssa.Slice) {
	a, ok := s.X.(*ssa.Alloc)
	if !ok || s.Low != nil || s.Max != nil {
		c.closed = false
		return
	}
	vals, stores, ok := ir.InArray(a, s)
	if c.closed = c.closed && ok; !ok {
		return
	}
	for k, v := range vals {
		f.puts(c, put{s, stores[k], a, v, s, c.Collection})
	}
	if n := memory.Pointee(a.Type()).Underlying().(*types.Array).Len(); int(n) > len(vals) {
		c.Fresh, c.holes = append(c.Fresh, s), c.holes || s.High == nil || !memory.Zero(s.High)
	}
}

// appends is for an append of some values.
func (f *Func) appends(c *gathering, i *ssa.Call, list []ssa.Instruction) {
	c.Add(i.Call.Args[0])
	for _, s := range list {
		f.puts(c, put{i, s, i.Call.Args[0], s.(*ssa.Store).Val, i, c.Collection})
	}
}

// chosen reports whether a collection is to own what is in it: it can, as all of that is made here, and it
// is the better, as what is put in has no name for long, or as it leaves, or is freed, as a whole.
func (f *Func) chosen(c *gathering) bool {
	if len(c.puts) == 0 || slices.ContainsFunc(c.puts, func(p put) bool {
		if p.val == nil {
			return false
		}
		i, ok := memory.RootOf(p.val).(ssa.Instruction)
		return !ok || ir.Again(p.at.Block(), i.Block()) || !f.isOurs(p.val, map[ssa.Value]bool{})
	}) {
		return false
	}
	node, _ := f.Beginning(c.anchors())
	begin := f.Graph.Nodes[node].Block
	return c.gives || slices.ContainsFunc(c.puts, func(p put) bool { return ir.Again(p.at.Block(), begin) })
}

// isOurs reports whether a value is what calls made here, and is something.
func (f *Func) isOurs(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	if s := f.made[v]; s != nil {
		if s.Param >= 0 {
			return false
		}
		if !f.IsSlot(v) {
			return true
		}
	}
	if _, nothing := memory.RootOf(v).(*ssa.Const); nothing || f.IsSlot(v) && !f.setAtOnce(v) {
		return false
	}
	from, ok := f.sources(v)
	ok = ok || f.made[v] != nil
	return ok && !slices.ContainsFunc(from, func(w ssa.Value) bool { return !f.isOurs(w, seen) })
}

// puts notes that something is put in: the parts of it that are freed with an element.
func (f *Func) puts(c *gathering, p put) {
	val := p.val
	for _, o := range f.In.Frees.Of(f.Held(c.Members[0])).Each {
		if val != nil {
			p.val = f.Field(val, o.Path)
			c.closed = c.closed && p.val != nil
		}
		c.puts = append(c.puts, p)
	}
}

// collectionActs lists what an instruction does to a slice or map, or to what is put into one; nil if
// nothing is known here.
func (f *Func) collectionActs(i ssa.Instruction, of ssa.Value) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	var out []Act
	for _, p := range f.intake[i] {
		if p.val != nil && f.Origin(p.val) == of || p.base == of && len(out) == 0 {
			out = append(out, Act{Instr: i, Op: Put, Of: of, To: p.to, Into: p.of})
		}
	}
	if len(out) > 0 {
		return out
	}
	if _, slot := of.(*memory.Field); slot || !f.In.Frees.Collects(of.Type()) {
		return nil
	}
	if yes, again := f.FreesEach(i); yes {
		return []Act{{Instr: i, Op: Free, Of: of, When: effect.When{Cond: effect.Always}, Again: again}}
	}
	switch i := i.(type) {
	case *ssa.IndexAddr:
		if f.FreedThere(i) || f.Part(i) {
			return one(Read, nil)
		}
	case *ssa.Call:
		b, ok := i.Call.Value.(*ssa.Builtin)
		if !ok || b.Name() != "append" {
			return nil
		}
		if to := f.Container(i); to != nil && i.Call.Args[0] != of {
			return one(Wrap, to)
		}
		return one(Keep, nil) // what shares its elements may be set
	}
	return nil
}

// view makes all that may hold what is put into a collection views of that; a slice of it is more than that.
func (f *Func) view(values func() []ssa.Value, add func(ssa.Value, Hold)) {
	for again := true; again; {
		again = false
		for k := 0; k < len(values()); k++ {
			v := values()[k]
			for _, h := range slices.Clone(f.holds[v]) {
				for _, c := range h.Site.Given {
					if c.Turns() && !f.outlasts(v, c.Value.(*ssa.Phi)) {
						continue
					}
					as := View
					if all := c.Owning(); v == c.Value || all != nil && all.Has(v) {
						as = Whole
					}
					if !slices.ContainsFunc(f.holds[v], func(h Hold) bool { return h.Site == c && h.As&as != 0 }) {
						add(v, Hold{c, as})
						again = true
					}
				}
			}
		}
	}
}

// Owning returns the collection that a site is; nil if it is none.
func (s *Site) Owning() *memory.Collection {
	c, _ := s.Value.(*memory.Collection)
	return c
}
