package flow

import "slices"

// order returns the rank of each node in a weak topological order: components that are
// strongly connected in topological order, and in each its head first and the others so
// ordered without the head.
func order(next [][]arrow) []int {
	o := newOrderer(next)
	o.rankAll(o.all())
	return o.rank
}

func newOrderer(next [][]arrow) *orderer {
	return &orderer{next: next, rank: make([]int, len(next)), part: make([]int, len(next)),
		index: make([]int, len(next)), low: make([]int, len(next))}
}

func (o *orderer) all() []int {
	all := make([]int, len(o.next))
	for k := range all {
		all[k] = k
	}
	return all
}

// An Order says which nodes of a graph may be visited behind which.
type Order struct {
	part   []int // by node: the number of its component, which edges never lower
	circle []bool
}

// NewOrder returns the order of a graph.
func NewOrder(g *Graph) *Order {
	o := newOrderer(forward(g))
	all := o.all()
	comps := o.components(all)
	res := &Order{part: make([]int, len(all)), circle: make([]bool, len(comps))}
	for k, c := range comps {
		for _, n := range c {
			res.part[n] = len(comps) - 1 - k
		}
		res.circle[len(comps)-1-k] = len(c) > 1 || slices.Contains(g.Succs[c[0]], c[0])
	}
	return res
}

// Reaches reports whether b may be visited behind a. It may say so where it cannot be, if b
// stands behind a in the order, and never says no where it can.
func (o *Order) Reaches(a, b int) bool {
	return o.part[b] > o.part[a] || o.part[b] == o.part[a] && o.circle[o.part[a]]
}

// Together reports whether a and b are nodes of one circle.
func (o *Order) Together(a, b int) bool { return o.part[a] == o.part[b] && o.circle[o.part[a]] }

type orderer struct {
	next  [][]arrow
	rank  []int
	part  []int // the set of nodes that a node is in now; -1 once its component is known
	parts int
	count int // ranks given
	index []int
	low   []int
}

// rankAll ranks a set of nodes behind all that have a rank.
func (o *orderer) rankAll(nodes []int) {
	o.parts++
	for _, k := range nodes {
		o.part[k], o.index[k] = o.parts, 0
	}
	comps := o.components(nodes)
	slices.Reverse(comps)
	for _, c := range comps {
		head := slices.MinFunc(c, func(a, b int) int { return o.index[a] - o.index[b] })
		o.rank[head] = o.count
		o.count++
		if len(c) > 1 {
			rest := slices.DeleteFunc(c, func(k int) bool { return k == head })
			slices.SortFunc(rest, func(a, b int) int { return o.index[a] - o.index[b] })
			o.rankAll(rest)
		}
	}
}

// components returns the strongly connected components of a set of nodes, which are all
// of one part, each before those that lead to it. This is Tarjan's algorithm with a stack
// of its own: functions may have very many blocks.
func (o *orderer) components(nodes []int) [][]int {
	part := o.parts
	var comps [][]int
	var open []int
	type frame struct{ node, edge int }
	var stack []frame
	seen := 0
	enter := func(k int) {
		seen++
		o.index[k], o.low[k] = seen, seen
		open = append(open, k)
		stack = append(stack, frame{k, 0})
	}
	for _, root := range nodes {
		if o.index[root] != 0 {
			continue
		}
		for enter(root); len(stack) > 0; {
			f := &stack[len(stack)-1]
			k := f.node
			if f.edge < len(o.next[k]) {
				to := o.next[k][f.edge].to
				f.edge++
				if o.part[to] != part {
					continue
				}
				if o.index[to] == 0 {
					enter(to)
				} else {
					o.low[k] = min(o.low[k], o.index[to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				up := stack[len(stack)-1].node
				o.low[up] = min(o.low[up], o.low[k])
			}
			if o.low[k] == o.index[k] {
				at := len(open) - 1
				for open[at] != k {
					at--
				}
				comps = append(comps, slices.Clone(open[at:]))
				for _, c := range open[at:] {
					o.part[c] = -1
				}
				open = open[:at]
			}
		}
	}
	return comps
}
