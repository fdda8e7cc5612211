package proof

// What each instruction lets flow through the graph of locations.

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// apply lets one instruction flow.
func (f *family) apply(i ssa.Instruction) {
	switch i := i.(type) {
	case *ssa.Alloc:
		f.put(f.memory(i), set{1 << zeroElem})
	case *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		f.put(f.memory(i.(ssa.Value)), set{1 << zeroElem})
	case *ssa.MakeClosure:
		o := f.object(key{i, 0}, litObj, i.Type())
		o.fn = i.Fn.(*ssa.Function)
		id := f.elem(o, "")
		f.flow(i, 0, single(id))
		for n, b := range i.Bindings {
			f.put(id, f.of(b))
			if f.member[o.fn] {
				f.flow(o.fn.FreeVars[n], 0, f.of(b))
			}
		}
	case *ssa.FieldAddr:
		f.flow(i, 0, f.inside(f.of(i.X), step(i.Field)))
	case *ssa.IndexAddr:
		f.flow(i, 0, f.inside(f.of(i.X), indexStep(i.X, i.Index)))
	case *ssa.UnOp:
		switch i.Op {
		case token.MUL:
			f.flow(i, 0, f.load(f.of(i.X)))
		case token.ARROW:
			f.flow(i, 0, set{1 << unknownElem})
		case token.NOT:
		default:
			f.flow(i, 0, f.parts(f.of(i.X)))
		}
	case *ssa.Store:
		if src := copied(i); src != nil && f.inMemory(src) && f.inMemory(i.Addr) {
			f.copies(f.of(i.Addr), f.of(src), func(from, to int) {
				f.put(to, f.content[from])
			})
			f.store(f.of(i.Addr), f.outside(f.of(src)), true)
		} else {
			f.store(f.of(i.Addr), f.of(i.Val), !plain(i, i.Val))
		}
	case *ssa.MapUpdate:
		f.store(f.inside(f.of(i.Map), index), f.of(i.Key), true)
		f.store(f.inside(f.of(i.Map), index), f.of(i.Value), true)
	case *ssa.Send:
		f.escape(f.of(i.X))
	case *ssa.Select:
		for _, s := range i.States {
			if s.Send != nil {
				f.escape(f.of(s.Send))
			}
		}
		f.flow(i, 0, set{1 << unknownElem})
	case *ssa.BinOp:
		switch i.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		default:
			f.flow(i, 0, f.parts(f.of(i.X)))
			f.flow(i, 0, f.parts(f.of(i.Y)))
		}
	case *ssa.Panic:
		f.escape(f.of(i.X))
	case *ssa.Return:
		for n, r := range i.Results {
			f.changed = f.rets[i.Parent()][n].union(f.of(r)) || f.changed
		}
	case ssa.CallInstruction:
		f.call(i)
	case ssa.Value:
		f.compute(i)
	}
}

// compute lets an instruction flow that makes a value of others.
func (f *family) compute(v ssa.Value) {
	switch i := v.(type) {
	case *ssa.Phi:
		for _, e := range i.Edges {
			f.flow(i, 0, f.of(e))
		}
	case *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MultiConvert, *ssa.Slice, *ssa.TypeAssert, *ssa.MakeInterface:
		x := *v.(ssa.Instruction).Operands(nil)[0]
		f.flow(v, 0, f.of(x))
		if f.c.tells(v) {
			f.escape(f.of(x))
		}
		if t, ok := i.(*ssa.TypeAssert); ok && t.CommaOk {
			f.flow(v, 0, set{1 << zeroElem})
		}
	case *ssa.SliceToArrayPointer:
		f.flow(i, 0, f.somewhere(f.of(i.X)))
	case *ssa.Convert:
		if isUnsafe(i.Type()) || isUnsafe(i.X.Type()) { // the same memory as another type
			f.flow(i, 0, f.somewhere(f.of(i.X)))
		} else if !copiesBytes(i) {
			f.flow(i, 0, f.of(i.X))
		}
	case *ssa.Field:
		f.flow(i, 0, f.field(f.of(i.X), i.X.Type(), i.Type()))
	case *ssa.Index:
		if !isString(i.X.Type()) {
			f.flow(i, 0, f.of(i.X))
		}
	case *ssa.Extract:
		f.flow(i, 0, f.extract(i))
	case *ssa.Lookup:
		f.flow(i, 0, f.load(f.inside(f.of(i.X), index)))
	case *ssa.Range:
		f.flow(i, 0, f.of(i.X))
	case *ssa.Next:
		if !i.IsString {
			f.flow(i, 0, f.load(f.inside(f.of(i.Iter), index)))
		}
	default:
		f.tooBig = true // it is not understood
	}
}

