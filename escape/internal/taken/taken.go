package taken

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about what a function takes out of a channel, or of a slice of its own, one by one. Who frees
// such a thing on some way has to do something about it on each, whoever made it. Ways on which it is nothing
// are left out, and so are functions that ask one thing twice: a second answer may follow from the first.

// A taken is something that is taken out, with what is the same thing under another type.
type taken struct {
	f      *own.Func
	by     ssa.Instruction
	from   token.Pos // where it is taken out
	v      ssa.Value
	ok     ssa.Value // says whether there was any; may be nil
	same   []ssa.Value
	chosen func(int64) bool  // of a select: which of its cases it is; may be nil
	in     *shared           // the variable that it is put into; may be nil
	part   ssa.Value         // the variable of a struct that it is a part of; may be nil
	frees  []ssa.Instruction // that free it: calls in front of one only borrow it
	held   bool              // it is a reference, which is put away or handed on on some way
}

// A Loss is what a function leaves on some way.
type Loss struct {
	Value ssa.Value
	All   bool      // it is a slice, of which what is in it is left
	Held  bool      // it is a reference that the function took
	From  token.Pos // where it is taken out, or made
	At    token.Pos // where the way ends
}

// Losses lists what leaks of what a function takes out one by one, but for what is known to leak by itself.
func Losses(f *own.Func, known func(ssa.Value) bool) (out []Loss) {
	member.Each(f.SSA, func(i ssa.Instruction) {
		for _, t := range takenBy(f, i) {
			if at := t.skipped(); at.IsValid() {
				out = append(out, Loss{Value: t.v, From: cmp.Or(t.from, at), At: at, Held: t.held})
			}
		}
		if t := appendedTo(f, i); t != nil && !known(t.v) {
			if at := t.skipped(); at.IsValid() {
				out = append(out, Loss{Value: t.in.cell, All: true, From: t.from, At: at})
			}
		}
	})
	return out
}

// takenBy lists what an instruction takes out of a channel, or of a slice of which nothing else goes
// anywhere.
func takenBy(f *own.Func, i ssa.Instruction) (out []*taken) {
	add := func(v, ok ssa.Value, from token.Pos) {
		if v == nil {
			return
		}
		for _, t := range parts(f, v) {
			t.by, t.from, t.ok = i, from, ok
			out = append(out, t)
		}
		if f.In.Frees.Of(v.Type()) != nil {
			t := &taken{f: f, by: i, from: from, v: v, ok: ok, same: []ssa.Value{v}}
			t.copies()
			t.shares()
			out = append(out, t)
		}
	}
	switch i := i.(type) {
	case *ssa.Call:
		if t := heldBy(f, i); t != nil {
			out = append(out, t)
		}
	case *ssa.UnOp:
		at, elem := i.X.(*ssa.IndexAddr)
		switch {
		case i.Op == token.ARROW && i.CommaOk:
			add(memory.Extract(i, 0), memory.Extract(i, 1), i.Pos())
		case i.Op == token.ARROW:
			add(i, nil, i.Pos())
		case elem && i.Op == token.MUL:
			add(i, nil, at.X.Pos())
			out = slices.DeleteFunc(out, func(t *taken) bool { return !t.ours(at.X) })
		}
	case *ssa.Select:
		n := 2 // the results of those that receive
		for k, s := range i.States {
			had := len(out)
			if s.Dir == types.RecvOnly {
				add(memory.Extract(i, n), memory.Extract(i, 1), s.Pos)
				n++
			}
			for _, t := range out[had:] {
				t.chosen = func(n int64) bool { return n == int64(k) }
			}
		}
	}
	return out
}

