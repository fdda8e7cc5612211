package member

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about what ends a value, and returns where the free of one field fails: fields that it frees
// behind that are left, and nobody ends a value twice.

// stopped returns where methods that end values of a type leave fields so.
func stopped(n *types.Named, methods []*method, frees *effect.Frees) (out []Finding) {
	end := endOf(n, methods, frees)
	s := fieldsOf(n)
	for _, m := range methods {
		ends := end != nil && end.method == m || m.ends() && isEnd(n, m.fn, frees)
		if !ends || m.all {
			continue
		}
		for _, r := range ir.Returns(m.f.SSA) {
			fd := Finding{SSA: m.f.SSA, Method: m.fn, Type: n, Lost: r.Pos()}
			for k, v := range s {
				elsewhere := func(o *method) bool { return o != m && (o.all || o.given[k] || len(o.freed[k]) > 0) }
				if m.given[k] || slices.ContainsFunc(with(m, methods), elsewhere) {
					continue
				}
				if j := m.failing(r, k); j >= 0 {
					fd.Fields, fd.Only = append(fd.Fields, v.Name()), s[j].Name()
				}
			}
			if len(fd.Fields) > 0 {
				out = append(out, fd)
			}
		}
	}
	return out
}

// failing returns the field of which a free has failed at a return with an error, if field k is freed behind
// that free, and not in front of the return; else -1. Where a return has none, the method may well know that
// all was freed before.
func (m *method) failing(r *ssa.Return, k int) int {
	before := func(i ssa.Instruction) bool { return ir.Leads(i, r) }
	if !m.f.Fails(r) || r.Block() == m.f.SSA.Recover || slices.ContainsFunc(m.freed[k], before) {
		return -1
	}
	for j := range fieldsOf(m.of) {
		for _, c := range m.freed[j] {
			if failed, known := m.f.Failed(c, r.Block()); j == k || !failed || !known {
				continue
			}
			if slices.ContainsFunc(m.freed[k], func(i ssa.Instruction) bool { return ir.Leads(c, i) }) {
				return j
			}
		}
	}
	return -1
}
