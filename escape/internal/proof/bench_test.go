package proof_test

import (
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// The proof is timed next to nilness, an analyzer that builds go/ssa of a package and walks over
// it: what each costs for one package whose imports are done. The edited text is that of a
// package of ours, the original is it without its frees.
//
//	go test -run '^$' -bench . -benchtime 20x ./escape/internal/proof

// What is timed: small programs, a package of some size, the standard library as what facts of
// dependencies cost.
var benched = map[string]string{
	"examples/blur":      "github.com/lastuse/lastuse/examples/blur",
	"bench/early":        "github.com/lastuse/lastuse/bench/early/hand",
	"bench/peer":         "github.com/lastuse/lastuse/bench/peer",
	"alloc":              "github.com/lastuse/lastuse/alloc",
	"std: encoding/json": "encoding/json",
	"std: go/types":      "go/types",
	"std: net/http":      "net/http",
}

func loadBenched(b *testing.B) *module {
	var patterns []string
	for _, p := range benched {
		patterns = append(patterns, p)
	}
	return loadModule(b, "../../..", nil, patterns...)
}

// processor returns the processor time of the process so far: the clock says more of who else works.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timed runs f as a benchmark, and reports its processor time.
func timed(b *testing.B, f func()) {
	runtime.GC()
	start := processor()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(processor()-start)/1e6/float64(b.N), "cpu-ms/op")
}

// BenchmarkNilness is what the proof is compared with.
func BenchmarkNilness(b *testing.B) {
	m := loadBenched(b)
	for name, path := range benched {
		b.Run(name, func(b *testing.B) {
			timed(b, func() {
				analyze(b, nilness.Analyzer, m.pkgs[path], map[*analysis.Analyzer]any{})
			})
		})
	}
}

// analyze runs an analyzer and what it needs on one package.
func analyze(t testing.TB, a *analysis.Analyzer, p *packages.Package,
	results map[*analysis.Analyzer]any) any {
	if r, ok := results[a]; ok {
		return r
	}
	pass := &analysis.Pass{Analyzer: a, Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo,
		TypesSizes: p.TypesSizes, ResultOf: map[*analysis.Analyzer]any{}, ReadFile: os.ReadFile,
		Report:            func(analysis.Diagnostic) {},
		ImportObjectFact:  func(types.Object, analysis.Fact) bool { return false },
		ExportObjectFact:  func(types.Object, analysis.Fact) {},
		ImportPackageFact: func(*types.Package, analysis.Fact) bool { return false },
		ExportPackageFact: func(analysis.Fact) {}}
	for _, need := range a.Requires {
		pass.ResultOf[need] = analyze(t, need, p, results)
	}
	r, err := a.Run(pass)
	require.NoError(t, err)
	results[a] = r
	return r
}

// BenchmarkSummarize is what the facts of a package cost.
func BenchmarkSummarize(b *testing.B) {
	m := loadBenched(b)
	for name, path := range benched {
		b.Run(name, func(b *testing.B) {
			p := m.pkgs[path]
			set := m.directives(b, p)
			timed(b, func() {
				_, err := proof.SummarizeSource(&proof.Source{Fset: p.Fset, Files: p.Syntax, Types: p.Types,
					Info: p.TypesInfo, Specs: set, Facts: m.fact})
				require.NoError(b, err)
			})
		})
	}
}

var freeLine = regexp.MustCompile(`(?m)^\s*[\w.]+\.Free\(\)\n`)

// BenchmarkCheck is what the proof of a package's edits costs.
func BenchmarkCheck(b *testing.B) {
	m := loadBenched(b)
	for _, name := range []string{"examples/blur", "bench/early", "bench/peer"} {
		b.Run(name, func(b *testing.B) {
			p := m.pkgs[benched[name]]
			in := &proof.Input{Path: p.PkgPath, Import: m, Specs: m.directives(b, p), Facts: m.fact}
			if p.Name != "main" {
				in.Sums = m.sums(p.PkgPath)
			}
			for _, file := range p.CompiledGoFiles {
				text, err := os.ReadFile(filepath.Clean(file))
				require.NoError(b, err)
				in.Files = append(in.Files, proof.File{Name: file, Old: freeLine.ReplaceAll(text, nil), New: text})
			}
			var r *proof.Report
			timed(b, func() {
				r = proof.Check(in)
			})
			for _, v := range r.Withheld() {
				b.Logf("%v %v", v.Pos, v.Why)
			}
			b.ReportMetric(float64(len(r.Edits)), "edits")
			b.ReportMetric(float64(len(r.Edits)-len(r.Withheld())), "accepted")
		})
	}
}
