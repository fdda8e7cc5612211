package ir

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Node is a run of instructions of one block, or where a panic runs what is deferred.
type Node struct {
	Block  *ssa.BasicBlock // nil: the panic
	First  int             // index of its first instruction in the block
	Instrs []ssa.Instruction
	gaps   []int // indexes in Instrs of its places
}

// A Graph is the flow of a function, panics included. Where no call is deferred yet, a panic
// leaves the function and runs nothing of it, so that it is no edge.
type Graph struct {
	Func  *ssa.Function
	Nodes []*Node // [0] is the entry; those of a block stand together, in order
	Succs [][]int // first as in the block, or the rest of it; last Panic, where that can be reached
	Preds [][]int
	// Deferred lists where deferred calls run: node and index of each rundefers, and Panic.
	Deferred [][2]int
	Panic    int                        // the node of the panic; -1: there is none
	first    map[*ssa.BasicBlock]int    // its first node
	where    map[ssa.Instruction][2]int // node, index
	places   map[ssa.Instruction]*Place // by what stands there
}

// Graph returns the flow of a function. Behind a defer, each instruction that may panic
// is a node of its own, with an edge to Panic, as has the node before it: what it does is
// done or is not.
func (p *Package) Graph(f *ssa.Function) *Graph {
	count := 0
	for _, b := range f.Blocks {
		count += len(b.Instrs)
	}
	g := &Graph{Func: f, Panic: -1, first: make(map[*ssa.BasicBlock]int, len(f.Blocks)),
		where: make(map[ssa.Instruction][2]int, count), places: map[ssa.Instruction]*Place{}}
	if len(f.Blocks) == 0 {
		return g
	}
	unwinds := map[int]bool{}
	after := deferred(f)
	for _, b := range f.Blocks {
		g.first[b] = len(g.Nodes)
		g.split(p, b, after[b], unwinds)
	}
	if len(unwinds) > 0 {
		g.Panic = len(g.Nodes)
		g.Nodes = append(g.Nodes, &Node{})
		g.Deferred = append(g.Deferred, [2]int{g.Panic, 0})
	}
	g.Succs, g.Preds = make([][]int, len(g.Nodes)), make([][]int, len(g.Nodes))
	for k, n := range g.Nodes {
		switch {
		case n.Block == nil:
			if f.Recover != nil && p.recovers(f) {
				g.edge(k, g.first[f.Recover])
			}
			continue
		case slices.ContainsFunc(n.Instrs, Stops): // nothing runs behind
		case n.First+len(n.Instrs) < len(n.Block.Instrs):
			g.edge(k, k+1)
		default:
			for _, s := range n.Block.Succs {
				g.edge(k, g.first[s])
			}
		}
		if unwinds[k] {
			g.edge(k, g.Panic)
		}
	}
	return g
}

func (g *Graph) edge(from, to int) {
	g.Succs[from] = append(g.Succs[from], to)
	g.Preds[to] = append(g.Preds[to], from)
}

// split makes the nodes of a block; late is the index of the first instruction behind
// which something may be deferred.
func (g *Graph) split(p *Package, b *ssa.BasicBlock, late int, unwinds map[int]bool) {
	start := 0
	cut := func(end int) {
		if start < end {
			n := &Node{Block: b, First: start, Instrs: b.Instrs[start:end]}
			for i, instr := range n.Instrs {
				g.where[instr] = [2]int{len(g.Nodes), i}
				if _, ok := instr.(*ssa.RunDefers); ok {
					g.Deferred = append(g.Deferred, g.where[instr])
				}
				at := p.heads[instr]
				if call, v := p.mark(instr); call != nil && v == nil && !p.beside(p.place(call), b.Instrs[start+i:]) {
					at = p.place(call)
				}
				if at != nil {
					n.gaps = append(n.gaps, i)
					g.places[instr] = at
				}
			}
			g.Nodes = append(g.Nodes, n)
			start = end
		}
	}
	for i, instr := range b.Instrs {
		if i < late {
			continue
		}
		if call, _ := p.mark(instr); call == nil && panics(instr) {
			cut(i)
			if i > 0 {
				unwinds[len(g.Nodes)-1] = true
			}
			unwinds[len(g.Nodes)] = true
			cut(i + 1)
		}
	}
	cut(len(b.Instrs))
}

// beside reports whether a place stands between else and an if that only compares what is there: the heads of
// its branches are the same moment. Behind it is the rest of its block.
func (p *Package) beside(at *Place, behind []ssa.Instruction) bool {
	if n, ok := at.Node.(*ast.IfStmt); !ok || at.Kind != ElseIf || n.Else.(*ast.IfStmt).Init != nil {
		return false
	}
	return !slices.ContainsFunc(behind, func(i ssa.Instruction) bool {
		call, _ := p.mark(i)
		return call == nil && panics(i)
	})
}

// deferred returns for each block the index of the first instruction behind which a call
// may be deferred.
func deferred(f *ssa.Function) map[*ssa.BasicBlock]int {
	after := map[*ssa.BasicBlock]int{}
	var open []*ssa.BasicBlock
	for _, b := range f.Blocks {
		after[b] = len(b.Instrs)
		for i, instr := range b.Instrs {
			if _, ok := instr.(*ssa.Defer); ok {
				after[b] = i + 1
				open = append(open, b.Succs...)
				break
			}
		}
	}
	for len(open) > 0 {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		if after[b] > 0 {
			after[b] = 0
			open = append(open, b.Succs...)
		}
	}
	return after
}

