package ir

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/ssa"
)

// text writes the nodes of a graph: what of which block they are, the instruction that
// may panic, and where they lead.
func (g *Graph) text(p *Package) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func %s\n", g.Func.Name())
	for k, n := range g.Nodes {
		what := "deferred calls, in a panic"
		if n.Block != nil {
			what = fmt.Sprintf("block %d [%d:%d]", n.Block.Index, n.First, n.First+len(n.Instrs))
			if last := n.Instrs[len(n.Instrs)-1]; len(n.Instrs) == 1 && panics(last) {
				what += " " + p.text(last)
			}
		}
		fmt.Fprintf(&b, "%d: %s", k, what)
		for i, s := range g.Succs[k] {
			to := fmt.Sprint(s)
			if s == g.Panic {
				to = "panic"
			}
			fmt.Fprintf(&b, "%s%s", []string{" → ", ", "}[min(i, 1)], to)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestGraphGolden shows where panics lead, in functions that defer.
func TestGraphGolden(t *testing.T) {
	for _, name := range []string{"deferred", "recovers"} {
		p := Build(load(t, "testdata/"+name+".go"))
		got := ""
		for _, f := range p.Funcs {
			if len(f.Blocks) > 1 {
				got += p.Graph(f).text(p)
			}
		}
		path := "testdata/" + name + ".graph.txt"
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got)
	}
}

// TestGraph demands that nodes are the blocks, cut; that edges are the blocks' and those to
// the panic; and that what may panic leads there if something may be deferred before.
func TestGraph(t *testing.T) {
	panicking := 0
	for name, in := range corpus(t) {
		p := Build(in)
		for _, f := range p.Funcs {
			g := p.Graph(f)
			got := map[*ssa.BasicBlock]int{}
			for k, n := range g.Nodes {
				if n.Block == nil {
					require.Equal(t, g.Panic, k)
					continue
				}
				require.Equal(t, got[n.Block], n.First, "%s: %s", name, f)
				require.NotEmpty(t, n.Instrs)
				for i, instr := range n.Instrs {
					require.Same(t, n.Block.Instrs[n.First+i], instr)
					node, at, ok := g.Where(instr)
					require.True(t, ok && node == k && at == i)
				}
				got[n.Block] += len(n.Instrs)
				last := n.Instrs[len(n.Instrs)-1]
				if got[n.Block] == len(n.Block.Instrs) {
					for i, s := range n.Block.Succs {
						require.Equal(t, g.Entry(s), g.Succs[k][i])
						if _, ok := s.Instrs[0].(*ssa.Phi); ok {
							require.Same(t, n.Block, s.Preds[g.Phi(k, i)])
						}
					}
				}
				if leads(g, k) {
					panicking++
					require.LessOrEqual(t, len(f.Blocks), len(g.Nodes))
				}
				if panics(last) && afterDefer(f, n.Block, n.First+len(n.Instrs)-1) {
					if call, _ := p.mark(last); call == nil {
						require.True(t, leads(g, k), "%s: %s: %s", name, f, last)
						require.Len(t, n.Instrs, 1)
					}
				}
			}
			for _, b := range f.Blocks {
				require.Equal(t, len(b.Instrs), got[b])
			}
		}
	}
	require.NotZero(t, panicking)
}

func leads(g *Graph, k int) bool {
	s := g.Succs[k]
	return len(s) > 0 && s[len(s)-1] == g.Panic
}

// afterDefer looks for a way from a defer to an instruction, by brute force.
func afterDefer(f *ssa.Function, at *ssa.BasicBlock, index int) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var reaches func(b *ssa.BasicBlock, from int) bool
	reaches = func(b *ssa.BasicBlock, from int) bool {
		if b == at && from <= index {
			return true
		}
		for _, s := range b.Succs {
			if !seen[s] {
				seen[s] = true
				if reaches(s, 0) {
					return true
				}
			}
		}
		return false
	}
	for _, b := range f.Blocks {
		for i, instr := range b.Instrs {
			if _, ok := instr.(*ssa.Defer); ok {
				clear(seen)
				if reaches(b, i+1) {
					return true
				}
			}
		}
	}
	return false
}
