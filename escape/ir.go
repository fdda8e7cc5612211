package escape

// The flow form: one function as blocks of instructions over values that are
// assigned once. It differs from x/tools/go/ssa in what a rewriter needs:
//
//   - every place in the source where a statement may stand is an instruction
//     of its own, a gap, so that a plan over the flow form is a plan over text;
//   - an else or default that is not written has a block, so that each edge on
//     which liveness ends has a gap;
//   - every write of a variable stays (opSet), so that at each gap it is known
//     which variable holds which value: that is how a free finds its name;
//   - function literals that are called where they are made, deferred, or lent
//     to a function that only calls them, are spliced into the caller's blocks.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

type op uint8

const (
	opInvalid  op = iota
	opParam       // parameter or receiver index
	opConst       // constant that is not nil
	opNil         // nil or a zero value
	opUnknown     // something we know nothing of: a global, a received value
	opPhi         // one operand per predecessor
	opCopy        // same object: conversion, boxing, assertion, address of a composite literal
	opPart        // part of args[0]: a field, an element, a slice of it
	opElem        // element of args[0] that leads nowhere: a number, a string
	opPack        // composite literal: args are what it holds
	opAddr        // address of a local place; args are what the place holds now
	opPure        // computed from args
	opCmp         // comparison of args[0] and args[1] by tok
	opNot         // negation
	opFunc        // a declared function
	opClosure     // a function literal; args are the contents of what it captures, if it was not spliced
	opBound       // method value: args[0] is the receiver
	opCall        // call; results are opResult
	opResult      // result index of call args[0]
	opAppend      // append(args[0], args[1:]...)
	opRecv        // receive from args[0]
	opUse         // reads args
	opSet         // the place gets args[0]
	opStore       // args[0] is stored where we cannot follow, through args[1]
	opSend        // args[0] sent on args[1]
	opGo          // go statement: args go to another goroutine
	opDefer       // deferred call, kept as a call: same operands
	opReturn      // leaves with args as results
	opPanic       // leaves with args[0]
	opGap         // a statement may be inserted here
	opDiscard     // the value of an expression statement or of _ is dropped
	opOut         // what call args[0] stored through a pointer, owned
	opLoopFree    // a loop that does something to each element of args[0]
)

var opNames = [...]string{"?", "param", "const", "nil", "unknown", "phi", "copy", "part", "elem", "pack", "addr", "pure", "cmp", "not", "func", "closure",
	"bound", "call", "result", "append", "recv", "use", "set", "store", "send", "go", "defer", "return", "panic", "gap", "discard", "out", "loopfree"}

// A value is an instruction and what it computes.
type value struct {
	id    int
	at    int // index in its block
	op    op
	args  []*value
	typ   types.Type
	pos   token.Pos
	end   token.Pos
	expr  ast.Expr
	blk   *block
	fwd   *value // a phi found to be only this
	index int    // parameter, result
	tok   token.Token
	place *place      // opSet, opAddr
	fn    *types.Func // opFunc, opBound, opCall, opDefer
	lit   *ast.FuncLit
	call  *callInfo
	gap   *gap
	note  string // for people: which field, why unknown
	users []*value

	deferred *ast.DeferStmt // the call that this is part of, where it runs
	captures []*root        // opClosure: variables of the enclosing function it mentions
	spliced  bool           // opClosure: each use of it was spliced
}

func (v *value) find() *value {
	for v != nil && v.fwd != nil {
		v = v.fwd
	}
	return v
}

// callInfo is what a call or deferred call has beside its operands.
type callInfo struct {
	params   []int // operand → parameter: -1 receiver, -2 the function value
	sum      *Summary
	results  []*value
	spread   bool // f(s...)
	deferred bool
	goes     bool
	name     string
	errRes   *value // last result if it is an error
	noreturn bool
}

// A block is a straight run of instructions. A block with two successors ends
// in a branch: succs[0] is taken when cond is true. cond nil: nobody knows.
type block struct {
	id          int
	instrs      []*value
	preds       []*block
	succs       []*block
	cond        *value
	sealed      bool
	incomplete  map[*place]*value
	defs        map[*place]*value
	noreturn    bool // ends in a call that never returns
	loopDepth   int
	order       int // in reverse post-order; -1: unreachable
	label       string
	doomed      bool  // every path from here ends in a call that never returns
	gaps        []int // indices of gaps in the source, ascending
	lastEffect  int   // index of the last instruction that does something; -1: none
	firstEffect int   // index of the first; len(instrs): none
}

