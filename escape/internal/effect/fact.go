package effect

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/lastuse/lastuse/escape/spec"
)

// A Fact is what other packages know of the functions of a package. It is made of texts: what
// a golden shows is all there is. The order is that of the names.
type Fact struct {
	Funcs []FuncFact
	Frees []string // functions that free an operand: as specs list them, then what was inferred
}

// A FuncFact is what a call of a function from outside does.
type FuncFact struct {
	Name  string // as specs name it
	Text  string // of its summary
	Level int    // of the line that decided it, Inferred if none did
	Under string // what was inferred where a line decided, which another line may replace; or ""

	Kept []string // by operand: why it may be kept, for people; "" if it is not, or if that is not known
}

// Inferred is the level of what no line of a spec decides.
const Inferred = -1

// AFact marks Fact as a fact of golang.org/x/tools/go/analysis, about a package.
func (*Fact) AFact() {}

// String returns a line for each function, and one for those that free.
func (f *Fact) String() string {
	var b strings.Builder
	for _, l := range f.Funcs {
		fmt.Fprintf(&b, "%s: %s", l.Name, l.Text)
		if l.Level != Inferred {
			fmt.Fprintf(&b, " (%s", spec.Level(l.Level))
			if l.Under != "" {
				fmt.Fprintf(&b, ", over %s", l.Under)
			}
			b.WriteString(")")
		}
		b.WriteString("\n")
		for k, why := range l.Kept {
			if why != "" {
				fmt.Fprintf(&b, "\toperand %d: %s\n", k, why)
			}
		}
	}
	if len(f.Frees) > 0 {
		fmt.Fprintf(&b, "frees: %s\n", strings.Join(f.Frees, ", "))
	}
	return b.String()
}

// A Said is what is known of a function of another package.
type Said struct {
	Summary *Summary
	Level   int
	Under   *Summary // nil: nothing was inferred
	Kept    []string
}

// Facts reads what other packages say of themselves. A nil *Facts knows nothing.
type Facts struct {
	get   func(*types.Package) *Fact
	lines map[string]map[string]FuncFact // by package and name
	known map[*types.Func]*Said
}

// NewFacts returns what get gives: nil for a package of which nothing is known.
func NewFacts(get func(*types.Package) *Fact) *Facts {
	return &Facts{get: get, lines: map[string]map[string]FuncFact{}, known: map[*types.Func]*Said{}}
}

// Of returns what the package of a function says of it; nil if that is nothing, or not to
// be understood.
func (f *Facts) Of(fn *types.Func) *Said {
	fn = fn.Origin()
	if f == nil || fn.Pkg() == nil {
		return nil
	}
	if have, ok := f.known[fn]; ok {
		return have
	}
	f.known[fn] = f.read(fn)
	return f.known[fn]
}

func (f *Facts) read(fn *types.Func) *Said {
	lines, ok := f.lines[fn.Pkg().Path()]
	if !ok {
		lines = map[string]FuncFact{}
		if fact := f.get(fn.Pkg()); fact != nil {
			for _, l := range fact.Funcs {
				lines[l.Name] = l
			}
		}
		f.lines[fn.Pkg().Path()] = lines
	}
	l, ok := lines[spec.FullName(fn)]
	if !ok {
		return nil
	}
	s, err := Parse(l.Text, fn.Signature())
	if err != nil {
		return nil // of another version
	}
	said := &Said{Summary: s, Level: l.Level, Kept: l.Kept}
	s.Decided = l.Level != Inferred
	if l.Under != "" {
		if said.Under, err = Parse(l.Under, fn.Signature()); err != nil {
			return nil
		}
	}
	return said
}

// frees lists the functions of a package that its fact says free something, in its order.
func (f *Facts) frees(q *types.Package) []*types.Func {
	if f == nil {
		return nil
	}
	fact := f.get(q)
	if fact == nil || len(fact.Frees) == 0 {
		return nil
	}
	named := map[string]*types.Func{}
	for fn := range spec.Declared(q) {
		named[spec.FullName(fn)] = fn
	}
	var out []*types.Func
	for _, name := range fact.Frees {
		if fn := named[name]; fn != nil { // the compiler's export data may lack what is not exported
			out = append(out, fn)
		}
	}
	return out
}
