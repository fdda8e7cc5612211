package escape

import (
	_ "embed"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/spec"
)

//go:embed doc.go
var doc string

// Analyzer finds foreign buffers that never escape and plans their frees.
var Analyzer = New()

// New returns an analyzer with flags of its own.
func New() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:       "lastuse",
		Doc:        manual(),
		URL:        "https://pkg.go.dev/github.com/lastuse/lastuse/escape",
		ResultType: reflect.TypeFor[*Result](),
		FactTypes:  []analysis.Fact{new(Summary), new(Reach)},
	}
	specs := new(spec.Loader)
	specs.Register(&a.Flags)
	cgo := a.Flags.Bool("cgo", false, "plan edits of what cgo makes of a file, too, for a driver that finds their places in the file")
	a.Run = func(pass *analysis.Pass) (any, error) { return run(pass, specs, *cgo) }
	return a
}

// manual is the package comment without its comment markers.
func manual() string {
	text, _, _ := strings.Cut(doc, "\npackage escape")
	var w strings.Builder
	for l := range strings.Lines(text) {
		l = strings.TrimPrefix(strings.TrimPrefix(l, "//"), " ")
		w.WriteString(l)
	}
	out := strings.TrimSpace(w.String())
	_, out, _ = strings.Cut(out, "Package escape ")
	return out
}

func run(pass *analysis.Pass, specs *spec.Loader, cgo bool) (any, error) {
	res := &Result{Pkg: pass.Pkg}
	set, err := specs.For(sourceDir(pass))
	if err != nil {
		return nil, err
	}
	fork := set.Fork()
	var own []*spec.Line
	for _, f := range pass.Files {
		lines, err := spec.Directives(pass.Fset, f, pass.TypesInfo)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			fork.AddLine(l, spec.Directive)
		}
		own = append(own, lines...)
	}
	p := newPkg(pass.Fset, pass.Files, pass.TypesInfo, pass.Pkg, fork, passFacts{pass})
	p.cgo = cgo
	if !p.interesting(own) {
		return res, nil
	}
	fns := p.functions()
	p.summarizeAll(fns)
	reach := &Reach{}
	for _, f := range fns {
		if f.obj == nil {
			continue
		}
		s := p.summaryOf(f.obj)
		if f.obj.Signature().Recv() == nil {
			for _, a := range s.Args {
				if a.Freed.K != Never && !slices.Contains(reach.Freers, f.obj.Name()) {
					reach.Freers = append(reach.Freers, f.obj.Name())
				}
			}
		}
	}
	slices.Sort(reach.Freers)
	pass.ExportPackageFact(reach)
	p.export(pass)
	p.reports(fns, res, pass.ReadFile)
	p.fieldFindings(fns, p.held, res, pass.ReadFile)
	for _, f := range res.Funcs {
		for _, fd := range f.Findings {
			dg := analysis.Diagnostic{Pos: fd.Pos, End: fd.End, Category: fd.Category, Message: fd.Message, Related: fd.Related}
			// Offsets in cgo's translation mean nothing to who reads a diagnostic.
			if len(fd.Edits) > 0 && !fromCgo(p.file(f.Pos)) {
				dg.SuggestedFixes = []analysis.SuggestedFix{{Message: fd.Fix, TextEdits: fd.Edits}}
			}
			pass.Report(dg)
		}
	}
	return res, nil
}

// sourceDir is the folder of the package's first file, of the original where
// cgo made another.
func sourceDir(pass *analysis.Pass) string {
	for _, f := range pass.Files {
		name := pass.Fset.PositionFor(f.Package, false).Filename
		if n := pass.Fset.Position(f.Package).Filename; filepath.IsAbs(n) {
			name = n
		}
		if filepath.IsAbs(name) && !strings.Contains(name, "go-build") {
			return filepath.Dir(name)
		}
	}
	return ""
}

// export publishes the summaries of functions that other packages can name.
func (p *pkg) export(pass *analysis.Pass) {
	for o := range p.decls {
		if s := p.summaryOf(o); s != nil {
			pass.ExportObjectFact(o, s)
		}
	}
	// Interface methods and functions without a body that a directive names.
	for _, l := range p.set.Lines() {
		if l.Level != spec.Directive {
			continue
		}
		if o := p.named(l.Name); o != nil && p.decls[o] == nil {
			pass.ExportObjectFact(o, p.summaryOf(o))
		}
	}
}

// named finds a function of this package by its full name.
func (p *pkg) named(name string) *types.Func {
	scope := p.types.Scope()
	for _, n := range scope.Names() {
		switch o := scope.Lookup(n).(type) {
		case *types.Func:
			if spec.FullName(o) == name {
				return o
			}
		case *types.TypeName:
			nt, ok := o.Type().(*types.Named)
			if !ok || o.IsAlias() {
				continue
			}
			for m := range nt.Methods() {
				if spec.FullName(m) == name {
					return m
				}
			}
			if i, ok := nt.Underlying().(*types.Interface); ok {
				for m := range i.ExplicitMethods() {
					if spec.FullName(m) == name {
						return m
					}
				}
			}
		}
	}
	return nil
}

func keeps(fset *token.FileSet, f *ast.File) map[int]string { return spec.Keeps(fset, f) }
