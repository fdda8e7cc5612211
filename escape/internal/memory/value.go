package memory

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/lift"
)

// IsNumber reports whether values of type t are numbers or strings, which are addresses only
// if somebody made them so.
func (f *Func) IsNumber(t types.Type) bool {
	return effect.IsNumber(t) && !f.In.Owns(t)
}

// Summary returns what a call does.
func (f *Func) Summary(c *ssa.CallCommon) *effect.Summary { return f.In.Effect(c) }

// Result returns the value of a result of a call, and nil if it is dropped.
func Result(i ssa.Instruction, n int) ssa.Value {
	c, ok := i.(*ssa.Call)
	if !ok {
		return nil
	}
	if c.Call.Signature().Results().Len() == 1 {
		return c
	}
	return Extract(c, n)
}

// Extract returns an element of a tuple, and nil if nobody takes it. What is no tuple is its only one.
func Extract(tuple ssa.Value, n int) ssa.Value {
	if _, ok := tuple.Type().(*types.Tuple); !ok {
		return tuple
	}
	for _, i := range *tuple.Referrers() {
		if e, ok := i.(*ssa.Extract); ok && e.Index == n {
			return e
		}
	}
	return nil
}

// Pointee returns the type that a pointer leads to.
func Pointee(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// Phi returns the phi that v is, or is a field of, and nil if it is none.
func Phi(v ssa.Value) *ssa.Phi {
	if p, ok := v.(*Field); ok {
		v = p.Root
	}
	phi, _ := v.(*ssa.Phi)
	return phi
}

// Brought returns what a value becomes of an operand of its phi.
func (f *Func) Brought(v ssa.Value, edge int) ssa.Value {
	x := Phi(v).Edges[edge]
	if p, ok := v.(*Field); ok {
		return f.Field(x, p.Path)
	}
	return f.Origin(x)
}

// Brings reports whether a phi gets v, or the value that v is a field of, as an operand.
func (f *Func) Brings(phi *ssa.Phi, edge int, v ssa.Value) bool {
	return f.Reaches(phi.Edges[edge], v) != None
}

// Marks reports whether an instruction is there for places only.
func (f *Func) Marks(i ssa.Instruction) bool { return f.In.IR.Marks(i) }

// Where returns where a value comes into being: the results of a call do at the call. A
// parameter has no place.
func (f *Func) Where(v ssa.Value) (node, at int, ok bool) {
	v = RootOf(v)
	switch p := v.(type) {
	case *Container:
		return p.node, p.at, true
	case *Collection:
		return p.node, p.at, true
	case *Running:
		v = p.Group
	}
	if c := CallOf(v); c != nil {
		return f.Graph.Where(c)
	}
	if e, is := v.(*ssa.Extract); is {
		v = e.Tuple
	}
	i, is := v.(ssa.Instruction)
	if !is {
		return 0, 0, false
	}
	return f.Graph.Where(i)
}

// CallOf returns the call that makes a value; nil if none does.
func CallOf(v ssa.Value) *ssa.Call {
	switch x := v.(type) {
	case *Dropped:
		return x.Call
	case *Assigned:
		return x.Call
	case *Filled:
		return x.Call
	case *ssa.Extract:
		v = x.Tuple
	}
	c, _ := v.(*ssa.Call)
	return c
}

// Failed reports whether a block runs only if a call failed, or one that made what is stored, by a test of
// the error that it returned; known is false if no test tells. What returns no error does not fail.
func (f *Func) Failed(i ssa.Instruction, b *ssa.BasicBlock) (failed, known bool) {
	c := Maker(i)
	if c == nil || !effect.HasError(c.Call.Signature()) {
		return false, true
	}
	err := ErrorOf(c)
	return ir.NonNil(b, nil, func(v ssa.Value) bool { return err != nil && f.Stored(v) == err })
}

// Maker returns an instruction that is a call, or of a store the call that makes what is stored; nil if none
// does.
func Maker(i ssa.Instruction) *ssa.Call {
	s, ok := i.(*ssa.Store)
	if !ok {
		c, _ := i.(*ssa.Call)
		return c
	}
	v := s.Val
	if m, ok := v.(*ssa.MakeInterface); ok {
		v = m.X
	}
	return CallOf(v)
}

// ErrorOf returns the error that a call returns; nil if nobody takes it.
func ErrorOf(c *ssa.Call) ssa.Value { return Result(c, c.Call.Signature().Results().Len()-1) }

// RootOf returns what v is a part of, or v.
func RootOf(v ssa.Value) ssa.Value {
	if p, ok := v.(*Field); ok {
		return p.Root
	}
	return v
}

// Flag reports whether a value is a merged boolean that tells by which way paths came to where they meet: on
// some it is a constant.
func Flag(v any) bool {
	x, _ := v.(ssa.Value)
	_, ways := lift.Ways(x)
	return slices.ContainsFunc(ways, func(e ssa.Value) bool {
		c, ok := e.(*ssa.Const)
		return ok && c.Value != nil && c.Value.Kind() == constant.Bool
	})
}

// Useful reports whether a phi is read, or one that it flows into.
func (f *Func) Useful(phi *ssa.Phi) bool {
	yes, ok := f.useful[phi]
	if ok {
		return yes
	}
	var all []*ssa.Phi // that the phi flows into
	seen := map[*ssa.Phi]bool{phi: true}
	for open := []*ssa.Phi{phi}; len(open) > 0 && !yes; {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		all = append(all, p)
		for _, i := range f.Users(p) {
			q, ok := i.(*ssa.Phi)
			if !ok || f.useful[q] {
				yes = true
			} else if !seen[q] {
				seen[q] = true
				open = append(open, q)
			}
		}
	}
	if yes {
		f.useful[phi] = true
		return true
	}
	for _, p := range all { // none of them is read
		f.useful[p] = false
	}
	return false
}

// Stored returns what a load gives: of a variable that only its function sets, else the value that was stored
// just before, if nothing lies between that could store another.
func (f *Func) Stored(v ssa.Value) ssa.Value {
	v = f.lifted.Read(v)
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || !InMemory(load.X) {
		return v
	}
	instrs := load.Block().Instrs
	at := slices.Index(instrs, ssa.Instruction(load))
	for k := at - 1; k >= max(0, at-16); k-- {
		if i, ok := instrs[k].(*ssa.Store); ok && i.Addr == load.X {
			return i.Val
		}
		if !ir.Quiet(instrs[k]) && !f.Marks(instrs[k]) {
			break
		}
	}
	return v
}

// Pointer returns what a value was before pointers of other types were made of it: it is nil where they are.
func (f *Func) Pointer(v ssa.Value) ssa.Value {
	for {
		v = f.Stored(v)
		x := ir.Recast(v)
		if x == nil {
			return v
		}
		v = x
	}
}
