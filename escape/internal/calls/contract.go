package calls

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
)

// This file is about interfaces of the package whose methods others may implement as well. What such a call
// does to its operands nobody knows. But if all that the package has to offer gives a result to the caller,
// that is what the method is for, and who calls it has to free the result, whoever made it. If some of it
// does and the rest lends, who calls it and frees nothing leaks what the first make.

// promised returns what the results of a call through an interface are, as far as all types of the package
// that implement it agree that they are owned.
func (t *Table) promised(c *ssa.CallCommon) []effect.Result {
	var all *effect.Summary
	out := make([]effect.Result, c.Signature().Results().Len())
	for _, fn := range t.world.offers(c) {
		s := t.Func(fn)
		for k := range min(len(out), len(s.Results)) {
			if s.Results[k].Owned.Cond == effect.Always {
				out[k].Some = max(out[k].Some, fn.Pos())
			}
		}
		if all != nil {
			s = effect.Join(all, s)
		}
		all = s
	}
	if all == nil || all.Unknown {
		return make([]effect.Result, len(out))
	}
	for k := range out {
		if r := all.Results[k]; r.Owned.Cond == effect.Always {
			out[k] = effect.Result{Owned: r.Owned, Error: r.Error, Nil: r.Nil, Holes: r.Holes}
		}
	}
	return out
}

// offers lists the methods that types of the package have for a call through an interface of its own.
func (w *World) offers(c *ssa.CallCommon) []*types.Func {
	m := c.Method
	of, ok := c.Value.Type().Underlying().(*types.Interface)
	if !ok || m.Pkg() != w.pkg.Pkg || !slices.ContainsFunc(w.methods[m.Name()], func(fn *types.Func) bool {
		return types.Identical(plain(fn), plain(m))
	}) {
		return nil
	}
	if have, ok := w.offered[m]; ok {
		return have
	}
	var out []*types.Func
	for _, name := range w.pkg.Pkg.Scope().Names() {
		n, ok := w.pkg.Pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || n.IsAlias() || types.IsInterface(n.Type()) {
			continue
		}
		if named, ok := n.Type().(*types.Named); !ok || named.TypeParams().Len() > 0 {
			continue
		}
		p := types.NewPointer(n.Type())
		if !types.Implements(p, of) {
			continue
		}
		o, _, _ := types.LookupFieldOrMethod(p, true, m.Pkg(), m.Name())
		fn, ok := o.(*types.Func)
		if ok && !types.IsInterface(fn.Signature().Recv().Type()) && !slices.Contains(out, fn.Origin()) {
			out = append(out, fn.Origin())
		}
	}
	if len(out) > mostTargets {
		out = nil
	}
	w.offered[m] = out
	return out
}
