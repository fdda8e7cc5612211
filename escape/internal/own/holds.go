package own

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// An Input is what is known beside a function.
type Input struct {
	IR     *ir.Package
	Effect func(*ssa.CallCommon) *effect.Summary // what a call does; never nil
	Owns   func(types.Type) bool                 // whether variables of a type are to follow

	// Literal returns the summary of a literal, whose captured variables follow its
	// parameters; nil if it is not known.
	Literal func(*ssa.Function) *effect.Summary
}

// A Site is a place of making. It has two tokens: what it made last, and what it made
// before that.
type Site struct {
	N     int
	Value ssa.Value // what it makes: a call, a result of one, or a parameter
	Param int       // index of the parameter, behind them of the captured variable; -1 for a call
	Error ssa.Value // if it is not nil, nothing was made; may be nil
	Nil   bool      // it may make nothing
	Moves []Act     // by which it leaves, in no order
}

// Pos returns where the site is in the source.
func (s *Site) Pos() token.Pos {
	if e, ok := s.Value.(*ssa.Extract); ok {
		return e.Tuple.Pos()
	}
	return s.Value.Pos()
}

// A Hold says what a value may be to what a site makes.
type Hold struct {
	Site *Site
	As   Relation
}

// A Func is a function, and what its values may hold.
type Func struct {
	SSA    *ssa.Function
	Graph  *ir.Graph
	Sites  []*Site
	Groups []*Group
	in     *Input
	read   *reader
	holds  map[ssa.Value][]Hold
	order  *flow.Order
	made   map[ssa.Value]*Site
	tests  []test // by node
	steps  int
}

// most bounds the sites that one value may hold: work grows with their product.
const most = 64

// find fills Sites.
func (f *Func) find() {
	for k, p := range f.SSA.Params {
		if f.in.Owns(p.Type()) {
			f.site(&Site{Value: p, Param: k})
		}
	}
	for k, v := range f.SSA.FreeVars {
		if f.read.slot(v) && f.read.isClosed(v) {
			f.site(&Site{Value: v, Param: len(f.SSA.Params) + k})
		}
	}
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			c, ok := i.(*ssa.Call)
			if !ok || f.in.IR.Marks(i) {
				continue
			}
			if _, ok := c.Call.Value.(*ssa.Builtin); ok {
				continue
			}
			s := f.read.summary(&c.Call)
			for k, r := range s.Results {
				if r.Owned.Cond != effect.Always {
					continue
				}
				v := result(c, k)
				if v == nil {
					continue // no value has it, so no name ever will
				}
				site := &Site{Value: v, Param: -1, Nil: r.Nil}
				if sig := c.Call.Signature(); effect.HasError(sig) {
					site.Error = result(c, sig.Results().Len()-1)
					site.Nil = site.Nil || site.Error == nil
				}
				f.site(site)
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
	f.holds = map[ssa.Value][]Hold{}
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
	for _, s := range f.Sites {
		add(s.Value, Hold{s, Whole})
		for len(open) > 0 {
			it := open[len(open)-1]
			open = open[:len(open)-1]
			for _, i := range f.read.users(it.v) {
				f.steps++
				for _, a := range f.read.acts(i, it.v) {
					switch e := does(a.Op, it.h.As); e.do {
					case Derive:
						if a.When.Cond == effect.Maybe {
							e.as = Maybe
						}
						add(a.To, Hold{it.h.Site, e.as})
					case Move:
						it.h.Site.Moves = append(it.h.Site.Moves, a)
					}
				}
			}
		}
	}
	f.group(root, values, crowded)
}

// group makes the groups of sites that have one root.
func (f *Func) group(root func(site int) int, values []ssa.Value, crowded map[int]bool) {
	byRoot := map[int]*Group{}
	for _, s := range f.Sites {
		g := byRoot[root(s.N)]
		if g == nil {
			g = &Group{f: f}
			byRoot[root(s.N)] = g
			f.Groups = append(f.Groups, g)
		}
		g.Sites = append(g.Sites, s)
		g.crowded = g.crowded || crowded[s.N]
	}
	for _, v := range values {
		g := byRoot[root(f.holds[v][0].Site.N)]
		g.Values = append(g.Values, v)
	}
}

// Foreign reports whether a value may be something else than what the sites that it holds
// made, and than nil.
func (f *Func) Foreign(v ssa.Value) bool { return f.foreign(v, map[ssa.Value]bool{}) }

func (f *Func) foreign(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	if c, ok := v.(*ssa.Const); ok {
		return c.Value != nil
	}
	if len(f.holds[v]) == 0 {
		return true
	}
	if f.made[v] != nil {
		return false
	}
	switch i := v.(type) {
	case *ssa.Phi:
		for _, e := range i.Edges {
			if f.foreign(origin(e), seen) {
				return true
			}
		}
		return false
	case *ssa.ChangeType:
		return f.foreign(i.X, seen)
	case *ssa.UnOp:
		return !f.read.slot(i.X) || f.foreign(i.X, seen)
	case *ssa.Alloc:
		for _, u := range f.read.users(v) {
			if s, ok := u.(*ssa.Store); ok && s.Addr == v && f.foreign(origin(s.Val), seen) {
				return true
			}
		}
		return !f.read.slot(v)
	}
	var call *ssa.Call
	if e, ok := v.(*ssa.Extract); ok {
		call, _ = e.Tuple.(*ssa.Call)
	} else {
		call, _ = v.(*ssa.Call)
	}
	if call == nil {
		return true
	}
	for _, a := range operands(&call.Call) { // a result that is an operand
		if len(f.holds[origin(a)]) == 0 {
			continue
		}
		for _, act := range f.read.acts(call, origin(a)) {
			if act.Op == Copy && act.To == v && act.When.Cond == effect.Always {
				return f.foreign(origin(a), seen)
			}
		}
	}
	return true
}

// MayBeNil reports whether a value that holds what sites made may be nothing at all.
func (f *Func) MayBeNil(v ssa.Value) bool { return f.mayBeNil(v, map[ssa.Value]bool{}) }

func (f *Func) mayBeNil(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	if s := f.made[v]; s != nil {
		return s.Nil || s.Error != nil
	}
	switch i := v.(type) {
	case *ssa.Phi:
		for _, e := range i.Edges {
			if f.mayBeNil(origin(e), seen) {
				return true
			}
		}
		return false
	case *ssa.ChangeType:
		return f.mayBeNil(i.X, seen)
	}
	return true
}
