// Package lift says what is read of variables that go/ssa leaves in memory although nobody but their
// function sets them: a named result, an error that a deferred literal looks at. To go/ssa each read of such
// a variable is a value of its own. Here it is what was stored last, as it is for variables that go/ssa
// lifts.
//
// # Words
//
//   - A variable is steady if it is set by statements of its function, and else by literals that are
//     deferred and nothing else: these run where the function runs them, and nowhere before. Nobody else has
//     its address.
//   - A read is what a load gives ([Func.Read]): the value that was stored last on all ways, else a value
//     that is merged where ways meet ([Merged]), else the load, if nothing is known.
//
// # The way through
//
// What is read of a variable is found once, when somebody asks. Its stores are put in order block by block;
// what a block begins with is what its predecessors end with, and is found when a load in front of all stores
// asks for it. Where loops meet, the merged value is there before its operands are, and is left out again if
// they are all the same.
package lift

import (
	"cmp"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Func is a function of which reads are asked for.
type Func struct {
	at   func(ssa.Instruction) int // the index of an instruction in its block
	vars map[*ssa.Alloc]*variable  // nil of one that is not steady
}

// New returns a function of which nothing is known yet; at returns the index of an instruction in its block.
func New(at func(ssa.Instruction) int) *Func { return &Func{at, map[*ssa.Alloc]*variable{}} }

// A Merged is what a steady variable holds where ways meet on which it holds different values.
type Merged struct {
	Block *ssa.BasicBlock
	edges []ssa.Value // by predecessor; nil for one of which nothing is known
	of    *ssa.Alloc
	same  ssa.Value // what all edges are, if that is one value
}

// Name returns the name of the variable, which no register has.
func (m *Merged) Name() string                  { return "merged " + m.of.Comment }
func (m *Merged) String() string                { return m.Name() }
func (m *Merged) Type() types.Type              { return m.of.Type().Underlying().(*types.Pointer).Elem() }
func (m *Merged) Parent() *ssa.Function         { return m.of.Parent() }
func (m *Merged) Referrers() *[]ssa.Instruction { return nil }
func (m *Merged) Pos() token.Pos                { return m.of.Pos() }

// Ways returns the block in which a value is merged, by go/ssa or here, and of what by predecessor: nil is
// what nothing is known of. Of any other value it returns nothing.
func Ways(v ssa.Value) (*ssa.BasicBlock, []ssa.Value) {
	switch v := v.(type) {
	case *ssa.Phi:
		return v.Block(), v.Edges
	case *Merged:
		out := slices.Clone(v.edges)
		for k, e := range out {
			out[k] = final(e)
		}
		return v.Block, out
	}
	return nil, nil
}

// final returns what a value comes to that was taken for a merged one.
func final(v ssa.Value) ssa.Value {
	for {
		m, ok := v.(*Merged)
		if !ok || m.same == nil {
			return v
		}
		v = m.same
	}
}

// Read returns what a value is if it is read of a steady variable, else the value.
func (f *Func) Read(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return v
	}
	x := f.variable(load.X)
	if x == nil {
		return v
	}
	if got := final(x.load(f, load)); got != nil && got != v {
		return f.Read(got) // that may be read of another one
	}
	return v
}

// Steady reports whether v is a steady variable that no literal sets.
func (f *Func) Steady(v ssa.Value) bool {
	x := f.variable(v)
	return x != nil && !x.late
}

// Given returns the one value that a steady variable is given, beside nil by literals; nil if there is none.
func (f *Func) Given(v ssa.Value) (one ssa.Value) {
	if f.variable(v) == nil {
		return nil
	}
	for _, s := range stores(v) {
		to := f.Read(s.Val)
		if c, ok := to.(*ssa.Const); ok && c.Value == nil && s.Addr != v {
			continue
		}
		if one != nil && one != to || s.Addr != v {
			return nil
		}
		one = to
	}
	return one
}

// stores lists what sets a variable, in literals as well.
func stores(v ssa.Value) (out []*ssa.Store) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			out = append(out, i)
		case *ssa.MakeClosure:
			out = append(out, stores(i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, v)])...)
		}
	}
	return out
}

// variable returns what is done with a variable; nil if v is no steady one.
func (f *Func) variable(v ssa.Value) *variable {
	a, ok := v.(*ssa.Alloc)
	if !ok {
		return nil
	}
	x, known := f.vars[a]
	if !known {
		x = f.find(a)
		f.vars[a] = x
	}
	return x
}

// A variable is what is done with a steady one.
type variable struct {
	of     *ssa.Alloc
	late   bool                        // a deferred literal sets it
	events map[*ssa.BasicBlock][]event // in order
	begins map[*ssa.BasicBlock]ssa.Value
}

