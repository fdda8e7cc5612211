package proof

// What a walk learns of atoms, and forgets.

import (
	"go/constant"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// knows returns what a phase knows of an atom.
func (w *walker) knows(p phase, a atom) byte {
	k := w.g.known()
	n, ok := k.ids[a]
	if !ok || p>>16 == 0 {
		return nothing
	}
	return k.facts[p>>16][n]
}

// learn returns p with what is known of an atom from here on.
func (w *walker) learn(p phase, a atom, value byte) phase {
	k := w.g.known()
	n, ok := k.ids[a]
	if !ok || w.knows(p, a) == value {
		return p
	}
	facts := make([]byte, len(k.atoms))
	copy(facts, k.facts[p>>16])
	facts[n] = value
	return w.with(p, facts)
}

// with returns p with these facts.
func (w *walker) with(p phase, facts []byte) phase {
	k := w.g.known()
	id, ok := k.factID[string(facts)]
	if !ok {
		id = phase(len(k.facts))
		if !slices.ContainsFunc(facts, func(b byte) bool { return b != nothing }) {
			id = 0
		} else {
			k.facts = append(k.facts, string(facts))
		}
		k.factID[string(facts)] = id
	}
	return p&phaseMask | id<<16
}

// value returns what is known of v, as kind says.
func (w *walker) value(v ssa.Value, kind atomKind, p phase) byte {
	if known := w.knows(p, atom{v, kind}); known != nothing {
		return known
	}
	if kind == isNil {
		v = w.g.stored(v)
	}
	if c, ok := v.(*ssa.Const); ok {
		if kind == isNil {
			return truth(c.Value == nil)
		}
		return w.g.code(c)
	}
	if kind == isTrue {
		if a, value, is := w.g.test(v); a.v != nil && a.v != v {
			if known := w.value(a.v, a.kind, p); known != nothing {
				return truth((known == value) == is)
			}
		}
	}
	if i, ok := v.(ssa.Instruction); ok && kind == isNil && nonNil(v, i.Block()) {
		return no
	}
	return w.says(v, kind, p)
}

func truth(b bool) byte {
	if b {
		return yes
	}
	return no
}

// says returns what v, a result beside the resource that is followed, says of it: an error that is not nil,
// and a flag that is false, say that nothing was made, but for bodies that are known to return both.
func (w *walker) says(v ssa.Value, kind atomKind, p phase) byte {
	n := w.site.besides(v)
	if n < 0 || p&phaseMask != newest {
		return nothing
	}
	made := w.g.made(w.site)
	if !w.zero && made.Beside {
		return nothing
	}
	switch {
	case kind == isNil && isError(v.Type()) && n == w.site.beside().Len()-1 && !(w.zero && made.Zero):
		return truth(!w.zero)
	case kind == isTrue && made.OK == n+1:
		return truth(!w.zero)
	}
	return nothing
}

// crossed returns p on the edge from a block to another: phis are set, what is computed again is forgotten.
func (w *walker) crossed(p phase, to *ssa.BasicBlock, edge int) phase {
	k := w.g.known()
	var facts []byte
	for n, a := range k.atoms {
		was := nothing
		if p>>16 != 0 {
			was = k.facts[p>>16][n]
		}
		now := was
		i, _ := a.v.(ssa.Instruction)
		if i != nil && i.Block() == to && a.kind != isFlag {
			now = nothing
			if phi, ok := i.(*ssa.Phi); ok {
				if now = w.value(phi.Edges[edge], a.kind, p); a.kind == isNil && nonNil(phi.Edges[edge], to.Preds[edge]) {
					now = no
				}
			}
		}
		if i != nil && i.Parent() == to.Parent() && k.live[n] != nil && !k.live[n][to] {
			now = nothing
		}
		if now == was {
			continue
		}
		if facts == nil {
			facts = make([]byte, len(k.atoms))
			copy(facts, k.facts[p>>16])
		}
		facts[n] = now
	}
	if facts == nil {
		return p
	}
	return w.with(p, facts)
}

// entered returns p at the start of a literal: its registers are those of another run.
func (w *walker) entered(p phase, fn *ssa.Function) phase {
	for _, a := range w.g.known().atoms {
		if a.kind != isFlag && a.v.Parent() == fn && fn != w.f.root {
			p = w.learn(p, a, nothing)
		}
	}
	return p
}

// noted returns p behind an instruction that makes, sets or reads a flag.
func (w *walker) noted(p phase, i ssa.Instruction) phase {
	switch i := i.(type) {
	case *ssa.Alloc:
		if a := (atom{i, isFlag}); w.g.flagged(a) {
			elem := i.Type().Underlying().(*types.Pointer).Elem()
			now := yes // it is nil
			if !orNil(elem) {
				now = w.g.code(ssa.NewConst(zeroOf(elem), elem))
			}
			p = w.learn(p, a, now)
		}
	case *ssa.Store:
		if v := w.g.variable(i.Addr); v != nil && w.g.flagged(atom{v, isFlag}) {
			var now byte
			if c, ok := i.Val.(*ssa.Const); ok && !orNil(c.Type()) {
				now = w.g.code(c)
			} else {
				now = w.nilAt(i.Val, i, p)
			}
			p = w.learn(p, atom{v, isFlag}, now)
		}
	case *ssa.UnOp:
		if v := w.g.flagOf(i); v != nil && w.g.flagged(atom{v, isFlag}) {
			now := w.knows(p, atom{v, isFlag})
			p = w.learn(w.learn(w.learn(p, atom{i, isTrue}, now), atom{i, isEqual}, now), atom{i, isNil}, now)
		}
	}
	return p
}

// nilAt returns whether a value is nil where an instruction has it, as far as is known: if it was read of a
// flag just before, it is what that is.
func (w *walker) nilAt(v ssa.Value, at ssa.Instruction, p phase) byte {
	if known := w.value(v, isNil, p); known != nothing || nonNil(w.g.stored(v), at.Block()) {
		return max(known, no)
	}
	load, ok := v.(*ssa.UnOp)
	if !ok || !w.f.undisturbed(load, at) {
		return nothing
	}
	return w.knows(p, atom{w.g.flagOf(load), isFlag})
}

func zeroOf(t types.Type) constant.Value {
	if isBool(t) {
		return constant.MakeBool(false)
	}
	return constant.MakeInt64(0)
}

// flagged reports whether a flag is an atom.
func (g *graph) flagged(a atom) bool { _, ok := g.known().ids[a]; return ok }
