package proof

// Which bodies free their operand, or fields of it, and do nothing else that anybody could see.

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A destroyer is what a body frees that does nothing else, as far as it was read.
type destroyer struct {
	parts             []string // fields of the operand
	whole             bool     // the operand itself, or more than the parts say
	alone             bool     // nothing that it views
	repeatable, nilOK bool     // of each
	read, written     []access // fields of the operand
}

// An access is where a part of the operand is read or written.
type access struct {
	path string
	at   ssa.Instruction
}

// unchanged reports whether nothing is read behind a write of it: what is freed is what was there at first.
// Two pointers may lead to the same; then a write of what is freed itself is seen where F frees that twice.
func (q *destroyer) unchanged() bool {
	return !slices.ContainsFunc(q.written, func(w access) bool {
		return slices.ContainsFunc(q.read, func(r access) bool {
			same := strings.Contains(w.path+r.path, behind) && !slices.Contains(q.parts, w.path)
			return (same || overlap(w.path, r.path)) && follows(w.at, r.at)
		})
	})
}

// writes notes that a field is written. No flag is freed, and who asks one frees less at most.
func (q *destroyer) writes(path string, p *ssa.Parameter, at ssa.Instruction) {
	if t := partType(p.Type(), path); t == nil || !noHandle(t, false) {
		q.written = append(q.written, access{path, at})
	}
}

// follows reports whether b may run behind a.
func follows(a, b ssa.Instruction) bool {
	return a.Block() == b.Block() && indexIn(a.Block(), a) < indexIn(b.Block(), b) ||
		reachable(succs, a.Block().Succs...)[b.Block()]
}

// silent finds out whether a body does nothing but free parameter p, or fields of it, and write its fields,
// whether all that it frees may be freed again, and which fields these are.
func (c *checker) silent(fn *ssa.Function, p *ssa.Parameter, out *Param) {
	q := destroyer{alone: true, repeatable: true, nilOK: true}
	heads := map[*ssa.BasicBlock]bool{}
	if len(fn.AnonFuncs) > 0 {
		return
	}
	for i := range instrsOf(fn) {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.Jump, *ssa.If, *ssa.Return, *ssa.Phi:
		case *ssa.Alloc:
			if _, loads := fieldOf(i, p); loads < 0 {
				return
			}
		case *ssa.BinOp:
			if !isNilConst(i.X) && !isNilConst(i.Y) && (!safe(i.Op, i.X.Type()) || hasText(i.X.Type())) {
				return
			}
		case *ssa.FieldAddr, *ssa.Field:
			if _, loads := fieldOf(i.(ssa.Value), p); loads < 0 {
				return
			}
		case *ssa.IndexAddr:
			if _, loads := fieldOf(i, p); loads < 0 || counted(i) == nil {
				return
			}
			heads[counted(i)] = true
		case *ssa.UnOp:
			// What its fields lead to others may have, and may have freed.
			path, loads := fieldOf(i, p)
			if i.Op != token.NOT && (i.Op != token.MUL || loads < 0 || loads > 1) {
				return
			}
			q.read = append(q.read, access{path, i})
		case *ssa.Store: // of a field of what p points to, not of what that leads to
			if spills(i) {
				continue
			}
			path, loads := fieldOf(i.Addr, p)
			if _, constant := i.Val.(*ssa.Const); !constant || loads != 0 || indexed(path) {
				return
			}
			q.writes(path, p, i)
		case *ssa.Call:
			if b, ok := i.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" && isSlice(i.Call.Args[0].Type()) {
				continue
			}
			if !q.frees(c, i, p) {
				return
			}
		default:
			return
		}
	}
	if slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool { return !heads[b] && repeats(b, heads) }) {
		return // it may not come back
	}
	if !q.unchanged() || slices.ContainsFunc(q.read, func(r access) bool { return leadsPast(r.path, q.parts) }) {
		return
	}
	out.Silent, out.Repeatable, out.Alone = true, q.repeatable, q.alone
	_, pointer := p.Type().Underlying().(*types.Pointer)
	if (pointer || isStruct(p.Type())) && !q.whole && len(q.parts) > 0 {
		out.Parts, out.PartsNil = q.parts, q.nilOK
	}
}

