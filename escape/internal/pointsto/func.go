package pointsto

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// A Site is a place of making. It has two tokens: what it made last, and what it made before that.
type Site struct {
	N     int
	Value ssa.Value // what it makes: a call, a result of one, or a parameter
	Param int       // index of the parameter, behind them of the captured variable; -1 for what is made here
	Unless
	Part  string      // of the parameter, or of the result of the call: a path; "": all of it
	With  []ssa.Value // what goes with it when it is freed
	Lends bool        // a function that the literal is given gets it while it runs
	Begun bool        // it is put together here
	Parts bool        // somebody may have a part of it, with a reference of his own
	Given []*Site     // of collections that it is put into
	Holes bool        // elements of it may be nothing
	Moves []Act       // by which it leaves, in no order
}

// An Unless says when a site makes nothing.
type Unless struct {
	Error ssa.Value // if it is not nil; may be nil
	OK    ssa.Value // if it is false; may be nil
	Nil   bool      // perhaps, whatever these are
}

// Pos returns where the site is in the source.
func (s *Site) Pos() token.Pos {
	v := memory.RootOf(s.Value)
	if p := s.Handed(); p != nil {
		return calls.RangePos(p)
	}
	if e, ok := v.(*ssa.Extract); ok {
		return e.Tuple.Pos()
	}
	return v.Pos()
}

// Does returns what an act does to what the site makes, to which its operand is related. Who gives a literal
// the function that gets it must know what that is, which is what the literal captures, or is given. What
// the body of a range over a function defers comes behind all turns: what they have in common is not freed
// before. What is put together here is given its fields. Who keeps a part that is counted takes a reference.
func (s *Site) Does(a Act, as Relation) Entry {
	if s.Begun && fills(a, as) || a.Counts && as == View {
		return Entry{Do: Use}
	}
	if a.Lends && s.Param < 0 || a.Op == Later && s.Param >= 0 && memory.IsBody(a.Instr.Parent()) {
		return Entry{Do: Move}
	}
	return Does(a.Op, as)
}

// A Hold says what a value may be to what a site makes.
type Hold struct {
	Site *Site
	As   Relation
}

// A Func is a function, and what its values may hold.
type Func struct {
	*memory.Func
	Sites  []*Site
	Groups []*Group
	Steps  int // the work done: uses that were followed
	holds  map[ssa.Value][]Hold
	made   map[ssa.Value]*Site
	closed map[ssa.Value]bool               // see isClosed
	put    map[ssa.Value][]*memory.Assigned // by slot
	intake map[ssa.Instruction][]put        // into collections
	parent map[ssa.Value]ssa.Value          // see MadeOf
}

// Solve finds what the values of a function may hold.
func Solve(in *memory.Input, fn *ssa.Function) *Func {
	f := &Func{Func: memory.New(in, fn), holds: map[ssa.Value][]Hold{}, made: map[ssa.Value]*Site{},
		closed: map[ssa.Value]bool{}, put: map[ssa.Value][]*memory.Assigned{},
		intake: map[ssa.Instruction][]put{}, parent: map[ssa.Value]ssa.Value{}}
	f.FindLoops()
	f.find()
	f.findCollections()
	f.findTurns()
	if len(f.Sites) > 0 {
		f.follow()
	}
	return f
}

// Holds lists what a value may hold, whatever the path.
func (f *Func) Holds(v ssa.Value) []Hold { return f.holds[v] }

// May reports whether a value may hold what a site makes, whatever the path.
func (f *Func) May(v ssa.Value, s *Site) bool {
	return slices.ContainsFunc(f.holds[v], func(h Hold) bool { return h.Site == s })
}

// Freed reports whether something frees what a site makes, or will.
func (f *Func) Freed(s *Site) bool {
	for v, list := range f.holds {
		for _, h := range list {
			if h.Site == s && slices.ContainsFunc(f.Users(v), func(i ssa.Instruction) bool {
				return slices.ContainsFunc(f.Acts(i, v), func(a Act) bool {
					do := s.Does(a, h.As).Do
					return do == End || do == Pend
				})
			}) {
				return true
			}
		}
	}
	return false
}

