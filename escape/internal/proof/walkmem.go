package proof

// The walk in memory: which elements hold the resource.

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/ssa"
)

// store puts a value where an entry says.
func (w *walker) store(s *set, st storing, at ssa.Instruction) *set {
	pts := w.f.within(w.f.of(st.to), st.step)
	is, leads := w.brings(s, st.val)
	if dst, src, apart := w.f.between(st); apart {
		return w.copyParts(ptr(*s), s, dst, st.val.v, src, leads && !st.moves, at, st.moves)
	}
	switch {
	case st.moves: // it is nowhere twice
		for id := range pts.all() {
			if is && w.f.elems[id].obj.kind == memObj {
				w.into(s, id)
			}
		}
		return s
	case st.val.how == itself && st.over && (w.holds(s, st.to) || w.behind == nil && pts.meets(w.class)):
		s.add(w.id(markKey{kind: left, at: at})) // the resource is not what it was
	}
	return w.storeIn(s, pts, is, leads, at)
}

// brings reports whether a value may be the resource, and whether it leads to it.
func (w *walker) brings(s *set, val source) (is, leads bool) {
	is = w.comes(s, val) || w.partly(val)
	return is, is || !w.f.givesData(val) && w.touched(s, val.v)
}

// partly reports whether a value may have parts that are zero as nobody stored them: that is seen of a struct
// or an array in memory alone. One that is a resource is that as a whole.
func (w *walker) partly(val source) bool {
	t := val.v.Type()
	if e, ok := t.Underlying().(interface{ Elem() types.Type }); ok && val.how == content {
		t = e.Elem()
	}
	_, array := t.Underlying().(*types.Array)
	whole := func(o *object) bool { return o.kind == siteObj && types.Identical(o.typ, t) }
	return w.zero && w.site == nil && (array || isStruct(t)) && !slices.ContainsFunc(w.f.objs, whole)
}

// copyStruct copies a struct, if that is what a store does; again: it did so before, and may have got
// something else.
func (w *walker) copyStruct(s *set, at *ssa.Store, again bool) *set {
	by, src := w.f.copied(at)
	if src == nil {
		return s
	}
	return w.copyParts(ptr(*s), s, w.f.of(at.Addr), by, src, w.touched(s, at.Val), at, again)
}

// copyParts copies what was in src, to which by leads, part by part.
func (w *walker) copyParts(was, s *set, dst set, by ssa.Value, src set, leads bool, at ssa.Instruction, again bool) *set {
	s = w.storeIn(s, dst, false, leads, at)
	for to := range dst.all() {
		d := w.f.elems[to]
		for _, q := range d.obj.ids {
			path := w.f.elems[q].path
			rest, part := strings.CutPrefix(path, d.path)
			if d.path == anywhere || path == anywhere && w.f.merges(d, src) {
				rest, part = anywhere, true
			}
			if !part {
				continue
			}
			for from := range src.all() {
				e := w.f.elems[from]
				there := w.ofRun(was, by, from) && w.inside(was, w.nearest(e.obj, e.path+rest))
				if rest == anywhere || e.path == anywhere {
					there = w.loaded(was, by, single(from))
				}
				if there {
					if !again || !w.inside(was, q) {
						w.doubled(was, s, q)
					}
					w.gets(s, q)
					w.shares(s, q)
				}
			}
		}
	}
	return s
}

// merges reports whether a part of what is copied to d is there one of those that are not told apart.
func (f *family) merges(d elem, src set) bool {
	return f.some(src, func(e elem) bool {
		return e.path == anywhere || slices.ContainsFunc(e.obj.ids, func(q int) bool {
			rest, part := strings.CutPrefix(f.elems[q].path, e.path)
			return part && f.elems[f.elem(d.obj, d.path+rest)].path == anywhere
		})
	})
}

// nearest returns the element of o for a path, or what it is a part of.
func (w *walker) nearest(o *object, path string) int {
	for {
		if id, ok := w.f.elemID[elem{o, path}]; ok {
			return id
		}
		if path == "" {
			return unknownElem
		}
		_, n := utf8.DecodeLastRuneInString(path)
		path = path[:len(path)-n]
	}
}

// plain reports whether what is stored into a resource cannot make it another one: no handle is a float, a
// bool, or fits into an element of 16 bits.
func plain(st *ssa.Store) bool {
	_, elem := st.Addr.(*ssa.IndexAddr)
	return noHandle(st.Val.Type(), elem)
}

// noHandle reports whether no handle is, or fits into, a value of type t, or an element of that type.
func noHandle(t types.Type, elem bool) bool {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return false
	}
	switch b.Kind() {
	case types.Int8, types.Uint8, types.Int16, types.Uint16:
		return elem
	}
	return b.Info()&(types.IsBoolean|types.IsFloat|types.IsComplex) != 0
}

