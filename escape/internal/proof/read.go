package proof

// What a function reads of fields of its operands and hands on as it is, in results or in what these lead to:
// of such a part it is known which field it had, and that it is none of the others.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// readOf returns what a callee reads that hands a field of an operand on.
func (f *family) readOf(k *call, from Slot) source {
	a := k.args[from.Operand]
	switch a.Type().Underlying().(type) {
	case *types.Pointer:
		return source{v: a, how: content, step: from.Path}
	case *types.Struct:
		if by, in := f.readFrom(a, k.at); in != nil {
			return source{v: by, how: content, step: from.Path}
		}
	}
	return source{v: a, how: lent}
}

// readResult notes what fields of operands result j is, if that is all that it has of operands.
func (f *family) readResult(j int, r *Result) {
	if len(r.Derived) == 0 || len(r.Is) > 0 {
		return
	}
	var vals []ssa.Value
	for i := range instrsOf(f.root) {
		if ret, ok := i.(*ssa.Return); ok {
			vals = append(vals, ret.Results[j])
		}
	}
	r.reads(f.fieldsRead(vals))
}

func (r *Result) reads(from []Slot, ok bool) {
	if more := func(n int) bool { return r.numbers(n) == nil }; ok && slices.ContainsFunc(r.Derived, more) {
		r.Read, r.Derived = from, nil
	}
}

// readPart notes what fields of operands a part of a result is, of memory at these paths.
func (f *family) readPart(p *Part, at map[*object]string) {
	if len(p.Derived) == 0 || indexed(p.Path) {
		return
	}
	for o, to := range at {
		if _, variable := o.at.(*ssa.Alloc); !variable && partOf(p.Path, to) {
			return // a callee put something there
		}
	}
	var vals []ssa.Value
	for i := range f.instrs() {
		st, ok := i.(*ssa.Store)
		if !ok {
			continue
		}
		for e := range f.leads(f.of(st.Addr)) {
			to, in := at[e.obj]
			switch to += e.path; {
			case !in || !overlap(to, p.Path):
			case to != p.Path:
				return
			default:
				vals = append(vals, st.Val)
			}
		}
	}
	p.reads(f.fieldsRead(vals))
}

// fieldsRead returns the fields of operands that are among some values; false: they have more of operands.
func (f *family) fieldsRead(vals []ssa.Value) (from []Slot, ok bool) {
	operand := func(e elem) bool { return e.obj.kind == paramObj }
	for _, v := range vals {
		s, is := f.fieldRead(v)
		if is {
			from = append(from, s)
		} else if f.some(f.reach(f.of(v)), operand) {
			return nil, false
		}
	}
	return from, true
}

// fieldRead returns which field of an operand of the root v was read from.
func (f *family) fieldRead(v ssa.Value) (Slot, bool) {
	if _, loads := v.(*ssa.UnOp); !loads {
		return Slot{}, false
	}
	for n, p := range f.root.Params {
		path, loads := fieldOf(v, p)
		if loads == 1 && !indexed(path) && f.onlyRead(variableOf(v), p) {
			return Slot{n, path}, true
		}
	}
	return Slot{}, false
}

// variableOf returns the variable of which v is a part, or was read.
func variableOf(v ssa.Value) *ssa.Alloc {
	for {
		switch x := v.(type) {
		case *ssa.UnOp:
			v = x.X
		case *ssa.FieldAddr:
			v = x.X
		case *ssa.Field:
			v = x.X
		default:
			a, _ := v.(*ssa.Alloc)
			return a
		}
	}
}

// onlyRead reports whether variable a, if there is one, is p, and nothing else.
func (f *family) onlyRead(a *ssa.Alloc, p *ssa.Parameter) bool {
	o := f.made[key{a, 0}]
	leads := func(e elem) bool { return e.obj == o }
	for i := range f.instrs() {
		for v := range operands(i) {
			if !f.some(f.of(v), leads) {
				continue
			}
			switch i.(type) {
			case *ssa.FieldAddr, *ssa.UnOp, *ssa.DebugRef:
			default:
				if !spills(i) {
					return false
				}
			}
		}
	}
	return true
}
