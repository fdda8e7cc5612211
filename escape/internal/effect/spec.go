package effect

import (
	"go/types"

	"github.com/lastuse/lastuse/escape/spec"
)

// Of returns the summary of a function of which a spec or directive has a line. Operands
// without a clause are as in inferred or, where that is nil, escape; one that a result is or
// views is borrowed, if the line says no more of it.
func Of(line *spec.Line, sig *types.Signature, inferred *Summary) *Summary {
	s := Worst(sig)
	if inferred != nil && line.Torn == "" {
		c := *inferred
		c.Params, c.Results = append([]Param(nil), c.Params...), append([]Result(nil), c.Results...)
		s = &c
	}
	base := Summary{Unknown: s.Unknown, Params: append([]Param(nil), s.Params...),
		Results: append([]Result(nil), s.Results...)}
	s.Unknown, s.Decided = false, true
	clauses := spec.Bind(line.Clauses, sig)
	said := uint64(0)           // bit i: the line says something of operand i
	results := map[int]bool{}   // of which it does
	for _, c := range clauses { // what has a clause is as the clauses say, and no more
		if c.Operand.Kind == spec.Result {
			s.Results[c.Operand.Index] = Result{}
			results[c.Operand.Index] = true
			if (c.Effect == spec.Views || c.Effect == spec.Is) && c.Of.Kind != spec.Result {
				s.Params[s.index(c.Of)] = Param{}
				said |= 1 << s.index(c.Of)
			}
		} else {
			p := &s.Params[s.index(c.Operand)]
			if line.IsGlob() && c.Effect == spec.Borrowed && p.Freed.Cond != Never {
				continue // who wrote it has not read the function
			}
			*p = Param{TakesNil: p.TakesNil, Looked: p.Looked}
			said |= 1 << s.index(c.Operand)
		}
	}
	for _, c := range clauses {
		s.add(c, false, false)
	}
	// what goes nowhere is not in the error either
	if n := sig.Results().Len() - 1; HasError(sig) && !results[n] {
		s.Results[n].Views &^= said
		s.Results[n].Needs &^= said
		s.Results[n].Tells &^= said
		s.Results[n].Shows &^= said
		s.Results[n].Is &^= said
	}
	for _, c := range line.Implied(sig, func(r, of spec.Operand) bool {
		i, res := s.index(of), base.Results[r.Index]
		return base.Unknown || base.Params[i].Escapes.Cond != Never || res.Leads()>>i&1 == 1
	}) {
		s.add(c, false, false)
		results[c.Operand.Index] = true
	}
	for n := range results {
		if r := &s.Results[n]; r.Owned.Cond != Never {
			r.Needs, r.Views = r.Needs|r.Views, 0
		}
	}
	for _, c := range clauses {
		if c.Effect == spec.Views && c.Operand.Kind == spec.Result && c.Of.Kind == spec.Result {
			s.Results[c.Of.Index].Owned = When{} // no use of the other result would keep it
		}
	}
	return s
}

// index returns the index among Params of a bound operand.
func (s *Summary) index(o spec.Operand) int {
	if o.Kind == spec.Recv || !s.Recv {
		return o.Index
	}
	return o.Index + 1
}

// add adds what a bound clause says; maybe stands for a condition that is not known, and
// orNil says that an owned result, or the operand, may be nil.
func (s *Summary) add(c spec.Clause, orNil, maybe bool) {
	w := s.cond(c.Cond, maybe)
	if c.Operand.Kind == spec.Result {
		r := &s.Results[c.Operand.Index]
		switch c.Effect {
		case spec.Owned:
			r.Owned, r.Nil = w, orNil
			if w.Cond == OnSuccess {
				r.Owned = When{Cond: Always} // as every owned result beside an error
			}
		case spec.Views:
			if c.Of.Kind != spec.Result {
				r.Views |= 1 << s.index(c.Of)
			}
		case spec.Is:
			r.Is |= 1 << s.index(c.Of)
			r.Must = w.Cond == Always
		}
		return
	}
	p := &s.Params[s.index(c.Operand)]
	p.TakesNil = p.TakesNil || orNil
	switch c.Effect {
	case spec.Freed:
		p.Freed, p.Repeatable = w, c.Repeatable
	case spec.Escapes:
		p.Escapes = w
	case spec.Retained:
		p.Retained = true
	}
}

func (s *Summary) cond(c spec.Cond, maybe bool) When {
	if maybe {
		return When{Cond: Maybe}
	}
	switch c.Kind {
	case spec.OnSuccess:
		return When{Cond: OnSuccess}
	case spec.OnError:
		return When{Cond: OnError}
	case spec.ArgTrue:
		return When{Cond: IfTrue, Param: s.index(c.Arg)}
	case spec.ArgFalse:
		return When{Cond: IfFalse, Param: s.index(c.Arg)}
	}
	return When{Cond: Always}
}
