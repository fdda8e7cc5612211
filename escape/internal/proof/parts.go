package proof

// Results that lead to memory which was made for the caller: what a constructor returns. Each field is a
// part, and so are the elements of a slice together, with resources of their own, as if the function had
// returned them one by one.
//
// It is so if all that the result may lead to was allocated in the body, nobody else has it when the body is
// left, no other result leads there, and no resource is in two parts, or in a part and in something else that
// is returned. A part of which a view, or a number made of it, is in another part is not understood.
//
// What a field leads to, most often a slice, is memory of the caller's under the same conditions, if nothing
// else in the result leads there; what an element leads to is if no two lead to the same. Elements
// are one part, which stands for many resources; the walk follows any one of them. None is there twice: a
// walk with each sees it put there once. Those behind the end of a slice of it are there as well.
//
// A struct that is returned by value is such memory, too: what it was loaded from right where it is returned,
// in the body, and for the caller memory that is read where a field of it is taken, or where it is stored.

import (
	"go/token"
	"go/types"
	"iter"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Part is a field of what a result leads to, or its elements; behind says that a field leads there.
type Part struct {
	Path    string
	Result       // of one that leads to such memory, Fresh says so
	Unknown bool // it may hold something that nobody knows
}

// partBase is above the numbers of results; parts are numbered from there on.
const partBase = 1 << 10

// part returns what is said of what a site with a number makes of a result, or of an operand: all, or a part.
func (r Result) part(n int) Result {
	switch n /= partBase; {
	case n == 0:
		return r
	case n <= len(r.Parts):
		return r.Parts[n-1].Result
	}
	return Result{}
}

// returned returns the memory to which result j leads, or of which it is a struct that is loaded right where
// it is returned. It is false if a struct comes from elsewhere.
func (f *family) returned(j int) (all set, ok bool) {
	if !isStruct(f.root.Signature.Results().At(j).Type()) {
		return f.rets[f.root][j], true
	}
	for i := range instrsOf(f.root) {
		r, is := i.(*ssa.Return)
		if !is {
			continue
		}
		at, ok := structOf(r, j)
		if !ok {
			return nil, false
		}
		if at != nil {
			all.union(f.of(at))
		}
	}
	return all, true
}

// structOf returns the address of the struct that is result j of a return, nil if it is the constant zero.
func structOf(r *ssa.Return, j int) (ssa.Value, bool) {
	if c, ok := r.Results[j].(*ssa.Const); ok {
		return nil, c.Value == nil
	}
	load, ok := r.Results[j].(*ssa.UnOp)
	if !ok || load.Op != token.MUL || load.Block() != r.Block() {
		return nil, false
	}
	between := r.Block().Instrs[indexIn(r.Block(), load)+1 : indexIn(r.Block(), r)]
	return load.X, !slices.ContainsFunc(between, acts)
}

// inResult says whether a part of result j may be what a walk follows.
func (f *family) inResult(j int, path string) inReturn {
	return func(w *walker, s *set, p phase, i *ssa.Return) bool {
		v := i.Results[j]
		if isStruct(v.Type()) {
			if v, _ = structOf(i, j); v == nil {
				return w.zero
			}
		} else if w.nilAt(v, i, p) == yes {
			return false
		}
		return w.loaded(s, v, f.along(f.of(v), path))
	}
}

// freshResult finds out whether result j leads to memory of the caller alone, and what its parts are.
func (c *checker) freshResult(g *graph, fn *ssa.Function, j int, res *Result) {
	f := g.f
	if g.strange() != "" {
		return
	}
	content := contents{in: map[string]set{}, at: map[*object]string{}}
	from, ok := f.returned(j)
	if !ok || !g.gather(from, "", &content) {
		return
	}
	parts, sites := f.sorted(content)
	if len(content.at) == 0 || parts == nil {
		return
	}
	for _, p := range parts { // also of memory into which nothing is put there: it is zero
		f.along(from, p.Path)
	}
	for k, r := range f.rets[fn] {
		for id := range f.reach(r).all() {
			o := f.elems[id].obj
			_, part := sites[o]
			if _, memory := content.at[o]; k != j && (part || memory) {
				return
			}
		}
	}
	zero := Result{}
	if !isStruct(fn.Signature.Results().At(j).Type()) {
		c.zeros(g, fn, nil, nil, itIs(j), &zero)
	}
	for n := range parts {
		p := &parts[n]
		var own []*object
		for _, o := range f.objs {
			if at, ok := sites[o]; ok && at == p.Path {
				own = append(own, o)
			}
		}
		in := f.inResult(j, p.Path)
		if _, leads := content.in[p.Path+behind]; leads {
			p.Fresh = true
			c.zeros(g, fn, nil, nil, in, &p.Result)
		}
		if len(own) == 0 {
			f.readPart(p, content.at)
			continue
		}
		t := partType(fn.Signature.Results().At(j).Type(), p.Path)
		if t == nil || slices.ContainsFunc(own, func(o *object) bool { return !f.freedAs(o, t) }) {
			return
		}
		if c.ownedAt(g, fn, own, in, in, &p.Result); !p.Owned {
			return
		}
	}
	*res = Result{Fresh: true, Parts: parts, Zero: zero.Zero, OK: zero.OK, Known: true}
}

// contents is what memory that a result leads to holds, by path, and the path to it.
type contents struct {
	in map[string]set
	at map[*object]string
}

// gather notes what the memory holds that s leads to; false: it is not the caller's alone, or not understood.
func (g *graph) gather(s set, path string, c *contents) bool {
	f := g.f
	for id := range s.all() {
		e := f.elems[id]
		if e.obj.kind == zeroObj {
			continue
		}
		if at, seen := c.at[e.obj]; !g.begins(e) || seen && at != path {
			return false
		}
		for _, sp := range g.spawns {
			if slices.ContainsFunc(e.obj.ids, sp.reaches.has) {
				return false
			}
		}
		c.at[e.obj] = path
		for _, q := range e.obj.ids {
			at := path + strings.Map(noFixed, f.elems[q].path)
			in := c.in[at]
			in.union(f.content[q])
			c.in[at] = in
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.in)) {
		leads := false
		for id := range f.reach(c.in[at]).all() {
			leads = leads || f.elems[id].obj.kind == siteObj && !c.in[at].has(id)
		}
		_, seen := c.in[at+behind]
		on := path == "" && at != "" && !indexed(at) || strings.HasSuffix(at, index) && !g.repeats(c.in[at])
		if leads && on && !seen && !g.gather(c.in[at], at+behind, c) {
			return false
		}
	}
	return true
}

// begins reports whether e is the beginning of memory that the body made.
func (g *graph) begins(e elem) bool {
	switch at := e.obj.at.(type) {
	case *ssa.Alloc, *ssa.MakeSlice:
	case *ssa.Call:
		k := g.calls[at]
		if k == nil || k.builtin != "append" && !k.grows() && !k.sum.result(e.obj.index%partBase).Fresh {
			return false
		}
	default:
		return false
	}
	return e.obj.kind == memObj && e.path == "" && !e.obj.escaped
}

// mayBeFresh reports whether result j is a slice, a struct, or a pointer to one, of memory of the family.
func (f *family) mayBeFresh(j int) bool {
	switch t := f.root.Signature.Results().At(j).Type().Underlying().(type) {
	case *types.Slice, *types.Struct:
	case *types.Pointer:
		if !isStruct(t.Elem()) {
			return false
		}
	default:
		return false
	}
	some := false
	from, ok := f.returned(j)
	return ok && !f.some(from, func(e elem) bool {
		some = some || e.obj.kind == memObj
		return e.obj.escaped || e.obj.kind != memObj && e.obj.kind != zeroObj
	}) && some
}

func isStruct(t types.Type) bool { _, ok := t.Underlying().(*types.Struct); return ok }

// sorted makes parts of what is in memory, and says in which each site is; nil if that is not understood.
func (f *family) sorted(c contents) (parts []Part, sites map[*object]string) {
	sites = map[*object]string{}
	for _, path := range slices.Sorted(maps.Keys(c.in)) {
		p := Part{Path: path, Result: Result{Known: true}}
		whole := path == "" || strings.HasSuffix(path, behind)
		_, leads := c.in[path+behind]
		in := f.reach(c.in[path])
		if leads {
			in = c.in[path]
		}
		for id := range in.all() {
			e := f.elems[id]
			alone := sites[e.obj] == "" && c.in[path].has(id) // no other part has it
			switch {
			case alone && e.resource() && !whole && !strings.Contains(path, anywhere):
				sites[e.obj] = path
			case e.obj.kind == siteObj:
				return nil, nil
			case e.obj.kind == paramObj:
				p.derives(e)
			case e.obj.kind != zeroObj && !leads:
				p.Unknown = true
			}
		}
		if whole && (p.Unknown || len(p.Derived) > 0) {
			return nil, nil
		}
		parts = append(parts, p)
	}
	for o := range sites { // of one that is viewed by something in the same memory
		for _, s := range c.in {
			for _, q := range o.ids {
				if s.has(q) && f.elems[q].path != "" {
					return nil, nil
				}
			}
		}
	}
	return parts, sites
}

// along returns what is reached from what s leads to along the path of a part.
func (f *family) along(s set, path string) set {
	for n, step := range strings.Split(path, behind) {
		if n > 0 {
			s = f.load(s)
		}
		s = f.inside(s, step)
	}
	return s
}

// inParts returns what is in parts of what s leads to.
func (f *family) inParts(s set, paths []string) (out set) {
	for _, path := range paths {
		out.union(f.load(f.along(s, path)))
	}
	return out
}

// pointers returns the parts that are followed along a path and must not be nil.
func pointers(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n, r := range path {
			if string(r) == behind && !strings.HasPrefix(path[n:], behind+index) && !yield(path[:n]) {
				return
			}
		}
	}
}

