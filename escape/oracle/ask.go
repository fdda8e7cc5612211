package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/oracle/gen"
	"github.com/lastuse/lastuse/escape/spec"
)

// This file asks the proof about the programs of trials.

// A prover is the proof with what it needs to know of the packages that programs import.
// It may be used by several goroutines.
type prover struct {
	imports map[string]*types.Package
	set     *spec.Set
	facts   map[string]*proof.Summary // by FullName
}

// newProver loads the packages that programs import, in a module in the folder dir.
func newProver(ctx context.Context, dir string) (*prover, error) {
	b, err := newBatch(dir, Pool{})
	if err != nil {
		return nil, err
	}
	for _, side := range []string{"orig", "fixed"} {
		if err := b.put(side, nil); err != nil {
			return nil, err
		}
	}
	fset := token.NewFileSet()
	list, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Env: append(environ(), "CGO_ENABLED=0"), Fset: fset,
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes,
	}, gen.PathRT, "golang.org/x/sync/errgroup", "github.com/lastuse/lastuse/alloc/host", "errors", "fmt", "io", "iter", "os",
		"runtime", "sync")
	if err != nil {
		return nil, fmt.Errorf("load what programs import: %w", err)
	}
	p := &prover{imports: map[string]*types.Package{"unsafe": types.Unsafe}, facts: map[string]*proof.Summary{}}
	if p.set, err = spec.Load(nil, ""); err != nil {
		return nil, err
	}
	p.set = p.set.Fork()
	packages.Visit(list, nil, func(pkg *packages.Package) {
		for _, e := range pkg.Errors {
			err = fmt.Errorf("load %s: %w", pkg.PkgPath, e)
		}
		if err == nil {
			err = p.learn(fset, pkg)
		}
	})
	return p, err
}

// learn takes over a package whose imports are known.
func (p *prover) learn(fset *token.FileSet, pkg *packages.Package) error {
	p.imports[pkg.PkgPath] = pkg.Types
	if !strings.Contains(pkg.PkgPath, ".") {
		return nil // the standard library is known by its specs
	}
	in := p.input(pkg.PkgPath)
	in.Sizes = pkg.TypesSizes
	for i, f := range pkg.Syntax {
		lines, err := spec.Directives(fset, f, pkg.TypesInfo)
		if err != nil {
			return err
		}
		for _, l := range lines {
			p.set.AddLine(l, spec.Directive)
		}
		text, err := os.ReadFile(pkg.CompiledGoFiles[i])
		if err != nil {
			return err
		}
		in.Files = append(in.Files, proof.File{Name: pkg.CompiledGoFiles[i], Old: text})
	}
	p.note(proof.Summarize(in))
	return nil
}

func (p *prover) note(m map[*types.Func]*proof.Summary) {
	for f, s := range m {
		p.facts[f.FullName()] = s
	}
}

func (p *prover) input(path string) *proof.Input {
	return &proof.Input{
		Path: path, Import: p, GoVersion: "go1.26", Specs: p.set, Sizes: types.SizesFor("gc", "amd64"),
		Facts: func(f *types.Func) *proof.Summary { return p.facts[f.Origin().FullName()] },
	}
}

// Import and ImportFrom make a prover the importer of its packages.
func (p *prover) Import(path string) (*types.Package, error) { return p.ImportFrom(path, "", 0) }

func (p *prover) ImportFrom(path, _ string, _ types.ImportMode) (*types.Package, error) {
	if pkg := p.imports[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("import %s: not known", path)
}

// An answer is what the proof says of a trial.
type answer struct {
	edits  int
	why    *proof.Reason // of the first edit that is withheld
	broken error         // the new text does not compile
}

func (a answer) accepted() bool { return a.why == nil && a.edits > 0 }

const trialDir = "oracle.test/trial"

// ask asks about one trial; without names rules that are off.
func (p *prover) ask(old, edited gen.Source, without ...proof.Rule) (a answer, err error) {
	if old == edited {
		return a, nil
	}
	q := *p // knows the program's own package as well
	if old.Help != "" {
		q.imports, q.facts = maps.Clone(p.imports), maps.Clone(p.facts)
		pkg, err := q.check(trialDir+"/help", old.Help)
		if err != nil {
			return a, err
		}
		if err := q.one(&a, trialDir+"/help", old.Help, edited.Help, without); err != nil {
			return a, err
		}
		q.imports[trialDir+"/help"] = pkg
		in := q.input(trialDir + "/help")
		in.Files = []proof.File{{Name: "help.go", Old: []byte(old.Help)}}
		q.note(proof.Summarize(in))
	}
	return a, q.one(&a, trialDir+"/progs", old.Main, edited.Main, without)
}

// one asks about one package.
func (p *prover) one(a *answer, path, old, edited string, without []proof.Rule) error {
	if old == edited {
		return nil
	}
	if _, err := p.check(path, edited); err != nil && a.broken == nil {
		a.broken = err
	}
	in := p.input(path)
	in.Without = without
	in.Files = []proof.File{{Name: "prog.go", Old: []byte(old), New: []byte(edited)}}
	r := proof.Check(in)
	a.edits += len(r.Edits)
	for _, v := range r.Withheld() {
		if a.why == nil {
			a.why = v.Why
		}
	}
	return nil
}

// check type-checks a text.
func (p *prover) check(path, text string) (*types.Package, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "prog.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	conf := types.Config{Importer: p, GoVersion: "go1.26"}
	return conf.Check(path, fset, []*ast.File{f}, nil)
}
