package find

import (
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
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// This file is about slices and maps that are made here and filled with what is made: by literals that the
// function calls or starts, or as parts of structs. As collections they are not followed, but what is done
// with them is plain: things are put in, they are measured and returned. Where the function fails instead,
// all is lost.

// A heap is such a slice or map.
type heap struct {
	f     *own.Func
	same  []ssa.Value // that are it
	gifts []gift
	back  []*ssa.Return
	bad   bool              // somebody else may have it, or something is taken out
	past  []ssa.Instruction // loads behind which somebody may have what literals fill
}

// A gift is an instruction that puts something into a heap, or makes the literal that does.
type gift struct {
	put, at ssa.Instruction
}

// heaps lists the slices and maps that a function gives up half filled, but where it was found that something
// in them is lost.
func heaps(f *own.Func, found []Finding) (out []Finding) {
	if !effect.HasError(f.SSA.Signature) {
		return nil
	}
	seen := map[ssa.Value]bool{}
	member.Each(f.SSA, func(i ssa.Instruction) {
		v, ok := i.(ssa.Value)
		if !ok || seen[v] {
			return
		}
		h := &heap{f: f}
		switch i := i.(type) {
		case *ssa.MakeSlice, *ssa.MakeMap:
			h.add(v)
		case *ssa.Call:
			if memory.Appended(i) == nil {
				return
			}
			h.add(v)
		case *ssa.Alloc:
			if !h.variable(i) {
				return
			}
		default:
			return
		}
		for k := 0; k < len(h.same) && !h.bad; k++ {
			seen[h.same[k]] = true
			h.uses(h.same[k], nil)
		}
		at, put := h.lost()
		known := func(fd Finding) bool {
			return fd.Other == at.Pos() && slices.ContainsFunc(fd.Site.Given, func(s *pointsto.Site) bool { return s.Owning() != nil && s.Owning().Has(v) })
		}
		if at != nil && !slices.ContainsFunc(found, known) {
			if k := slices.IndexFunc(h.same, isPhi); k >= 0 { // what it is called by
				v = h.same[k]
			}
			s := &pointsto.Site{Value: v, Param: -1, Begun: true}
			out = append(out, Finding{Kind: Leak, On: Begun, State: own.Owned, Site: s, Pos: at.Pos(), Other: put.Pos(), Field: Given{Part: true}})
		}
	})
	return out
}

func isPhi(v ssa.Value) bool { _, ok := v.(*ssa.Phi); return ok }

func (h *heap) add(v ssa.Value) {
	if c, nothing := v.(*ssa.Const); !slices.Contains(h.same, v) && !(nothing && c.Value == nil) {
		h.same = append(h.same, v)
	}
}

// uses looks at the uses of a value that is the heap, in the function or, by the instruction that makes it,
// in a literal.
func (h *heap) uses(v ssa.Value, in ssa.Instruction) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.BinOp:
		case *ssa.Phi:
			h.add(i)
			for _, e := range i.Edges {
				h.add(e)
			}
		case *ssa.IndexAddr:
			h.item(i, in, false)
		case *ssa.MapUpdate:
			if i.Map == v {
				h.put(i.Value, i, in, false)
			} else {
				h.bad = true
			}
		case *ssa.Return:
			h.back = append(h.back, i)
			h.bad = h.bad || in != nil
		case *ssa.Store: // into a variable, which literals capture
			a, ok := i.Addr.(*ssa.Alloc)
			if h.bad = h.bad || !ok || i.Val != v || in != nil || len(ir.Stores(a)) > 1; ok && !h.bad {
				h.cell(a, nil)
			}
		case *ssa.MakeClosure:
			h.captured(i, v)
		case *ssa.Call:
			h.call(i, v, in)
		default:
			h.bad = true
		}
	}
}

// variable looks at a variable that begins with nothing, and that literals append to.
func (h *heap) variable(a *ssa.Alloc) bool {
	if _, slice := memory.Pointee(a.Type()).Underlying().(*types.Slice); !slice {
		return false
	}
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.MakeClosure:
			h.captured(i, a)
		case *ssa.UnOp:
			if h.f.Marks(i) {
				continue
			}
			looks := &heap{f: h.f}
			looks.uses(i, nil)
			if looks.bad || len(looks.back) > 0 || len(looks.same) > 0 {
				h.past = append(h.past, i)
			}
		default:
			return false
		}
	}
	return len(h.gifts) > 0
}

// runs lists what the function calls or starts that may run a literal: what it is given, or what is called.
func (h *heap) runs(m ssa.Value) (out []ssa.Instruction) {
	is := []ssa.Value{m}
	for k := 0; k < len(is); k++ {
		for _, i := range *is[k].Referrers() {
			var to ssa.Value
			switch i := i.(type) {
			case *ssa.Store:
				to = i.Addr
			case ssa.CallInstruction:
				if !h.f.Marks(i) {
					out = append(out, i)
				}
			case ssa.Value:
				to = i
			}
			if to != nil && to.Referrers() != nil && !slices.Contains(is, to) && (to.Parent() == h.f.SSA) {
				is = append(is, to)
			}
		}
	}
	return out
}