// A root is a local variable, or an object made by a composite literal whose
// address is taken. Its places are its leaves: fields that are followed apart.
type root struct {
	obj     *types.Var // nil for temporaries
	name    string
	typ     types.Type
	leaves  []*place
	exposed string // not "": why its contents may be reached by others
	sink    token.Pos
	outer   bool // belongs to an enclosing function
	global  bool
	depth   int // loop depth of declaration
}

type place struct {
	root *root
	path []int // field indices; empty for the whole
	typ  types.Type
	name string // ".a.b"
}

func (p *place) String() string { return p.root.name + p.name }

type gapKind uint8

const (
	gapStmt    gapKind = iota // after anchor, in a list of statements
	gapElse                   // an else that is not written
	gapElseIf                 // between else and if
	gapDefault                // a default that is not written
	gapReturn                 // between the evaluation of results and the return
	gapNone                   // a point without a place in the source (spliced bodies)
)

// A gap is a place where a statement may be inserted.
type gap struct {
	kind   gapKind
	anchor token.Pos // gapStmt: insert after this position
	list   ast.Node  // the block or clause
	prev   ast.Stmt  // statement before, nil at the head
	next   ast.Stmt  // statement after, nil at the end
	stmt   ast.Stmt  // if, switch, return
	scope  token.Pos // where names are looked up

	inner []*ast.FuncLit // the literals around it that are spliced
}

// A fn is a function in flow form.
type fn struct {
	p        *pkg
	obj      *types.Func // nil for a literal
	node     ast.Node    // *ast.FuncDecl or *ast.FuncLit
	name     string
	sig      *types.Signature
	body     *ast.BlockStmt
	typ      *ast.FuncType
	blocks   []*block
	params   []*value // receiver first
	nvals    int
	roots    []*root
	declined string // not "": the function as a whole cannot be decided
	gotos    bool
	rpo      []*block
	exits    []*value // opReturn
	flow     *flow
	loops    []*elemLoop
	lits     []*ast.FuncLit // outermost literals inside, in order
}

func (f *fn) newBlock(label string) *block {
	b := &block{id: len(f.blocks), defs: map[*place]*value{}, label: label, order: -1}
	f.blocks = append(f.blocks, b)
	return b
}

func (f *fn) newValue(o op, t types.Type, args ...*value) *value {
	v := &value{id: f.nvals, op: o, typ: t, args: args}
	f.nvals++
	return v
}

func link(from, to *block) {
	from.succs = append(from.succs, to)
	to.preds = append(to.preds, from)
}

// Variables to values, as the blocks are built (Braun et al. 2013).

func (f *fn) write(p *place, b *block, v *value) { b.defs[p] = v }

func (f *fn) read(p *place, b *block) *value {
	if v := b.defs[p]; v != nil {
		return v.find()
	}
	return f.readEntry(p, b)
}

// readEntry returns what p holds on entry of b.
func (f *fn) readEntry(p *place, b *block) *value {
	var v *value
	switch {
	case !b.sealed:
		v = f.newPhi(p, b)
		if b.incomplete == nil {
			b.incomplete = map[*place]*value{}
		}
		b.incomplete[p] = v
	case len(b.preds) == 1:
		// A long chain of single predecessors must not become deep recursion.
		chain := []*block{b}
		c := b.preds[0]
		for c.defs[p] == nil && c.sealed && len(c.preds) == 1 && len(chain) <= len(f.blocks) {
			chain = append(chain, c)
			c = c.preds[0]
		}
		if len(chain) > len(f.blocks) {
			v = f.initial(p, b) // a loop that nothing enters
		} else {
			v = f.read(p, c)
		}
		for _, x := range chain {
			x.defs[p] = v
		}
		return v
	case len(b.preds) == 0:
		v = f.initial(p, b)
	default:
		v = f.newPhi(p, b)
		b.defs[p] = v
		v = f.addOperands(p, v)
	}
	b.defs[p] = v
	return v
}

func (f *fn) initial(p *place, b *block) *value {
	v := f.newValue(opUnknown, p.typ)
	if p.root.obj == nil || (!p.root.outer && !p.root.global) {
		v.op = opNil
	} else {
		v.note = "captured variable " + p.root.name
	}
	v.blk = b
	return v
}

func (f *fn) newPhi(p *place, b *block) *value {
	v := f.newValue(opPhi, p.typ)
	v.blk = b
	v.place = p
	b.instrs = append([]*value{v}, b.instrs...)
	return v
}

func (f *fn) addOperands(p *place, phi *value) *value {
	for _, pred := range phi.blk.preds {
		phi.args = append(phi.args, f.read(p, pred))
	}
	for _, a := range phi.args {
		if a.op == opPhi && a != phi {
			a.users = append(a.users, phi) // provisional, for trivial phis
		}
	}
	return f.trivial(phi)
}

