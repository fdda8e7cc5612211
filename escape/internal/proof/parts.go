package proof

// Results that lead to memory which was made for the caller: what a constructor returns. Each field is a
// part, with resources of its own, as if the function had returned them one by one.
//
// It is so if all that the result may lead to was allocated in the body, nobody else has it when the body is
// left, no other result leads there, and no resource is in two parts, or in a part and in something else that
// is returned. A part of which a view, or a number made of it, is in another part is not understood.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Part is a field of what a result leads to.
type Part struct {
	Path string
	Result
	Unknown bool // it may hold something that nobody knows
}

// partBase is above the numbers of results; parts are numbered from there on.
const partBase = 1 << 10

// partOfResult returns what is said of the n-th result, or of a part of one.
func (s *Summary) partOfResult(n int) Result {
	if n < partBase {
		return s.result(n)
	}
	if parts := s.result(n % partBase).Parts; n/partBase <= len(parts) {
		return parts[n/partBase-1].Result
	}
	return Result{}
}

// freshResult finds out whether result j leads to memory of the caller alone, and what its parts are.
func (c *checker) freshResult(g *graph, fn *ssa.Function, j int, res *Result) {
	f := g.f
	if g.strange() != "" {
		return
	}
	content := map[string]set{}
	var objs []*object
	for id := range f.rets[fn][j].all() {
		e := f.elems[id]
		if e.obj.kind == zeroObj {
			continue
		}
		if _, ok := e.obj.at.(*ssa.Alloc); e.obj.kind != memObj || e.path != "" || e.obj.escaped || !ok {
			return
		}
		for _, sp := range g.spawns {
			if slices.ContainsFunc(e.obj.ids, sp.reaches.has) {
				return
			}
		}
		objs = append(objs, e.obj)
		for _, q := range e.obj.ids {
			s := content[f.elems[q].path]
			s.union(f.content[q])
			content[f.elems[q].path] = s
		}
	}
	parts, sites := f.sorted(content)
	if len(objs) == 0 || parts == nil {
		return
	}
	for k, r := range f.rets[fn] {
		for id := range f.reach(r).all() {
			o := f.elems[id].obj
			if _, part := sites[o]; k != j && (part || slices.Contains(objs, o)) {
				return
			}
		}
	}
	zero := Result{}
	c.zeros(g, fn, nil, nil, itIs(j), &zero)
	for n := range parts {
		p := &parts[n]
		var own []*object
		for _, o := range f.objs {
			if at, ok := sites[o]; ok && at == p.Path {
				own = append(own, o)
			}
		}
		if len(own) == 0 {
			continue
		}
		in := func(w *walker, s *set, i *ssa.Return) bool {
			return w.loaded(s, f.inside(f.of(i.Results[j]), p.Path))
		}
		if c.ownedAt(g, fn, own, in, in, &p.Result); !p.Owned {
			return
		}
	}
	*res = Result{Fresh: true, Parts: parts, Zero: zero.Zero, OK: zero.OK, Known: true}
}

// mayBeFresh reports whether result j is a pointer to a struct, of memory of the family.
func (f *family) mayBeFresh(j int) bool {
	p, ok := f.root.Signature.Results().At(j).Type().Underlying().(*types.Pointer)
	if !ok || !isStruct(p.Elem()) {
		return false
	}
	some := false
	return !f.some(f.rets[f.root][j], func(e elem) bool {
		some = some || e.obj.kind == memObj
		return e.obj.escaped || e.obj.kind != memObj && e.obj.kind != zeroObj
	}) && some
}

func isStruct(t types.Type) bool { _, ok := t.Underlying().(*types.Struct); return ok }

// sorted makes parts of what fields hold, and says in which each site is; nil if that is not understood.
func (f *family) sorted(content map[string]set) (parts []Part, sites map[*object]string) {
	sites = map[*object]string{}
	paths := make([]string, 0, len(content))
	for path := range content {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		p := Part{Path: path, Result: Result{Known: true}}
		for id := range f.reach(content[path]).all() {
			e := f.elems[id]
			alone := sites[e.obj] == "" && content[path].has(id) // no other part has it
			switch {
			case alone && e.resource() && path != "" && !indexed(path):
				sites[e.obj] = path
			case e.obj.kind == siteObj:
				return nil, nil
			case e.obj.kind == paramObj:
				if k := e.obj.index; !slices.Contains(p.Derived, k) {
					p.Derived = append(p.Derived, k)
				}
			case e.obj.kind != zeroObj:
				p.Unknown = true
			}
		}
		if path == "" && (p.Unknown || len(p.Derived) > 0) {
			return nil, nil
		}
		parts = append(parts, p)
	}
	for o := range sites { // of one that is viewed by something in the same memory
		for _, s := range content {
			for _, q := range o.ids {
				if s.has(q) && f.elems[q].path != "" {
					return nil, nil
				}
			}
		}
	}
	return parts, sites
}

// fresh makes the memory that a result leads to, with its parts.
func (f *family) fresh(k *call, j int, r Result) set {
	o := f.object(key{k.v, j}, memObj, k.resultType(j))
	out := single(f.elem(o, ""))
	f.put(f.elem(o, ""), set{1 << zeroElem})
	for n, p := range r.Parts {
		s := set{1 << zeroElem}
		if p.Owned {
			s.union(single(f.elem(f.object(key{k.v, (n+1)*partBase + j}, siteObj, fieldType(o.typ, p.Path)), "")))
		}
		if p.Unknown {
			s.add(unknownElem)
		}
		for _, a := range p.Derived {
			s.union(f.of(k.args[a]))
			s.union(f.lentParts(f.of(k.args[a])))
		}
		f.put(f.elem(o, p.Path), s)
	}
	if r.Zero || k.at.Common().Signature().Results().Len() > 1 {
		out.add(zeroElem)
	}
	return out
}

// fieldType returns the type of a field of what t points to.
func fieldType(t types.Type, path string) types.Type {
	t = t.Underlying().(*types.Pointer).Elem()
	for _, r := range path {
		t = t.Underlying().(*types.Struct).Field(int(r - 0x100)).Type()
	}
	return t
}

// renew lets a call make the memory that a result leads to: it is another one, in which parts of operands may
// be.
func (w *walker) renew(k *call, v *ssa.Call, j int, r Result, s *set) *set {
	o := w.f.made[key{v, j}]
	if o == nil || o.kind != memObj {
		return s
	}
	if w.g.unique(w.f, o) {
		w.clear(s, elem{o, ""})
	}
	owned := map[string]bool{}
	for _, p := range r.Parts {
		owned[p.Path] = p.Owned
		if !w.zero && slices.ContainsFunc(p.Derived, func(a int) bool { return w.touched(s, k.args[a]) }) {
			s = w.fill(s, w.f.elem(o, p.Path))
		}
	}
	if w.zero && w.site == nil {
		for _, q := range o.ids {
			if path := w.f.elems[q].path; path != "" && !owned[path] {
				s.add(w.elemMark(q))
			}
		}
	}
	return s
}

// makes puts the resource that is followed where its site makes it: into a register, or into a part.
func (w *walker) makes(v *ssa.Call, s *set) *set {
	n := w.site.index
	if n < partBase {
		w.set(s, v, n, true)
		return s
	}
	o := w.f.made[key{v, n % partBase}]
	r := w.g.calls[v].sum.result(n % partBase)
	return w.fill(s, w.f.elem(o, r.Parts[n/partBase-1].Path))
}