// has reports whether there is something in the heap behind a call that runs a literal, where a return is
// reached: the call has not failed, or it is not the first, or puts in more than one thing.
func (h *heap) has(i ssa.Instruction, all []ssa.Instruction, r *ssa.Return) bool {
	if failed, _ := h.f.Failed(i, r.Block()); !failed {
		return true
	}
	if slices.ContainsFunc(all, func(j ssa.Instruction) bool { return ir.Leads(j, i) }) {
		return true
	}
	return slices.ContainsFunc(h.f.SSA.AnonFuncs, func(fn *ssa.Function) bool {
		n := 0
		member.Each(fn, func(i ssa.Instruction) {
			if c, ok := i.(*ssa.Call); ok {
				load, _ := c.Call.Value.(*ssa.UnOp)
				if load != nil {
					if _, captured := load.X.(*ssa.FreeVar); captured {
						n++
					}
				}
			}
		})
		return n > 1
	})
}

// cell looks at the uses of a variable that has the heap.
func (h *heap) cell(a ssa.Value, in ssa.Instruction) {
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.Store:
		case *ssa.UnOp:
			h.uses(i, in)
		case *ssa.MakeClosure:
			h.captured(i, a)
		default:
			h.bad = true
		}
	}
}

// captured looks at the uses in a literal, which is made in the function itself.
func (h *heap) captured(m *ssa.MakeClosure, v ssa.Value) {
	fn := m.Fn.(*ssa.Function)
	if m.Parent() != h.f.SSA {
		h.bad = true
		return
	}
	for n, b := range m.Bindings {
		if b != v {
			continue
		}
		if _, cell := v.(*ssa.Alloc); cell {
			h.cell(fn.FreeVars[n], m)
		} else {
			h.uses(fn.FreeVars[n], m)
		}
	}
}

// call looks at a call that is given the heap.
func (h *heap) call(c *ssa.Call, v ssa.Value, in ssa.Instruction) {
	if h.f.Marks(c) {
		return
	}
	if b, ok := c.Call.Value.(*ssa.Builtin); ok {
		switch {
		case b.Name() == "len" || b.Name() == "cap":
		case memory.Appended(c) != nil && c.Call.Args[0] == v && (in == nil || taken.PutBack(c, v)):
			if in == nil {
				h.add(c)
			}
			for _, s := range memory.Appended(c) {
				h.put(s.(*ssa.Store).Val, s, in, false)
			}
		default:
			h.bad = true
		}
		return
	}
	for k, a := range calls.Operands(&c.Call) {
		h.bad = h.bad || a == v && !h.f.Summary(&c.Call).Param(k).Borrows()
	}
}

// item looks at the uses of the address of an item, or of a field in there.
func (h *heap) item(a ssa.Value, in ssa.Instruction, part bool) {
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.FieldAddr:
			h.item(i, in, true)
		case *ssa.Store:
			if i.Addr == a {
				h.put(i.Val, i, in, part)
			} else {
				h.bad = true
			}
		case *ssa.UnOp: // what is taken out is looked at
			h.bad = h.bad || !effect.Plain(i.Type()) && !h.f.IsNumber(i.Type())
		default:
			h.bad = true
		}
	}
}

// put notes what is put into the heap, if it was made for it, and is not followed by itself: in a literal, or
// as a part of a struct.
func (h *heap) put(v ssa.Value, by, in ssa.Instruction, part bool) {
	a, written := v.(*ssa.Alloc)
	if load, ok := v.(*ssa.UnOp); ok {
		a, written = load.X.(*ssa.Alloc)
	}
	if written && a.Comment == "complit" {
		for _, s := range ir.Stores(a) {
			h.put(s.Val, s, in, true)
		}
		return
	}
	at := by
	if in != nil {
		at = in
	}
	if (in != nil || part) && h.f.In.Frees.Of(v.Type()) != nil && taken.MadeFor(h.f, v, by) {
		h.gifts = append(h.gifts, gift{by, at})
	}
}

// lost returns a return with an error that gives the heap up with something in it, and what put that there.
func (h *heap) lost() (*ssa.Return, ssa.Instruction) {
	if h.bad {
		return nil, nil
	}
	for _, r := range ir.Returns(h.f.SSA) {
		if r.Block() == h.f.SSA.Recover || slices.Contains(h.back, r) || !h.f.Fails(r) {
			continue
		}
		for _, g := range h.gifts {
			at := []ssa.Instruction{g.at}
			if m, ok := g.at.(*ssa.MakeClosure); ok {
				at = h.runs(m)
			}
			some := func(i ssa.Instruction) bool {
				return ir.Leads(i, r, h.past...) && (g.at == i || h.has(i, at, r))
			}
			if slices.ContainsFunc(at, some) {
				return r, g.put
			}
		}
	}
	return nil, nil
}