// holder returns the memory in which a part of v is, an operand or result j of a call, and the path to it.
func (f *family) holder(v ssa.Value, j int, r Result, path string) (*object, string) {
	t := v.Type()
	if c, ok := v.(*ssa.Call); ok {
		t = c.Call.Signature().Results().At(j).Type()
	}
	last := strings.LastIndex(path, behind)
	if last < 0 {
		return f.object(key{v, j}, memObj, t), path
	}
	to, rest := path[:last], path[last+len(behind):]
	n := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Path == to })
	return f.object(key{v, (n+1)*partBase + j}, memObj, partType(t, to)), rest
}

// fresh makes the memory that a result of a call leads to, with its parts.
func (f *family) fresh(k *call, j int, r Result) set {
	out := f.memoryOf(k.v, j, r, func(p Part) (s set) {
		if p.Unknown {
			s.add(unknownElem)
		}
		for _, src := range f.sources(k, p.Result, nil) {
			if s.union(f.from(src)); src.how == lent {
				s.union(f.of(src.v))
			}
		}
		return s
	})
	if r.Zero || k.at.Common().Signature().Results().Len() > 1 {
		out.add(zeroElem)
	}
	return out
}

// memoryOf makes the memory that v leads to, an operand or result j of a call, with its parts; others says
// what a part may be that is not made with it.
func (f *family) memoryOf(v ssa.Value, j int, r Result, others func(Part) set) set {
	top, _ := f.holder(v, j, r, "")
	f.put(f.elem(top, ""), set{1 << zeroElem})
	for n, p := range r.Parts {
		o, path := f.holder(v, j, r, p.Path)
		s, own := set{1 << zeroElem}, key{v, (n+1)*partBase + j}
		switch {
		case p.Owned:
			s.union(single(f.elem(f.object(own, siteObj, partType(top.typ, p.Path)), "")))
		case f.made[own] != nil:
			s.union(single(f.elem(f.made[own], "")))
		}
		s.union(others(p))
		f.put(f.elem(o, path), s)
	}
	return single(f.elem(top, ""))
}

