// Package fill finds what a function gives fields of a value that is the value's own from then on: what it
// made, or took a reference to, and put nowhere else. Methods do that which set up what they are called on,
// and constructors to what they put together. Who gives the value up then gives up that, too.
//
// # Words
//
//   - A gift is an instruction by which a field has something of its own ([Gift]). It is inside if it is put
//     into what is in the field: an item of a slice or a map, a part of a struct, or what a function puts
//     there which is given its address.
//   - A loss is an instruction by which a field perhaps has that no more: it is freed, set to nothing, or put
//     somewhere else as well; where what is in there is freed behind a test, it is the load for that, and in
//     a loop, it is where that begins. What comes behind a loss is a gift nevertheless, and so is what a way
//     has that passes none.
package fill

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Gift says that a field is given something of its own.
type Gift struct {
	Field   int
	At      ssa.Instruction // a store, what changes a map, or a call
	Pos     token.Pos       // where it is made, or given
	Site    *pointsto.Site  // that is stored in the field; may be nil
	Inside  bool
	Through bool      // by a function that is given the address of what is in the field
	Success bool      // that is so wherever the instruction does not fail
	Fails   bool      // and somewhere that it fails
	Freed   token.Pos // by the function itself, behind it
	losses  []ssa.Instruction
}

// Reaches reports whether a field may still have a gift in front of an instruction.
func (g Gift) Reaches(to ssa.Instruction) bool { return ir.Leads(g.At, to, g.losses...) }

// Stays reports whether a field surely has a gift in front of an instruction, to which all ways lead through
// it.
func (g Gift) Stays(to ssa.Instruction) bool {
	return ir.Before(g.At, to) && !slices.ContainsFunc(g.losses, func(l ssa.Instruction) bool {
		return ir.Leads(g.At, l) && ir.Leads(l, to)
	})
}

// Again reports whether a gift may have been given before where its instruction runs: a way leads there from
// itself on which it did not fail.
func (g Gift) Again(f *own.Func) bool {
	seen := map[*ssa.BasicBlock]bool{}
	for open := slices.Clone(g.At.Block().Succs); len(open) > 0; {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		if failed, _ := f.Failed(g.At, b); seen[b] || failed {
			continue
		}
		if b == g.At.Block() {
			return true
		}
		seen[b] = true
		open = append(open, b.Succs...)
	}
	return false
}

// A walk looks at what is done with fields of a value.
type walk struct {
	f      *own.Func
	of     []ssa.Value // that are the value, by its address
	gifts  []Gift
	losses []loss
	looks  []loss // loads by which it is asked whether there is something
	seen   map[ssa.Value]bool
}

type loss struct {
	field int             // or every
	at    ssa.Instruction // nil: it may be anywhere
	later bool            // by a call that is deferred there
	free  token.Pos       // of the call, if it is one
}

// every stands for all fields.
const every = -1

// freed reports whether a part of an operand may be freed.
func freed(p effect.Part[effect.Param]) bool { return p.Is.Freed.Cond != effect.Never }

// Gifts lists what a function gives fields of a value, whose address some values are, and keeps there on some
// way.
func Gifts(f *own.Func, of ...ssa.Value) []Gift {
	w := &walk{f: f, of: of, seen: map[ssa.Value]bool{}}
	for k := 0; k < len(w.of); k++ {
		w.value(w.of[k])
	}
	for k := range w.gifts {
		g := &w.gifts[k]
		is := func(l loss) bool { return l.field == g.Field || l.field == every }
		for _, l := range w.losses {
			if is(l) && l.later && ir.Leads(l.at, g.At) {
				l.at = nil
			}
			if is(l) {
				g.losses = append(g.losses, loop(l.at, g.At))
				if l.free.IsValid() && l.at != nil && ir.Leads(g.At, l.at) {
					g.Freed = l.free
				}
			}
		}
		for _, l := range w.looks {
			if is(l) && len(g.losses) > 0 {
				g.losses = append(g.losses, l.at)
			}
		}
	}
	return slices.DeleteFunc(w.gifts, func(g Gift) bool {
		return slices.Contains(g.losses, nil) || slices.ContainsFunc(f.SSA.AnonFuncs, func(l *ssa.Function) bool { return w.inside(l, g.Field) })
	})
}

