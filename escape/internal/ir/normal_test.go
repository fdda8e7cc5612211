package ir

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A node is a block without marks and without the jump at its end.
type node struct {
	instrs []ssa.Instruction
	succs  []*node
	preds  int
	n      int
}

// normal writes a function without its marks, in a way that does not depend on how blocks
// and registers are numbered, how straight runs are cut into blocks, and in which order
// variables were captured. It is for ssa.NaiveForm, in which variables are not lifted
// yet: what lifts them is one function of what is compared here.
func normal(p *Package, f *ssa.Function) string {
	w := &writer{names: map[string]string{}}
	nodes := map[*ssa.BasicBlock]*node{}
	for _, b := range f.Blocks {
		nodes[b] = &node{n: -1}
	}
	for _, b := range f.Blocks {
		n := nodes[b]
		for _, i := range b.Instrs {
			if _, jump := i.(*ssa.Jump); !jump && !ofMark(p, i) {
				n.instrs = append(n.instrs, i)
			}
		}
		for _, s := range b.Succs {
			n.succs = append(n.succs, nodes[s])
		}
	}
	entries := []*node{nodes[f.Blocks[0]]}
	if f.Recover != nil {
		entries = append(entries, nodes[f.Recover])
	}
	for _, n := range nodes {
		for k, s := range n.succs {
			n.succs[k] = s.through()
		}
		if len(n.succs) == 2 && n.succs[0] == n.succs[1] {
			n.instrs, n.succs = n.instrs[:len(n.instrs)-1], n.succs[:1]
		}
	}
	for _, n := range entries {
		n.preds = 2 // never a part of what is in front of it
		n.count(map[*node]bool{})
	}
	for _, n := range entries {
		w.number(n)
	}
	for _, n := range entries {
		w.write(n, map[*node]bool{})
	}
	return w.out.String()
}

// ofMark reports whether i is a mark or the load of its operand.
func ofMark(p *Package, i ssa.Instruction) bool {
	if p == nil {
		return false
	}
	if call, _ := p.mark(i); call != nil {
		return true
	}
	u, ok := i.(*ssa.UnOp)
	if !ok || len(*u.Referrers()) != 1 {
		return false
	}
	call, _ := p.mark((*u.Referrers())[0])
	return call != nil
}

// through returns where n leads if it is empty.
func (n *node) through() *node {
	for range 100 {
		if len(n.instrs) > 0 || len(n.succs) != 1 || n.succs[0] == n {
			break
		}
		if len(n.succs[0].instrs) > 0 {
			if _, phi := n.succs[0].instrs[0].(*ssa.Phi); phi {
				break
			}
		}
		n = n.succs[0]
	}
	return n
}

func (n *node) count(seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	for _, s := range n.succs {
		s.preds++
		s.count(seen)
	}
}

type writer struct {
	out   strings.Builder
	names map[string]string
	nodes int
}

// number names blocks and registers in the order in which they are met.
func (w *writer) number(n *node) {
	if n.n >= 0 {
		return
	}
	n.n = w.nodes
	w.nodes++
	for len(n.succs) == 1 && n.succs[0].preds == 1 && n.succs[0] != n {
		s := n.succs[0]
		n.instrs, n.succs = slices.Concat(n.instrs, s.instrs), s.succs
	}
	w.registers(n)
	for _, s := range n.succs {
		w.number(s)
	}
}

func (w *writer) registers(n *node) {
	for _, i := range n.instrs {
		if v, ok := i.(ssa.Value); ok {
			w.names[v.Name()] = fmt.Sprintf("r%d", len(w.names))
		}
	}
}

var register = regexp.MustCompile(`\bt\d+\b`)

func (w *writer) write(n *node, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	fmt.Fprintf(&w.out, "block %d\n", n.n)
	for _, i := range n.instrs {
		text := i.String()
		switch i := i.(type) {
		case *ssa.If:
			text = "if " + i.Cond.Name()
		case *ssa.Phi:
			var edges []string
			for _, e := range i.Edges {
				edges = append(edges, w.rename(e.Name()))
			}
			slices.Sort(edges)
			text = "phi " + strings.Join(edges, " ")
		case *ssa.MakeClosure:
			var names []string
			for k, b := range i.Bindings {
				names = append(names, freeVar(i, k)+"="+w.rename(b.Name()))
			}
			slices.Sort(names)
			text = "closure " + i.Fn.Name() + strings.Join(names, " ")
		}
		if v, ok := i.(ssa.Value); ok {
			text = v.Name() + " = " + text + " " + v.Type().String()
		}
		fmt.Fprintf(&w.out, "\t%s\n", w.rename(text))
	}
	for _, s := range n.succs {
		fmt.Fprintf(&w.out, "\t-> %d\n", s.n)
	}
	for _, s := range n.succs {
		w.write(s, seen)
	}
}

func freeVar(c *ssa.MakeClosure, k int) string {
	if f := c.Fn.(*ssa.Function); k < len(f.FreeVars) {
		return f.FreeVars[k].Name()
	}
	return "receiver" // of a bound method
}

func (w *writer) rename(s string) string {
	return register.ReplaceAllStringFunc(s, func(r string) string {
		if n := w.names[r]; n != "" {
			return n
		}
		return r
	})
}