// panics reports whether an instruction may panic.
func panics(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.Call:
		b, ok := i.Call.Value.(*ssa.Builtin)
		return !ok || b.Name() != "len" && b.Name() != "cap"
	case *ssa.UnOp:
		return i.Op == token.MUL && !local(i.X)
	case *ssa.Store:
		return !local(i.Addr)
	case *ssa.FieldAddr:
		return !local(i.X)
	case *ssa.BinOp:
		switch i.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			return true
		case token.EQL, token.NEQ: // of interfaces that hold what cannot be compared
			_, iface := i.X.Type().Underlying().(*types.Interface)
			_, nil1 := i.X.(*ssa.Const)
			_, nil2 := i.Y.(*ssa.Const)
			return iface && !nil1 && !nil2
		}
		return false
	case *ssa.TypeAssert:
		return !i.CommaOk
	case *ssa.Panic, *ssa.RunDefers, *ssa.Index, *ssa.IndexAddr, *ssa.Slice, *ssa.SliceToArrayPointer,
		*ssa.Lookup, *ssa.MapUpdate, *ssa.MakeSlice, *ssa.MakeChan, *ssa.Send, *ssa.Select, *ssa.Convert,
		*ssa.MultiConvert:
		return true
	}
	return false
}

// local reports whether an address is that of a variable.
func local(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.Alloc, *ssa.FreeVar, *ssa.Global:
		return true
	}
	return false
}

// recovers reports whether what a function defers may end a panic: a call of recover does only in a function
// that is deferred itself. One without a body may have it, unless it is known to free and to do no more.
func (p *Package) recovers(f *ssa.Function) bool {
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			d, ok := i.(*ssa.Defer)
			if !ok {
				continue
			}
			_, builtin := d.Call.Value.(*ssa.Builtin)
			fn := d.Call.StaticCallee()
			if fn != nil && fn.Origin() != nil {
				fn = fn.Origin() // an instance is a wrapper of what is written
			}
			if !builtin && asks(fn) && !p.onlyFrees(fn, d.Call.Method) {
				return true
			}
		}
	}
	for _, a := range f.AnonFuncs { // what the body of a range over a function defers, the function does
		if a.Synthetic == "range-over-func yield" && p.recovers(a) {
			return true
		}
	}
	return false
}

// onlyFrees reports whether a function without a body here, or a method of an interface, is known to free.
func (p *Package) onlyFrees(f *ssa.Function, fn *types.Func) bool {
	if f != nil && len(f.Blocks) == 0 {
		fn, _ = f.Object().(*types.Func)
	}
	return fn != nil && p.frees != nil && p.frees(fn.Origin())
}

// quiet are packages of the standard library of which no exported function calls recover itself.
var quiet = []string{"bufio", "context", "io", "net", "net/http", "os", "runtime", "sync", "time"}

// asks reports whether a function may call recover.
func asks(f *ssa.Function) bool {
	if f != nil && f.Pkg != nil && slices.Contains(quiet, f.Pkg.Pkg.Path()) {
		return false
	}
	if f == nil || len(f.Blocks) == 0 || f.Synthetic != "" { // a wrapper is none itself
		return true
	}
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			if c, ok := i.(*ssa.Call); ok {
				if b, ok := c.Call.Value.(*ssa.Builtin); ok && b.Name() == "recover" {
					return true
				}
			}
		}
	}
	return false
}

// Entry returns the first node of a block.
func (g *Graph) Entry(b *ssa.BasicBlock) int { return g.first[b] }

// Where returns the node of an instruction and its index there; ok is false for one that
// is not in the function.
func (g *Graph) Where(i ssa.Instruction) (node, at int, ok bool) {
	w, ok := g.where[i]
	return w[0], w[1], ok
}

// At returns the index of an instruction in its block.
func (g *Graph) At(i ssa.Instruction) int {
	w := g.where[i]
	return g.Nodes[w[0]].First + w[1]
}

// Between adds to in the nodes on the ways from a node to an instruction, that node left out.
func (g *Graph) Between(from int, to ssa.Instruction, in map[int]bool) {
	end, _, _ := g.Where(to)
	seen := map[int]bool{from: true}
	for stack := []int{end}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen[n] {
			seen[n], in[n] = true, true
			stack = append(stack, g.Preds[n]...)
		}
	}
}

// Next returns the first place in a node at or behind index at, and its index, and nil if
// there is none.
func (g *Graph) Next(node, at int) (*Place, int) {
	n := g.Nodes[node]
	lo, hi := 0, len(n.gaps)
	for lo < hi {
		if mid := (lo + hi) / 2; n.gaps[mid] < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(n.gaps) {
		return nil, 0
	}
	return g.places[n.Instrs[n.gaps[lo]]], n.gaps[lo]
}

// Phi returns the index among the operands of the phis of a node that an edge out of
// another brings, and -1 if the node does not begin a block, or phis have none for it.
func (g *Graph) Phi(from, out int) int {
	a, b := g.Nodes[from], g.Nodes[g.Succs[from][out]]
	if a.Block == nil || b.Block == nil || b.First > 0 || out >= len(a.Block.Succs) ||
		a.Block.Succs[out] != b.Block {
		return -1
	}
	skip := 0 // edges of the same branch that lead there, too
	for _, s := range a.Block.Succs[:out] {
		if s == b.Block {
			skip++
		}
	}
	for k, q := range b.Block.Preds {
		if q == a.Block {
			if skip == 0 {
				return k
			}
			skip--
		}
	}
	return -1
}

// Branch returns the condition that ends a node; edge 0 is taken where it is true and edge
// 1 where it is not. It returns nil if none does.
func (g *Graph) Branch(node int) ssa.Value {
	n := g.Nodes[node]
	if len(n.Instrs) > 0 {
		if i, ok := n.Instrs[len(n.Instrs)-1].(*ssa.If); ok {
			return i.Cond
		}
	}
	return nil
}
