package escape

// What callers know of a function: a spec, a directive, a fact, or what its body shows.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/spec"
)

// cgoCheck reports whether f is a check of pointers that cgo puts around calls.
func cgoCheck(f *types.Func) bool {
	return f.Signature().Recv() == nil && (f.Name() == "_cgoCheckPointer" || f.Name() == "_cgoCheckResult")
}

// summaryOf returns what a call of f does.
func (p *pkg) summaryOf(f *types.Func) *Summary {
	f = f.Origin()
	if s := p.cache[f]; s != nil {
		return s
	}
	sig := f.Signature()
	name := spec.FullName(f)
	own := f.Pkg() == p.types && p.body(f) != nil
	var base *Summary
	switch {
	case own:
		base = p.sums[f]
		if base == nil && !p.busy[f] && p.decls[f] == nil {
			base = worst(sig, p.funcName(f)+", which is not decided")
		} else if base == nil {
			// In the same cycle of calls and not decided yet: for now such a
			// call does not return, so that what the other paths show holds.
			base = blank(sig)
			base.NoReturn = p.busy[f]
		}
	case cgoCheck(f):
		base = blank(sig)
	default:
		base = p.facts.summary(f)
	}
	line, ok := p.set.Lookup(name)
	if ok && base != nil && base.Decided && !own {
		if line.Level < base.Level {
			ok = false // the directive of the function's package beats our lastuse.spec
		} else {
			base = base.Under // our line replaces the whole line of the function's module
		}
	}
	if base == nil {
		base = worst(sig, p.funcName(f)+", which may keep it")
	}
	s := base
	if ok {
		s = p.applySpec(base, sig, line)
	}
	if effect.NeverReturns(name) {
		c := *s
		c.NoReturn = true
		s = &c
	}
	if !own || p.sums[f] != nil {
		p.cache[f] = s
	}
	return s
}

// applySpec lays the clauses of a spec line over what is inferred: operands
// with a clause are as it says, others stay.
func (p *pkg) applySpec(base *Summary, sig *types.Signature, line *spec.Line) *Summary {
	s := *base
	s.Args = slices.Clone(base.Args)
	s.Res = slices.Clone(base.Res)
	s.Unknown = false
	s.Decided, s.Level = true, line.Level
	index := func(o spec.Operand) int {
		if o.Kind == spec.Recv {
			return 0
		}
		if s.Recv {
			return o.Index + 1
		}
		return o.Index
	}
	when := func(c spec.Cond) When {
		switch c.Kind {
		case spec.ArgTrue:
			return When{K: IfTrue, Arg: int8(index(c.Arg))}
		case spec.ArgFalse:
			return When{K: IfFalse, Arg: int8(index(c.Arg))}
		case spec.OnSuccess:
			return When{K: OnSuccess}
		case spec.OnError:
			return When{K: OnError}
		}
		return When{K: Always}
	}
	cleanArg, cleanRes := map[int]bool{}, map[int]bool{}
	named := map[int]bool{} // operands that a result aliases: borrowed, if nothing else is said
	for _, c := range spec.Bind(line.Clauses, sig) {
		if c.Operand.Kind == spec.Result {
			i := c.Operand.Index
			if !cleanRes[i] {
				cleanRes[i] = true
				s.Res[i] = ResEffect{Armed: base.Res[i].Armed}
			}
			switch c.Effect {
			case spec.Owned:
				s.Res[i].Owned = true
			case spec.Views:
				if c.Of.Kind == spec.Result {
					s.Res[i].Of |= 1 << c.Of.Index
					continue
				}
				s.Res[i].Views |= 1 << index(c.Of)
				named[index(c.Of)] = true
			case spec.Is:
				s.Res[i].Is |= 1 << index(c.Of)
				s.Res[i].Must = true
				named[index(c.Of)] = true
			}
			continue
		}
		i := index(c.Operand)
		if !cleanArg[i] {
			cleanArg[i] = true
			s.Args[i] = ArgEffect{NilOK: base.Args[i].NilOK, Looks: base.Args[i].Looks, Insists: base.Args[i].Insists}
		}
		a := &s.Args[i]
		switch c.Effect {
		case spec.Freed:
			a.Freed = when(c.Cond)
			a.Repeatable = a.Repeatable || c.Repeatable
		case spec.Escapes:
			a.Escapes = when(c.Cond)
			a.Via = p.specName(line)
		case spec.Retained:
			a.Retained = true
		}
	}
	for i := range named {
		if !cleanArg[i] && i < len(s.Args) {
			s.Args[i] = ArgEffect{NilOK: base.Args[i].NilOK, Looks: base.Args[i].Looks, Insists: base.Args[i].Insists}
		}
	}
	// What the line says goes nowhere does not leave in an error either. For other
	// results a line may be silent because the body is seen.
	for i := range s.Res {
		if cleanRes[i] || !isError(sig.Results().At(i).Type()) {
			continue
		}
		for j := range s.Args {
			if cleanArg[j] || named[j] {
				s.Res[i].Views &^= 1 << j
				s.Res[i].Is &^= 1 << j
			}
		}
	}
	// Of what a body hands to somebody it is not known that no result leads to it.
	back := func(r, of spec.Operand) bool {
		i, res := index(of), base.Res[r.Index]
		return base.Unknown || base.Args[i].Escapes.K != Never || (res.Views|res.Is)&(1<<i) != 0
	}
	for _, c := range line.Implied(sig, back) {
		s.Res[c.Operand.Index].Views |= 1 << index(c.Of)
	}
	return &s
}

func (p *pkg) specName(l *spec.Line) string { return "as the spec says of " + l.Name }
