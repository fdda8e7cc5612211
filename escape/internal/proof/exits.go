package proof

// Where functions begin and end, what is deferred up to there, and where literals return to.

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A chain is deferred calls in the order in which they run, from a RunDefers or a panic.
type chain struct {
	calls  []*ssa.Defer
	points []int
	to     int // point behind, -1 where a panic goes on
	fn     *ssa.Function
	again  bool // some are in loops: any order is possible
}

// A back is where a literal returns to.
type back struct {
	from   int // point of the call that runs it
	to     int
	result ssa.Value // the register that takes its results, nil if nobody does
	fn     *ssa.Function
	anyway bool // also if it panics: a callee may recover, and only a goroutine may have ended
}

// exits are the points where functions begin and end, and what runs at their ends.
type exits struct {
	enter  map[*ssa.Function]int
	leave  map[*ssa.Function]int
	panic  map[*ssa.Function]int
	chains map[ssa.Instruction][]int
	unwind map[*ssa.Function][]int
	back   map[*ssa.Function][]back
	defers map[*ssa.Function][]*ssa.Defer // by the function at whose end they run
}

// link makes the chains of deferred calls and notes where literals return to.
func (g *graph) link(fn *ssa.Function) {
	order := map[*ssa.BasicBlock]int{}
	for n, b := range postorder(fn) {
		order[b] = n
	}
	calls := slices.Clone(g.defers[fn])
	// The last registered runs first: on a path, that is the one which is first in postorder.
	slices.SortStableFunc(calls, func(a, b *ssa.Defer) int {
		if a.Block() == b.Block() {
			return indexIn(a.Block(), b) - indexIn(a.Block(), a)
		}
		return order[a.Block()] - order[b.Block()]
	})
	again := slices.ContainsFunc(calls, func(d *ssa.Defer) bool {
		return g.loops[d.Block()] || d.Parent() != fn
	})
	make := func(to int) []int {
		ch := &chain{calls: calls, to: to, fn: fn, again: again}
		for n := range len(calls) + 1 {
			ch.points = append(ch.points, g.point(point{kind: atChain, fn: fn, chain: ch, pos: n}))
		}
		return ch.points
	}
	g.unwind[fn] = make(-1)
	for _, b := range fn.Blocks {
		for n, i := range b.Instrs {
			at := g.firsts[b] + 2*n
			switch i.(type) {
			case *ssa.RunDefers:
				g.chains[i] = make(at + 2)
			case *ssa.Return:
				if g.leavesOut(fn) {
					g.chains[i] = make(g.leave[fn])
				}
			}
			k := g.calls[callOf(i)]
			if k == nil {
				continue
			}
			if _, ok := i.(*ssa.Defer); ok {
				continue // chains return themselves
			}
			for _, body := range k.bodies {
				r := back{from: at, to: at + 1, fn: fn, anyway: k.spawns}
				if !k.spawns {
					r.result = k.v
				}
				g.returns(body, r)
			}
			for _, body := range k.callbacks { // the callee goes on: see walker.call
				g.returns(body, back{from: at, to: at, fn: fn, anyway: body.Synthetic != yield})
			}
		}
	}
	for _, pts := range g.chains {
		g.chainBacks(g.points[pts[0]].chain, fn)
	}
	g.chainBacks(g.points[g.unwind[fn][0]].chain, fn)
}

func (g *graph) chainBacks(ch *chain, fn *ssa.Function) {
	if ch.fn != fn {
		return
	}
	for n, d := range ch.calls {
		k, at := g.calls[d], ch.points[n]
		for _, body := range k.bodies {
			g.returns(body, back{from: at, to: ch.points[n+1], fn: fn})
			if ch.again {
				g.returns(body, back{from: at, to: ch.points[0], fn: fn})
			}
		}
		for _, body := range k.callbacks {
			g.returns(body, back{from: at, to: at, fn: fn, anyway: body.Synthetic != yield})
		}
	}
}

// quiet are packages of the standard library of which no exported function calls recover itself.
var quiet = []string{"bufio", "context", "io", "net", "net/http", "os", "runtime", "sync", "time"}

// recovers reports whether a deferred call may end a panic: a function comes back from one only where a
// function that it deferred asks for the panic. Of literals it is seen whether they, or those in them, do;
// what is known to free and to do nothing else does not, unless it is seen to.
func (g *graph) recovers(ch *chain) bool {
	return slices.ContainsFunc(ch.calls, func(d *ssa.Defer) bool {
		k := g.calls[d]
		p := k.sum.param(0)
		frees := k.sum != nil && p.Frees && p.Silent && !k.sum.Recovers
		known := k.builtin != "" || len(k.bodies) > 0 || frees ||
			!d.Call.IsInvoke() && slices.Contains(quiet, pathOf(k.fn))
		return !known || k.builtin == "recover" || slices.ContainsFunc(k.bodies, recovers)
	})
}

// recovers reports whether a function, or one that stands in it, asks for a panic.
func recovers(fn *ssa.Function) bool {
	for i := range instrsOf(fn) {
		if k := callOf(i); k != nil {
			if b, ok := k.Common().Value.(*ssa.Builtin); ok && b.Name() == "recover" {
				return true
			}
		}
	}
	return fn.Synthetic != "" || slices.ContainsFunc(fn.AnonFuncs, recovers)
}

// returns notes where a literal returns to. The body of a range over a function ends the loop if it panics,
// though the callee may recover.
func (g *graph) returns(body *ssa.Function, b back) {
	g.back[body] = append(g.back[body], b)
	g.goesOn = g.goesOn || b.anyway
}
