package ir

import (
	"go/ast"

	"golang.org/x/tools/go/ssa"
)

// A head is a loop with a place in its header, behind what it starts with.
type head struct {
	loop   ast.Stmt
	before *Place // in front of the loop
	inside *Place // where its body begins
}

// addHead finds the place in a header: where the only block that leads into the loop ends. There is
// none if the body never comes round.
func (p *Package) addHead(h head) {
	f, b := h.before.Block, h.inside.Block
	for b != nil && !circle(b) {
		b = b.Idom()
	}
	if f == nil || b == nil || b == f || !f.Dominates(b) {
		return
	}
	in := b.Idom()
	for _, q := range b.Preds {
		if q != in && !b.Dominates(q) {
			return
		}
	}
	last := in.Instrs[len(in.Instrs)-1]
	switch last.(type) {
	case *ssa.Jump, *ssa.If:
	default:
		return
	}
	p.heads[last] = &Place{Kind: Head, Pos: h.loop.Pos(), Node: h.loop, Block: in, At: last}
	p.order[last] = len(in.Instrs) - 1
}

// circle reports whether a block is the head of a loop.
func circle(b *ssa.BasicBlock) bool {
	for _, q := range b.Preds {
		if b.Dominates(q) {
			return true
		}
	}
	return false
}