// loop returns the beginning of the loop that an instruction is in, or the test in front of it, if another
// one is not: in there each part may have its turn.
func loop(in, out ssa.Instruction) ssa.Instruction {
	if in == nil || !ir.Circles(in.Block()) || ir.Leads(in, out) {
		return in
	}
	b := in.Block()
	for b.Idom() != nil && ir.Leads(in, b.Idom().Instrs[0]) {
		b = b.Idom()
	}
	if d := b.Idom(); d != nil && len(d.Succs) == 2 && slices.Contains(d.Succs, b) && ir.Leads(in, d.Succs[1].Instrs[0]) {
		return d.Instrs[len(d.Instrs)-1]
	}
	return b.Instrs[0]
}

// loads lists what a function reads of a variable.
func loads(a *ssa.Alloc) (out []ssa.Value) {
	for _, i := range *a.Referrers() {
		if load, ok := i.(*ssa.UnOp); ok {
			out = append(out, load)
		}
	}
	return out
}

// inside reports whether a literal does more with a field of values of the type than to compare it.
func (w *walk) inside(l *ssa.Function, field int) bool {
	for _, b := range l.Blocks {
		for _, i := range b.Instrs {
			a, ok := i.(*ssa.FieldAddr)
			if ok && a.Field == field && types.Identical(a.X.Type(), w.of[0].Type()) && !onlyCompared(a) {
				return true
			}
		}
	}
	return slices.ContainsFunc(l.AnonFuncs, func(m *ssa.Function) bool { return w.inside(m, field) })
}

// onlyCompared reports whether what is at an address is read to be compared, and nothing else.
func onlyCompared(v ssa.Value) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.BinOp, *ssa.DebugRef:
			return false
		case *ssa.UnOp:
			return !onlyCompared(i)
		}
		return true
	})
}

func (w *walk) lose(field int, at ssa.Instruction) {
	w.losses = append(w.losses, loss{field: field, at: at})
}

// value looks at the uses of the value.
func (w *walk) value(v ssa.Value) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			w.address(i, i.Field, true)
		case *ssa.Store:
			if from, ok := memory.Literal(i); ok && from != nil && i.Addr == v {
				w.literal(from, i)
			}
			if a, ok := i.Addr.(*ssa.Alloc); ok && i.Val == v && len(ir.Stores(a)) == 1 {
				w.of = append(w.of, loads(a)...) // literals share it
			}
		case ssa.CallInstruction:
			w.call(i, v, func(p effect.Param) {
				if p.Freed.Cond != effect.Never || slices.ContainsFunc(p.Parts, freed) {
					w.lose(every, now(i))
				}
				for _, m := range p.Made {
					w.give(Gift{Field: m.Field, At: i, Pos: m.Pos, Inside: m.Inside, Through: m.Through, Success: m.Success, Fails: m.Fails})
				}
			})
		}
	}
}

// literal looks at what a literal has in its fields, from which a store fills the value.
func (w *walk) literal(from *ssa.Alloc, s *ssa.Store) {
	for _, i := range *from.Referrers() {
		a, ok := i.(*ssa.FieldAddr)
		if !ok {
			continue
		}
		for _, u := range *a.Referrers() {
			put, ok := u.(*ssa.Store)
			if !ok || put.Addr != ssa.Value(a) {
				continue
			}
			if site := HandsOver(w.f, put.Val, put, s); site != nil {
				w.give(Gift{Field: a.Field, At: s, Pos: put.Pos(), Site: site, Success: true})
			}
		}
	}
}

// now returns a call if it runs where it stands; nil for one that runs later.
func now(i ssa.CallInstruction) ssa.Instruction {
	c, ok := i.(*ssa.Call)
	if !ok {
		return nil
	}
	return c
}