func (f *fn) trivial(phi *value) *value {
	var same *value
	for _, a := range phi.args {
		a = a.find()
		if a == same || a == phi {
			continue
		}
		if same != nil {
			return phi
		}
		same = a
	}
	if same == nil {
		same = f.newValue(opNil, phi.typ)
		same.blk = phi.blk
	}
	phi.fwd = same
	users := phi.users
	phi.users = nil
	for _, u := range users {
		if u != phi && u.fwd == nil && u.op == opPhi && len(u.args) == len(u.blk.preds) {
			f.trivial(u)
		}
	}
	return same.find()
}

func (f *fn) seal(b *block) {
	if b.sealed {
		return
	}
	b.sealed = true
	// In order of creation, so that two runs number values alike.
	var phis []*value
	for _, v := range b.incomplete {
		phis = append(phis, v)
	}
	for i := range phis {
		for j := i + 1; j < len(phis); j++ {
			if phis[j].id < phis[i].id {
				phis[i], phis[j] = phis[j], phis[i]
			}
		}
	}
	for _, v := range phis {
		f.addOperands(v.place, v)
	}
	b.incomplete = nil
}

// finish drops unreachable blocks and replaced phis, resolves operands and
// fills in users.
func (f *fn) finish() {
	for _, b := range f.blocks {
		f.seal(b)
	}
	f.order()
	for _, b := range f.rpo {
		kept := b.instrs[:0]
		for _, v := range b.instrs {
			if v.fwd == nil {
				kept = append(kept, v)
			}
		}
		b.instrs = kept
		if b.cond != nil {
			b.cond = b.cond.find()
		}
	}
	// An edge from an unreachable block carries nothing.
	for _, b := range f.rpo {
		var idx []int
		for i, p := range b.preds {
			if p.order >= 0 {
				idx = append(idx, i)
			}
		}
		if len(idx) == len(b.preds) {
			continue
		}
		preds := make([]*block, 0, len(idx))
		for _, i := range idx {
			preds = append(preds, b.preds[i])
		}
		for _, v := range b.instrs {
			if v.op == opPhi {
				args := make([]*value, 0, len(idx))
				for _, i := range idx {
					args = append(args, v.args[i])
				}
				v.args = args
			}
		}
		b.preds = preds
	}
	for _, b := range f.rpo {
		for _, v := range b.instrs {
			if v.op == opPhi && len(v.args) != len(b.preds) {
				panic(fmt.Sprintf("a phi of %s has %d operands for %d ways in", v.place, len(v.args), len(b.preds)))
			}
		}
	}
	for again := true; again; {
		again = false
		for _, b := range f.rpo {
			for _, v := range b.instrs {
				if v.op == opPhi && v.fwd == nil {
					v.users = nil
					if f.trivial(v) != v {
						again = true
					}
				}
			}
		}
	}
	for _, b := range f.rpo {
		kept := b.instrs[:0]
		for _, v := range b.instrs {
			if v.fwd == nil {
				kept = append(kept, v)
				v.users = nil
			}
		}
		b.instrs = kept
		if b.cond != nil {
			b.cond = b.cond.find()
		}
	}
	for _, b := range f.rpo {
		for i, v := range b.instrs {
			v.blk = b
			v.at = i
			for k, a := range v.args {
				v.args[k] = a.find()
			}
			if v.call != nil {
				for i, r := range v.call.results {
					v.call.results[i] = r.find()
				}
			}
		}
		for p, v := range b.defs {
			b.defs[p] = v.find()
		}
	}
	f.doom()
	for _, b := range f.rpo {
		b.lastEffect, b.firstEffect = -1, len(b.instrs)
		for i, v := range b.instrs {
			for k, a := range v.args {
				if k == 0 || !containsValue(v.args[:k], a) {
					a.users = append(a.users, v)
				}
			}
			if v.op == opGap && v.gap.kind != gapNone {
				b.gaps = append(b.gaps, i)
			}
			if v.effectful() {
				b.lastEffect = i
				b.firstEffect = min(b.firstEffect, i)
			}
		}
	}
}

// doom finds the blocks from which nothing returns: the process, or the
// goroutine, ends there.
func (f *fn) doom() {
	for again := true; again; {
		again = false
		for i := len(f.rpo) - 1; i >= 0; i-- {
			b := f.rpo[i]
			if b.doomed {
				continue
			}
			d := b.noreturn || len(b.succs) > 0
			for _, s := range b.succs {
				d = d && s.doomed
			}
			if d {
				b.doomed = true
				again = true
			}
		}
	}
}

func containsValue(vs []*value, v *value) bool {
	for _, x := range vs {
		if x == v {
			return true
		}
	}
	return false
}