// partType returns the type of a part of what t leads to; nil if t does not say.
func partType(t types.Type, path string) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	for _, r := range path {
		if t == nil {
			break
		}
		step, n := string(r), int(r-0x100)
		switch u := t.Underlying().(type) {
		case *types.Map:
			if t = u.Elem(); step == keys {
				t = u.Key()
			}
		case *types.Struct:
			if t = nil; 0 <= n && n < u.NumFields() {
				t = u.Field(n).Type()
			}
		case interface{ Elem() types.Type }: // of a slice in a field, behind leads to its elements together
			if _, slice := u.(*types.Slice); !slice || step != behind {
				t = u.Elem()
			}
		default:
			t = nil
		}
	}
	return t
}

// renew lets the memory be made that v leads to, an operand or result j of a call: it is another one, in
// which parts that from says of may be what is followed.
func (w *walker) renew(v ssa.Value, j int, r Result, s *set, from func(Part) []source) *set {
	if o := w.f.made[key{v, j}]; o == nil || o.kind != memObj {
		return s
	}
	owned := map[int]bool{}
	var objs []*object
	for _, p := range r.Parts { // memory as a whole comes before its parts
		o, path := w.f.holder(v, j, r, p.Path)
		if path == "" {
			if objs = append(objs, o); w.g.unique(w.f, o) {
				w.clear(s, elem{o, ""})
			}
		}
		owned[w.f.elem(o, path)] = p.Owned || p.made()
		if !w.zero && slices.ContainsFunc(from(p), func(src source) bool { return w.comes(s, src) }) {
			s = w.fill(s, w.f.elem(o, path))
		}
	}
	for _, o := range objs {
		for _, q := range o.ids {
			if w.zero && w.site == nil && !owned[q] {
				s.add(w.elemMark(q))
			}
		}
	}
	return s
}

// makes puts the resource that is followed where its site makes it: into a register, or into a part of what v
// leads to, of which r is said.
func (w *walker) makes(v ssa.Value, r Result, s *set) *set {
	n := w.site.index
	if n < partBase {
		w.set(s, v, n, true)
		return s
	}
	o, path := w.f.holder(v, n%partBase, r, r.Parts[n/partBase-1].Path)
	s = w.fill(s, w.f.elem(o, path))
	w.g.marks.remove(s, markKey{kind: anyRun})
	w.leadsFrom(s, v, n%partBase, true)
	return s
}
