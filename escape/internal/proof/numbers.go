package proof

// Numbers beside a resource. A literal that only reads fields of a variable in which numbers are has these,
// and not the variable: whoever keeps the literal, and whenever he calls it, it finds there what its maker
// put there, as nobody else writes to the variable. And of a struct that a function is called with it may
// keep, or return, numbers alone: what these are, who calls it knows.

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// isNumber reports whether the part of a value by a path is a number, or a text.
func isNumber(t types.Type, path string) bool {
	p := partType(t, path)
	if p == nil {
		return false
	}
	_, basic := p.Underlying().(*types.Basic)
	return basic
}

// field reports whether an element is a number in a field of an operand.
func (e elem) field() bool {
	return e.obj.kind == paramObj && len(e.path) > len(derived) && !strings.HasPrefix(e.path, derived+address)
}

// addressOf returns where a field is of what an operand points to, or of a field of that; ok is false if e is
// no such operand, and no such field.
func (e elem) addressOf(step string) (at elem, ok bool) {
	path, field := strings.CutPrefix(e.path, derived+address)
	t := partType(e.obj.typ, path)
	if _, pointer := e.obj.typ.Underlying().(*types.Pointer); e.obj.kind != paramObj || !pointer || t == nil || e.path != "" && !field {
		return elem{}, false
	}
	for _, r := range step {
		if t == nil || !isStruct(t) { // nil: it is converted to another type
			return elem{}, false
		}
		path += string(r)
		t = partType(t, string(r))
	}
	return elem{e.obj, derived + address + path}, step != ""
}

// number returns the number that is where e is the address of a field of what an operand points to.
func (e elem) number() (n elem, ok bool) {
	path, ok := strings.CutPrefix(e.path, derived+address)
	return elem{e.obj, derived + path}, ok && isNumber(e.obj.typ, path)
}

// areNumbers reports whether s is no resource, and leads to no memory here.
func (f *family) areNumbers(s set) bool {
	return !f.some(s, func(e elem) bool {
		switch e.obj.kind {
		case unknownObj, zeroObj, paramObj:
			return false
		}
		return true
	})
}

// numbersIn returns what numbers in fields of v, a struct, may be.
func (f *family) numbersIn(v ssa.Value, paths []string) set {
	in := f.valued(v)
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.MUL {
		in = f.of(u.X)
	} else if _, pointer := v.Type().Underlying().(*types.Pointer); pointer {
		in = f.of(v)
	}
	var out set
	for _, path := range paths {
		if in != nil {
			out.union(f.load(f.inside(in, path)))
		} else {
			out.union(f.field(f.of(v), v.Type(), path))
		}
	}
	return out
}

// numbersOf returns the numbers in fields of operand n which are all that a result of a call has of it; only
// is false if it may have more.
func (f *family) numbersOf(k *call, r Result, n int) (is set, only bool) {
	paths := r.numbers(n)
	if paths == nil {
		return nil, false
	}
	is = f.numbersIn(k.args[n], paths)
	return is, f.areNumbers(is)
}

// read returns what a literal of the family reads of variable n that it captures. It reports whether that is
// all it has of it, and is numbers.
func (f *family) read(i *ssa.MakeClosure, n int) (is set, only bool) {
	a, ok := i.Bindings[n].(*ssa.Alloc)
	if !ok {
		return nil, false
	}
	if _, only = f.loads(a, false); !only {
		return nil, false
	}
	loads, _ := f.loads(i.Fn.(*ssa.Function).FreeVars[n], true)
	for _, u := range loads {
		is.union(f.of(u))
	}
	return is, f.areNumbers(is)
}

// loads returns the loads of what v leads to, also in literals that capture it. It reports whether nothing
// else happens to that, and to v, but stores where v is; captured, whether only fields are read.
func (f *family) loads(v ssa.Value, captured bool) (out []*ssa.UnOp, only bool) {
	only = true
	add := func(v ssa.Value, captured bool) {
		more, ok := f.loads(v, captured)
		out, only = append(out, more...), only && ok
	}
	_, part := v.(*ssa.FieldAddr)
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			out = append(out, i)
			only = only && (part || !captured)
		case *ssa.Store:
			only = only && i.Addr == v && !captured
		case *ssa.FieldAddr:
			add(i, captured)
		case *ssa.MakeClosure:
			add(i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, v)], true)
		default:
			only = false
		}
	}
	return out, only
}
