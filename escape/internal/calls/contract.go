package calls

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/effect"
)

// This file is about interfaces of the package whose methods others may implement as well. What such a call
// does to its operands nobody knows. But if all that the package has to offer gives a result to the caller,
// that is what the method is for, and who calls it has to free the result, whoever made it. If some of it
// does and the rest lends, who calls it and frees nothing leaks what the first make.

// promise returns what a call of method m of an interface does, as far as all types of the package that
// implement it agree: which results are owned and, if the interface is freed as they are, what becomes of the
// value that it is called on.
func (t *Table) promise(of types.Type, m *types.Func) *effect.Summary {
	var all *effect.Summary
	out := effect.Worst(m.Signature())
	for _, fn := range t.world.offers(of, m) {
		s := t.Func(fn)
		for k := range min(len(out.Results), len(s.Results)) {
			if s.Results[k].Owned.Cond == effect.Always {
				out.Results[k].Some = max(out.Results[k].Some, fn.Pos())
			}
		}
		if all != nil {
			s = effect.Join(all, s)
		}
		all = s
	}
	if all == nil || all.Unknown {
		return out
	}
	for k, r := range all.Results {
		if r.Owned.Cond == effect.Always {
			out.Results[k] = effect.Result{Owned: r.Owned, Error: r.Error, Nil: r.Nil, Holes: r.Holes}
		}
	}
	if !t.ends.Promises(m) {
		return out
	}
	if free := t.ends.Found(m); free != nil {
		out.Params[0], out.Unknown = free.Does(), false
	} else if recv := all.Params[0]; recv.Borrows() || recv.Retained && recv.Freed.Cond == effect.Never {
		out.Params[0], out.Unknown = effect.Param{Retained: recv.Retained}, false
		for k, r := range all.Results {
			w := &out.Results[k]
			w.Is, w.Views, w.Needs, w.Tells, w.Shows = r.Is&1, r.Views&1, r.Needs&1, r.Tells&1, r.Shows&1
		}
	}
	return out
}

// offers lists what types of the package have for method m of an interface of its own.
func (w *World) offers(t types.Type, m *types.Func) []*types.Func {
	of, ok := t.Underlying().(*types.Interface)
	if !ok || m.Pkg() != w.pkg.Pkg || !slices.ContainsFunc(w.methods[m.Name()], func(fn *types.Func) bool {
		return types.Identical(plain(fn), plain(m))
	}) {
		return nil
	}
	if have, ok := w.offered[m]; ok {
		return have
	}
	var out []*types.Func
	for _, o := range Offers(w.pkg.Pkg, of, m) {
		if !slices.Contains(out, o.By) {
			out = append(out, o.By)
		}
	}
	if len(out) > mostTargets {
		out = nil
	}
	w.offered[m] = out
	return out
}

// An Offer is a type that implements an interface, and the method that it has for one of it.
type Offer struct {
	Of *types.TypeName
	By *types.Func
}

// Offers lists what types of a package have for method m of an interface of it, beside types that embed that
// and types with parameters.
func Offers(pkg *types.Package, of *types.Interface, m *types.Func) (out []Offer) {
	for _, name := range pkg.Scope().Names() {
		n, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || n.IsAlias() || types.IsInterface(n.Type()) {
			continue
		}
		if named, ok := n.Type().(*types.Named); !ok || named.TypeParams().Len() > 0 {
			continue
		}
		p := types.NewPointer(n.Type())
		o, _, _ := types.LookupFieldOrMethod(p, true, m.Pkg(), m.Name())
		fn, ok := o.(*types.Func)
		if ok && !types.IsInterface(fn.Signature().Recv().Type()) && types.Implements(p, of) {
			out = append(out, Offer{n, fn.Origin()})
		}
	}
	return out
}