// parts lists what is in fields of a struct that is taken out and put into a variable of its own, as far as
// these are only read.
func parts(f *own.Func, v ssa.Value) (out []*taken) {
	if !member.IsStruct(v.Type()) || f.In.Frees.Of(v.Type()) != nil {
		return nil
	}
	var in *ssa.Alloc
	for _, i := range *v.Referrers() {
		s, ok := i.(*ssa.Store)
		if _, debug := i.(*ssa.DebugRef); !debug && (!ok || in != nil) && !f.Marks(i) {
			return nil
		}
		if ok {
			in, _ = s.Addr.(*ssa.Alloc)
		}
	}
	if in == nil || len(ir.Stores(in)) != 1 {
		return nil
	}
	of := map[int]*taken{}
	for _, i := range *in.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.Store, *ssa.UnOp:
		case *ssa.FieldAddr:
			for _, u := range *i.Referrers() {
				load, ok := u.(*ssa.UnOp)
				if !ok {
					return nil
				}
				if f.In.Frees.Of(load.Type()) == nil || f.Marks(load) {
					continue
				}
				if of[i.Field] == nil {
					of[i.Field] = &taken{f: f, v: load, part: in}
					out = append(out, of[i.Field])
				}
				of[i.Field].same = append(of[i.Field].same, load)
			}
		default:
			return nil
		}
	}
	for _, t := range out {
		t.copies()
	}
	return out
}

// copies adds what is the same thing under another type.
func (t *taken) copies() {
	for k := 0; k < len(t.same); k++ {
		for _, i := range *t.same[k].Referrers() {
			switch i := i.(type) {
			case *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface:
				t.same = append(t.same, i.(ssa.Value))
			case *ssa.TypeAssert:
				var v ssa.Value = i
				if i.CommaOk {
					v = memory.Extract(i, 0)
				}
				if v != nil {
					t.same = append(t.same, v)
				}
			}
		}
	}
}

// ours reports whether a slice is the function's own, and leaves by nothing but what is done with this
// element.
func (t *taken) ours(slice ssa.Value) bool {
	h := t.f.Holds(slice)
	if len(h) != 1 || h[0].As != pointsto.Whole || h[0].Site.Param >= 0 || t.f.Freed(h[0].Site) {
		return false
	}
	return !slices.ContainsFunc(h[0].Site.Moves, func(a pointsto.Act) bool {
		_, gone := t.does(a.Instr)
		return !gone
	})
}

// does reports whether an instruction frees what was taken, and whether it may do anything with it but look.
func (t *taken) does(i ssa.Instruction) (freed, gone bool) {
	if load, ok := i.(*ssa.UnOp); ok && t.part != nil && load.X == t.part && !t.f.Marks(i) {
		return false, true
	}
	if t.in != nil {
		if freed, gone, known := t.in.does(i); known {
			return freed, gone
		}
	}
	var of [8]*ssa.Value
	for _, v := range i.Operands(of[:0]) {
		if !slices.Contains(t.same, *v) {
			continue
		}
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.BinOp, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.TypeAssert:
		case *ssa.FieldAddr:
			gone = gone || slices.ContainsFunc(*i.Referrers(), func(u ssa.Instruction) bool {
				load, ok := u.(*ssa.UnOp)
				return !ok || !effect.Plain(load.Type()) && !t.f.IsNumber(load.Type())
			})
		case *ssa.Select: // where it is chosen
			gone = gone || t.sends(i) < 0
		case ssa.CallInstruction:
			free, all := t.called(i)
			freed, gone = freed || free, gone || all
		default:
			gone = true
		}
	}
	return freed, gone
}

// called is that for calls.
func (t *taken) called(c ssa.CallInstruction) (freed, gone bool) {
	if t.f.Marks(c) {
		return false, false
	}
	if _, builtin := c.Common().Value.(*ssa.Builtin); builtin {
		return false, true
	}
	s := t.f.Summary(c.Common())
	for k, a := range calls.Operands(c.Common()) {
		if !slices.Contains(t.same, a) {
			continue
		}
		p := s.Param(k)
		freed = freed || p.Freed.Cond != effect.Never
		gone = gone || !p.Borrows() && !(p.Freed.Cond == effect.Never && t.lends(c)) || slices.ContainsFunc(s.Results, func(r effect.Result) bool { return r.Is>>min(k, 63)&1 == 1 })
		if _, at := c.(*ssa.Call); !at {
			gone = true
		}
	}
	return freed, gone
}

