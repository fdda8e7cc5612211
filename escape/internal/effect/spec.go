package effect

import (
	"go/types"

	"github.com/lastuse/lastuse/escape/spec"
)

// Of returns the summary of a function of which a spec or directive has a line. Operands
// without a clause are as in inferred or, where that is nil, escape.
func Of(line *spec.Line, sig *types.Signature, inferred *Summary) *Summary {
	s := Worst(sig)
	if inferred != nil {
		c := *inferred
		c.Params, c.Results = append([]Param(nil), c.Params...), append([]Result(nil), c.Results...)
		s = &c
	}
	s.Unknown, s.Decided = false, true
	clauses := spec.Bind(line.Clauses, sig)
	for _, c := range clauses { // what has a clause is as the clauses say, and no more
		if c.Operand.Kind == spec.Result {
			s.Results[c.Operand.Index] = Result{}
		} else {
			s.Params[s.index(c.Operand)] = Param{}
		}
	}
	for _, c := range clauses {
		s.add(c, false, false)
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
// orNil says that an owned result may be nil.
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
			r.Views |= 1 << s.index(c.Of)
		case spec.Is:
			r.Is |= 1 << s.index(c.Of)
			r.Must = w.Cond == Always
		}
		return
	}
	p := &s.Params[s.index(c.Operand)]
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