// An event sets a variable; to nil if nobody knows to what.
type event struct {
	at int
	to ssa.Value
}

// find returns what is done with a variable; nil if it is not steady.
func (f *Func) find(a *ssa.Alloc) *variable {
	x := &variable{a, false, map[*ssa.BasicBlock][]event{}, map[*ssa.BasicBlock]ssa.Value{}}
	set := func(i ssa.Instruction, to ssa.Value) {
		x.events[i.Block()] = append(x.events[i.Block()], event{f.at(i), to})
	}
	set(a, zero(a))
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
		case *ssa.Store:
			if i.Addr != ssa.Value(a) {
				return nil
			}
			set(i, i.Val)
		case *ssa.MakeClosure:
			free := i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, ssa.Value(a))]
			if !readOnly(free) {
				if !setOnly(free) || !deferred(i) {
					return nil
				}
				x.late = true
			}
		default:
			return nil
		}
	}
	for _, b := range a.Parent().Blocks {
		if !x.late {
			break
		}
		for _, i := range b.Instrs {
			if _, ok := i.(*ssa.RunDefers); ok {
				set(i, nil)
			}
		}
	}
	for _, list := range x.events {
		slices.SortFunc(list, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	}
	return x
}

// zero returns what a variable holds at first; nil for one whose zero no constant is.
func zero(a *ssa.Alloc) ssa.Value {
	t := a.Type().Underlying().(*types.Pointer).Elem()
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return ssa.NewConst(nil, t)
	case *types.Basic:
		if u.Info()&types.IsBoolean != 0 {
			return ssa.NewConst(constant.MakeBool(false), t)
		}
	}
	return nil
}

// readOnly reports whether a literal, and those in it, do no more than read what it captures.
func readOnly(v ssa.Value) bool { return only(v, false) }

// setOnly reports whether a literal, and those in it, do no more than read and set what it captures.
func setOnly(v ssa.Value) bool { return only(v, true) }

func only(v ssa.Value, sets bool) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
			return false
		case *ssa.Store:
			return !sets || i.Addr != v
		case *ssa.MakeClosure:
			return !only(i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, v)], false)
		}
		return true
	})
}

// deferred reports whether a literal is deferred, and nothing else.
func deferred(m *ssa.MakeClosure) bool {
	return !slices.ContainsFunc(*m.Referrers(), func(i ssa.Instruction) bool {
		d, ok := i.(*ssa.Defer)
		return !ok || d.Call.Value != ssa.Value(m) || slices.Contains(d.Call.Args, ssa.Value(m))
	})
}

// load returns what a load gives; nil if nothing is known.
func (x *variable) load(f *Func, l *ssa.UnOp) ssa.Value {
	list, at := x.events[l.Block()], f.at(l)
	n, _ := slices.BinarySearchFunc(list, at, func(e event, at int) int { return cmp.Compare(e.at, at) })
	if n > 0 {
		return list[n-1].to
	}
	return x.begin(l.Block())
}

// begin returns what the variable holds where a block begins; nil if nothing is known.
func (x *variable) begin(b *ssa.BasicBlock) ssa.Value {
	var way []*ssa.BasicBlock // blocks that begin as the last one does
	var v ssa.Value
	for {
		have, ok := x.begins[b]
		if ok {
			v = have
			break
		}
		if len(b.Preds) != 1 {
			v = x.merge(b)
			break
		}
		way = append(way, b)
		p := b.Preds[0]
		if list := x.events[p]; len(list) > 0 {
			v = list[len(list)-1].to
			break
		}
		b = p
	}
	for _, w := range way {
		x.begins[w] = v
	}
	return v
}

// merge returns what the variable holds where ways meet; nil if nothing is known of any.
func (x *variable) merge(b *ssa.BasicBlock) ssa.Value {
	m := &Merged{Block: b, of: x.of}
	x.begins[b] = m
	if len(b.Preds) == 0 {
		x.begins[b] = nil
		return nil
	}
	var one ssa.Value
	same := true
	for _, p := range b.Preds {
		var e ssa.Value
		if list := x.events[p]; len(list) > 0 {
			e = list[len(list)-1].to
		} else {
			e = final(x.begin(p))
		}
		m.edges = append(m.edges, e)
		switch {
		case e == ssa.Value(m):
		case e == nil, one != nil && !equal(one, e):
			same = false
		default:
			one = e
		}
	}
	if same && one != nil {
		m.same, x.begins[b] = one, one
	}
	return final(m)
}

// equal reports whether two values are the same, or constants that are.
func equal(v, w ssa.Value) bool {
	a, ok := v.(*ssa.Const)
	b, also := w.(*ssa.Const)
	return v == w || ok && also && types.Identical(a.Type(), b.Type()) && a.String() == b.String()
}
