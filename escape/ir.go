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
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
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
	opHold        // args are what deferred code would read or free in a panic; the last ones may be its flags
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

	"bound", "call", "result", "append", "recv", "use", "hold", "set", "store", "send", "go", "defer", "return", "panic", "gap", "discard", "out", "loopfree"}

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
	note  report.Note
	users []*value

	deferred *ast.DeferStmt // the call that this is part of, where it runs
	from     *root          // opCopy: the variable that was read, if others may assign it
	wants    []bool         // opHold: only where the last operands, flags, are that
	under    []flagTest     // opHold: all flags, those that are not known here, too
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
	okRes    *value // last result if it is a boolean that says whether others are nil
	noreturn bool
}

// A block is a straight run of instructions. A block with two successors ends
// in a branch: succs[0] is taken when cond is true. cond nil: nobody knows.
type block struct {
	id          int
	instrs      []*value
	preds       []*block
	succs       []*block
	entries     []int // by successor: the index of b among that one's predecessors
	leaves      []int // by predecessor: the index of b among that one's successors
	forked      bool  // some predecessor has another successor: that edge has no gap of its own
	cond        *value
	sealed      bool
	incomplete  map[*place]*value
	defs        map[*place]*value
	noreturn    bool // ends in a call that never returns
	loopDepth   int
	lent        *lent // the lent literal that it is part of, nil outside
	order       int   // in reverse post-order; -1: unreachable
	label       string
	doomed      bool  // every path from here ends in a call that never returns
	gaps        []int // indices of gaps in the source, ascending
	named       []int // and of those in literals that have a name
	copied      []int // and of those in literals that deferred statements call
	lastEffect  int   // index of the last instruction that does something; -1: none
	firstEffect int   // index of the first; len(instrs): none
}

// end returns the last instruction of b, the only one that may be a return; nil if it
// has none.
func (b *block) end() *value {
	if len(b.instrs) == 0 {
		return nil
	}
	return b.instrs[len(b.instrs)-1]
}

// A root is a local variable, or an object made by a composite literal whose
// address is taken. Its places are its leaves: fields that are followed apart.
type root struct {
	obj     *types.Var // nil for temporaries
	name    string
	typ     types.Type
	leaves  []*place
	aliased bool   // a pointer to it goes where it is not followed
	exposed string // not "": why its contents may be reached by others
	sink    token.Pos
	outer   bool // belongs to an enclosing function
	global  bool
	result  *value // the pointer that a call returned and that leads to it, if it is not nil
	depth   int    // loop depth of declaration
}

// names reports whether v stands for something of a kind that has this name.
func (v *value) names(k report.Kind, name string) bool {
	return v.note.Kind == k && v.note.Name == name
}

type place struct {
	root *root
	path []int // field indices; empty for the whole
	typ  types.Type
	name string // ".a.b"
}

func (p *place) String() string { return p.root.name + p.name }

// A gap is a place where a statement may be inserted.
type gap struct {
	kind   rewrite.Kind
	anchor token.Pos // rewrite.InList: insert after this position
	list   ast.Node  // the block or clause
	prev   ast.Stmt  // statement before, nil at the head
	next   ast.Stmt  // statement after, nil at the end
	stmt   ast.Stmt  // if, switch, return, loop
	scope  token.Pos // where names are looked up

	inner []*ast.FuncLit // the literals around it that are spliced
	named bool           // one of these has a name, by which it is called here

	deferred *ast.DeferStmt // in the literal that this calls: at each exit there is a copy
	under    []flagTest     // and the flags around it there
}

// An outer is what a variable of an enclosing function holds on entry.
type outer struct {
	place *place
	value *value
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
	named    bool // there are gaps in literals that have a name
	rpo      []*block
	exits    []*value // opReturn
	flow     *flow
	loops    []*elemLoop
	outers   []outer
	started  map[*value]*block // where the goroutine is started that a value joins
	edits    *rewrite.Func     // nil until asked for
	after    []*value          // by block: the end of the first exit after it; nil until asked for

	tight map[*value]bool // collections that are to own although their buffers could be freed one by one
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
		f.outers = append(f.outers, outer{p, v})
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