// call calls do with what a call does to an operand, wherever it is that.
func (w *walk) call(i ssa.CallInstruction, v ssa.Value, do func(effect.Param)) {
	if _, builtin := i.Common().Value.(*ssa.Builtin); builtin || w.f.Marks(i) {
		return
	}
	for k, a := range calls.Operands(i.Common()) {
		if a == v {
			do(w.f.Summary(i.Common()).Param(k))
		}
	}
}

// give notes a gift, by an instruction that runs at once.
func (w *walk) give(g Gift) {
	if _, later := g.At.(*ssa.Defer); later {
		return
	}
	if _, later := g.At.(*ssa.Go); later {
		return
	}
	if !g.Pos.IsValid() {
		g.Pos = g.At.Pos()
	}
	w.gifts = append(w.gifts, g)
}

// address looks at the uses of the address of a field, or of a part of what is in there.
func (w *walk) address(a ssa.Value, field int, direct bool) {
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			switch {
			case i.Addr != a:
				w.lose(field, i)
			case direct:
				w.stored(i, field)
			case isNothing(i.Val):
				w.lose(field, i)
			case w.owns(i.Val, i):
				w.give(Gift{Field: field, At: i, Inside: true, Success: true})
			}
		case *ssa.UnOp:
			if IsContainer(i.Type()) {
				w.container(i, field)
			}
			w.looks = append(w.looks, w.asks(i, field)...)
			w.taken(i, field, i)
		case *ssa.FieldAddr, *ssa.IndexAddr:
			w.address(i.(ssa.Value), field, false)
		case ssa.CallInstruction:
			w.call(i, a, func(p effect.Param) {
				for _, m := range p.Made {
					w.give(Gift{Field: field, At: i, Pos: m.Pos, Inside: true, Through: direct, Success: m.Success, Fails: m.Fails})
				}
				if len(p.Made) == 0 && !p.Borrows() {
					w.lose(field, now(i))
				}
			})
		}
	}
}

// stored looks at what is put into a field in place of what was there.
func (w *walk) stored(s *ssa.Store, field int) {
	if site := HandsOver(w.f, s.Val, s); site != nil {
		w.give(Gift{Field: field, At: s, Site: site, Success: true})
		return
	}
	switch v := s.Val.(type) {
	case *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		return
	case *ssa.Call:
		if memory.Appended(v) != nil && w.isField(v.Call.Args[0], field) {
			if w.owns(v, s) {
				w.give(Gift{Field: field, At: s, Inside: true, Success: true})
			}
			return
		}
	}
	w.lose(field, s)
}

// isField reports whether a value is what is in a field.
func (w *walk) isField(v ssa.Value, field int) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	a, ok := load.X.(*ssa.FieldAddr)
	return ok && a.Field == field && slices.Contains(w.of, a.X)
}

// container looks at what is put into a slice or a map that is in a field.
func (w *walk) container(v ssa.Value, field int) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.IndexAddr:
			w.address(i, field, false)
		case *ssa.Slice:
			w.container(i, field)
		case *ssa.MapUpdate:
			if i.Map == v && w.owns(i.Value, i) {
				w.give(Gift{Field: field, At: i, Inside: true, Success: true})
			}
		}
	}
}

// asks returns a load as one by which it is asked whether there is something in a field, if it is that.
func (w *walk) asks(load *ssa.UnOp, field int) (out []loss) {
	for _, i := range *load.Referrers() {
		switch i := i.(type) {
		case *ssa.BinOp:
			return []loss{{field: field, at: load}}
		case *ssa.Call:
			if b, ok := i.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" {
				return []loss{{field: field, at: load}}
			}
		}
	}
	return nil
}

