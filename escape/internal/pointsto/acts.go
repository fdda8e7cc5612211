package pointsto

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// An Act is an operation of an instruction on one operand.
type Act struct {
	Instr  ssa.Instruction
	Op     Op
	Of     ssa.Value
	To     ssa.Value          // of operations that make something of it
	When   effect.When        // of Free and Keep, by a call; a select does if state When.Param is chosen
	Call   *ssa.CallCommon    // that does it
	Again  bool               // of Free: it may be repeated
	Lends  bool               // of Read: to a function that the literal is given
	Reads  effect.Reads       // by a call that borrows it
	Into   *memory.Collection // of Put
	Fills  bool               // of Keep: what it leads to is given something, and nobody else gets it
	Counts bool               // of Keep, by a call: of a type that counts who has its values
}

// Acts lists what an instruction does to an operand, which is an origin.
func (f *Func) Acts(i ssa.Instruction, of ssa.Value) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	if p, ok := of.(*memory.Assigned); ok {
		return one(Copy, p.Slot)
	}
	if p, ok := of.(*memory.Filled); ok {
		return []Act{{Instr: i, Op: Put, Of: p, To: p.Slot, Into: p.Into}}
	}
	if acts, ok := f.started(i, of); ok {
		return acts
	}
	handed, _ := f.handsOn(i, of)
	switch {
	case handed:
		return one(Keep, nil)
	case f.In.IR.Reads(i):
		return one(Read, nil)
	}
	if m, ok := i.(*ssa.MakeClosure); ok {
		return f.captured(m, of)
	}
	if acts := f.collectionActs(i, of); acts != nil {
		return acts
	}
	switch p := of.(type) {
	case *memory.Field:
		return f.fieldActs(i, p)
	case *memory.Container:
		return f.containerActs(i, p)
	case *memory.Running:
		return one(Read, nil)
	}
	return f.plain(i, of, one)
}

// plain is for operands that are values, or variables in memory.
func (f *Func) plain(i ssa.Instruction, of ssa.Value, one func(Op, ssa.Value) []Act) []Act {
	switch i := i.(type) {
	case *ssa.Phi:
		if f.made[i] != nil {
			return one(Turn, i)
		}
		return one(Copy, i)
	case *ssa.ChangeType:
		if f.In.Frees.Parts(i.Type()) != nil || f.In.Frees.Parts(i.X.Type()) != nil {
			return one(Keep, nil) // another type is made of other parts
		}
		return one(Copy, i)
	case *ssa.ChangeInterface:
		return one(Copy, i)
	case *ssa.MakeInterface:
		if f.In.Frees.Boxes(i.X.Type(), i.Type()) {
			return one(Copy, i)
		}
		return one(Wrap, i)
	case *ssa.TypeAssert:
		return f.taken(i, memory.Extract(i, 0), of)
	case *ssa.UnOp:
		return f.loaded(i, of)
	case *ssa.FieldAddr:
		if f.In.Frees.Embeds(i.X.Type(), i.Field) {
			return one(Copy, i)
		}
		return f.derived(i, of)
	case *ssa.Index:
		if effect.IsText(i.X.Type()) {
			return one(Read, nil)
		}
		return f.derived(i, of)
	case *ssa.Field, *ssa.IndexAddr, *ssa.Slice, *ssa.Convert, *ssa.BinOp:
		return f.derived(i.(ssa.Value), of)
	case *ssa.Store:
		return f.store(i, of)
	case *ssa.Lookup:
		if i.X != of {
			return one(Read, nil) // a key
		}
		return f.taken(i, memory.Extract(i, 0), of)
	case *ssa.Range:
		return one(Part, i)
	case *ssa.Next:
		if i.IsString {
			return one(Read, nil)
		}
		return append(f.taken(i, memory.Extract(i, 1), of), f.taken(i, memory.Extract(i, 2), of)...)
	case *ssa.MapUpdate:
		if c := f.Container(i.Map); c != nil {
			return one(Wrap, c)
		}
		keep := one(Keep, nil)
		keep[0].Fills = f.Origin(i.Value) != of && f.Origin(i.Key) != of
		return keep
	case *ssa.Call:
		return f.call(i, &i.Call, of)
	case *ssa.Defer:
		return f.deferred(i, of)
	case *ssa.Select:
		return f.sent(i, of)
	case *ssa.Return:
		return one(Leave, nil)
	}
	return one(Keep, nil)
}

