package proof

// What a walk knows of conditions, for each phase apart. An atom is what a condition tests: a
// register that is true, or nil, or equal to a constant; or a flag, which is a variable that this family
// alone sets, and no goroutine: one of bools and numbers to constants only; of an error, or of a result that
// leads to memory, it is whether that is nil.
//
// What is known of an atom is what the branch taken said, what the edge into a phi brings, or what was
// stored last, and is forgotten where the register is computed again. Of one in a literal that may run inside
// itself nothing is known: it stands for several. Forgetting more is always right:
// it is done where no test can be reached any more, which keeps the number of phases small.

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

type atomKind uint8

const (
	isTrue  atomKind = iota // a bool
	isNil                   // compared with nil
	isEqual                 // a number, compared with constants
	isFlag                  // a variable, by its address
)

// An atom is something that conditions test.
type atom struct {
	v    ssa.Value
	kind atomKind
}

// What is known of an atom: one of these, or the number of a constant.
const (
	nothing byte = iota
	no
	yes
	constants
)

// knowledge is the atoms of a family, and where each is still tested.
type knowledge struct {
	atoms []atom
	ids   map[atom]int
	live  []map[*ssa.BasicBlock]bool // of the function of the atom; nil: anywhere
	codes map[string]byte

	facts  []string         // what walks found out; the first is nothing
	factID map[string]phase // its numbers
}

const maxAtoms = 32

// known returns the atoms of a family.
func (g *graph) known() *knowledge {
	if g.knows != nil {
		return g.knows
	}
	k := &knowledge{ids: map[atom]int{}, codes: map[string]byte{}, factID: map[string]phase{}}
	g.knows = k
	flags := g.flags()
	tests := map[atom]int{}
	var order []atom
	uses := map[atom][]*ssa.BasicBlock{}
	for _, fn := range g.f.fns {
		for _, b := range fn.Blocks {
			if len(b.Instrs) == 0 {
				continue
			}
			if i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok {
				a, _, _ := g.test(i.Cond)
				if a.v == nil {
					continue
				}
				if tests[a]++; tests[a] == 1 {
					order = append(order, a)
				}
				uses[a] = append(uses[a], b)
			}
		}
	}
	var add func(a atom)
	add = func(a atom) {
		if _, ok := k.ids[a]; ok || len(k.atoms) == maxAtoms || g.within[a.v.Parent()] {
			return
		}
		k.ids[a] = len(k.atoms)
		k.atoms = append(k.atoms, a)
		if phi, ok := a.v.(*ssa.Phi); ok && a.kind != isFlag {
			for n, e := range phi.Edges {
				b := atom{e, a.kind}
				_, p := e.(*ssa.Phi)
				if p || tests[b] > 0 {
					uses[b] = append(uses[b], phi.Block().Preds[n])
					add(b)
				}
			}
		}
	}
	for _, a := range g.pointers() {
		if flags[a] {
			add(atom{a, isFlag})
		}
	}
	for _, a := range order {
		load, _ := a.v.(*ssa.UnOp)
		switch {
		case load != nil && flags[g.flagOf(load)]:
			add(atom{g.flagOf(load), isFlag})
			add(a)
		case tests[a] > 1 || decided(a, 0):
			add(a)
		}
	}
	for _, a := range k.atoms {
		k.live = append(k.live, g.tested(a, uses[a]))
	}
	k.facts = []string{string(make([]byte, len(k.atoms)))}
	return k
}

// test returns what a condition tests: it is true where the atom has the value, or has it not.
func (g *graph) test(cond ssa.Value) (a atom, value byte, is bool) {
	switch c := cond.(type) {
	case *ssa.Const:
		return atom{}, nothing, false
	case *ssa.UnOp:
		if c.Op == token.NOT {
			a, value, is = g.test(c.X)
			return a, value, !is
		}
	case *ssa.BinOp:
		if c.Op != token.EQL && c.Op != token.NEQ {
			break
		}
		for _, xy := range [][2]ssa.Value{{c.X, c.Y}, {c.Y, c.X}} {
			k, ok := xy[1].(*ssa.Const)
			if !ok {
				continue
			}
			if k.Value == nil {
				if _, basic := k.Type().Underlying().(*types.Basic); !basic {
					return atom{xy[0], isNil}, yes, c.Op == token.EQL
				}
				continue
			}
			if code := g.code(k); code != nothing {
				return atom{xy[0], isEqual}, code, c.Op == token.EQL
			}
		}
	}
	return atom{cond, isTrue}, yes, true
}

// code numbers constants that are compared; nothing: there are too many, or it is no bool, and no whole
// number that is less than each limit.
func (g *graph) code(c *ssa.Const) byte {
	switch {
	case c.Value == nil:
		if b, ok := c.Type().Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
			return nothing
		}
		return no
	case c.Value.Kind() == constant.Bool && constant.BoolVal(c.Value):
		return yes
	case c.Value.Kind() == constant.Bool:
		return no
	case c.Value.Kind() != constant.Int || constant.BitLen(c.Value) > 30:
		return nothing
	}
	codes := g.knows.codes
	s := c.Value.ExactString()
	if codes[s] == nothing && len(codes) < 200 {
		codes[s] = constants + byte(len(codes))
	}
	return codes[s]
}