// storeIn puts a value that is the resource, or leads to it, into elements.
func (w *walker) storeIn(s *set, pts set, is, leads bool, at ssa.Instruction) *set {
	n := 0
	for id := range pts.all() {
		n++
		e := w.f.elems[id]
		if w.changes(s, e) {
			s.add(w.id(markKey{kind: left, at: at}))
		}
		if e.obj.kind == memObj || e.obj.kind == litObj || e.obj.kind == zeroObj {
			if leads && (e.obj.escaped || w.g.outlasts(e.obj, at.Parent())) {
				s.add(w.id(markKey{kind: left, at: at}))
			}
			if is {
				s = w.fill(s, id)
			}
			continue
		}
		if leads {
			s.add(w.id(markKey{kind: left, at: at}))
		}
	}
	if n == 0 && leads {
		s.add(w.id(markKey{kind: left, at: at}))
	}
	if !is {
		w.overwrites(s, pts)
	}
	return s
}

// changes reports whether a store into e writes a part of a place that has the resource itself: what is there
// then is another one. Only a struct or an array has parts.
func (w *walker) changes(s *set, e elem) bool {
	if w.site == nil {
		return false
	}
	switch w.site.typ.Underlying().(type) {
	case *types.Pointer, *types.Basic, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return false
	}
	return slices.ContainsFunc(e.obj.ids, func(q int) bool {
		path := w.f.elems[q].path
		if path == e.path || e.path == "" || !partOf(e.path, path) || !w.inside(s, q) {
			return false
		}
		t := partType(e.obj.typ, strings.Map(noFixed, path))
		return t == nil || types.Identical(t, w.site.typ)
	})
}

// overwrites clears the one place that pts is, and nobody else may store into: a goroutine that runs might,
// before or behind this. It is not that behind nil, which nobody reads or writes.
func (w *walker) overwrites(s *set, pts set) {
	pts = pts.clone()
	if pts.remove(zeroElem); !pts.one() {
		return
	}
	for id := range pts.all() {
		e := w.f.elems[id]
		if e.obj.kind == memObj && w.g.unique(w.f, e.obj) && !several(e.path) && !w.shared(s, id) {
			w.clear(s, e)
		}
	}
}

// fill marks an element and its parts as holding the resource.
func (w *walker) fill(s *set, id int) *set {
	if o := w.f.elems[id].obj; o.kind == memObj || o.kind == litObj {
		w.doubled(s, s, id)
		w.into(s, id)
	}
	return s
}

// doubled notes that an element gets what it, or another of the same container, had before.
func (w *walker) doubled(was, s *set, id int) {
	e := w.f.elems[id]
	there := func(q int) bool { return w.inside(was, q) && alike(w.f.elems[q].path, e.path) }
	if indexed(e.path) && slices.ContainsFunc(e.obj.ids, there) {
		s.add(w.id(markKey{kind: twice, n: e.obj.id}))
	}
}

// into marks an element and its parts, and who shares it.
func (w *walker) into(s *set, id int) {
	e := w.f.elems[id]
	for _, q := range e.obj.ids {
		if partOf(w.f.elems[q].path, e.path) {
			w.gets(s, q)
		}
	}
	w.gets(s, id)
	w.shares(s, id)
}

// gets marks an element. What other runs of the site made may have got it.
func (w *walker) gets(s *set, id int) {
	s.add(w.elemMark(id))
	if slices.Contains(w.own, w.f.elems[id].obj) {
		s.add(w.id(markKey{kind: anyRun}))
	}
}

// shares notes that goroutines which run can reach what an element got.
func (w *walker) shares(s *set, id int) {
	for _, sp := range w.g.spawns {
		if w.reached(s, sp, id) {
			s.add(w.id(markKey{kind: held, at: sp.at}))
			s.add(w.id(markKey{kind: left, at: sp.at}))
		}
	}
}

// shared reports whether a goroutine that runs can reach an element.
func (w *walker) shared(s *set, id int) bool {
	return slices.ContainsFunc(w.g.spawns, func(sp *spawn) bool { return w.reached(s, sp, id) })
}

func (w *walker) reached(s *set, sp *spawn, id int) bool {
	return sp.reaches.has(id) && w.has(s, markKey{kind: running, at: sp.at})
}

func (w *walker) clear(s *set, e elem) {
	for _, q := range e.obj.ids {
		if partOf(w.f.elems[q].path, e.path) {
			s.remove(2 * q)
		}
	}
}