// copied returns the address of the struct or array that a store copies, loaded just before; nil if it
// stores something else. go/ssa makes a composite literal in memory of its own and copies it.
func copied(i *ssa.Store) ssa.Value {
	load, ok := i.Val.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || load.Block() != i.Block() {
		return nil
	}
	switch load.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
	default:
		return nil
	}
	instrs := i.Block().Instrs
	for n := slices.Index(instrs, ssa.Instruction(i)) - 1; n >= 0; n-- {
		if instrs[n] == ssa.Instruction(load) {
			return load.X
		}
		if _, ok := instrs[n].(*ssa.DebugRef); !ok {
			return nil
		}
	}
	return nil
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
	for id := range s.all() {
		if f.elems[id].obj.escaped {
			out.add(unknownElem)
		}
	}
	return out
}

// inMemory reports whether addr leads to memory of the family alone.
func (f *family) inMemory(addr ssa.Value) bool {
	some := false
	for id := range f.of(addr).all() {
		some = true
		if f.elems[id].obj.kind != memObj {
			return false
		}
	}
	return some
}

// extract returns what one of a tuple may lead to.
func (f *family) extract(i *ssa.Extract) set {
	if isBool(i.Type()) {
		return set{1 << unknownElem}
	}
	switch t := i.Tuple.(type) {
	case *ssa.Call:
		return f.tuple(t, i.Index)
	case *ssa.TypeAssert, *ssa.Lookup, *ssa.Next, *ssa.Select:
		return f.of(t)
	case *ssa.UnOp:
		return f.of(t)
	}
	return set{1 << unknownElem}
}

// copiesBytes reports whether a conversion copies: between strings and slices of bytes or runes.
func copiesBytes(i *ssa.Convert) bool {
	slice := func(t types.Type) bool { _, ok := t.Underlying().(*types.Slice); return ok }
	return isString(i.Type()) && slice(i.X.Type()) || slice(i.Type()) && isString(i.X.Type())
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isUnsafe(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

// accessed returns the values whose memory an instruction reads or writes, and those that it tells apart from
// others: where memory is given back something else may be made at the same address. What a string's bytes
// are copied to, and what comparing them gives, is no part of them.
func accessed(i ssa.Instruction) []ssa.Value {
	switch i := i.(type) {
	case *ssa.UnOp:
		if i.Op == token.MUL {
			return []ssa.Value{i.X}
		}
	case *ssa.Store:
		return []ssa.Value{i.Addr}
	case *ssa.Index:
		if isString(i.X.Type()) {
			return []ssa.Value{i.X}
		}
	case *ssa.Lookup:
		return []ssa.Value{i.X, i.Index}
	case *ssa.MapUpdate:
		return []ssa.Value{i.Map, i.Key}
	case *ssa.Next:
		return []ssa.Value{i.Iter}
	case *ssa.Convert:
		if copiesBytes(i) {
			return []ssa.Value{i.X}
		}
	case *ssa.BinOp:
		_, x := i.X.(*ssa.Const)
		_, y := i.Y.(*ssa.Const)
		if hasText(i.X.Type()) && !isNilConst(i.X) && !isNilConst(i.Y) || (i.Op == token.EQL || i.Op == token.NEQ) && !x && !y {
			return []ssa.Value{i.X, i.Y}
		}
	case *ssa.Call:
		b, ok := i.Call.Value.(*ssa.Builtin)
		if ok && slices.Contains([]string{"append", "clear", "copy", "delete", "max", "min", "print", "println"}, b.Name()) {
			return i.Call.Args
		}
	}
	return nil
}

// hasText reports whether values of a type hold strings, or what is not known.
func hasText(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Interface:
		return true
	case *types.Array:
		return hasText(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if hasText(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}