// frees adds what a call frees of p; false: it does something else, or may free something twice.
func (q *destroyer) frees(c *checker, i *ssa.Call, p *ssa.Parameter) bool {
	callee := i.Call.StaticCallee()
	if callee == nil || len(i.Call.Args) != 1 {
		return false
	}
	arg := i.Call.Args[0]
	path, loads := fieldOf(arg, p)
	_, field := arg.(*ssa.Field)
	if load, ok := arg.(*ssa.UnOp); ok && isStruct(load.Type()) {
		loads-- // no pointer is followed to its parts
	} else if field && !isStruct(arg.Type()) {
		loads++
	}
	does := c.effect(origin(callee)).param(0)
	if loads < 0 || !does.Frees || !does.Silent {
		return false
	}
	if q.repeatable = q.repeatable && does.Repeatable; !does.Repeatable && again(arg, i.Block()) {
		return false
	}
	q.whole = q.whole || path == "" && len(does.Parts) == 0
	q.alone = q.alone && does.Alone && path == "" && loads == 0
	q.nilOK = q.nilOK && (does.NilOK || len(does.Parts) > 0 && loads == 0) && (does.PartsNil || len(does.Parts) == 0)
	if len(does.Parts) == 0 {
		q.parts = append(q.parts, path)
	}
	switch {
	case path == "" || loads == 0:
		q.read = append(q.read, access{path, i})
	case loads == 1:
		path += behind
	default:
		q.whole = q.whole || len(does.Parts) > 0
	}
	for _, r := range does.Clears {
		q.writes(path+r, p, i)
	}
	for _, r := range does.Parts {
		q.parts, q.read = append(q.parts, path+r), append(q.read, access{path + r, i})
	}
	twice := func(path string) bool { // no walk tells whether it is; where elements lead who calls it knows
		_, rest, elem := strings.Cut(path, index)
		return elem && strings.ContainsAny(strings.TrimPrefix(rest, behind), index+behind) || q.whole && len(q.parts) > 1
	}
	// Types may be made of others many times.
	return len(q.parts) <= maxParts && !slices.ContainsFunc(q.parts, twice)
}

// leadsPast reports whether a path leads to what a field leads to, and to none of the parts that are freed.
func leadsPast(path string, parts []string) bool {
	freed := func(part string) bool { return overlap(part, path) }
	return strings.Contains(path, behind) && !slices.ContainsFunc(parts, freed)
}

// spilled returns the struct, a parameter or what was loaded, that a variable has from its beginning;
// nil: it is another one, or may be given another one.
func spilled(a *ssa.Alloc) (from ssa.Value) {
	for _, i := range *a.Referrers() {
		if st, ok := i.(*ssa.Store); ok {
			if from != nil || !begins(a, st) {
				return nil
			}
			from = st.Val
		}
	}
	return from
}

// spills reports whether an instruction puts a struct into the variable that stands for it.
func spills(i ssa.Instruction) bool {
	st, ok := i.(*ssa.Store)
	if !ok {
		return false
	}
	a, ok := st.Addr.(*ssa.Alloc)
	return ok && spilled(a) != nil
}

// begins reports whether a store gives a variable a struct that stands for a parameter, or was loaded, before
// anything is read of it.
func begins(a *ssa.Alloc, st *ssa.Store) bool {
	switch x := st.Val.(type) {
	case *ssa.Parameter:
		if a.Comment != x.Name() {
			return false
		}
	case *ssa.UnOp:
	default:
		return false
	}
	if !isStruct(st.Val.Type()) || a.Block() != st.Block() {
		return false
	}
	between := a.Block().Instrs[indexIn(a.Block(), a):indexIn(a.Block(), st)]
	return !slices.ContainsFunc(between, func(i ssa.Instruction) bool {
		switch i.(type) {
		case *ssa.Alloc, *ssa.Store, *ssa.DebugRef:
			return false
		}
		return true
	})
}
