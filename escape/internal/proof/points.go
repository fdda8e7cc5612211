package proof

// The graph of locations of a family: what each register may lead to, without regard to
// order. An object is a place that is allocated, a resource, an operand of the function,
// a literal, the zero value, or all that is unknown. A pointer leads to an element of an
// object: the object itself, a field of it by path, or the elements of a slice, an array
// or a map together. What is in an element is a set of elements again.
//
// No edge is dropped because of a type, but that of elements which are data (dataIn): a number made of an
// address is that address.

import (
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

type objKind uint8

const (
	unknownObj objKind = iota // what others have
	zeroObj                   // nil, or the zero value
	memObj                    // memory of this family
	siteObj                   // a resource made here
	paramObj                  // an operand of the root
	litObj                    // a literal, with what it captures
)

type object struct {
	word
	id      int
	kind    objKind
	at      ssa.Value // that allocates it, or the call that makes it
	index   int       // of a result, of an operand
	typ     types.Type
	escaped bool          // unknown code may reach it
	called  bool          // a litObj that a callee may call as it likes
	data    bool          // a siteObj whose handle may be made of numbers: see isData
	fn      *ssa.Function // of a litObj
	ids     []int         // of its elements
	closure int           // the last one that it is in
}

// A word is what lines say of a siteObj that is an interface.
type word struct {
	vouched bool // its methods do what embedded lines say of its interface
	bare    bool // where nothing was made it is nil, and no nil pointer in an interface
}

// An elem is a part of an object; paths.go says how it is named.
type elem struct {
	obj  *object
	path string
}

// resource reports whether e is a resource, and no part of one.
func (e elem) resource() bool { return e.obj.kind == siteObj && e.path == "" }

// A key is a register, or one of a tuple of registers.
type key struct {
	v ssa.Value
	i int
}

// A family is a function and all literals in it; a method value is one.
type family struct {
	c       *checker
	root    *ssa.Function
	fns     []*ssa.Function
	member  map[*ssa.Function]bool
	changed bool
	params  []Param // what is done to operands of the root, as found so far
	tooBig  bool
	theirs  mask           // operands of the root that are taken for what their library made
	asked   mask           // those of which it would matter
	handing *ssa.Parameter // an operand of the root that is taken for a function which only borrows
	entries map[ssa.Instruction]*entry
	locations
}

// locations are the objects of a family, their elements, and what leads to which.
type locations struct {
	objs    []*object
	elems   []elem
	elemID  map[elem]int
	made    map[key]*object
	vals    map[key]*set
	olds    map[*object]bool     // see older
	content []set                // by element
	owns    map[ssa.Value]Result // operands of literals that a call hands what it made
	rets    map[*ssa.Function][]set

	closures int // counts calls of closure
}

const (
	unknownElem = 0
	zeroElem    = 1

	maxInstrs = 20000
	maxElems  = 20000
	maxRounds = 60
	maxPath   = 6
	maxParts  = 100
)

// newFamily collects the functions of a family and finds what leads where, if some operands of the root are
// taken for their library's, and one perhaps for a function which only borrows.
func (c *checker) newFamily(root *ssa.Function, theirs mask, handing *ssa.Parameter) *family {
	f := &family{c: c, root: root, theirs: theirs, handing: handing, member: map[*ssa.Function]bool{},
		entries: map[ssa.Instruction]*entry{}, locations: locations{elemID: map[elem]int{},
			made: map[key]*object{}, vals: map[key]*set{}, rets: map[*ssa.Function][]set{}, owns: map[ssa.Value]Result{}}}
	var collect func(fn *ssa.Function)
	collect = func(fn *ssa.Function) {
		f.fns = append(f.fns, fn)
		f.member[fn] = true
		for i := range instrsOf(fn) { // a method value is a literal that calls the method
			if c, ok := i.(*ssa.MakeClosure); ok && isBound(c) && !f.member[c.Fn.(*ssa.Function)] {
				collect(c.Fn.(*ssa.Function))
			}
		}
		for _, a := range fn.AnonFuncs {
			collect(a)
		}
	}
	collect(root)
	f.elem(f.object(key{}, unknownObj, nil), "")
	f.elem(f.object(key{nil, 1}, zeroObj, nil), "")
	f.params = make([]Param, len(root.Params))
	total := 0
	for _, fn := range f.fns {
		f.rets[fn] = make([]set, fn.Signature.Results().Len())
		for _, b := range fn.Blocks {
			total += len(b.Instrs)
		}
	}
	if f.tooBig = total > maxInstrs; f.tooBig {
		return f
	}
	f.solve()
	return f
}

// instrs returns the instructions of a family, in order.
func (f *family) instrs() iter.Seq[ssa.Instruction] { return instrsOf(f.fns...) }

func instrsOf(fns ...*ssa.Function) iter.Seq[ssa.Instruction] {
	return func(yield func(ssa.Instruction) bool) {
		for _, fn := range fns {
			for _, b := range fn.Blocks {
				for _, i := range b.Instrs {
					if !yield(i) {
						return
					}
				}
			}
		}
	}
}

// isBound reports whether a closure is a method value whose method is known.
func isBound(c *ssa.MakeClosure) bool {
	fn := c.Fn.(*ssa.Function)
	return strings.HasSuffix(fn.Name(), "$bound") && len(fn.Blocks) > 0
}

func (f *family) object(k key, kind objKind, t types.Type) *object {
	if o := f.made[k]; o != nil {
		return o
	}
	o := &object{id: len(f.objs), kind: kind, at: k.v, index: k.i, typ: t}
	o.data = kind == siteObj && f.c.isData(t)
	f.objs = append(f.objs, o)
	f.made[k] = o
	return o
}

// solve applies all instructions until nothing changes.
func (f *family) solve() {
	var instrs []ssa.Instruction
	var entries []*entry
	for i := range f.instrs() {
		var e *entry
		switch i.(type) {
		case ssa.CallInstruction:
		case *ssa.DebugRef, *ssa.If, *ssa.Jump, *ssa.RunDefers:
			continue
		default:
			e = f.entry(i)
		}
		instrs, entries = append(instrs, i), append(entries, e)
	}
	for round := 0; ; round++ {
		f.changed = false
		for n, i := range instrs {
			if e := entries[n]; e != nil {
				f.apply(i, e)
			} else {
				f.call(callOf(i))
			}
		}
		for _, o := range f.objs {
			if o.escaped {
				f.spread(o)
			}
		}
		f.lendsMemory()
		if !f.changed {
			f.unread(instrs)
		}
		if f.tooBig || !f.changed {
			return
		}
		if round > maxRounds {
			f.tooBig = true
			return
		}
	}
}

// unread lets what is loaded, or what a call gives, be unknown where nothing was found that it may be: that
// is something which a rule has forgotten.
func (f *family) unread(instrs []ssa.Instruction) {
	for _, i := range instrs {
		switch v := i.(type) {
		case *ssa.Call:
			for j := range max(1, v.Call.Signature().Results().Len()) {
				if f.tuple(v, j).empty() {
					f.flow(v, j, set{1 << unknownElem})
				}
			}
		case *ssa.UnOp, *ssa.Lookup, *ssa.TypeAssert, *ssa.Next, *ssa.Field, *ssa.Index, *ssa.Extract, *ssa.Phi:
			if v := i.(ssa.Value); f.of(v).empty() {
				f.flow(v, 0, set{1 << unknownElem})
			}
		}
	}
}

// operands returns what an instruction reads.
func operands(i ssa.Instruction) iter.Seq[ssa.Value] {
	return func(yield func(ssa.Value) bool) {
		var ops [16]*ssa.Value
		for _, o := range i.Operands(ops[:0]) {
			if *o != nil && !yield(*o) {
				return
			}
		}
	}
}

// of returns what v may lead to.
func (f *family) of(v ssa.Value) set { return f.tuple(v, 0) }

func (f *family) tuple(v ssa.Value, i int) set {
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value == nil {
			return set{1 << zeroElem}
		}
		return set{1 << unknownElem}
	case *ssa.Global, *ssa.Builtin, *ssa.Function:
		return set{1 << unknownElem}
	case *ssa.Parameter:
		if v.Parent() == f.root {
			return single(f.elem(f.object(key{v, slices.Index(f.root.Params, v)}, paramObj, v.Type()), ""))
		}
	case *ssa.FreeVar:
		if v.Parent() == f.root {
			return set{1 << unknownElem}
		}
	}
	if s := f.vals[key{v, i}]; s != nil {
		return *s
	}
	return nil
}