// loaded is for what is loaded, received or computed of one operand.
func (f *Func) loaded(i *ssa.UnOp, of ssa.Value) []Act {
	switch {
	case f.IsSlot(of) && i.X == of:
		return []Act{{Instr: i, Op: Copy, Of: of, To: i}}
	case f.InMemory(of) && f.Origin(i.X) != of:
		return nil // what is in a slot of it is followed there
	case f.InMemory(of) && !f.IsSlot(of):
		return f.taken(i, i, of)
	case i.Op == token.ARROW:
		return []Act{{Instr: i, Op: Keep, Of: of}}
	}
	if a, ok := i.X.(*ssa.FieldAddr); ok && f.In.Frees.Embeds(a.X.Type(), a.Field) && f.In.Owns(i.Type()) {
		return []Act{{Instr: i, Op: Copy, Of: of, To: i}} // a pointer that is embedded
	}
	return f.derived(i, of)
}

// derived is for what is computed of a value: it shares its memory, if its type allows that. A number that is
// read of memory says something about a buffer; one that is computed of an address is an address.
func (f *Func) derived(v ssa.Value, of ssa.Value) []Act {
	a := f.takes(Act{Instr: v.(ssa.Instruction), Op: Part, Of: of, To: v}, v.Type())
	if _, number := of.Type().Underlying().(*types.Basic); number && a[0].Op == Count {
		a[0].Op = Tell
	}
	return a
}

// taken is for what is taken out of what may lead to it.
func (f *Func) taken(i ssa.Instruction, v ssa.Value, of ssa.Value) []Act {
	a := Act{Instr: i, Op: Unwrap, Of: of, To: v}
	if v == nil {
		return []Act{a}
	}
	return f.takes(a, v.Type())
}

// takes does less than an act, if what it takes is of a type of numbers, and also takes parts of that.
func (f *Func) takes(a Act, t types.Type) (out []Act) {
	switch {
	case effect.Plain(t):
		a.Op, a.To = Read, nil
	case f.IsNumber(t):
		a.Op = Count
	case a.To != nil:
		for _, p := range f.Fields(a.To) {
			b := a
			b.To = p
			out = append(out, b)
		}
	}
	return append(out, a)
}

// store puts a value into a variable in memory that nobody else gets at, or anywhere.
func (f *Func) store(s *ssa.Store, of ssa.Value) []Act {
	var out []Act
	act := func(op Op, to ssa.Value) { out = append(out, Act{Instr: s, Op: op, Of: of, To: to}) }
	cell, in := f.Origin(s.Addr), f.Frame(s.Addr)
	local := f.holder(cell) && !memory.IsLent(memory.RootOf(cell))
	if f.Origin(s.Val) == of {
		switch {
		case in != nil:
			act(Wrap, in)
		case !local || f.IsSlot(cell) && !f.Sets(s, cell):
			act(Keep, nil)
		case f.IsSlot(cell):
			act(Copy, cell)
		default:
			act(Wrap, cell)
		}
	}
	if cell == of {
		switch {
		case f.IsSlot(cell) && s.Addr == cell: // it holds something else now
		case f.InMemory(cell) && !f.IsSlot(cell), f.besides(s), in != nil:
			act(Read, nil)
		default:
			act(Keep, nil) // what it leads to is changed
			out[len(out)-1].Fills = true
		}
	}
	return out
}

// besides reports whether a store sets what is no part of a handle: a field of what is made of parts that is
// none of these, or an element of a slice, in data that a handle gave, if what is put there leads nowhere.
func (f *Func) besides(s *ssa.Store) bool {
	plain := effect.Plain(s.Val.Type())
	switch a := s.Addr.(type) {
	case *ssa.FieldAddr:
		return plain && (f.In.Frees.Parts(a.X.Type()) != nil || len(f.In.Frees.Paths(memory.Pointee(a.X.Type()))) > 0)
	case *ssa.IndexAddr:
		_, slice := a.X.Type().Underlying().(*types.Slice)
		return slice && (plain || f.IsNumber(s.Val.Type()))
	}
	return false
}