// effectful reports whether time passes at v, so that a free on the other side
// of it would be earlier or later.
func (v *value) effectful() bool {
	switch v.op {
	case opCall, opDefer, opGo, opSend, opRecv, opAppend, opStore, opReturn, opPanic, opUse, opElem:
		return true
	}
	return false
}

func (f *fn) order() {
	for _, b := range f.blocks {
		b.order = -1
	}
	// Iterative depth first search: generated functions are deep.
	type frame struct {
		b *block
		i int
	}
	seen := make([]bool, len(f.blocks))
	var post []*block
	stack := []frame{{f.blocks[0], 0}}
	seen[0] = true
	for len(stack) > 0 {
		t := &stack[len(stack)-1]
		if t.i < len(t.b.succs) {
			s := t.b.succs[t.i]
			t.i++
			if !seen[s.id] {
				seen[s.id] = true
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		post = append(post, t.b)
		stack = stack[:len(stack)-1]
	}
	f.rpo = f.rpo[:0]
	for i := len(post) - 1; i >= 0; i-- {
		post[i].order = len(f.rpo)
		f.rpo = append(f.rpo, post[i])
	}
}

// irreducible reports whether some cycle can be entered in two places: an edge
// back to a block that does not dominate where the edge comes from.
func (f *fn) irreducible() bool {
	idom := make([]*block, len(f.rpo))
	meet := func(a, b *block) *block {
		for a != b {
			for a.order > b.order {
				a = idom[a.order]
			}
			for b.order > a.order {
				b = idom[b.order]
			}
		}
		return a
	}
	idom[0] = f.rpo[0]
	for again := true; again; {
		again = false
		for _, b := range f.rpo[1:] {
			var d *block
			for _, p := range b.preds {
				if p.order < 0 || idom[p.order] == nil {
					continue
				}
				if d == nil {
					d = p
				} else {
					d = meet(d, p)
				}
			}
			if d != nil && idom[b.order] != d {
				idom[b.order] = d
				again = true
			}
		}
	}
	for _, b := range f.rpo {
		for _, s := range b.succs {
			if s.order > b.order {
				continue
			}
			d := b
			for d.order > s.order {
				d = idom[d.order]
			}
			if d != s {
				return true
			}
		}
	}
	return false
}

// String prints the flow form; it is the golden text of the first stage.
func (f *fn) String() string {
	var w strings.Builder
	fmt.Fprintf(&w, "func %s\n", f.name)
	if f.declined != "" {
		fmt.Fprintf(&w, "\tdeclined: %s\n", f.declined)
		return w.String()
	}
	num := map[*value]int{}
	name := func(v *value) string {
		n, ok := num[v]
		if !ok {
			n = len(num)
			num[v] = n
		}
		return fmt.Sprintf("v%d", n)
	}
	for _, b := range f.rpo {
		fmt.Fprintf(&w, "b%d: %s", b.order, b.label)
		if len(b.preds) > 0 {
			w.WriteString(" ←")
			for _, p := range b.preds {
				fmt.Fprintf(&w, " b%d", p.order)
			}
		}
		w.WriteString("\n")
		for _, v := range b.instrs {
			if v.op == opGap {
				fmt.Fprintf(&w, "\t· %s\n", f.p.line(v.pos))
				continue
			}
			w.WriteString("\t")
			switch v.op {
			case opSet, opUse, opStore, opSend, opGo, opReturn, opPanic, opDiscard, opDefer:
			default:
				fmt.Fprintf(&w, "%s = ", name(v))
			}
			w.WriteString(opNames[v.op])
			if v.place != nil && v.op != opPhi {
				fmt.Fprintf(&w, " %s", v.place)
			}
			switch v.op {
			case opParam, opResult:
				fmt.Fprintf(&w, " %d", v.index)
			case opCmp:
				fmt.Fprintf(&w, " %s", v.tok)
			case opCall, opDefer:
				fmt.Fprintf(&w, " %s", v.call.name)
			}
			for _, a := range v.args {
				switch a.op {
				case opNil:
					w.WriteString(" nil")
				case opConst:
					w.WriteString(" const")
				case opFunc:
					w.WriteString(" " + a.fn.Name())
				default:
					w.WriteString(" " + name(a))
				}
			}
			w.WriteString("\n")
		}
		switch {
		case len(b.succs) == 2 && b.cond != nil:
			fmt.Fprintf(&w, "\tif %s → b%d, b%d\n", name(b.cond), b.succs[0].order, b.succs[1].order)
		case len(b.succs) > 0:
			w.WriteString("\t→")
			for _, s := range b.succs {
				fmt.Fprintf(&w, " b%d", s.order)
			}
			w.WriteString("\n")
		case b.noreturn:
			w.WriteString("\tnever returns\n")
		}
	}
	return w.String()
}
