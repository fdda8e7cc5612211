package proof

// What the table says of an instruction, as it flows through the graph of locations.

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// apply lets an instruction flow that is no call.
func (f *family) apply(i ssa.Instruction, e *entry) {
	f.tooBig = f.tooBig || e.strange
	switch i := i.(type) {
	case *ssa.MakeClosure:
		f.closes(i)
	case *ssa.Store:
		if f.zeroes(i) {
			return
		}
		if _, src := f.copied(i); src != nil {
			f.copyParts(f.of(i.Addr), src)
			return
		}
	case *ssa.Return:
		for n, r := range i.Results {
			is := f.of(r)
			if m := f.valued(r); m != nil && i.Parent() != f.root { // who calls a literal gets what is in it
				is = f.load(m)
			}
			f.changed = f.rets[i.Parent()][n].union(is) || f.changed
		}
	}
	v, _ := i.(ssa.Value)
	if e.makes {
		f.put(f.memory(v), set{1 << zeroElem})
	}
	f.does(e, v)
}

// does lets flow what an entry says; v, if there is one, takes the result.
func (f *family) does(e *entry, v ssa.Value) {
	if v != nil {
		f.flow(v, 0, f.outcome(e))
	}
	for _, x := range f.given(e) {
		r := f.reach(f.of(x))
		f.giveTo(r, r)
		f.escape(f.of(x))
	}
	if e.changes != nil {
		f.store(f.of(e.changes), nil, true, false)
	}
	for _, st := range e.stores {
		if dst, src, apart := f.between(st); apart {
			f.copyParts(dst, src)
			continue
		}
		f.store(f.within(f.of(st.to), st.step), f.from(st.val), st.over, !st.val.counts())
	}
}

// zeroes reports whether a store gives zero, or what is no handle, to what an operand of the root points
// to, or to a field of that, and notes it.
func (f *family) zeroes(i *ssa.Store) bool {
	c, ok := i.Val.(*ssa.Const)
	if !ok || !isZero(c) && !plain(i) {
		return false
	}
	for n, p := range f.root.Params {
		if _, pointer := p.Type().Underlying().(*types.Pointer); !pointer {
			continue // who calls has another one
		}
		if path, loads := fieldOf(i.Addr, p); loads == 0 && !indexed(path) {
			f.params[n].clears(path)
			return true
		}
	}
	return false
}

// isZero reports whether a constant is the zero of its type.
func isZero(c *ssa.Const) bool {
	switch {
	case c.Value == nil:
		return true
	case c.Value.Kind() == constant.Bool:
		return !constant.BoolVal(c.Value)
	case c.Value.Kind() == constant.String:
		return constant.StringVal(c.Value) == ""
	}
	return constant.Sign(c.Value) == 0
}

// given returns what is handed to somebody who may keep it.
func (f *family) given(e *entry) []ssa.Value {
	if e.asserts != nil && f.isTheirs(e.gives[0]) {
		return nil
	}
	return e.gives
}

// counts reports whether what a source gives is numbers of a slice, which are no functions.
func (src source) counts() bool {
	s, ok := src.v.Type().Underlying().(*types.Slice)
	return ok && src.how == content && src.step == index && counts(s.Elem()) && s.Elem() != types.Typ[types.Uintptr]
}

// outcome returns what the register of an entry may lead to.
func (f *family) outcome(e *entry) set {
	var s set
	if e.zero {
		s.add(zeroElem)
	}
	if e.unknown {
		s.add(unknownElem)
	}
	for _, src := range e.from {
		s.union(f.from(src))
	}
	return s
}

// from returns what a value leads to that is made as src says.
func (f *family) from(src source) set {
	s := f.tuple(src.v, src.i)
	switch src.how {
	case inside:
		return f.inside(s, src.step)
	case content:
		if s = f.within(s, src.step); f.givesData(src) {
			s = f.apart(s)
		}
		return f.load(s)
	case lent:
		if s = f.lentParts(s); src.data == library {
			s = f.ofNumbers(s)
		}
		return s
	case field:
		if m := f.valued(src.v); m != nil {
			return f.load(f.inside(m, src.step))
		}
		return f.field(s, src.v.Type(), src.step)
	case number:
		return f.numbersIn(src.v, []string{src.step})
	}
	if src.how&part != 0 {
		s = f.parts(s)
	}
	if src.how&somewhere != 0 {
		s = f.somewhere(s)
	}
	return s
}

// apart returns s without resources and operands.
func (f *family) apart(s set) set {
	var out set
	for id := range s.all() {
		if k := f.elems[id].obj.kind; k != siteObj && k != paramObj {
			out.add(id)
		}
	}
	return out
}

// closes makes a literal.
func (f *family) closes(i *ssa.MakeClosure) {
	o := f.object(key{i, 0}, litObj, i.Type())
	o.fn = i.Fn.(*ssa.Function)
	id := f.elem(o, "")
	f.flow(i, 0, single(id))
	for n, b := range i.Bindings {
		if read, only := f.read(i, n); only {
			f.put(id, read)
		} else {
			f.put(id, f.of(b))
		}
		if f.member[o.fn] {
			f.flow(o.fn.FreeVars[n], 0, f.of(b))
		}
	}
}

// valued returns the memory that stands for a struct which a call gives, with parts that are the caller's; it
// is nil if v is no such value.
func (f *family) valued(v ssa.Value) set {
	j := 0
	if x, ok := v.(*ssa.Extract); ok {
		v, j = x.Tuple, x.Index
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return nil
	}
	if o := f.made[key{call, j}]; o != nil && o.kind == memObj && isStruct(o.typ) {
		return single(f.elem(o, ""))
	}
	return nil
}

