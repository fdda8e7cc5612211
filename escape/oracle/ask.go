package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
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
	std     bool // look at the standard library as well
	imports map[string]*types.Package
	set     *spec.Set
	facts   map[string]*proof.Summary // by FullName
}

// newProver loads the packages that programs import, in a module in the folder dir.
func newProver(ctx context.Context, dir string, std bool) (*prover, error) {
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
		Context: ctx, Dir: dir, Env: environ(), Fset: fset,
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes,
	}, gen.PathRT, "golang.org/x/sync/errgroup", "github.com/lastuse/lastuse/alloc/host", "errors", "fmt", "io", "iter", "os",
		"runtime", "sync")
	if err != nil {
		return nil, fmt.Errorf("load what programs import: %w", err)
	}
	p := &prover{std: std, imports: map[string]*types.Package{"unsafe": types.Unsafe}, facts: map[string]*proof.Summary{}}
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
	own := strings.Contains(pkg.PkgPath, ".")
	if !own && !p.std { // what matters of the standard library is said by its specs
		return nil
	}
	if own {
		if err := direct(p.set, fset, pkg.Syntax, pkg.TypesInfo); err != nil {
			return err
		}
	}
	return p.note(&proof.Source{Fset: fset, Files: pkg.Syntax, Types: pkg.Types, Info: pkg.TypesInfo, Specs: p.set, Facts: p.fact})
}

// direct adds what the directives of a package say.
func direct(set *spec.Set, fset *token.FileSet, files []*ast.File, info *types.Info) error {
	for _, f := range files {
		lines, err := spec.Directives(fset, f, info)
		if err != nil {
			return err
		}
		for _, l := range lines {
			set.AddLine(l, spec.Directive)
		}
	}
	return nil
}

func (p *prover) fact(f *types.Func) *proof.Summary { return p.facts[f.Origin().FullName()] }

// note summarizes a package.
func (p *prover) note(src *proof.Source) error {
	sums, err := proof.SummarizeSource(src)
	for f, s := range sums {
		p.facts[f.FullName()] = s
		if s.Failed != "" {
			err = errors.Join(err, fmt.Errorf("the proof of %s failed: %s", f.FullName(), s.Failed))
		}
	}
	return err
}

func (p *prover) input(path string) *proof.Input {
	return &proof.Input{
		Path: path, Import: p, GoVersion: "go1.26", Specs: p.set, Sizes: types.SizesFor("gc", "amd64"),
		Facts: p.fact,
	}
}

// Import makes a prover the importer of its packages.
func (p *prover) Import(path string) (*types.Package, error) {
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
		help, err := q.check(trialDir+"/help", old.Help)
		if err != nil {
			return a, err
		}
		if err := q.one(&a, trialDir+"/help", old.Help, edited.Help, without); err != nil {
			return a, err
		}
		q.imports[trialDir+"/help"] = help.Types
		help.Specs, help.Facts = q.set, q.fact
		if err := q.note(help); err != nil {
			return a, err
		}
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
	src, err := p.check(path, old)
	if err != nil {
		return err
	}
	in := p.input(path)
	in.Without, in.Specs = without, p.set.Fork()
	if err := direct(in.Specs, src.Fset, src.Files, src.Info); err != nil {
		return err
	}
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
func (p *prover) check(path, text string) (*proof.Source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "prog.go", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	src := &proof.Source{Fset: fset, Files: []*ast.File{f}, Info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}}
	conf := types.Config{Importer: p, GoVersion: "go1.26"}
	src.Types, err = conf.Check(path, fset, src.Files, src.Info)
	return src, err
}