// empties notes that elements of what v leads to may be zero from here on.
func (w *walker) empties(s *set, v ssa.Value) {
	if !w.zero || w.site != nil {
		return
	}
	for id := range w.f.reach(w.f.of(v)).all() {
		e := w.f.elems[id]
		if _, deletes := e.obj.at.(*ssa.MakeMap); e.obj.kind == memObj && indexed(e.path) && !deletes {
			s.add(w.elemMark(id))
		}
	}
}

// clears notes what may be zero behind a call.
func (w *walker) clears(k *call, s *set) {
	if !w.zero || w.site != nil {
		return
	}
	for n, a := range k.args {
		for id := range w.f.cleared(w.f.of(a), k.does[n]).all() {
			s.add(w.elemMark(id))
		}
	}
}

// part reports whether what a callee may give zero is a part of the resource, or of a place that has it
// and is no pointer: that makes it another one.
func (w *walker) part(s *set, v ssa.Value, p Param) bool {
	if w.site == nil {
		return false
	}
	pointer := false
	switch w.site.typ.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Map, *types.Chan, *types.Signature:
		pointer = true
	}
	return slices.ContainsFunc(p.Clears, func(path string) bool {
		return w.f.some(w.f.along(w.f.of(v), path), func(e elem) bool {
			return e.obj == w.site || !pointer && slices.ContainsFunc(e.obj.ids, func(q int) bool {
				return overlap(w.f.elems[q].path, e.path) && w.inside(s, q)
			})
		})
	})
}

// alloc makes memory, which is zero.
func (w *walker) alloc(s *set, i *ssa.Alloc) {
	o := w.f.made[key{i, 0}]
	if o == nil {
		return
	}
	if w.g.unique(w.f, o) {
		w.clear(s, elem{o, ""})
	}
	if w.zero && w.site == nil && !filled(i) {
		for _, q := range o.ids {
			s.add(w.elemMark(q))
		}
	}
	w.renewed(s, i)
}

// filled reports whether nobody sees that a variable is zero: it is stored right where it is made, before
// anything else is done to it, as what one iteration of a loop hands to the next is; of an array each element
// is, as arguments of a variadic function and elements of a literal are. A result that a recovered panic
// returns is seen whatever was stored by then.
func filled(i *ssa.Alloc) bool {
	if slices.ContainsFunc(*i.Referrers(), func(r ssa.Instruction) bool { return r.Block() == i.Parent().Recover }) {
		return false
	}
	array, ok := i.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
	set := map[int64]bool{}
	instrs := i.Block().Instrs
	for _, in := range instrs[slices.Index(instrs, ssa.Instruction(i))+1:] {
		if at, ok := in.(*ssa.IndexAddr); ok && at.X == ssa.Value(i) && onlyStored(at) {
			continue
		}
		if st, ok := in.(*ssa.Store); ok {
			if st.Addr == ssa.Value(i) && st.Val != ssa.Value(i) {
				return true
			}
			if at, ok := st.Addr.(*ssa.IndexAddr); ok && at.X == ssa.Value(i) {
				set[at.Index.(*ssa.Const).Int64()] = true
			}
		}
		if slices.ContainsFunc(in.Operands(nil), func(v *ssa.Value) bool { return *v == ssa.Value(i) }) {
			break
		}
	}
	return ok && int64(len(set)) == array.Len()
}

// onlyStored reports whether the address of a known element is there to store into it.
func onlyStored(at *ssa.IndexAddr) bool {
	_, known := at.Index.(*ssa.Const)
	return known && !slices.ContainsFunc(*at.Referrers(), func(r ssa.Instruction) bool {
		st, ok := r.(*ssa.Store)
		return !ok || st.Addr != ssa.Value(at)
	})
}

// mayGrow reports whether a slice of a slice may have elements that this one has not: they may be zero.
func mayGrow(i *ssa.Slice) bool {
	if _, ok := i.X.Type().Underlying().(*types.Slice); !ok || i.High == nil {
		return false
	}
	if n, ok := i.High.(*ssa.Const); ok {
		return n.Int64() > 0
	}
	less, ok := i.High.(*ssa.BinOp)
	if !ok || less.Op != token.SUB {
		return true
	}
	n, ok := less.X.(*ssa.Call)
	k, isConst := less.Y.(*ssa.Const)
	return !ok || !isConst || k.Int64() < 0 || n.Call.Value.Name() != "len" || n.Call.Args[0] != i.X
}

// renewed notes that the group which v makes is another one from here on: what runs in the
// old one can no longer be waited for.
func (w *walker) renewed(s *set, v ssa.Value) {
	for _, sp := range w.g.spawns {
		if sp.group.at == v && w.has(s, markKey{kind: running, at: sp.at}) {
			s.add(w.id(markKey{kind: lost, at: sp.at}))
		}
	}
}
