package load

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// A Program is the packages of one build-tag set. The packages that the user
// asked for and all that they import, except the standard library, are parsed
// and type-checked from source: the analyzer learns from their bodies. Types of
// the standard library come from the compiler's export data.
type Program struct {
	Tags    string
	Fset    *token.FileSet
	targets []*packages.Package // to report on, by ID; each file is in one of them
	source  map[string][]byte   // physical file name → contents, see Read
	Unread  []error             // specs of dependencies that could not be read

	config  packages.Config // as the packages were listed
	loaded  bool            // the packages that were listed are type-checked
	mu      sync.Mutex
	imports map[*packages.Package]map[string]*packages.Package // before the standard library was cut off
	std     map[string]*types.Package                          // import path → types
}

// A loadError is something that keeps a package from being analyzed.
type loadError struct {
	pkg  string
	errs []string // file:line:col: message
}

func (e *loadError) Error() string {
	return fmt.Sprintf("%s is not analyzed: it does not type-check\n\t%s", e.pkg, strings.Join(e.errs, "\n\t"))
}

const listMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedModule | packages.NeedForTest | packages.NeedTypesSizes

// Load lists, parses and type-checks. The errors are about single packages; the
// Program holds all others. Targets that have errors are left out.
func Load(ctx context.Context, dir, tags string, tests bool, patterns []string) (*Program, []error) {
	p := &Program{
		Tags:    tags,
		Fset:    token.NewFileSet(),
		imports: map[*packages.Package]map[string]*packages.Package{},
		std:     map[string]*types.Package{},
	}
	config := listConfig(ctx, dir, tags)
	config.Mode, config.Tests, config.Fset = listMode, tests, p.Fset
	p.config = *config
	roots, err := packages.Load(config, patterns...)
	if err != nil {
		return p, []error{listError(err)}
	}
	if len(roots) == 0 {
		return p, []error{fmt.Errorf("no packages match %s", strings.Join(patterns, " "))}
	}
	var errs []error
	roots = slices.DeleteFunc(roots, func(r *packages.Package) bool {
		if !IsStd(r) || len(r.Errors) > 0 {
			return false
		}
		errs = append(errs, fmt.Errorf("%s belongs to the standard library, which is known by its spec and not analyzed", r.ID))
		return true
	})
	targets, fallback := chooseTargets(roots)

	order := postorder(append(slices.Clone(targets), values(fallback)...))
	if err := p.loadStd(order); err != nil {
		return p, append(errs, err)
	}
	p.check(ctx, order)
	p.loaded = true
	if err := ctx.Err(); err != nil {
		return p, append(errs, err)
	}

	for _, t := range targets {
		err := packageError(t)
		if err == nil {
			p.targets = append(p.targets, t)
			continue
		}
		errs = append(errs, err)
		// Tests that do not compile are no reason to say nothing about the package.
		if plain := fallback[t]; plain != nil && packageError(plain) == nil {
			p.targets = append(p.targets, plain)
		}
	}
	slices.SortFunc(p.targets, func(a, b *packages.Package) int { return strings.Compare(a.ID, b.ID) })
	return p, errs
}

// listConfig says how packages are listed. A -modfile in GOFLAGS becomes a flag of its
// own: before go/packages lists, it asks for the version of Go outside all modules,
// and there the go command refuses to run with one.
func listConfig(ctx context.Context, dir, tags string) *packages.Config {
	config := &packages.Config{Context: ctx, Dir: dir}
	if tags != "" {
		config.BuildFlags = append(config.BuildFlags, "-tags="+tags)
	}
	if file, rest := ModFileFlag(GoFlags()); file != "" {
		config.BuildFlags = append(config.BuildFlags, "-modfile="+file)
		config.Env = append(os.Environ(), "GOFLAGS="+strings.Join(rest, " "))
	}
	return config
}

// listError shortens what go list prints about itself.
func listError(err error) error {
	text := strings.TrimSpace(err.Error())
	text = strings.TrimPrefix(text, "err: exit status 1: stderr: ")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "err: "), ": stderr:")
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "go: downloading ")
	})
	return errors.New(strings.Join(lines, "\n"))
}

