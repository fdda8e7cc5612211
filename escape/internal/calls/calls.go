// Package calls says which function a call runs and in which order functions are looked
// at, so that a call finds the summary of what it runs.
//
// # Words
//
//   - A table has the summary of each function: what a spec decides, or what was inferred
//     so far ([Table]).
//   - A round of functions is a set that call one another, in turn or in circles; a round
//     stands behind those that it calls ([Order]).
//
// # The way through
//
// A call is known if it names its function. Its summary is what a line of a spec says;
// operands without a clause are as inferred. A function of the package that has a body
// begins with the best summary and only gets worse while its round is looked at ([Table.Infer]),
// so that a round comes to rest. All other calls are unknown: of function values, of methods
// of interfaces without a line, of functions without a body and a line.
//
// What is not here yet: functions that other builds replace, calls through variables and
// fields that nothing outside can change.
package calls

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/spec"
)

// A Table knows what functions do.
type Table struct {
	set      *spec.Set
	facts    map[*types.Func]*effect.Summary // of other packages; may be nil
	lines    map[*types.Func]*spec.Line
	inferred map[*types.Func]*effect.Summary
	of       map[*types.Func]*effect.Summary
}

// NewTable returns a table of what the lines of a set say, and of what is known of the
// functions of other packages.
func NewTable(set *spec.Set, facts map[*types.Func]*effect.Summary) *Table {
	return &Table{set: set, facts: facts, lines: map[*types.Func]*spec.Line{},
		inferred: map[*types.Func]*effect.Summary{}, of: map[*types.Func]*effect.Summary{}}
}

// Called returns the declared function that a call names, and nil if it names none.
func Called(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	f, ok := c.Value.(*ssa.Function)
	if !ok {
		return nil
	}
	return Declared(f)
}

// Declared returns the declared function that f is the body or an instance of, and nil for
// literals and what go/ssa makes itself.
func Declared(f *ssa.Function) *types.Func {
	if o := f.Origin(); o != nil {
		f = o
	} else if f.Synthetic != "" {
		return nil
	}
	fn, _ := f.Object().(*types.Func)
	return fn
}

// Of returns what a call does.
func (t *Table) Of(c *ssa.CallCommon) *effect.Summary {
	fn := Called(c)
	if fn == nil {
		s := effect.Worst(c.Signature())
		if len(s.Params) == 0 && len(c.Args) > 0 {
			s.Params = append(s.Params, effect.Param{Escapes: effect.When{Cond: effect.Always}})
		}
		return s
	}
	return t.Func(fn)
}

// Func returns the summary of a declared function.
func (t *Table) Func(fn *types.Func) *effect.Summary {
	fn = fn.Origin()
	if s := t.of[fn]; s != nil {
		return s
	}
	line, ok := t.lines[fn]
	if !ok {
		line, _ = t.set.Lookup(spec.FullName(fn))
		t.lines[fn] = line
	}
	s := t.inferred[fn]
	if s == nil {
		s = t.facts[fn]
	}
	switch {
	case line != nil:
		s = effect.Of(line, fn.Signature(), s)
	case s == nil:
		s = effect.Worst(fn.Signature())
	}
	t.of[fn] = s
	return s
}

// Begin says that the summary of a function will be inferred: it is the best so far.
func (t *Table) Begin(fn *types.Func) {
	t.inferred[fn] = effect.Blank(fn.Signature())
	delete(t.of, fn)
}

// Infer joins what was found to what was known of a function, and reports whether that is
// worse. The first that is found replaces the best.
func (t *Table) Infer(fn *types.Func, s *effect.Summary, first bool) bool {
	was := t.inferred[fn]
	if !first {
		s = effect.Join(was, s)
	}
	t.inferred[fn] = s
	delete(t.of, fn)
	return was.String() != s.String()
}
