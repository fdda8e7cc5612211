package escape

import (
	_ "embed"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/plan"
	"github.com/lastuse/lastuse/escape/spec"
)

//go:embed doc.go
var doc string

// Analyzer finds foreign buffers that never escape and plans their frees.
var Analyzer = New()

// New returns an analyzer with flags of its own. A driver that wants the facts of a package alone, for those
// that import it, leaves Report out of the pass.
func New() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:       "lastuse",
		Doc:        manual(),
		URL:        "https://pkg.go.dev/github.com/lastuse/lastuse/escape",
		ResultType: reflect.TypeFor[*Result](),
		FactTypes:  []analysis.Fact{new(effect.Fact), new(provenFact), new(awayFact)},
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
	if dep := (*spec.DependencyError)(nil); errors.As(err, &dep) {
		// Without facts the functions of the package are unknown to others.
		if pass.Report != nil {
			pass.ReportRangef(pass.Files[0].Name, "%v", dep)
		}
		res.Spec = dep
		return res, nil
	}
	if err != nil {
		return nil, err
	}
	set = set.Fork()
	var own []*spec.Line
	for _, f := range pass.Files {
		lines, err := spec.Directives(pass.Fset, f, pass.TypesInfo)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			set.AddLine(l, spec.Directive)
		}
		own = append(own, lines...)
	}
	if set.Torn() != nil && pass.Report != nil {
		reportTorn(pass, set)
	}
	p := newSubject(pass.Fset, pass.Files, pass.TypesInfo, pass.Pkg, set)
	p.cgo, p.told = cgo, pass.Report == nil
	read := pass.ReadFile
	if read == nil { // a driver from before it was there, as Bazel's nogo is
		read = os.ReadFile
	}
	p.ignored, p.read, p.dir = pass.IgnoredFiles, once(read), sourceDir(pass)
	if !p.interesting(own, func(q *types.Package) bool { return pass.ImportPackageFact(q, new(effect.Fact)) }) {
		// Its types may hold what others put there.
		res.Skipped = p.exportAway(pass, plan.Trees(p.types, p.parsed(p.ignored, false)))
		return res, nil
	}
	p.decide(pass, res)
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

// reportTorn says of functions that a package names, each where it does so first, that two specs disagree.
func reportTorn(pass *analysis.Pass, set *spec.Set) {
	first := map[string]token.Pos{}
	for _, names := range []map[*ast.Ident]types.Object{pass.TypesInfo.Defs, pass.TypesInfo.Uses} {
		for id, obj := range names {
			fn, ok := obj.(*types.Func)
			if !ok {
				continue
			}
			if line, said := set.Lookup(spec.FullName(fn.Origin())); said && line.Torn != "" {
				if at, have := first[line.Torn]; !have || id.Pos() < at {
					first[line.Torn] = id.Pos()
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(first)) {
		pass.Reportf(first[text], "%s", text)
	}
}

// once reads each file once: it is asked for by each function in it.
func once(read func(string) ([]byte, error)) func(string) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	have := map[string]result{}
	return func(name string) ([]byte, error) {
		r, ok := have[name]
		if !ok {
			r.text, r.err = read(name)
			have[name] = r
		}
		return r.text, r.err
	}
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
