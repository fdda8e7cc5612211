package proof

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/spec"
)

// A Rule is one thing that must be shown of an edit.
type Rule string

// The rules; the package comment argues each.
const (
	Same      Rule = "same"      // the edits change nothing but frees and names
	Fresh     Rule = "fresh"     // what is freed is owned here, and not nil where nil may not be freed
	Confined  Rule = "confined"  // nothing that outlives the free holds it
	Dead      Rule = "dead"      // nothing that runs after the free uses it
	Once      Rule = "once"      // nothing frees it twice
	Silent    Rule = "silent"    // the free does nothing else
	Readable  Rule = "readable"  // no name of it is read after the free
	Panics    Rule = "panics"    // what a panic runs counts as run
	Deferred  Rule = "deferred"  // what is deferred runs at each exit
	Joins     Rule = "joins"     // a goroutine runs until it is joined
	Callbacks Rule = "callbacks" // a literal may run whenever its callee likes
	Bodies    Rule = "bodies"    // callees do what their summaries say, unknown ones do the worst
	Limits    Rule = "limits"    // what is too large, or not understood, is withheld
)

// Rules lists them all.
var Rules = []Rule{Same, Fresh, Confined, Dead, Once, Silent, Readable, Panics, Deferred, Joins, Callbacks,
	Bodies, Limits}

// Shows says what a rule shows of an accepted free, in the words of the table in docs/proof.md.
func (r Rule) Shows() string {
	switch r {
	case Same:
		return "without what was put in, the text is the old one"
	case Fresh:
		return "what is freed was made here and is owned, and is not nil where nil may not be freed"
	case Confined:
		return "nobody outside the function has it there"
	case Dead:
		return "no path from the free leads to a use of it"
	case Once:
		return "no path meets two frees of it"
	case Silent:
		return "the free does nothing else"
	case Readable:
		return "its name is not read behind the free"
	case Joins:
		return "no goroutine that has it may still run there"
	}
	return "all that may run is understood"
}

// An Input is one package, before and after the edits.
type Input struct {
	Path  string // import path
	Files []File // all that are compiled, in any order

	// Import returns the packages that the files import, those of the original: types of
	// both texts are compared by identity with those in Facts.
	Import    types.Importer
	Sizes     types.Sizes // nil: those of gc on amd64
	GoVersion string      // as types.Config has it

	// Specs are summaries written by hand, the directives of the package among them.
	Specs *spec.Set

	// Facts returns what the proof found out about a function of an imported package, nil
	// if that is nothing.
	Facts func(*types.Func) *Summary

	// Left are files of the package that are not compiled with it: of other builds, and tests. Away says of
	// what another package declares what Elsewhere does.
	Left []*ast.File
	Away func(types.Object) Away

	// Sums are what SummarizeSource said of the functions of the original. With them only
	// declarations that are edited are looked into; where there are none, also functions that these name.
	Sums map[*types.Func]*Summary

	// Memory, if it is not nil, is for callers that ask again with fewer edits in the package.
	Memory *Memory

	// Without names rules that are not applied. It is there for tests, which show with it
	// that each rule matters. Nothing that ships sets it.
	Without []Rule
}

// A File is one file of the package. Where New is nil the file is not edited.
type File struct {
	Name     string
	Old, New []byte
}

// A Report is what the proof says of one package.
type Report struct {
	Edits []Verdict // one for each difference between the old and the new text, in source order
}

// A Verdict is about one statement that was put in or taken out, or about one declaration
// whose edits as a whole are not understood.
type Verdict struct {
	Pos  token.Position // in the new text; of a statement taken out, where it would stand there
	Kind Kind
	Text string  // the statement, in one line
	Func string  // name of the declaration that it stands in
	Why  *Reason // nil: accepted
}

// Accepted reports whether the edit may be offered.
func (v Verdict) Accepted() bool { return v.Why == nil }

// A Kind says what an edit is.
type Kind uint8

const (
	Inserted Kind = iota // a free that was put in
	Deleted              // a free that was taken out
	Named                // a variable that was made for an expression
	Whole                // all that was done to a declaration, or to the package if Func is ""
)