// most bounds the sites that one value may hold: work grows with their product.
const most = 64

// find fills Sites.
func (f *Func) find() {
	handed := f.handed()
	for k, p := range f.SSA.Params {
		if f.In.Owns(p.Type()) && !f.Objects[p] {
			s := &Site{Value: p, Param: k}
			if f.site(s); handed.Of>>k&1 == 1 {
				s.Param, s.Nil = -1, handed.Nil>>k&1 == 1
				if last := f.SSA.Params[len(f.SSA.Params)-1]; last != p && effect.IsError(last.Type()) {
					s.Error = last
				}
			}
			continue
		}
		for _, part := range f.Fields(p) {
			f.site(&Site{Value: part, Param: k, Part: part.Text()})
		}
	}
	for k, v := range f.SSA.FreeVars {
		if f.IsSlot(v) && f.isClosed(v) {
			f.site(&Site{Value: v, Param: len(f.SSA.Params) + k})
		}
	}
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			if a, ok := i.(*ssa.Alloc); ok && f.Begins(a) {
				f.site(&Site{Value: a, Param: -1, Begun: true})
			}
			c, ok := i.(*ssa.Call)
			if !ok || f.In.IR.Marks(i) {
				continue
			}
			if _, ok := c.Call.Value.(*ssa.Builtin); ok {
				continue
			}
			f.findMade(c)
			f.findPut(c)
		}
	}
}

// findMade adds a site for each result of a call that is owned, and for each part of one that is.
func (f *Func) findMade(c *ssa.Call) {
	s := f.Summary(&c.Call)
	last := memory.Result(c, len(s.Results)-1)
	for k, r := range s.Results {
		v := memory.Result(c, k)
		if v == nil {
			v = &memory.Dropped{Call: c, N: k}
			f.Objects[v] = f.HasParts(v)
		}
		add := func(v ssa.Value, part string, r effect.Result) {
			if v == nil || r.Owned.Cond != effect.Always && r.Owned.Cond != effect.OnTrue {
				return
			}
			site := &Site{Value: v, Param: -1, Part: part, Unless: Unless{Nil: r.Nil}, Holes: r.Holes, With: f.adopted(&c.Call, s)}
			switch {
			case r.Error:
			case effect.HasError(c.Call.Signature()):
				site.Error = last
				site.Nil = site.Nil || last == nil
			case r.Owned.Cond == effect.OnTrue:
				site.OK = last
				site.Nil = site.Nil || last == nil
			}
			f.site(site)
		}
		if f.TakenApart(v) { // one was made of these
			free := f.In.Frees.Parts(v.Type())
			for _, field := range f.Fields(v) {
				if nothing, freed := free[field.Text()]; freed {
					add(field, field.Text(), effect.Result{Owned: r.Owned, Nil: r.Nil || nothing, Holes: nothing && f.Collects(field)})
				}
			}
			continue
		}
		add(v, "", r)
		for _, p := range r.Parts {
			for _, field := range f.Fields(v) {
				if field.Text() == p.Path {
					add(field, p.Path, p.Is)
				}
			}
		}
	}
}

// findPut adds a site for each slot that a call of a literal gives something.
func (f *Func) findPut(c *ssa.Call) {
	for _, r := range f.RunsOf(c) {
		for _, v := range r.Literal.Bindings {
			if put := f.Puts(c, v); put != nil && f.IsSlot(v) && f.isClosed(v) {
				a := &memory.Assigned{Call: c, Slot: v, Put: *put}
				f.put[v] = append(f.put[v], a)
				f.site(&Site{Value: a, Param: -1, Unless: Unless{Nil: put.Nil}})
			}
		}
	}
}

