package own

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/lift"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Group is sites that one value may hold, with all values that may hold them, solved alone
// where it is alive.
type Group struct {
	*pointsto.Group
	f      *Func
	index  map[ssa.Value]int   // of Values
	parts  map[ssa.Value][]int // fields among Values, by what they are part of
	holds  [][]held            // by value
	events map[int][]event     // by node, in order
	phis   map[int][]int       // by node: values that are phis of its block
	late   map[int]int         // values that are read when the function ends → the node from which on, or 0
	conds  []lift.Key
	lent   bool // see Early
	region *region
	sol    *solution
}

// held is a Hold with the index of its site in the group, and the index of its bits.
type held struct {
	site int
	as   pointsto.Relation
	bit  int // of the newest; the next is of older ones
}

// Why says why a group is not decided; "" if it is.
func (g *Group) Why() string {
	if g.Crowded {
		return "too many buffers meet in one variable"
	}
	return ""
}

type eventKind uint8

const (
	forget eventKind = iota // a condition is computed anew
	define                  // a value is computed anew
	act
	made  // by a site
	ended // what a value is given is read for the last time, until it is given more
	saved // a value is what a slot held before it is given something else
	set   // a call gives a slot what a site makes
	fresh // a collection is a new slice or map, act.To, or is given what a call makes
)

// An event is what matters to a group in a node.
type event struct {
	at   int // index of its instruction in the node
	kind eventKind
	n    int // of a condition, value or site
	act  pointsto.Act
	ends bool // of an act that frees: it is gone for whoever has it
}

// prepare lists what happens where.
func (g *Group) prepare() {
	g.late = map[int]int{}
	g.index, g.parts = map[ssa.Value]int{}, map[ssa.Value][]int{}
	local := map[int]int{} // of a site by its number: its index in Sites
	g.events, g.phis = map[int][]event{}, map[int][]int{}
	for k, s := range g.Sites {
		local[s.N] = k
	}
	bit := 0
	for k, v := range g.Values {
		g.index[v] = k
		if p, ok := v.(*memory.Field); ok {
			g.parts[p.Root] = append(g.parts[p.Root], k)
		}
		var list []held
		for _, h := range g.f.Holds(v) {
			list = append(list, held{local[h.Site.N], h.As, bit})
			bit += 2
		}
		g.holds = append(g.holds, list)
	}
	for k, v := range g.Values {
		var ends []pointsto.Act // when the function does
		if phi := memory.Phi(v); phi != nil {
			n, _, _ := g.f.Graph.Where(phi)
			g.phis[n] = append(g.phis[n], k)
		} else if n, at, ok := g.f.Where(v); ok {
			g.events[n] = append(g.events[n], event{at: at, kind: define, n: k})
		}
		switch d := v.(type) {
		case *memory.Deferred:
			g.late[k], _, _ = g.f.Graph.Where(d.Defer)
			ends = append(ends, pointsto.Act{Instr: d.Defer})
		case *memory.Running:
			for _, w := range d.Waits {
				n, at, _ := g.f.Graph.Where(w)
				g.events[n] = append(g.events[n], event{at: at, kind: ended, n: k})
			}
			if p := g.f.Graph.Panic; p >= 0 { // and nobody waits
				g.events[p] = append(g.events[p], event{kind: act, n: k, act: pointsto.Act{Op: pointsto.Keep, Of: v}})
			}
		case *memory.Former:
			n, at, _ := g.f.Graph.Where(d.At)
			g.events[n] = append(g.events[n], event{at: at, kind: saved, n: k})
		case *memory.Assigned, *memory.Filled:
			continue
		}
		for _, i := range g.f.Users(v) {
			n, at, _ := g.f.Graph.Where(i)
			acts := g.f.Acts(i, v)
			if phi, ok := i.(*ssa.Phi); ok {
				g.merged(phi, v, k, acts)
				continue
			}
			if g.f.Sets(i, v) {
				g.events[n] = append(g.events[n], event{at: at, kind: define, n: k})
			}
			for _, a := range acts {
				g.events[n] = append(g.events[n], event{at: at, kind: act, n: k, act: a,
					ends: (a.Op == pointsto.Free || a.Op == pointsto.Later) && g.f.Ends(a.Call, v)})
				if a.Op == pointsto.Await && a.To == nil || a.Op == pointsto.Last {
					g.late[k], ends = 0, append(ends, a)
				}
			}
		}
		g.atEnd(k, v, ends)
	}
	for k, s := range g.Sites {
		if n, at, ok := g.f.Where(s.Value); ok && s.Param < 0 && !s.Turns() {
			g.made(k, s, n, at)
		}
	}
}

