package escape

// What the proof knows of the functions of the package, and of others.

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// A provenFact is the fact of what the proof found out about a function.
type provenFact struct{ Summary *proof.Summary }

// AFact marks provenFact as a fact about a function.
func (*provenFact) AFact() {}

func (s *provenFact) String() string { return "proven" }

// proofFacts returns what the proof knows of functions of other packages; nil if that is nothing.
func proofFacts(pass *analysis.Pass) func(*types.Func) *proof.Summary {
	return func(f *types.Func) *proof.Summary {
		var s provenFact
		if f.Pkg() != nil && pass.ImportObjectFact(f, &s) {
			return s.Summary
		}
		return nil
	}
}

// exportProofs tells packages that import this one what the proof knows of its functions.
func exportProofs(pass *analysis.Pass, sums map[*types.Func]*proof.Summary) {
	for f, s := range sums {
		pass.ExportObjectFact(f, &provenFact{s})
	}
}

// exportAway tells packages that import this one what other builds, and tests, say of what it declares, and
// returns where the proof failed.
func (p *subject) exportAway(pass *analysis.Pass, left []*ast.File) []Skipped {
	all, err := proof.Elsewhere(p.source(pass, left))
	for o, a := range all {
		pass.ExportObjectFact(o, &awayFact{a})
	}
	return p.failed(err)
}

// An awayFact is the fact of what other builds, or tests, say something of.
type awayFact struct{ proof.Away }

// AFact marks awayFact as a fact about a type, a function, a variable or a constant.
func (*awayFact) AFact() {}

func (*awayFact) String() string { return "declared elsewhere" }

// awayFacts returns what other builds say of what other packages declare.
func awayFacts(pass *analysis.Pass) func(types.Object) proof.Away {
	return func(o types.Object) proof.Away {
		var a awayFact
		if o.Pkg() != nil && o.Pkg() != pass.Pkg {
			pass.ImportObjectFact(o, &a)
		}
		return a.Away
	}
}

// summarizeProofs returns what the proof finds out about the functions of the package, and where it failed.
// Of a package that none imports, but perhaps its own test, it is found out for what is edited alone.
func (p *subject) summarizeProofs(pass *analysis.Pass, left []*ast.File) (map[*types.Func]*proof.Summary, []Skipped) {
	if name := p.types.Name(); name == "main" || strings.HasSuffix(name, "_test") {
		return nil, nil
	}
	sums, err := proof.SummarizeSource(p.source(pass, left))
	if err != nil {
		return nil, p.failed(err)
	}
	return sums, failedProofs(sums)
}

// failed says that the proof failed of all of the package, if there is an error.
func (p *subject) failed(err error) []Skipped {
	if err == nil {
		return nil
	}
	return []Skipped{{Name: p.types.Name(), Pos: p.files[0].Name.Pos(), Reason: err.Error()}}
}

// source is what the proof is told of the package as it is.
func (p *subject) source(pass *analysis.Pass, left []*ast.File) *proof.Source {
	return &proof.Source{Fset: p.fset, Files: p.files, Types: p.types, Info: p.info, Specs: p.set,
		Facts: proofFacts(pass), Left: left, Away: awayFacts(pass)}
}

// failedProofs returns the functions in whose bodies the proof failed, in the order of the text.
func failedProofs(sums map[*types.Func]*proof.Summary) (out []Skipped) {
	for f, s := range sums {
		if s.Failed != "" {
			out = append(out, Skipped{Name: f.Name(), Pos: f.Pos(), Reason: "the proof of it failed, please report this: " + s.Failed})
		}
	}
	slices.SortFunc(out, func(a, b Skipped) int { return cmp.Compare(a.Pos, b.Pos) })
	return out
}