// copied returns the memory of the struct or array that a store copies, and what leads there: it was loaded
// just before, or a call gave it. It is nil if the store does something else, or one of them is not in memory
// of the family. go/ssa makes a composite literal in memory of its own and copies it.
func (f *family) copied(i *ssa.Store) (by ssa.Value, src set) {
	if m := f.valued(i.Val); m != nil && f.inMemory(i.Addr) {
		return i.Val, m
	}
	load, ok := i.Val.(*ssa.UnOp)
	if !ok || load.Block() != i.Block() {
		return nil, nil
	}
	switch load.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
	default:
		return nil, nil
	}
	src, ok = f.memoryAt(load.X)
	if !ok || src.empty() || !f.inMemory(i.Addr) || !f.undisturbed(load, i) {
		return nil, nil
	}
	return load.X, src
}

// undisturbed reports whether nothing lies between a load and an instruction of its block that could change
// what is in the memory that was loaded from.
func (f *family) undisturbed(load *ssa.UnOp, at ssa.Instruction) bool {
	instrs := load.Block().Instrs
	from, to := slices.Index(instrs, ssa.Instruction(load)), slices.Index(instrs, at)
	if load.Op != token.MUL || to < from {
		return false
	}
	src, own := f.memoryAt(load.X)
	meets := func(v ssa.Value) bool {
		return !own || f.some(src, func(e elem) bool {
			return e.obj.escaped || f.some(f.of(v), func(x elem) bool { return x.obj == e.obj })
		})
	}
	return !slices.ContainsFunc(instrs[from+1:to], func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.Alloc:
			return meets(i)
		case *ssa.Store:
			return meets(i.Addr)
		}
		return acts(i)
	})
}

// between returns the elements of slices that a storing copies part by part, and where to, if these are
// structs or arrays in memory of the family; false: it does something else.
func (f *family) between(st storing) (dst, src set, ok bool) {
	s, slice := st.val.v.Type().Underlying().(*types.Slice)
	if !slice || st.val.how != content || !f.c.hasParts(s.Elem()) {
		return nil, nil, false
	}
	dst, ok1 := f.memoryAt(st.to)
	src, ok2 := f.memoryAt(st.val.v)
	return f.inside(dst, index), f.inside(src, index), ok1 && ok2
}

// memoryAt returns the memory of the family that v leads to, but for nil, behind which nothing is read or
// written; false: it may lead elsewhere.
func (f *family) memoryAt(v ssa.Value) (out set, ok bool) {
	out = f.of(v).clone()
	out.remove(zeroElem)
	return out, !f.some(out, func(e elem) bool { return e.obj.kind != memObj })
}

// copyParts lets what is in memory flow to other memory, part by part.
func (f *family) copyParts(dst, src set) {
	f.copies(dst, src, func(from, to int) { f.put(to, f.content[from]) })
	f.copies(src, dst, func(int, int) {}) // a part that nobody stored there is zero
	f.store(dst, f.outside(src), true, true)
}

// copies calls do for each element of what src leads to and the one of dst that takes it.
func (f *family) copies(dst, src set, do func(from, to int)) {
	for from := range src.all() {
		e := f.elems[from]
		for _, q := range slices.Clone(e.obj.ids) {
			p := f.elems[q].path
			if !overlap(p, e.path) {
				continue
			}
			rest, part := strings.CutPrefix(p, e.path)
			if !part {
				rest = ""
			}
			for to := range dst.all() {
				do(q, f.elem(f.elems[to].obj, f.elems[to].path+rest))
			}
		}
	}
}

// outside returns what loading from s gives that no element of the family says.
func (f *family) outside(s set) set {
	var out set
	if f.some(s, func(e elem) bool { return e.obj.escaped }) {
		out.add(unknownElem)
	}
	return out
}

// inMemory reports whether addr leads to memory of the family alone.
func (f *family) inMemory(addr ssa.Value) bool {
	return f.only(f.of(addr), func(e elem) bool { return e.obj.kind == memObj })
}

// passes notes whose functions and methods, of the operands of the root, may get operand n of a call.
func (f *family) passes(k *call, n int, to mask) {
	var by set
	if _, static := k.at.Common().Value.(*ssa.Function); !static {
		by.union(f.of(k.at.Common().Value))
	}
	for m, a := range k.args {
		if m != n && to.has(m) && !counts(a.Type()) {
			by.union(f.reach(f.of(a)))
		}
	}
	if !by.empty() {
		f.giveTo(f.reach(f.of(k.args[n])), by)
	}
}

// giveTo notes that operands of the root in s may get to functions that those in by have.
func (f *family) giveTo(s, by set) {
	var to mask
	for e := range f.leads(by) {
		if e.obj.kind == paramObj {
			to |= bit(e.obj.index)
		}
	}
	for e := range f.leads(s) {
		if e.obj.kind == paramObj && f.params[e.obj.index].Gives|to != f.params[e.obj.index].Gives {
			f.changed = true
			f.params[e.obj.index].Gives |= to
		}
	}
}

// gives returns what is no operand of the root in s.
func (f *family) gives(s set) set {
	var rest set
	for id := range f.reach(s).all() {
		if f.elems[id].obj.kind != paramObj {
			rest.add(id)
		}
	}
	return rest
}