// call lists what a call does to an operand, as its summary says.
func (f *Func) call(i ssa.Instruction, c *ssa.CallCommon, of ssa.Value) []Act {
	if b, ok := c.Value.(*ssa.Builtin); ok {
		return f.builtin(i, b.Name(), c, of)
	}
	var out []Act
	act := func(op Op, to ssa.Value, w effect.When) {
		out = append(out, Act{Instr: i, Op: op, Of: of, To: to, When: w, Call: c})
	}
	always := effect.When{Cond: effect.Always}
	if !c.IsInvoke() && f.Origin(c.Value) == of {
		out = f.called(i, c, of)
	}
	s := f.Summary(c)
	literal := calls.Literal(c) != nil
	for k, a := range calls.Operands(c) {
		r := f.Reaches(a, of)
		if m, ok := a.(*ssa.MakeClosure); ok && r == memory.Same && memory.IsBody(m.Fn.(*ssa.Function)) {
			act(Read, nil, always) // it runs in turn, and not behind the call
			continue
		}
		if r == memory.None {
			continue
		}
		captured := literal && k >= len(c.Args)
		whole := r == memory.Outer && !captured && (f.InMemory(a) && s.Decided || f.leadsBack(c, s, k))
		address := r != memory.Outer && f.IsSlot(of) && !captured && effect.Nillable(memory.Pointee(of.Type()))
		p := f.Effect(s, k, a, of)
		if s.Unknown && r == memory.Same && f.callsBack(c.Value) {
			act(Read, nil, always)
			out[len(out)-1].Lends = true
			continue
		}
		before := len(out)
		lends := p.Sets.Lends && !f.borrow(c.Args)
		p.Sets.Lends = false
		switch {
		case lends, p.Retained, whole, address, r == memory.Outer && f.twice(c, of),
			p.Sets.When.Cond != effect.Never && (r != memory.Same || f.Puts(i, a) == nil):
			act(Keep, nil, always) // who has the address of a pointer may set it
		case p.Takes != (effect.Takes{}):
			act(Grow, nil, always)
		case p.Borrows():
			act(Read, nil, always)
		default:
			if put := f.Puts(i, a); p.Freed.Cond != effect.Never && !(put != nil && put.Frees) {
				act(Free, nil, p.Freed)
				out[len(out)-1].Again = p.Repeatable
			}
			if p.Escapes.Cond != effect.Never {
				act(Keep, nil, p.Escapes)
				out[len(out)-1].Fills, out[len(out)-1].Counts = p.Filled, f.In.Counted(of.Type())
			}
			if p.Sets.When.Cond != effect.Never {
				act(Read, nil, always)
			}
		}
		for n, res := range s.Results {
			to := memory.Result(i, n)
			if to == nil || k >= len(s.Params) || whole {
				continue
			}
			if res.Is>>k&1 == 1 {
				if res.Must {
					act(Copy, to, always)
				} else {
					act(Copy, to, effect.When{Cond: effect.Maybe})
				}
			}
			f.leads(to, res, k, act)
			f.within(to, res, k, act)
		}
		for n := range out[before:] {
			out[before+n].Reads = p.Reads
		}
	}
	if call, ok := i.(*ssa.Call); ok && c == &call.Call {
		return append(out, f.lent(call, of)...)
	}
	return out
}

// leads lists what a call makes of operand k, which a result is not but may lead to.
func (f *Func) leads(to ssa.Value, res effect.Result, k int, act func(Op, ssa.Value, effect.When)) {
	always := effect.When{Cond: effect.Always}
	number := f.IsNumber(to.Type())
	for _, x := range []struct {
		set uint64
		op  Op
	}{{res.Views, Part}, {res.Needs, Depend}, {res.Tells, Tell}, {res.Shows, Count}} {
		switch {
		case x.set>>k&1 == 0 || effect.Plain(to.Type()):
		case x.op == Part && number:
			act(Tell, to, always)
		default:
			act(x.op, to, always)
		}
	}
}

