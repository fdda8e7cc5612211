package flow

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func union(a, b uint64) (uint64, bool) { return a | b, a|b != a }

// TestReachingDefinitions is a forward problem on a loop with a branch in it: node k makes
// bit k, and node 3 kills bit 1, which comes round another way.
func TestReachingDefinitions(t *testing.T) {
	g := &Graph{Succs: [][]int{{1}, {2, 5}, {3, 4}, {4}, {1}, nil, {5}}}
	r := Solve(g, &Problem[uint64]{
		Start: map[int]uint64{0: 0},
		Node: func(n int, s uint64) uint64 {
			if n == 3 {
				s &^= 1 << 1
			}
			return s | 1<<n
		},
		Join: union,
	})
	require.Equal(t, " 11111 11111 11111 11111 11111", bits(r.In[1:6]...))
	require.Equal(t, " 1 11111 11111 11101 11111 111111", bits(r.Out[:6]...))
	require.Equal(t, []bool{true, true, true, true, true, true, false}, r.Reached)
	require.Equal(t, 10, r.Steps, "what is in the loop twice, all else once")
}

func bits(s ...uint64) string {
	out := ""
	for _, b := range s {
		out += fmt.Sprintf(" %b", b)
	}
	return out
}

// TestLiveness is a backward problem: what node 0 sets, node 2 uses on one of two paths.
func TestLiveness(t *testing.T) {
	g := &Graph{Succs: [][]int{{1}, {2, 3}, {4}, {4}, nil}}
	r := Solve(g, &Problem[uint64]{
		Backward: true,
		Start:    map[int]uint64{4: 0},
		Node: func(n int, s uint64) uint64 {
			switch n {
			case 0:
				return 0
			case 2:
				return 1
			}
			return s
		},
		Join: union,
	})
	require.Equal(t, []uint64{0, 1, 1, 0, 0}, r.Out)
	require.Equal(t, []uint64{1, 1, 0, 0, 0}, r.In)
}

// TestEdges is a branch that tells: along edge 0 the lowest bit is known to be 0, along
// edge 1 nothing flows.
func TestEdges(t *testing.T) {
	g := &Graph{Succs: [][]int{{1, 2}, {2}, nil}}
	r := Solve(g, &Problem[uint64]{
		Start: map[int]uint64{0: 3},
		Node:  func(_ int, s uint64) uint64 { return s },
		Edge: func(e Edge, s uint64) (uint64, bool) {
			return s &^ 1, e != Edge{0, 1}
		},
		Join: union,
	})
	require.Equal(t, []uint64{3, 2, 2}, r.In)
}

// TestGrowth demands steps that grow with the nodes alone: in a chain, in diamonds one
// behind the other, and in loops one behind the other; loops in loops add their depth.
func TestGrowth(t *testing.T) {
	shapes := map[string]func(n int) *Graph{
		"chain": func(n int) *Graph {
			g := &Graph{Succs: make([][]int, n)}
			for k := range n - 1 {
				g.Succs[k] = []int{k + 1}
			}
			return g
		},
		"diamonds": func(n int) *Graph {
			g := &Graph{Succs: make([][]int, n)}
			for k := 0; k+3 < n; k += 3 {
				g.Succs[k] = []int{k + 1, k + 2}
				g.Succs[k+1], g.Succs[k+2] = []int{k + 3}, []int{k + 3}
			}
			return g
		},
		"loops": func(n int) *Graph {
			g := &Graph{Succs: make([][]int, n)}
			for k := 0; k+2 < n; k += 2 {
				g.Succs[k] = []int{k + 1, k + 2}
				g.Succs[k+1] = []int{k}
			}
			return g
		},
	}
	for name, shape := range shapes {
		for _, back := range []bool{false, true} {
			steps := func(n int) int {
				start := map[int]uint64{}
				for k := range n {
					if k == 0 && !back || back {
						start[k] = 0
					}
				}
				return Solve(shape(n), &Problem[uint64]{Backward: back, Start: start, Join: union,
					Node: func(n int, s uint64) uint64 { return s | 1<<(n%64) }}).Steps
			}
			small, large := steps(1000), steps(10000)
			require.LessOrEqual(t, large, 11*small, "%s, backward %v: %d and %d", name, back, small, large)
			require.LessOrEqual(t, large, 4*10000, name)
		}
	}
}

// TestReaches demands that no way is denied: of all pairs in a graph with two circles, one
// behind the other, and a branch beside them.
func TestReaches(t *testing.T) {
	g := &Graph{Succs: [][]int{{1, 6}, {2}, {1, 3}, {4}, {3, 5}, nil, {5}}}
	o := NewOrder(g)
	for a := range g.Succs {
		seen := map[int]bool{}
		var visit func(n int)
		visit = func(n int) {
			for _, s := range g.Succs[n] {
				if !seen[s] {
					seen[s] = true
					visit(s)
				}
			}
		}
		visit(a)
		for b := range g.Succs {
			if seen[b] {
				require.True(t, o.Reaches(a, b), "%d to %d", a, b)
			}
		}
	}
	require.False(t, o.Reaches(5, 1))
	require.False(t, o.Reaches(0, 0))
	require.True(t, o.Reaches(1, 1))
}
