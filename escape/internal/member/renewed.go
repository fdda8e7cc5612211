package member

import (
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
)

// This file is about methods that make a value a new one: all fields are given something else, and what some
// had is freed. One that is left alone is forgotten, if what ends values of the type frees it.

// renewed returns what methods that renew values of a type leave as it was.
func renewed(n *types.Named, methods []*method, frees *effect.Frees) (out []Finding) {
	end := endOf(n, methods, frees)
	if end == nil {
		return nil
	}
	s := fieldsOf(n)
	count, _ := calls.LastOne(end.f.SSA)
	for _, m := range methods {
		if m == end.method || m.ends() || m.all || len(m.calls) > 0 {
			continue
		}
		left, freed := -1, 0
		for k, v := range s {
			switch {
			case isNested(v): // its fields count
			case m.set[k] != nil && len(m.freed[k]) > 0:
				freed++
			case m.set[k] != nil || v == count:
			case left >= 0 || m.tested[k] || m.given[k] || len(m.freed[k]) > 0 || len(end.freed[k]) == 0:
				freed = -len(s) // it leaves another one, or knows of this one
			default:
				left = k
			}
		}
		if left >= 0 && freed > 1 { // one alone may well be all that the method is about
			out = append(out, Finding{SSA: m.f.SSA, Method: m.fn, Type: n, Fields: []string{s[left].Name()}})
		}
	}
	return out
}