func single(id int) set {
	var s set
	s.add(id)
	return s
}

// flow adds s to what v may lead to.
func (f *family) flow(v ssa.Value, i int, s set) {
	if s.empty() {
		return
	}
	k := key{v, i}
	if f.vals[k] == nil {
		f.vals[k] = new(set)
	}
	f.changed = f.vals[k].union(s) || f.changed
}

// put adds s to what is in an element.
func (f *family) put(id int, s set) {
	f.changed = f.content[id].union(s) || f.changed
}

// load returns what is in what s leads to.
func (f *family) load(s set) set {
	var out set
	for id := range s.all() {
		switch e := f.elems[id]; e.obj.kind {
		case unknownObj:
			out.add(unknownElem)
		case siteObj, paramObj:
			if n, ok := e.number(); ok {
				out.add(f.elem(n.obj, n.path))
			} else {
				out.union(f.partsOf(e.obj))
			}
		case memObj, litObj:
			for _, q := range e.obj.ids {
				p, c := f.elems[q].path, f.content[q]
				if !overlap(p, e.path) {
					continue
				}
				if t := partType(e.obj.typ, strings.Map(noFixed, p)); t != nil && p != e.path && partOf(e.path, p) {
					c = f.field(c, t, strings.TrimPrefix(e.path, p)) // a part of what is there
				}
				out.union(c)
			}
			if e.obj.escaped {
				out.add(unknownElem)
			}
		}
	}
	return out
}

