package escape

// Calls of which everything that they may call is known, although a variable, a field or an
// interface stands between: nothing outside the package can add to what is stored there, and
// all that the package stores is seen.
//
// Function values are followed without regard to order, from the call back to what is stored
// in the place that it reads: a local variable, a parameter of an unexported function, an
// unexported field, the result of a function of this package. Fields of one name are one place
// in whatever structs they are, because a conversion may carry a value from one struct to another.
// Variables of the package are left alone: they are there to be assigned. The place is open, and
// the call unknown, as soon as anything is stored there that is not a function, a literal, a method
// value or what another such place holds; where its address is taken; and where a file that this
// build leaves out, or one of the package's tests, mentions it.

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/spec"
)

// maxClosed bounds the functions that a call may choose from.
const maxClosed = 32

// A funcSlot is a place that function values are read from: one of its fields is set.
type funcSlot struct {
	field  string      // unexported fields of that name
	v      *types.Var  // a local variable or a parameter
	result *types.Func // what this returns, as result index
	index  int
}

// A funcStore is what somebody puts into a slot.
type funcStore struct {
	e      ast.Expr
	result int // of the call e; -1: e itself
}

// A callTarget is a function that a call may run: called as it is, as a method value, whose
// receiver is given already, or as a method expression, whose receiver is its first argument.
type callTarget struct {
	fn   *types.Func
	kind targetKind
}

type targetKind uint8

const (
	calledPlain targetKind = iota
	calledBound
	calledExpr
)

// funcValues is what a package stores in its slots.
type funcValues struct {
	stored map[funcSlot][]funcStore
	open   map[funcSlot]bool
	all    bool // something is stored that is not seen where: every field is open
	known  map[funcSlot][]callTarget
	lits   map[*ast.FuncLit]*types.Func // literals that are targets, under names of their own
	bodies map[*types.Func]*ast.FuncLit
}

// values returns what the package stores where function values are read.
func (p *pkg) values() *funcValues {
	if p.funcs == nil {
		p.funcs = &funcValues{
			stored: map[funcSlot][]funcStore{}, open: map[funcSlot]bool{}, known: map[funcSlot][]callTarget{},
			lits: map[*ast.FuncLit]*types.Func{}, bodies: map[*types.Func]*ast.FuncLit{},
		}
		p.findStores()
	}
	return p.funcs
}

// body returns what f runs, if it is declared in this package with a body, or a literal
// that is the target of a call.
func (p *pkg) body(f *types.Func) *ast.BlockStmt {
	if d := p.decls[f]; d != nil {
		return d.Body
	}
	if p.funcs != nil && p.funcs.bodies[f] != nil {
		return p.funcs.bodies[f].Body
	}
	return nil
}

// closedCall returns what fun, which names no function, may call; nil if that is not known.
func (p *pkg) closedCall(fun ast.Expr) []callTarget {
	if call, ok := ast.Unparen(fun).(*ast.CallExpr); ok { // f()()
		slots, _ := p.resultsOf(funcStore{call, -1})
		var out []callTarget
		for _, s := range slots {
			ts := p.slotTargets(s)
			if ts == nil {
				return nil
			}
			out = append(out, ts...)
		}
		return out
	}
	if slot, ok := p.slotOf(fun); ok {
		return p.slotTargets(slot)
	}
	return nil
}

// closedSummary joins what the targets do, as a call without a receiver sees it; nil if that
// is not known.
func (p *pkg) closedSummary(targets []callTarget) *Summary {
	var joined *Summary
	for _, t := range targets {
		s := p.summaryOf(t.fn).called(t.kind)
		if s == nil {
			return nil
		}
		if joined = joined.agreed(s); joined == nil {
			return nil
		}
	}
	return joined
}

// agreed joins s, nil at first, with another function that a call may run; nil if one frees
// what the other does not, so that nothing can be said about either.
func (s *Summary) agreed(t *Summary) *Summary {
	if s == nil {
		c := *t
		c.Puts = nil
		return &c
	}
	if len(s.Args) == len(t.Args) {
		for i, a := range s.Args {
			if a.Freed != t.Args[i].Freed {
				return nil
			}
		}
	}
	return s.join(t)
}

// called returns the summary of a call of a function that has no receiver by then; nil if
// a result leads to the receiver that a method value has.
func (s *Summary) called(k targetKind) *Summary {
	if k == calledPlain {
		return s
	}
	c := *s
	c.Recv, c.Puts = false, nil
	if k == calledExpr || !s.Recv {
		return &c
	}
	given := func(w When) When {
		switch {
		case w.K != IfTrue && w.K != IfFalse:
		case w.Arg == 0:
			w = When{K: Maybe}
		default:
			w.Arg--
		}
		return w
	}
	c.Args, c.Res = slices.Clone(s.Args[1:]), slices.Clone(s.Res)
	for i := range c.Args {
		c.Args[i].Freed, c.Args[i].Escapes = given(c.Args[i].Freed), given(c.Args[i].Escapes)
	}
	for i := range c.Res {
		if (c.Res[i].Views|c.Res[i].Is)&1 != 0 {
			return nil
		}
		c.Res[i].Views, c.Res[i].Is = c.Res[i].Views>>1, c.Res[i].Is>>1
	}
	return &c
}