// taken looks at what a load takes out of a field: whether that is freed, or put somewhere.
func (w *walk) taken(v ssa.Value, field int, by ssa.Instruction) {
	if w.seen[v] || effect.Plain(v.Type()) {
		return
	}
	w.seen[v] = true
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.Phi, *ssa.Extract, *ssa.Lookup, *ssa.Range, *ssa.Next, *ssa.TypeAssert, *ssa.MakeInterface, *ssa.ChangeInterface,
			*ssa.IndexAddr, *ssa.FieldAddr, *ssa.Slice:
			w.taken(i.(ssa.Value), field, by)
		case *ssa.UnOp:
			w.taken(i, field, by)
		case *ssa.Store:
			if a, copied := i.Addr.(*ssa.Alloc); copied && len(ir.Stores(a)) == 1 {
				w.taken(a, field, by)
			} else if i.Val == v {
				w.lose(field, by)
			}
		case *ssa.MapUpdate:
			if i.Value == v {
				w.lose(field, by)
			}
		case *ssa.Return, *ssa.Send, *ssa.MakeClosure:
			w.lose(field, by)
		case ssa.CallInstruction:
			w.call(i, v, func(p effect.Param) {
				if p.Freed.Cond == effect.Never {
					return
				}
				w.losses = append(w.losses, loss{field, by, now(i) == nil, i.Pos()})
			})
		}
	}
}

// owns reports whether what an instruction puts somewhere is that one's then, or leads to something that is.
func (w *walk) owns(v ssa.Value, put ...ssa.Instruction) bool {
	switch i := v.(type) {
	case *ssa.Slice:
		if a, ok := i.X.(*ssa.Alloc); ok {
			if _, stores, ok := ir.InArray(a, i); ok {
				return w.someOwned(stores, put)
			}
		}
	case *ssa.Call:
		if list := memory.Appended(i); list != nil {
			return w.someOwned(list, append(put, i))
		}
	case *ssa.Phi:
		return slices.ContainsFunc(i.Edges, func(e ssa.Value) bool {
			_, phi := e.(*ssa.Phi)
			return !phi && w.owns(e, put...)
		})
	}
	site := HandsOver(w.f, v, put...)
	return site != nil && !site.Begun || w.retained(v, put[0])
}

// someOwned reports whether some of what stores prepare is owned where it is put.
func (w *walk) someOwned(stores, put []ssa.Instruction) bool {
	return slices.ContainsFunc(stores, func(i ssa.Instruction) bool {
		return w.owns(i.(*ssa.Store).Val, append(slices.Clone(put), i)...)
	})
}

// HandsOver returns the site of what some instructions put away together, if nothing else hands it on or
// frees it; else nil. What a call made is its own, whatever it views.
func HandsOver(f *own.Func, v ssa.Value, put ...ssa.Instruction) *pointsto.Site {
	if i, ok := v.(*ssa.MakeInterface); ok {
		v = i.X
	}
	h := f.Holds(v)
	if k := slices.IndexFunc(h, func(h pointsto.Hold) bool { return h.Site.Value == v }); k >= 0 {
		h = h[k : k+1]
	}
	if len(h) != 1 || h[0].As != pointsto.Whole || h[0].Site.Param >= 0 || f.Freed(h[0].Site) ||
		slices.ContainsFunc(h[0].Site.Moves, func(a pointsto.Act) bool { return !slices.Contains(put, a.Instr) }) {
		return nil
	}
	return h[0].Site
}

// retained reports whether the function takes a reference to what it puts somewhere, and gives back none.
func (w *walk) retained(v ssa.Value, put ssa.Instruction) bool {
	if v.Referrers() == nil || !w.f.In.Counted(v.Type()) {
		return false
	}
	taken := 0
	for _, i := range *v.Referrers() {
		c, ok := i.(ssa.CallInstruction)
		if !ok {
			continue
		}
		w.call(c, v, func(p effect.Param) {
			_, at := c.(*ssa.Call)
			switch {
			case p.Freed.Cond != effect.Never:
				taken -= 2
			case p.Retained && at && (ir.Before(c, put) || ir.Before(put, c)):
				taken++
			}
		})
	}
	return taken > 0
}

// isNothing reports whether a value is nil, or a zero value.
func isNothing(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value == nil
}

// IsContainer reports whether values of a type have items that the value which leads there owns alone.
func IsContainer(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map:
		return true
	}
	return false
}
