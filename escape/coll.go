package escape

// Collections: slices, arrays and maps whose elements are owned. A collection
// is an owner like a buffer: putting a buffer into it hands the buffer over, a
// full range that frees or hands on each element discharges it, and freeing it
// is such a loop. It owns only if everything that is ever put into it was owned.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// elemType returns the type of the elements of a collection type.
func elemType(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	case *types.Map:
		return u.Elem()
	}
	return nil
}

// collects reports whether values of type t are collections of resources.
func (p *pkg) collects(t types.Type) bool {
	e := elemType(t)
	return e != nil && !p.isResource(t) && p.isResource(e)
}

// ownerOp reports whether v makes a collection or changes one.
func (w *flow) ownerOp(v *value) bool {
	switch v.op {
	case opAppend:
		return w.p.collects(v.typ)
	case opPack:
		return (v.note.Kind == report.Literal || v.note.Kind == report.Made) && w.p.collects(v.typ)
	}
	return false
}

// puts returns the index of the first operand that is put into the collection;
// the one before it, if any, is the collection as it was.
func puts(v *value) int {
	if v.op == opAppend {
		return 1
	}
	return 0
}

// An elemLoop is a loop over the elements of a collection.
type elemLoop struct {
	coll *value // the collection
	elem *value // the element of an iteration
	head *block
	body *block
	mark *value // opLoopFree, where the loop has seen all elements
}

// discharge is what a loop does with each element.
type discharge struct {
	kind   eventKind
	repeat bool
	pure   bool // and nothing else happens to the elements
	why    string
}

// discharges decides for each loop over elements whether it frees or hands on
// every element on every path.
func (w *flow) discharges() {
	for _, l := range w.f.loops {
		elem := l.elem.find()
		if l.mark.blk == nil || l.mark.blk.order < 0 || elem.blk == nil || elem.blk.order < 0 || !w.p.isResource(elem.typ0()) {
			continue
		}
		blocks, ok := loopBody(l)
		if !ok {
			continue
		}
		sub := &flow{f: w.f, p: w.p, byDef: map[*value]*object{}, owner: map[*value]bool{}, live: w.live, useful: w.useful, elems: w.elems, marks: w.marks}
		o := sub.add(objSite, elem)
		sub.web(o)
		sub.check(o)
		if o.complex != "" {
			continue
		}
		sub.group()
		g := o.group
		if g.why != "" {
			continue
		}
		g.full = true
		g.within = map[*block]bool{}
		for _, b := range blocks {
			g.within[b] = true
		}
		g.liveness()
		pl := g.newPlanner(true)
		if pl.run() != "" {
			continue
		}
		all := state(0)
		for _, b := range blocks {
			if !slices.Contains(b.succs, l.head) {
				continue
			}
			for c := range g.n {
				all |= g.out[b][c]
			}
		}
		d := &discharge{kind: evFree, repeat: true, pure: true}
		o.eachEvent(func(e event) {
			switch e.kind {
			case evFree, evDefer:
				d.repeat, d.pure = d.repeat && e.repeat, d.pure && e.pure
			default:
				d.pure = false
			}
			if e.kind == evMove && d.why == "" {
				d.why = e.why
			}
		})
		switch {
		case all == 0 || all&^(sFreed|sMoved|sDeferred|sNone|sNil) != 0 || all&(sFreed|sMoved|sDeferred) == 0:
			continue
		case all&sMoved != 0:
			d.kind = evMove
		case all&sDeferred != 0:
			d.kind = evDefer // one call for each element, all of them when the function ends
		}
		w.elems[elem] = true
		w.marks[l.mark] = d
		if d.kind == evFree && l.mark.blk.doomed {
			// Like the frees of single buffers, these frees do not keep the path
			// from ending: nothing else is inserted before them.
			for _, b := range blocks {
				b.doomed = true
			}
			l.head.doomed = true
			w.f.doom()
		}
	}
}

// loopBody lists the blocks of a loop's body; false if a path leaves it.
func loopBody(l *elemLoop) ([]*block, bool) {
	seen := map[*block]bool{l.head: true}
	var out []*block
	stack := []*block{l.body}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[b] {
			continue
		}
		seen[b] = true
		out = append(out, b)
		if len(out) > 2000 {
			return nil, false
		}
		if len(b.succs) == 0 && !b.noreturn {
			if n := len(b.instrs); n == 0 || b.instrs[n-1].op != opPanic {
				return nil, false
			}
		}
		stack = append(stack, b.succs...)
	}
	return out, true
}

// given returns the buffers that are put into o or into what o came from: what
// still leads to them leads to a part of o.
func (w *flow) given(o *object) []*value {
	seen := map[*value]bool{}
	var out []*value
	var visit func(v *value, depth int)
	visit = func(v *value, depth int) {
		v = origin(v)
		if seen[v] || depth > 200 {
			return
		}
		seen[v] = true
		for _, x := range w.stores[v] {
			out = append(out, x)
		}
		switch {
		case v.op == opPhi && w.owner[v]:
			for _, a := range v.args {
				visit(a, depth+1)
			}
		case w.owner[v] && w.ownerOp(v):
			for i, a := range v.args {
				if i < puts(v) {
					visit(a, depth+1)
				} else {
					out = append(out, a)
					visit(a, depth+1)
				}
			}
		}
	}
	visit(o.def, 0)
	return out
}

// isGiven reports whether own is put into o or into what o came from.
func (w *flow) isGiven(o, own *object) bool {
	return slices.ContainsFunc(w.given(o), func(v *value) bool { return origin(v) == own.def })
}
