// Package calls says which function a call runs and in which order functions are looked
// at, so that a call finds the summary of what it runs.
//
// # Words
//
//   - A table has the summary of each function and literal: what a spec decides, what is
//     known of another package, or what was inferred so far ([Table]).
//   - A target is what a call may run that names no function ([Target]).
//   - The world is what the package does with its functions ([World]); elsewhere is what
//     files say that this build leaves out, and tests ([Elsewhere]).
//   - A round of functions is a set that call one another, in turn or in circles; a round
//     stands behind those that it calls ([Order]).
//
// # The rule
//
// A call is known if it names its function. Any other is known if everything is seen that it may run, that is
// something, and nothing outside the package can add to it; then it does what all of that does, joined.
// Function values are followed from the call back to what is stored in the place that they are read from,
// without regard to order: a local variable, a parameter of an unexported function whose every mention is a
// call, an unexported field (those of one name are one place, as structs convert into one another), a result
// of a function of the package. Variables of packages are left alone: they are there to be assigned, by tests
// above all; a line of a spec may say what is in one, whoever assigns it. Of interfaces, unexported methods
// are known. The place is unknown as soon as something else is stored there, its address is taken, or a file
// elsewhere says its name. Of other methods of an interface of the package, results are known to be owned
// that all of its types give to the caller (contract.go); all else that such a call does is unknown.
//
// # The way through
//
// The summary of a function is what a line of a spec says; operands without a clause are as
// inferred. A function of the package that has a body begins with the best summary and only
// gets worse while its round is looked at ([Table.Infer]), so that a round comes to rest. One
// that other builds have too does what any of its bodies may do ([Elsewhere]), unless a
// spec decides. All else is unknown.
//
// Bodies that recover are no matter of this room: the form has edges for what a panic runs,
// and the exit behind them is one of the function's.
package calls

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/spec"
)

// A Table knows what functions do.
type Table struct {
	set      *spec.Set
	facts    *effect.Facts // of other packages; may be nil
	world    *World
	lines    map[*types.Func]*spec.Line
	ends     *effect.Frees           // what was found of methods of interfaces; may be nil
	inferred map[any]*effect.Summary // by *types.Func or, for literals, *ssa.Function
	of       map[*types.Func]*effect.Summary
	dynamic  map[*ssa.CallCommon]*effect.Summary
}

// NewTable returns a table of what the lines of a set say, and of what is known of the
// functions of other packages.
func NewTable(set *spec.Set, facts *effect.Facts, w *World, ends *effect.Frees) *Table {
	t := &Table{set: set, facts: facts, world: w, ends: ends, lines: map[*types.Func]*spec.Line{},
		inferred: map[any]*effect.Summary{}, of: map[*types.Func]*effect.Summary{},
		dynamic: map[*ssa.CallCommon]*effect.Summary{}}
	w.said = func(v *types.Var) bool { return t.variable(v) != nil }
	return t
}

// Called returns the declared function that a call names, and nil if it names none.
func Called(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	switch v := c.Value.(type) {
	case *ssa.Function:
		if m := expression(v); m != nil {
			return m
		}
		return Declared(v)
	case *ssa.MakeClosure:
		return Method(v.Fn.(*ssa.Function))
	}
	return nil
}

// Declared returns the declared function that f is the body or an instance of, and nil for
// literals and what go/ssa makes itself.
func Declared(f *ssa.Function) *types.Func {
	if o := f.Origin(); o != nil {
		f = o
	} else if f.Synthetic != "" && !strings.HasPrefix(f.Synthetic, "from type information") {
		return nil
	}
	fn, _ := f.Object().(*types.Func)
	return fn
}

// Method returns the method that f is a value of: its receiver is what f captures. It is
// nil if f is none.
func Method(f *ssa.Function) *types.Func {
	if !strings.HasPrefix(f.Synthetic, "bound method wrapper") {
		return nil
	}
	return f.Object().(*types.Func).Origin()
}

// expression returns the method that f is an expression of: T.M, whose receiver is its first
// operand as it is. It is nil if f is none.
func expression(f *ssa.Function) *types.Func {
	if !strings.HasPrefix(f.Synthetic, "thunk for") {
		return nil
	}
	m := f.Object().(*types.Func).Origin()
	p, from := named(f.Signature.Params().At(0).Type())
	q, of := named(m.Signature().Recv().Type())
	if p != q || from == nil || from != of || types.IsInterface(from) {
		return nil
	}
	return m
}

// named returns the type that t is, or leads to, as it is declared; nil if it has no name.
func named(t types.Type) (pointer bool, n types.Type) {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		pointer, t = true, types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return pointer, n.Origin()
	}
	return pointer, nil
}

// Literal returns the literal that a call names; nil if it names none.
func Literal(c *ssa.CallCommon) *ssa.Function {
	v := c.Value
	if m, ok := v.(*ssa.MakeClosure); ok {
		v = m.Fn
	}
	if f, ok := v.(*ssa.Function); ok && f.Parent() != nil {
		return f
	}
	return nil
}