// chooseTargets picks the packages to report on, so that each file is in one of
// them: of a package and its variant with test files, the variant. The map has
// the plain package for each variant.
func chooseTargets(roots []*packages.Package) (targets []*packages.Package, fallback map[*packages.Package]*packages.Package) {
	plain := map[string]*packages.Package{}
	for _, r := range roots {
		if r.ForTest == "" {
			plain[r.PkgPath] = r
		}
	}
	fallback = map[*packages.Package]*packages.Package{}
	for _, r := range roots {
		if r.ForTest != "" && r.PkgPath == r.ForTest {
			if p := plain[r.PkgPath]; p != nil {
				fallback[r] = p
			}
			delete(plain, r.PkgPath)
		}
	}
	for _, r := range roots {
		switch {
		case r.Name == "main" && strings.HasSuffix(r.ID, ".test") && !slices.ContainsFunc(r.GoFiles, isGo):
			continue // the main function that go test writes into its cache; a program may have such a path
		case r.ForTest == "" && plain[r.PkgPath] != r:
			continue
		}
		targets = append(targets, r)
	}
	return targets, fallback
}

func isGo(file string) bool { return strings.HasSuffix(file, ".go") }

func values[K comparable, V any](m map[K]V) []V {
	var vs []V
	for _, v := range m {
		vs = append(vs, v)
	}
	return vs
}