// store puts s into what addr leads to; other: that may make a resource another one; functions: who has that
// may call functions which s leads to.
func (f *family) store(addr, s set, other, functions bool) {
	for id := range addr.all() {
		switch e := f.elems[id]; e.obj.kind {
		case unknownObj, siteObj:
			f.escape(s)
		case paramObj:
			f.params[e.obj.index].or(Param{Stores: other})
			if functions {
				f.giveTo(single(id), f.reach(s))
			}
			f.escape(s)
		case memObj, litObj:
			f.put(id, s)
		}
	}
}

// escape notes that unknown code may reach what s leads to.
func (f *family) escape(s set) {
	for e := range f.leads(s) {
		switch o := e.obj; o.kind {
		case memObj, litObj, siteObj: // of a resource, what it views
			f.changed = f.changed || !o.escaped
			o.escaped = true
		case paramObj:
			p, q := &f.params[o.index], Param{Keeps: true}
			if e.field() {
				q.Numbers = []string{e.path[len(derived):]}
			}
			f.changed = f.changed || !p.Keeps
			p.or(q)
		}
	}
}

// spread lets what an escaped object holds escape as well, and a literal run.
func (f *family) spread(o *object) {
	for _, id := range o.ids {
		f.escape(f.content[id])
	}
	if o.kind == memObj && len(o.ids) > 0 {
		f.put(o.ids[0], set{1 << unknownElem})
	}
	if o.kind == litObj {
		f.calledBack(o, set{1 << unknownElem}, nil)
	}
}

// calledBack notes that a literal may be called with args, and what it is handed, by somebody who may keep
// what it returns.
func (f *family) calledBack(o *object, args set, handed []Result) {
	if !f.member[o.fn] {
		return
	}
	f.changed = f.changed || !o.called
	o.called = true
	for n, p := range o.fn.Params {
		if n < len(handed) && (handed[n].Owned || handed[n].Fresh) {
			f.flow(p, 0, f.hand(p, handed[n], args))
		} else {
			f.flow(p, 0, args)
		}
	}
	for _, r := range f.rets[o.fn] {
		f.escape(r)
	}
}

// memory makes the object that v allocates.
func (f *family) memory(v ssa.Value) int {
	id := f.elem(f.object(key{v, 0}, memObj, v.Type()), "")
	f.flow(v, 0, single(id))
	return id
}

// family returns the graph of locations of a function.
func (c *checker) family(fn *ssa.Function) *family {
	if f := c.fams[fn]; f != nil {
		return f
	}
	f := c.newFamily(fn, 0, nil)
	c.fams[fn] = f
	return f
}