// Operands lists the operands of a call as summaries count them: the receiver first, and
// the variables that a literal captures behind its parameters.
func Operands(c *ssa.CallCommon) []ssa.Value {
	if c.IsInvoke() {
		return append([]ssa.Value{c.Value}, c.Args...)
	}
	if m, ok := c.Value.(*ssa.MakeClosure); ok {
		if Method(m.Fn.(*ssa.Function)) != nil {
			return append(slices.Clone(m.Bindings), c.Args...)
		}
		return append(slices.Clone(c.Args), m.Bindings...)
	}
	return c.Args
}

// Of returns what a call does, with the constants that it is given.
func (t *Table) Of(c *ssa.CallCommon) *effect.Summary {
	return t.does(c).Told(func(n int) *bool {
		operands := Operands(c)
		if n >= len(operands) {
			return nil
		}
		k, ok := operands[n].(*ssa.Const)
		if !ok || k.Value == nil || k.Value.Kind() != constant.Bool {
			return nil
		}
		is := constant.BoolVal(k.Value)
		return &is
	})
}

func (t *Table) does(c *ssa.CallCommon) *effect.Summary {
	if fn := Called(c); fn != nil && (!c.IsInvoke() || t.line(fn) != nil || t.facts.Of(fn) != nil) {
		if t.goesOn(fn, c) {
			return effect.Worst(fn.Signature())
		}
		return t.Func(fn)
	}
	if f := Literal(c); f != nil {
		return t.Body(f)
	}
	s := t.dynamic[c]
	if s == nil {
		s = t.any(c)
		t.dynamic[c] = s
	}
	return s
}

// any joins what all that a call may run does, as the call sees it.
func (t *Table) any(c *ssa.CallCommon) *effect.Summary {
	var all *effect.Summary
	for _, g := range t.world.Targets(c) {
		var s *effect.Summary
		switch {
		case g.Body != nil:
			s = t.Body(g.Body).Given(0, len(c.Args))
		case g.Var != nil:
			s = effect.Of(t.variable(g.Var), c.Signature(), nil)
		case g.Bound:
			s = t.Func(g.Func).Given(1, len(c.Args))
		default:
			s = t.Func(g.Func)
		}
		if c.IsInvoke() && !s.Unknown && s.Params[0].Freed.Cond != effect.Never {
			all = nil // what it frees may be a part of what it is called on
			break
		}
		if all != nil {
			s = apart(all, s)
		}
		all = s
	}
	if all == nil {
		all = effect.Worst(c.Signature())
		if len(all.Params) == 0 && len(c.Args) > 0 {
			all.Params = append(all.Params, effect.Param{Escapes: effect.When{Cond: effect.Always}})
		}
		if c.IsInvoke() {
			all = t.promise(c.Value.Type(), c.Method)
		} else if len(all.Params) == 1 {
			all.Params[0].Hands = t.handing(c.Value)
		}
	}
	return all
}

// apart joins what two functions do, either of which a call may run. What one of them frees and the other
// does not is nobody's who makes the call: it cannot know which it was.
func apart(s, t *effect.Summary) *effect.Summary {
	w := effect.Join(s, t)
	for k := range w.Params {
		if !w.Unknown && s.Params[k].Freed != t.Params[k].Freed {
			w.Params[k].Freed, w.Params[k].Escapes = effect.When{}, effect.When{Cond: effect.Always}
		}
	}
	return w
}

// line returns the line of a spec that decides what a function does; nil if none does.
func (t *Table) line(fn *types.Func) *spec.Line {
	line, ok := t.lines[fn]
	if !ok {
		line, _ = t.set.Lookup(spec.FullName(fn))
		t.lines[fn] = line
	}
	return line
}

// variable returns the line of a spec that says what the function in a variable of a package does, whatever
// function that is; nil if none does.
func (t *Table) variable(v *types.Var) *spec.Line {
	line, _ := t.set.Lookup(v.Pkg().Path() + "." + v.Name())
	return line
}

// Func returns the summary of a declared function.
func (t *Table) Func(fn *types.Func) *effect.Summary {
	fn = fn.Origin()
	if s := t.of[fn]; s != nil {
		return s
	}
	s := t.inferred[fn]
	line := t.line(fn)
	if s != nil {
		s = t.world.away.every(fn, s)
	} else if said := t.facts.Of(fn); said != nil {
		s = said.Summary
		if line != nil && said.Level != effect.Inferred {
			if int(line.Level) < said.Level {
				line = nil // a directive of its package beats a spec of ours
			} else {
				s = said.Under // our line replaces the whole line of its module
			}
		}
	}
	switch {
	case line != nil:
		s = effect.Of(line, fn.Signature(), s)
	case s == nil && t.ends.Promises(fn):
		s = t.promise(fn.Signature().Recv().Type(), fn)
	case s == nil && cgoChecks(fn):
		s = effect.Blank(fn.Signature())
	case s == nil:
		s = effect.Worst(fn.Signature())
	}
	t.of[fn] = s
	return s
}

