package gen

// Printing a function around its statements.

import (
	"fmt"
	"slices"
	"strings"
)

func (w *printer) results(f *Func) string {
	h := ""
	switch f.Result {
	case RNone:
		return ""
	case RErr:
		return "error"
	case RInt:
		return "int64"
	case RBuf:
		h = w.handleType(f.Res)
	case RPair:
		h = w.pairType(f.Res)
	case RPairPtr:
		h = "*" + w.pairType(f.Res)
	case RSlice:
		h = "[]" + w.handleType(f.Res)
	case RStack:
		h = "*" + w.stackType(f.Res)
	case RHeld:
		return "error"
	case RAny:
		h = "any"
	case RTwo:
		h = w.handleType(f.Res)
		h += ", " + h
	}
	if f.Clean != nil {
		return fmt.Sprintf("(%s %s, err error)", f.Clean.Name, h)
	}
	return "(" + h + ", error)"
}

func (w *printer) zero(f *Func) string {
	switch f.Result {
	case RBuf:
		if f.Res == RMat {
			return "nil"
		}
		return w.handleType(f.Res) + "{}"
	case RAny:
		if f.Res == RMat && f.Index%2 == 0 {
			return "(" + w.handleType(RMat) + ")(nil)"
		}
	case RTwo:
		g := *f
		g.Result = RBuf
		return w.zero(&g) + ", " + w.zero(&g)
	case RPair:
		return w.pairType(f.Res) + "{}"
	}
	return "nil"
}

func (w *printer) function(f *Func) {
	w.f = f
	w.err = ""
	w.lit = 0
	w.reads = map[*Var]int{}
	w.jumps = map[string]bool{}
	w.gotos = map[string]bool{}
	if w.p.Like != nil { // both texts name the same variables
		w.count(w.p.Like.Funcs[f.Index].Body)
	} else {
		w.count(f.Body)
	}
	recv, tparams := "", ""
	if f.Method {
		recv = "(" + w.kit() + ") "
	}
	if f.Generic {
		tparams = "[T " + w.rt() + ".Elem]"
	}
	var params []string
	for _, v := range f.Params {
		params = append(params, v.Name+" "+w.varType(v))
	}
	w.pf("func %s%s%s(%s) %s {\n", recv, w.funcName(f), tparams,
		strings.Join(append([]string{"c *" + w.rt() + ".C"}, params...), ", "), w.results(f))
	if f.Recover {
		caught := ""
		if f.Catch {
			caught = "c.Caught(r)\n"
		}
		w.pf("defer func() {\nif r := recover(); r != nil {\nc.Out(%d)\n%s}\n}()\n", recovered, caught)
	}
	if f.Rescue {
		w.pf("defer func() {\nif p := recover(); p != nil {\nc.Out(%d)\nerr = nil\n}\n}()\n", recovered)
	}
	if f.Named {
		free, zero := w.undo(f)
		w.pf("defer func() {\nif err != nil {\n%s\n%s = %s\n}\n}()\n", free, f.Clean.Name, zero)
	}
	if f.Hoist {
		w.pf("var err error\n_ = err\n")
		for _, s := range f.Body {
			for _, v := range declares(s) {
				w.pf("var %s %s\n", w.declared(v), w.varType(v))
				w.pf("%s = %s\n", strings.Join(slices.Repeat([]string{blank}, v.names()), ", "), w.declared(v))
			}
		}
	}
	w.list(f.Body, true)
	if n := len(f.Body); f.Result != RNone && (n == 0 || !terminal(f.Body[n-1])) {
		w.ret(&Return{})
	}
	w.pf("}\n\n")
}

// undo is how f gives back what its named result holds, and the zero value of that.
func (w *printer) undo(f *Func) (free, zero string) {
	r := f.Clean
	zero = w.zero(f)
	switch {
	case r.Kind == KSlice:
		return "for _, x := range " + r.Name + " {\n" + w.freeCall(Of(&Var{Name: "x", Res: f.Res})) + "\n}", zero
	case r.Kind == KStack:
		return w.freeCall(Of(r)), zero
	case !r.fields():
		return w.freeOf(r.Name, f.Res), zero
	case w.p.Closes && (f.Res == RBuffer || !w.p.Insist):
		return w.freeCall(Of(r)), zero
	}
	return w.freeOf(w.place(At(r, 0)), f.Res) + "\n" + w.freeOf(w.place(At(r, 1)), f.Res), zero
}