// lends reports whether a call only borrows, whatever is known of it: where it does not fail, a free comes on
// each way behind it.
func (t *taken) lends(i ssa.CallInstruction) bool {
	c, ok := i.(*ssa.Call)
	if !ok || !effect.HasError(c.Call.Signature()) {
		return false
	}
	succeeds := func(b *ssa.BasicBlock) bool {
		failed, known := t.f.Failed(c, b)
		return known && !failed && c.Block().Dominates(b)
	}
	ends := []ssa.Instruction{t.by}
	for _, r := range ir.Returns(t.f.SSA) {
		ends = append(ends, r)
	}
	some := false
	for _, b := range t.f.SSA.Blocks {
		if !succeeds(b) || !slices.ContainsFunc(b.Preds, func(p *ssa.BasicBlock) bool { return !succeeds(p) }) {
			continue
		}
		some = true
		if slices.ContainsFunc(ends, func(i ssa.Instruction) bool { return ir.Leads(b.Instrs[0], i, t.frees...) }) {
			return false
		}
	}
	return some
}

// skipped returns where a way ends on which nothing is done with what was taken, while it is freed on
// another.
func (t *taken) skipped() (at token.Pos) {
	member.Each(t.f.SSA, func(i ssa.Instruction) {
		if free, _ := t.does(i); free || t.held && t.puts(i) {
			t.frees = append(t.frees, i)
		}
	})
	if len(t.frees) == 0 || t.held && slices.ContainsFunc(t.frees, t.before) {
		return at
	}
	asked := map[ssa.Value]bool{}
	known := true
	seen := map[*ssa.BasicBlock]bool{t.by.Block(): true}
	var walk func(b *ssa.BasicBlock, rest []ssa.Instruction, last token.Pos)
	walk = func(b *ssa.BasicBlock, rest []ssa.Instruction, last token.Pos) {
		for _, i := range rest {
			if i.Pos().IsValid() && !t.f.Marks(i) {
				last = i.Pos()
			}
			if _, gone := t.does(i); gone {
				return
			}
			switch i := i.(type) {
			case *ssa.Return:
				if !t.held || t.fruitless(i) {
					at = cmp.Or(at, last)
				}
			case *ssa.If:
				_, merged := i.Cond.(*ssa.Phi)
				known = known && !asked[i.Cond] && !merged
				asked[i.Cond] = true
			}
		}
		for _, s := range t.ways(b) {
			switch {
			case s == t.by.Block() && !t.held && (t.in == nil || !t.in.all): // another one is taken out
				at = cmp.Or(at, last)
			case !seen[s]:
				seen[s] = true
				walk(s, s.Instrs, last)
			}
		}
	}
	all := t.by.Block().Instrs
	walk(t.by.Block(), all[slices.Index(all, t.by)+1:], token.NoPos)
	if !known {
		return token.NoPos
	}
	return at
}

// ways lists where a block leads to if something was taken.
func (t *taken) ways(b *ssa.BasicBlock) []*ssa.BasicBlock {
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return b.Succs
	}
	if t.ok != nil && i.Cond == t.ok {
		return b.Succs[:1]
	}
	c, ok := i.Cond.(*ssa.BinOp)
	if !ok || c.Op != token.EQL && c.Op != token.NEQ {
		return b.Succs
	}
	if t.sent(c) {
		return b.Succs[1:]
	}
	if e, ok := c.X.(*ssa.Extract); ok && t.chosen != nil && e.Tuple == t.by.(ssa.Value) && e.Index == 0 {
		if n, ok := c.Y.(*ssa.Const); ok && t.chosen(n.Int64()) == (c.Op == token.EQL) {
			return b.Succs[:1]
		}
		return b.Succs[1:]
	}
	for _, x := range [][2]ssa.Value{{c.X, c.Y}, {c.Y, c.X}} {
		k, ok := x[1].(*ssa.Const)
		some := slices.Contains(t.same, x[0])
		if ok && k.IsNil() && (some || t.fails(x[0])) {
			if (c.Op == token.EQL) == some {
				return b.Succs[1:]
			}
			return b.Succs[:1]
		}
	}
	return b.Succs
}

// fails reports whether a value is an error that stands beside what was taken: if it is not nil, there is
// nothing else.
func (t *taken) fails(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok || t.part == nil || !effect.IsError(v.Type()) {
		return false
	}
	a, ok := load.X.(*ssa.FieldAddr)
	return ok && a.X == t.part
}