// cgoChecks reports whether fn is what cgo puts around calls to look at pointers.
func cgoChecks(fn *types.Func) bool {
	return fn.Signature().Recv() == nil && (fn.Name() == "_cgoCheckPointer" || fn.Name() == "_cgoCheckResult")
}

// Body returns the summary of a literal, whose captured variables follow its parameters.
func (t *Table) Body(f *ssa.Function) *effect.Summary {
	s := t.inferred[f]
	if s == nil {
		s = effect.Worst(f.Signature).With(len(f.FreeVars))
	}
	return s
}

// key is what a function has its summary under; nil if it can have none.
func key(f *ssa.Function) any {
	if fn := Declared(f); fn != nil {
		return fn
	}
	if f.Parent() != nil {
		return f
	}
	return nil
}

// Begin says that the summary of a function will be inferred: it is the best so far.
func (t *Table) Begin(f *ssa.Function) {
	if k := key(f); k != nil {
		t.put(k, effect.Best(f.Signature).With(len(f.FreeVars)))
	}
}

// Infer joins what was found to what was known of a function, and reports whether that is
// worse. The first that is found replaces the best.
func (t *Table) Infer(f *ssa.Function, s *effect.Summary, first bool) bool {
	k := key(f)
	if k == nil {
		return false
	}
	was := t.inferred[k]
	if !first {
		s = effect.Join(was, s)
	}
	t.put(k, s)
	return was.String() != s.String()
}

func (t *Table) put(k any, s *effect.Summary) {
	t.inferred[k] = s
	clear(t.dynamic)
	if fn, ok := k.(*types.Func); ok {
		delete(t.of, fn)
	}
}

// Runs lists what a call may run; nil if that is not known.
func (t *Table) Runs(c *ssa.CallCommon) []Target { return t.world.Runs(c) }

// Callees lists the functions whose bodies a call may run, as far as it is known. A literal
// that is called where it stands is a part of what it stands in.
func (t *Table) Callees(c *ssa.CallCommon) []*types.Func {
	if Literal(c) != nil {
		return nil
	}
	var out []*types.Func
	for _, g := range t.world.Runs(c) {
		switch {
		case g.Body != nil:
			out = append(out, owner(g.Body))
		case g.Func != nil:
			out = append(out, g.Func)
		}
	}
	if out == nil && c.IsInvoke() {
		return t.world.offers(c.Value.Type(), c.Method)
	}
	return out
}

// Fact returns what other packages are told of the functions of this one. They see no
// directives here and no spec of its module: what these say goes with the summaries. What
// is not exported they cannot call. Which functions free they are told of those that specs name, and that
// were found to do nothing else. Of an operand that goes elsewhere they are told why.
func (t *Table) Fact(known *effect.Frees, why func(fn *types.Func, operand int) string) *effect.Fact {
	fact := &effect.Fact{}
	frees := func(fn *types.Func) {
		if name := spec.FullName(fn); !slices.Contains(fact.Frees, name) {
			fact.Frees = append(fact.Frees, name)
		}
	}
	for _, fr := range t.set.Freers(t.world.pkg.Pkg) {
		frees(fr.Func)
	}
	for fn := range spec.Declared(t.world.pkg.Pkg) {
		s := t.Func(fn)
		if !fn.Exported() || s.Unknown {
			continue
		}
		l := effect.FuncFact{Name: spec.FullName(fn), Text: s.String(), Level: effect.Inferred}
		if line := t.line(fn); line != nil {
			l.Level = int(line.Level)
			if under := t.inferred[fn]; under != nil && !under.Unknown {
				l.Under = t.world.away.every(fn, under).String()
			}
		}
		for k, p := range s.Params {
			if p.Escapes.Cond != effect.Never {
				l.Kept = append(slices.Grow(l.Kept, k+1)[:k], why(fn, k))
			}
		}
		fact.Funcs = append(fact.Funcs, l)
		if known.Found(fn) != nil {
			frees(fn)
		}
	}
	slices.SortFunc(fact.Funcs, func(a, b effect.FuncFact) int { return strings.Compare(a.Name, b.Name) })
	return fact
}

// Told says why a function lets operand k go, where its body is not what says so: a spec does, the body of
// another build, or the package that it is of. It is "" if nothing is told.
func (t *Table) Told(fn *types.Func, k int) string {
	fn = fn.Origin()
	if line := t.line(fn); line != nil {
		for _, c := range spec.Bind(line.Clauses, fn.Signature()) {
			at := c.Operand.Index
			if c.Operand.Kind == spec.Arg && fn.Signature().Recv() != nil {
				at++
			}
			if c.Operand.Kind != spec.Result && at == k && c.Effect == spec.Escapes {
				return "as the spec says of " + line.Name
			}
		}
	}
	if s := t.inferred[fn]; s != nil {
		if s.Param(k).Escapes.Cond == effect.Never {
			return t.world.away.told(fn)
		}
		return ""
	}
	if said := t.facts.Of(fn); said != nil && k < len(said.Kept) {
		return said.Kept[k]
	}
	return ""
}