// within lists what a call makes of operand k, which a part of a result is.
func (f *Func) within(to ssa.Value, res effect.Result, k int, act func(Op, ssa.Value, effect.When)) {
	for _, p := range res.Parts {
		if p.Is.Is>>k&1 == 0 {
			continue
		}
		op, part := Keep, ssa.Value(nil)
		for _, field := range f.Fields(to) {
			if field.Text() == p.Path && p.Is.Must {
				op, part = Copy, field
			}
		}
		act(op, part, effect.When{Cond: effect.Always})
	}
}

// Effect returns what a call with a summary does to a value by operand k, which is a: to a part of
// that, or to all that it leads to.
func (f *Func) Effect(s *effect.Summary, k int, a, of ssa.Value) effect.Param {
	p := s.Param(k)
	part, ok := of.(*memory.Field)
	switch r := f.Reaches(a, of); {
	case r == memory.Same && len(f.Fields(of)) > 0 && len(f.holds[of]) == 0: // its parts are followed
		return p.Rest()
	case !ok || r != memory.Outer:
		return p.Together()
	}
	var from []int
	if part.Memory {
		_, from, _ = f.Resolve(a)
	}
	return p.At(effect.PathText(effect.At(memory.TypeOf(part.Root, part.Memory), from), part.Path[len(from):]))
}

// Ends reports whether a call that frees what a value is ends it, whoever looks at it: it is given just that,
// and its free is not known as one that makes it ready to be used again.
func (f *Func) Ends(c *ssa.CallCommon, of ssa.Value) bool {
	if free := f.In.Frees.Of(of.Type()); c == nil || free != nil && free.Resets {
		return false
	}
	_, part := f.Operand(c, of)
	return part == ""
}

// Operand returns by which operand a call gets what a value is, and which part of that the value is; -1
// if it does not get it.
func (f *Func) Operand(c *ssa.CallCommon, of ssa.Value) (k int, part string) {
	for k, a := range calls.Operands(c) {
		switch f.Reaches(a, of) {
		case memory.None:
		case memory.Outer:
			return k, of.(*memory.Field).Text()
		default:
			return k, ""
		}
	}
	return -1, ""
}

// twice reports whether a call gets what has a part by several of its operands: what it does by one of them
// it does to the others.
func (f *Func) twice(c *ssa.CallCommon, of ssa.Value) bool {
	n := 0
	for _, a := range calls.Operands(c) {
		if f.Reaches(a, of) != memory.None {
			n++
		}
	}
	return n > 1
}

// leadsBack reports whether a result of a call may be operand k, or lead there: by it a part could be set.
func (f *Func) leadsBack(c *ssa.CallCommon, s *effect.Summary, k int) bool {
	for n, r := range s.Results {
		t := c.Signature().Results().At(n).Type()
		if r.Is>>k&1 == 1 || r.Leads()>>k&1 == 1 && f.leadsOn(t) {
			return true
		}
	}
	return false
}

// leadsOn reports whether a value of type t may lead to a variable in which others are.
func (f *Func) leadsOn(t types.Type) bool {
	return (!f.In.Owns(t) || f.In.Frees.Parts(t) != nil) && !effect.Plain(t) && !f.IsNumber(t)
}

// builtin lists what a builtin function does to an operand. Elements that are numbers are copied as such.
func (f *Func) builtin(i ssa.Instruction, name string, c *ssa.CallCommon, of ssa.Value) []Act {
	a := Act{Instr: i, Op: Keep, Of: of}
	switch name {
	case "len", "cap", "print", "println", "Sizeof", "Alignof": // these two of a type parameter
		a.Op = Read
	case "append":
		a.Op, a.To = Wrap, f.Origin(i.(*ssa.Call)) // never deferred
	case "Add", "Slice", "SliceData", "String", "StringData":
		if v, ok := i.(*ssa.Call); ok && f.IsNumber(v.Type()) {
			a.Op, a.To = Tell, v
		} else if ok {
			a.Op, a.To = Part, v
		}
	}
	s, slice := of.Type().Underlying().(*types.Slice)
	if slice && (name == "copy" || name == "clear" || name == "append" && f.Origin(c.Args[0]) != of) {
		return f.takes(a, s.Elem())
	}
	return []Act{a}
}
