// Package flow solves monotone problems over graphs. It knows nothing of programs.
//
// # Words
//
//   - A graph has numbered nodes; a node's edges out of it are numbered, too ([Graph]).
//   - A state is what is known at a point; states of one problem have a join, and grow
//     along it only finitely often.
//   - A problem says how a node and an edge change a state ([Problem]). Both must be
//     monotone: from more comes more, or as much.
//
// # The way through
//
// [Solve] visits nodes in a weak topological order of the graph, or of the graph turned
// round for a backward problem, and a node again when what flows into it has grown: always
// the first in the order that waits. In that order all of a loop stands before what is
// behind it, so a loop is settled before it is left, whichever way its branches are
// written. The order, and with it the work, depends on the graph and the problem alone.
// The result is the least solution, whatever the order.
//
// What no edge reaches has no state: [Result] says so.
package flow

import "container/heap"

// A Graph is a directed graph whose nodes are 0 … len(Succs)-1.
type Graph struct {
	Succs [][]int
}

// An Edge is the way out of a node that is number Out.
type Edge struct{ From, Out int }

// A Problem says how states change. Functions must not change the state that they get.
type Problem[S any] struct {
	Backward bool
	// Start lists nodes that states come into from outside: forward at their entry,
	// backward at their exit.
	Start map[int]S
	// Node returns what a state becomes in a node.
	Node func(n int, s S) S
	// Edge returns what a state becomes on an edge, and false if nothing flows along it.
	// It may be nil: all flows, unchanged.
	Edge func(e Edge, s S) (S, bool)
	// Join returns what covers both, and whether that is more than a.
	Join func(a, b S) (S, bool)
}

// A Result is a solution: states in the direction of the problem. A backward problem's In
// is at the exit of a node, and Out at its entry.
type Result[S any] struct {
	In, Out []S
	Reached []bool
	Steps   int // visits of nodes
}

// Solve returns the least solution.
func Solve[S any](g *Graph, p *Problem[S]) *Result[S] {
	n := len(g.Succs)
	r := &Result[S]{In: make([]S, n), Out: make([]S, n), Reached: make([]bool, n)}
	next := forward(g)
	if p.Backward {
		next = backward(g)
	}
	w := &work{rank: order(next), waits: make([]bool, n)}
	reach := func(k int, s S) {
		if !r.Reached[k] {
			r.Reached[k], r.In[k] = true, s
		} else if more, grown := p.Join(r.In[k], s); grown {
			r.In[k] = more
		} else {
			return
		}
		w.add(k)
	}
	for k := range n {
		if s, ok := p.Start[k]; ok {
			reach(k, s)
		}
	}
	for len(w.nodes) > 0 {
		k := heap.Pop(w).(int)
		w.waits[k] = false
		r.Steps++
		r.Out[k] = p.Node(k, r.In[k])
		for _, e := range next[k] {
			s, ok := r.Out[k], true
			if p.Edge != nil {
				s, ok = p.Edge(e.edge, s)
			}
			if ok {
				reach(e.to, s)
			}
		}
	}
	return r
}

// An arrow is an edge, and the node that states on it come to.
type arrow struct {
	edge Edge
	to   int
}

func forward(g *Graph) [][]arrow {
	next := make([][]arrow, len(g.Succs))
	for k, succs := range g.Succs {
		for i, s := range succs {
			next[k] = append(next[k], arrow{Edge{k, i}, s})
		}
	}
	return next
}

func backward(g *Graph) [][]arrow {
	next := make([][]arrow, len(g.Succs))
	for k, succs := range g.Succs {
		for i, s := range succs {
			next[s] = append(next[s], arrow{Edge{k, i}, k})
		}
	}
	return next
}

// work is the heap of nodes that wait, by rank.
type work struct {
	nodes []int
	rank  []int
	waits []bool
}

func (w *work) add(k int) {
	if !w.waits[k] {
		w.waits[k] = true
		heap.Push(w, k)
	}
}

func (w *work) Len() int           { return len(w.nodes) }
func (w *work) Less(i, j int) bool { return w.rank[w.nodes[i]] < w.rank[w.nodes[j]] }
func (w *work) Swap(i, j int)      { w.nodes[i], w.nodes[j] = w.nodes[j], w.nodes[i] }
func (w *work) Push(x any)         { w.nodes = append(w.nodes, x.(int)) }
func (w *work) Pop() any {
	k := w.nodes[len(w.nodes)-1]
	w.nodes = w.nodes[:len(w.nodes)-1]
	return k
}