// slotOf returns the slot that e reads.
func (p *pkg) slotOf(e ast.Expr) (funcSlot, bool) {
	switch e := p.unconverted(e).(type) {
	case *ast.Ident:
		if v, ok := p.info.Uses[e].(*types.Var); ok && p.local(v) {
			return funcSlot{v: v}, true
		}
	case *ast.SelectorExpr:
		if s := p.info.Selections[e]; s != nil && s.Kind() == types.FieldVal {
			return p.fieldSlot(s.Obj())
		}
	}
	return funcSlot{}, false
}

// resultsOf returns the slots of what a call returns, in which x finds a function.
func (p *pkg) resultsOf(x funcStore) ([]funcSlot, bool) {
	call, ok := p.unconverted(x.e).(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	called := []callTarget{{fn: p.called(call)}}
	if called[0].fn == nil {
		called = p.closedCall(call.Fun)
	}
	var out []funcSlot
	for _, t := range called {
		slot, ok := p.resultSlot(t.fn, max(x.result, 0))
		if !ok {
			return nil, false
		}
		out = append(out, slot)
	}
	return out, len(out) > 0
}

// unconverted strips the conversions between types of functions from e.
func (p *pkg) unconverted(e ast.Expr) ast.Expr {
	for {
		e = ast.Unparen(e)
		call, ok := e.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 || !p.info.Types[call.Fun].IsType() {
			return e
		}
		if _, ok := p.typeOf(call.Args[0]).Underlying().(*types.Signature); !ok {
			return e
		}
		e = call.Args[0]
	}
}

// fieldSlot returns the slot of a field that only this package can name.
func (p *pkg) fieldSlot(o types.Object) (funcSlot, bool) {
	v, ok := o.(*types.Var)
	if !ok || !v.IsField() || v.Exported() || v.Pkg() != p.types {
		return funcSlot{}, false
	}
	return funcSlot{field: v.Name()}, true
}

// resultSlot returns the slot of what f, of this package in every build, returns.
func (p *pkg) resultSlot(f *types.Func, i int) (funcSlot, bool) {
	f = f.Origin()
	if p.body(f) == nil || p.decls[f] != nil && len(p.twinsOf(f)) > 0 {
		return funcSlot{}, false
	}
	return funcSlot{result: f, index: i}, true
}

// local reports whether v is a variable inside a function of this package.
func (p *pkg) local(v *types.Var) bool {
	return !v.IsField() && v.Pkg() == p.types && v.Parent() != p.types.Scope() && v.Name() != "_"
}

// slotTargets lists what a slot may hold; nil if that is not known, or nothing.
func (p *pkg) slotTargets(s funcSlot) []callTarget {
	vs := p.values()
	if ts, ok := vs.known[s]; ok {
		return ts
	}
	vs.known[s] = nil // what is asked for meanwhile may depend on it
	var out []callTarget
	seen := map[funcSlot]bool{}
	var visit func(s funcSlot) bool
	visit = func(s funcSlot) bool {
		if seen[s] {
			return true
		}
		seen[s] = true
		if vs.open[s] || len(vs.stored[s]) == 0 || s.field != "" && (vs.all || p.saidElsewhere(s.field) || p.unkeyed()) {
			return false
		}
		for _, st := range vs.stored[s] {
			if results, ok := p.resultsOf(st); ok {
				if slices.ContainsFunc(results, func(r funcSlot) bool { return !visit(r) }) {
					return false
				}
				continue
			} else if st.result > 0 {
				return false
			}
			if next, ok := p.slotOf(st.e); ok {
				if !visit(next) {
					return false
				}
				continue
			}
			t, none, ok := p.targetOf(st.e)
			if !ok {
				return false
			}
			if !none && !slices.Contains(out, t) {
				out = append(out, t)
			}
			if len(out) > maxClosed {
				return false
			}
		}
		return true
	}
	if !visit(s) {
		out = nil
	}
	slices.SortFunc(out, func(a, b callTarget) int { return strings.Compare(p.targetKey(a), p.targetKey(b)) })
	vs.known[s] = out
	return out
}

func (p *pkg) targetKey(t callTarget) string {
	return fmt.Sprintf("%s %d %d", spec.FullName(t.fn), t.fn.Pos(), t.kind)
}

// targetOf returns the function that e is; none if it is nil, which nobody can call.
func (p *pkg) targetOf(e ast.Expr) (t callTarget, none, ok bool) {
	e = p.unconverted(e)
	if p.info.Types[e].IsNil() {
		return t, true, true
	}
	if f := p.funcOf(e); f != nil {
		return callTarget{f.Origin(), calledPlain}, false, true
	}
	switch e := e.(type) {
	case *ast.FuncLit:
		return callTarget{p.literal(e), calledPlain}, false, true
	case *ast.SelectorExpr:
		s := p.info.Selections[e]
		if s == nil {
			return t, false, false
		}
		f, isFunc := s.Obj().(*types.Func)
		if !isFunc || types.IsInterface(f.Signature().Recv().Type()) {
			return t, false, false
		}
		if s.Kind() == types.MethodExpr {
			return callTarget{f.Origin(), calledExpr}, false, len(s.Index()) == 1
		}
		return callTarget{f.Origin(), calledBound}, false, true
	}
	return t, false, false
}

// literal returns the name under which a literal has its summary.
func (p *pkg) literal(lit *ast.FuncLit) *types.Func {
	vs := p.values()
	if f := vs.lits[lit]; f != nil {
		return f
	}
	sig := p.typeOf(lit).Underlying().(*types.Signature)
	f := types.NewFunc(lit.Pos(), p.types, fmt.Sprintf("the function literal at %s", report.At(lit.Pos())), sig)
	vs.lits[lit], vs.bodies[f] = f, lit
	return f
}