// postorder returns the packages and all that they import, imports first.
func postorder(roots []*packages.Package) []*packages.Package {
	slices.SortFunc(roots, func(a, b *packages.Package) int { return strings.Compare(a.ID, b.ID) })
	var order []*packages.Package
	seen := map[*packages.Package]bool{}
	var visit func(p *packages.Package)
	visit = func(p *packages.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		paths := make([]string, 0, len(p.Imports))
		for path := range p.Imports {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		for _, path := range paths {
			visit(p.Imports[path])
		}
		order = append(order, p)
	}
	for _, r := range roots {
		visit(r)
	}
	return order
}

// check parses and type-checks the packages of the graph, imports first, several
// at a time.
func (p *Program) check(ctx context.Context, order []*packages.Package) {
	done := map[*packages.Package]chan struct{}{}
	for _, pkg := range order {
		if !IsStd(pkg) {
			done[pkg] = make(chan struct{})
		}
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, pkg := range order {
		if done[pkg] == nil {
			continue
		}
		go func() {
			defer close(done[pkg])
			for _, dep := range pkg.Imports {
				<-done[dep]
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() == nil {
				p.checkPackage(pkg)
			}
		}()
	}
	for _, d := range done {
		<-d
	}
}

// checkPackage fills in the syntax and types of a package whose imports are done.
func (p *Program) checkPackage(pkg *packages.Package) {
	pkg.Fset = p.Fset
	for _, name := range pkg.CompiledGoFiles {
		if filepath.Ext(name) == ".s" {
			continue // go list lists assembly of packages that use cgo
		}
		src, err := p.Read(name)
		if err != nil {
			pkg.Errors = append(pkg.Errors, packages.Error{Msg: err.Error(), Kind: packages.ParseError})
			continue
		}
		f, err := parser.ParseFile(p.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			pkg.Errors = append(pkg.Errors, packages.Error{Msg: err.Error(), Kind: packages.ParseError})
		}
		if f != nil {
			pkg.Syntax = append(pkg.Syntax, f)
		}
	}
	var problems []error
	pkg.TypesInfo = NewInfo()
	pkg.Types, problems = p.TypeCheck(pkg, pkg.Syntax, pkg.TypesInfo)
	for _, err := range problems {
		pkg.Errors = append(pkg.Errors, packages.Error{Msg: err.Error(), Kind: packages.TypeError})
	}
	pkg.IllTyped = len(pkg.Errors) > 0
	for _, dep := range pkg.Imports {
		pkg.IllTyped = pkg.IllTyped || dep.IllTyped
	}
}

// Read returns the contents of a file, which are those of its first reading for the
// whole run: a package and its variants with tests see the same text, whoever writes
// to the file meanwhile.
func (p *Program) Read(name string) ([]byte, error) {
	p.mu.Lock()
	src, ok := p.source[name]
	p.mu.Unlock()
	if ok {
		return src, nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, ok := p.source[name]; ok {
		return first, nil
	}
	if p.source == nil {
		p.source = map[string][]byte{}
	}
	p.source[name] = src
	return src, nil
}

// Text returns the contents of a file that was read, nil for any other.
func (p *Program) Text(name string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.source[name]
}

// Count returns the number of packages that are analyzed.
func (p *Program) Count() int { return len(p.imports) }

func NewInfo() *types.Info {
	return &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Instances:    map[*ast.Ident]types.Instance{},
		Scopes:       map[ast.Node]*types.Scope{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		FileVersions: map[*ast.File]string{},
	}
}

// TypeCheck type-checks files in the place of those of pkg. It returns all
// errors that the compiler would report.
func (p *Program) TypeCheck(pkg *packages.Package, files []*ast.File, info *types.Info) (*types.Package, []error) {
	var errs []error
	conf := types.Config{
		Importer: importer(func(path string) (*types.Package, error) { return p.importFor(pkg, path) }),
		Sizes:    pkg.TypesSizes,
		Error: func(err error) {
			if te, ok := err.(types.Error); ok && te.Soft && strings.Contains(te.Msg, "imported and not used") && strings.Contains(te.Msg, `"C"`) {
				return
			}
			errs = append(errs, err)
		},
	}
	if pkg.Module != nil && pkg.Module.GoVersion != "" {
		conf.GoVersion = "go" + pkg.Module.GoVersion
	}
	tpkg, _ := conf.Check(pkg.PkgPath, p.Fset, files, info) // the error is the first of errs
	return tpkg, errs
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

func (p *Program) importFor(pkg *packages.Package, path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	dep := p.imports[pkg][path]
	if dep == nil && p.loaded && !strings.Contains(path, ".") {
		return p.importStd(path)
	}
	if dep == nil {
		return nil, fmt.Errorf("cannot find package %q", path)
	}
	if t := p.std[dep.PkgPath]; t != nil && IsStd(dep) {
		return t, nil
	}
	if dep.Types == nil {
		return nil, fmt.Errorf("package %q could not be loaded", path)
	}
	return dep.Types, nil
}

// packageError returns what is wrong with a package, nil if nothing is. Errors
// of what it imports are its own, told once each.
func packageError(pkg *packages.Package) error {
	if !pkg.IllTyped && len(pkg.Errors) == 0 {
		return nil
	}
	if len(pkg.CompiledGoFiles) == 0 && len(pkg.Errors) > 0 {
		return errors.New(strings.Join(errorLines(pkg.Errors[0]), "\n")) // there is no package
	}
	e := &loadError{pkg: pkg.ID}
	seen := map[*packages.Package]bool{}
	var visit func(p *packages.Package)
	visit = func(p *packages.Package) {
		if seen[p] || len(e.errs) >= maxErrors {
			return
		}
		seen[p] = true
		for _, err := range p.Errors {
			for _, line := range errorLines(err) {
				if !slices.Contains(e.errs, line) {
					e.errs = append(e.errs, line)
				}
			}
		}
		for _, dep := range p.Imports {
			if dep.IllTyped {
				visit(dep)
			}
		}
	}
	visit(pkg)
	e.errs = explained(e.errs)
	if len(e.errs) > maxErrors {
		e.errs = append(e.errs[:maxErrors], "and more")
	}
	return e
}

const maxErrors = 10

// explained drops the type checker's words about imports that are missing where the
// go command says of the same line why, and what to do.
func explained(errs []string) []string {
	line := func(text string) string {
		parts := strings.SplitN(text, ":", 3)
		if len(parts) < 3 {
			return text
		}
		return filepath.Base(parts[0]) + ":" + parts[1]
	}
	const missing = ": could not import "
	var out []string
	for _, err := range errs {
		told := func(other string) bool { return !strings.Contains(other, missing) && line(other) == line(err) }
		if !strings.Contains(err, missing) || !slices.ContainsFunc(errs, told) {
			out = append(out, err)
		}
	}
	return out
}

func errorLines(err packages.Error) []string {
	text := err.Msg
	if err.Pos != "" && err.Pos != "-" {
		text = err.Pos + ": " + text
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}