func (f *Func) site(s *Site) {
	s.N = len(f.Sites)
	f.Sites = append(f.Sites, s)
	f.made[s.Value] = s
}

// follow finds which values may hold what the sites make, whatever the path, and puts
// sites that one value may hold into one group.
func (f *Func) follow() {
	parent := make([]int, len(f.Sites))
	for k := range parent {
		parent[k] = k
	}
	root := func(k int) int {
		for parent[k] != k {
			parent[k] = parent[parent[k]]
			k = parent[k]
		}
		return k
	}
	crowded := map[int]bool{}
	type item struct {
		v ssa.Value
		h Hold
	}
	var open []item
	var values []ssa.Value // in the order in which they are found
	add := func(v ssa.Value, h Hold) {
		if v == nil {
			return
		}
		list := f.holds[v]
		if len(list) > 0 {
			parent[root(h.Site.N)] = root(list[0].Site.N)
		} else {
			values = append(values, v)
		}
		for k := range list {
			if list[k].Site == h.Site {
				if list[k].As|h.As != list[k].As {
					list[k].As |= h.As
					open = append(open, item{v, list[k]})
				}
				return
			}
		}
		if len(list) >= most {
			crowded[h.Site.N] = true
			return
		}
		f.holds[v] = append(list, h)
		open = append(open, item{v, h})
	}
	drain := func() {
		for len(open) > 0 {
			it := open[len(open)-1]
			open = open[:len(open)-1]
			for _, m := range f.Formers(it.v) {
				f.Steps++
				add(m, it.h)
			}
			for _, i := range f.Users(it.v) {
				f.Steps++
				for _, a := range f.Acts(i, it.v) {
					f.noteMade(a)
					h, more := f.step(it.h, a)
					if more {
						parent[root(h.Site.N)] = root(it.h.Site.N)
						add(a.To, h)
					}
				}
			}
		}
	}
	for _, s := range f.Sites {
		f.begin(s, add)
		drain()
	}
	f.view(func() []ssa.Value { return values }, func(v ssa.Value, h Hold) {
		add(v, h)
		drain()
	})
	f.group(root, values, crowded)
}

// begin adds the values in which what a site makes begins.
func (f *Func) begin(s *Site, add func(ssa.Value, Hold)) {
	add(s.Value, Hold{s, Whole})
	for _, v := range s.With {
		as := View
		if f.IsNumber(v.Type()) {
			as = Number
		}
		add(v, Hold{s, as})
	}
	if c := s.Owning(); c != nil {
		for _, v := range c.Fresh {
			add(v, Hold{s, Whole})
		}
	}
}

// Call returns the call that makes it; nil for a parameter.
func (s *Site) Call() *ssa.CallCommon {
	if c := memory.CallOf(memory.RootOf(s.Value)); c != nil {
		return &c.Call
	}
	return nil
}

// step returns what an act makes of a hold, if that is anything, and notes what becomes of the site.
func (f *Func) step(h Hold, a Act) (Hold, bool) {
	switch e := h.Site.Does(a, h.As); e.Do {
	case Use:
		h.Site.Lends, h.Site.Parts = h.Site.Lends || a.Lends, h.Site.Parts || a.Counts && h.As == View
	case Derive:
		if a.When.Cond == effect.Maybe {
			e.As = Maybe
		}
		return Hold{h.Site, e.As}, true
	case Hand:
		c := f.made[a.Into]
		if a.Op == Turn {
			c = f.made[a.To]
		}
		if c != h.Site && !slices.Contains(h.Site.Given, c) {
			h.Site.Given = append(h.Site.Given, c)
		}
		return Hold{c, e.As}, true
	case Move:
		a.Fills = fills(a, h.As)
		h.Site.Moves = append(h.Site.Moves, a)
	}
	return Hold{}, false
}

// fills reports whether an act by which something leaves only gives something to what it leads to, or gives
// away a part of that: nobody else gets the handle.
func fills(a Act, as Relation) bool { return a.Fills || a.Op == Keep && as == View }