// String returns a word for messages.
func (k Kind) String() string { return [...]string{"inserted", "deleted", "named", "whole"}[k] }

// A Reason says why an edit is withheld.
type Reason struct {
	Rule  Rule
	Words string         // plain words, without position
	Nil   bool           // something may be nil, and is not tested
	At    token.Position // of what stands in the way, in the new text; zero if there is no such place
}

// String returns the words with the line that stands in the way.
func (r *Reason) String() string {
	if !r.At.IsValid() {
		return fmt.Sprintf("%s (%s)", r.Words, r.Rule)
	}
	return fmt.Sprintf("%s at line %d (%s)", r.Words, r.At.Line, r.Rule)
}

// Withheld returns the verdicts that are not accepted.
func (r *Report) Withheld() []Verdict {
	return slices.DeleteFunc(slices.Clone(r.Edits), Verdict.Accepted)
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Edits, func(a, b Verdict) int {
		p, q := a.Pos, b.Pos
		return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Offset, q.Offset),
			cmp.Compare(a.Kind, b.Kind))
	})
}

// Check judges the edits of one package. What it cannot show is withheld; a panic inside
// withholds, too, and names the function.
func Check(in *Input) (r *Report) {
	whole := func(why *Reason) *Report { return &Report{Edits: []Verdict{{Kind: Whole, Why: why}}} }
	defer func() {
		if x := recover(); x != nil {
			r = whole(&Reason{Rule: Limits, Words: fmt.Sprintf("the proof of package %s failed: %v", in.Path, x)})
		}
	}()
	known := map[string]*Summary{}
	if in.Memory != nil && len(in.Memory.sums) > 0 {
		known = in.Memory.sums
	} else {
		for f, s := range in.Sums {
			known[localName(f)] = s
		}
	}
	c, why := load(in, known)
	if why != nil {
		return whole(why)
	}
	if c.summarize(); !c.asBefore() {
		if in.Memory != nil {
			*in.Memory = Memory{}
		}
		if c, why = load(in, nil); why != nil {
			return whole(why)
		}
		c.summarize()
	}
	r = c.check()
	in.Memory.keep(c)
	r.sort()
	return r
}

// A Source is a package whose types are known.
type Source struct {
	Fset  *token.FileSet
	Files []*ast.File
	Types *types.Package
	Info  *types.Info

	Specs *spec.Set                  // as in Input
	Facts func(*types.Func) *Summary // as in Input
	Left  []*ast.File                // as in Input
	Away  func(types.Object) Away    // as in Input
}

// checker returns one that knows the package's syntax and types.
func (s *Source) checker() *checker {
	c := newChecker(&Input{Path: s.Types.Path(), Specs: s.Specs, Facts: s.Facts, Left: s.Left, Away: s.Away})
	c.fset, c.info, c.pkg = s.Fset, s.Info, s.Types
	for _, f := range s.Files {
		c.files = append(c.files, &file{tree: f})
	}
	return c
}

// SummarizeSource returns what the functions of a package do, for the proofs of packages that
// import it. What is not in the map is unknown. The functions in the map are its own. An error says that
// nothing is known of the package, since the proof failed; where it failed in one function, its summary does.
func SummarizeSource(s *Source) (sums map[*types.Func]*Summary, err error) {
	defer func() {
		if x := recover(); x != nil {
			sums, err = nil, fmt.Errorf("the proof of package %s failed: %v", s.Types.Path(), x)
		}
	}()
	c := s.checker()
	c.embeds = slices.ContainsFunc(s.Files, embedsTB)
	c.build()
	c.summarize()
	sums = map[*types.Func]*Summary{}
	for _, f := range c.decls() {
		if e := c.effect(f); e != nil {
			sums[f] = e
		}
	}
	for f := range spec.Declared(s.Types) { // methods of interfaces, functions without a body
		if e := c.effect(f); sums[f] == nil && e != nil && e.Said {
			sums[f] = e
		}
	}
	return sums, nil
}