// decided reports whether what is tested is a phi of which some edge decides the test.
func decided(a atom, depth int) bool {
	phi, ok := a.v.(*ssa.Phi)
	if !ok || depth > 3 {
		return false
	}
	for n, e := range phi.Edges {
		_, c := e.(*ssa.Const)
		if c || a.kind == isNil && nonNil(e, phi.Block().Preds[n]) || decided(atom{e, a.kind}, depth+1) {
			return true
		}
	}
	return false
}

// tested returns the blocks from which a test of an atom, in uses, can be reached.
func (g *graph) tested(a atom, uses []*ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	if a.kind == isFlag {
		for _, r := range *a.v.Referrers() {
			if c, ok := r.(*ssa.MakeClosure); ok && c.Fn.(*ssa.Function).Synthetic != yield {
				return nil
			}
			switch r.(type) {
			case *ssa.UnOp, *ssa.MakeClosure:
				uses = append(uses, r.Block())
			}
		}
	}
	return reachable(preds, uses...)
}

// flagOf returns the variable that a load reads, nil if that is not one alone.
func (g *graph) flagOf(load *ssa.UnOp) *ssa.Alloc {
	if load.Op != token.MUL {
		return nil
	}
	return g.variable(load.X)
}

// variable returns the one variable that addr leads to, nil if it may be another or a part of one.
func (g *graph) variable(addr ssa.Value) *ssa.Alloc {
	var found *ssa.Alloc
	for id := range g.f.of(addr).all() {
		e := g.f.elems[id]
		a, ok := e.obj.at.(*ssa.Alloc)
		if !ok || found != nil || e.path != "" || e.obj.escaped {
			return nil
		}
		found = a
	}
	return found
}

// pointers lists the variables of pointers and slices that are results of the root, and that literals
// capture.
func (g *graph) pointers() (out []*ssa.Alloc) {
	for i := range instrsOf(g.f.root) {
		m, ok := i.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		for _, b := range m.Bindings {
			a, ok := b.(*ssa.Alloc)
			if ok && isReference(a.Type().Underlying().(*types.Pointer).Elem()) && isReturned(a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// isReturned reports whether a return reads a variable.
func isReturned(a *ssa.Alloc) bool {
	return slices.ContainsFunc(*a.Referrers(), func(i ssa.Instruction) bool {
		load, ok := i.(*ssa.UnOp)
		return ok && slices.ContainsFunc(*load.Referrers(), func(i ssa.Instruction) bool {
			_, returns := i.(*ssa.Return)
			return returns
		})
	})
}

// isReference reports whether a value of type t is nil, or leads to memory as a whole.
func isReference(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice:
		return true
	}
	return false
}

// orNil reports whether of variables of type t is known whether they are nil.
func orNil(t types.Type) bool { return isError(t) || isReference(t) }

// flags returns the variables of bools, numbers, errors and pointers to which nothing happens but that they
// are set, bools and numbers to constants, and read, and that literals of the family which run in order
// capture them. Pointers are results.
func (g *graph) flags() map[*ssa.Alloc]bool {
	out := map[*ssa.Alloc]bool{}
	results := g.pointers()
	for _, o := range g.f.objs {
		a, ok := o.at.(*ssa.Alloc)
		if !ok || !g.unique(g.f, o) {
			continue
		}
		elem := a.Type().Underlying().(*types.Pointer).Elem()
		b, ok := elem.Underlying().(*types.Basic)
		shared := slices.ContainsFunc(g.spawns, func(sp *spawn) bool {
			return slices.ContainsFunc(o.ids, func(id int) bool { return sp.reaches.has(id) })
		})
		counts := ok && b.Info()&(types.IsBoolean|types.IsInteger) != 0
		if !shared && (counts || isError(elem) || slices.Contains(results, a)) {
			out[a] = true
		}
	}
	for i := range g.f.instrs() {
		g.spoils(i, out)
	}
	for a := range out { // one that is never anything but zero is a constant, and these are not folded
		if !g.varied[a] {
			delete(out, a)
		}
	}
	return out
}

// spoils drops the variables to which an instruction does something else.
func (g *graph) spoils(i ssa.Instruction, flags map[*ssa.Alloc]bool) {
	var ops [16]*ssa.Value
	for _, op := range i.Operands(ops[:0]) {
		if *op == nil {
			continue
		}
		for id := range g.f.of(*op).all() {
			a, ok := g.f.elems[id].obj.at.(*ssa.Alloc)
			if !ok || !flags[a] {
				continue
			}
			fine := false
			switch i := i.(type) {
			case *ssa.DebugRef:
				fine = true
			case *ssa.MakeClosure:
				fine = g.f.member[i.Fn.(*ssa.Function)]
			case *ssa.UnOp:
				fine = g.flagOf(i) == a
			case *ssa.Store:
				c, isConst := i.Val.(*ssa.Const)
				elem := a.Type().Underlying().(*types.Pointer).Elem()
				fine = g.variable(i.Addr) == a && op != &i.Val
				varies := !isConst
				if !orNil(elem) {
					fine = fine && isConst && g.code(c) != nothing
					varies = fine && g.code(c) != g.code(ssa.NewConst(zeroOf(elem), elem))
				}
				if fine && varies {
					g.varied[a] = true
				}
			}
			if !fine {
				delete(flags, a)
			}
		}
	}
}