// atEnd lists what deferred calls do to value number k when the function ends: they read it, or free it. Acts
// are those by which they are deferred.
func (g *Group) atEnd(k int, v ssa.Value, acts []pointsto.Act) {
	for _, a := range acts {
		n, _, _ := g.f.Graph.Where(a.Instr)
		for _, w := range g.f.Graph.Deferred {
			when := g.f.AtEnd(a.Instr, g.f.Graph.Nodes[w[0]].Block)
			if n != w[0] && !g.f.order.Reaches(n, w[0]) || when == effect.Never {
				continue
			}
			e := event{at: w[1], kind: act, n: k, act: pointsto.Act{Of: v}}
			g.events[w[0]] = append(g.events[w[0]], e)
			if a.Op != pointsto.Last {
				continue
			}
			e.act, e.ends = a, g.f.Ends(a.Call, v)
			e.act.Op, e.act.When.Cond = pointsto.Free, when
			g.events[w[0]] = append(g.events[w[0]], e)
		}
	}
}

// made lists where site number k, which is no parameter, makes something.
func (g *Group) made(k int, s *pointsto.Site, n, at int) {
	e := event{at: at, kind: made, n: k}
	if a, put := s.Value.(*memory.Assigned); put {
		e.kind, e.act = set, pointsto.Act{Instr: a.Call, When: a.When, Call: &a.Call.Call}
	}
	g.events[n] = append(g.events[n], e)
	if p, fills := s.Value.(*memory.Filled); fills { // at once
		g.events[n] = append(g.events[n], event{at: at, kind: fresh, n: k, act: g.f.Acts(p.Call, p)[0]})
	}
	if c := s.Owning(); c != nil {
		for _, v := range c.Fresh {
			n, at, _ := g.f.Graph.Where(v.(ssa.Instruction))
			g.events[n] = append(g.events[n], event{at: at, kind: fresh, n: k, act: pointsto.Act{To: v}})
		}
	}
}

// merged lists what becomes of value number k where paths meet, if it is not the merged value: what leads to
// it merges with other things, and is not followed from where the paths come.
func (g *Group) merged(phi *ssa.Phi, v ssa.Value, k int, acts []pointsto.Act) {
	for _, a := range acts {
		if a.Op != pointsto.Keep {
			continue
		}
		g.phiUses(phi, v, func(pred int) {
			at := len(g.f.Graph.Nodes[pred].Instrs) - 1
			g.events[pred] = append(g.events[pred], event{at: at, kind: act, n: k, act: a})
		})
	}
}

// sortEvents puts events in order: at one instruction, conditions are forgotten first, what slots held is
// saved, and values are forgotten; operands are read before they are freed or kept, and what is derived of
// them is there before; last comes what is made.
func (g *Group) sortEvents() {
	rank := func(e event) int {
		into := e.act.Into // if that grows, what is put in comes behind
		if e.kind == act && (e.act.Op == pointsto.Free || e.act.Op == pointsto.Keep || e.act.Op == pointsto.Later ||
			e.act.Op == pointsto.Put && (into == nil || !into.Has(g.Values[e.n]))) {
			return int(act)*2 + 1
		}
		if e.kind == saved {
			return int(forget)*2 + 1
		}
		return int(e.kind) * 2
	}
	for _, list := range g.events {
		slices.SortStableFunc(list, func(a, b event) int {
			if a.at != b.at {
				return a.at - b.at
			}
			return rank(a) - rank(b)
		})
	}
}
