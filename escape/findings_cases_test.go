package escape_test

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/shadow"
	"github.com/lastuse/lastuse/escape/spec"
	"github.com/lastuse/lastuse/internal/tier"
)

// leastFoundInCases is how many findings of the cases the rooms have had in common with the analyzer. It only
// grows.
const leastFoundInCases = 249

// TestFindingsOfCasesBeside compares what the rooms find in the cases with what the analyzer does, by
// category and line. The file that FINDINGS_DIFF names gets what one of them finds alone.
func TestFindingsOfCasesBeside(t *testing.T) {
	tier.Skip(t, "loads the cases once more, for the rooms")
	c, err := runCorpus()
	require.NoError(t, err)
	dir := t.TempDir()
	tr, err := writeTree(dir, c.rows)
	require.NoError(t, err)
	older, newer := map[finding]string{}, map[finding]string{}
	for tags, rows := range byTags(c.rows) {
		pkgs, err := tr.load(rows, tags)
		require.NoError(t, err)
		pkgs = slices.DeleteFunc(pkgs, func(p *packages.Package) bool { _, golden := rowOf(p); return golden })
		saidByRooms(t, newer, tr.spec, dir, pkgs)
		for _, r := range rows {
			for _, o := range c.seen[r.name] {
				for _, p := range o.found {
					older[finding{fmt.Sprintf("%s/%s:%d", r.name, p.file, p.line), p.category}] = p.text
				}
			}
		}
	}
	var lines []string
	same := 0
	for at, text := range older {
		if _, ok := newer[at]; ok {
			same++
			if text, _, _ = strings.Cut(text, "; no fix"); text != newer[at] {
				lines = append(lines, fmt.Sprintf("%s words: %s → %s", at.where, text, newer[at]))
			}
		} else {
			lines = append(lines, fmt.Sprintf("%s old %s: %s", at.where, at.category, text))
		}
	}
	for at, text := range newer {
		if _, ok := older[at]; !ok {
			lines = append(lines, fmt.Sprintf("%s new %s: %s", at.where, at.category, text))
		}
	}
	slices.Sort(lines)
	alone := func(who string) int {
		return len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.Contains(l, who) }))
	}
	head := fmt.Sprintf("same %d, %d of them in other words, new %d, old %d", same, alone(" words: "), alone(" new "), alone(" old "))
	t.Log(head)
	if file := os.Getenv("FINDINGS_DIFF"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(head+"\n"+strings.Join(lines, "\n")+"\n"), 0o666))
	}
	require.GreaterOrEqual(t, same, leastFoundInCases, "fewer findings than before")
}

// A finding is one as it is compared.
type finding struct{ where, category string }

// saidByRooms adds what the rooms find in packages below dir.
func saidByRooms(t *testing.T, to map[finding]string, specs, dir string, pkgs []*packages.Package) {
	a := byRooms()
	require.NoError(t, a.Flags.Set("spec", specs))
	graph, err := checker.Analyze([]*analysis.Analyzer{a}, pkgs, nil)
	require.NoError(t, err)
	for _, act := range graph.Roots {
		require.NoError(t, act.Err)
		for _, d := range act.Diagnostics {
			p := act.Package.Fset.Position(d.Pos)
			rel, err := filepath.Rel(dir, p.Filename)
			require.NoError(t, err)
			to[finding{fmt.Sprintf("%s:%d", rel, p.Line), d.Category}], _ = report.Words(d.Message, func(pos token.Pos) string {
				p := act.Package.Fset.Position(pos)
				return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
			})
		}
	}
}

// byRooms returns an analyzer that reports what the rooms find.
func byRooms() *analysis.Analyzer {
	a := &analysis.Analyzer{Name: "rooms", Doc: "reports what the rooms find", FactTypes: []analysis.Fact{new(effect.Fact)},
		ResultType: reflect.TypeFor[*shadow.Result]()}
	loader := new(spec.Loader)
	loader.Register(&a.Flags)
	a.Run = func(pass *analysis.Pass) (any, error) {
		if first, _, _ := strings.Cut(pass.Pkg.Path(), "/"); !strings.Contains(first, ".") || len(pass.Files) == 0 {
			return new(shadow.Result), nil // of the standard library
		}
		shared, err := loader.For(filepath.Dir(pass.Fset.File(pass.Files[0].FileStart).Name()))
		if err != nil {
			return nil, err
		}
		set := shared.Fork()
		for _, f := range pass.Files {
			lines, err := spec.Directives(pass.Fset, f, pass.TypesInfo)
			if err != nil {
				return nil, err
			}
			for _, l := range lines {
				set.AddLine(l, spec.Directive)
			}
		}
		r := shadow.Run(&shadow.Input{Fset: pass.Fset, Files: pass.Files, Types: pass.Pkg, Info: pass.TypesInfo, Set: set,
			Facts: effect.NewFacts(func(q *types.Package) *effect.Fact {
				var f effect.Fact
				if !pass.ImportPackageFact(q, &f) {
					return nil
				}
				return &f
			}),
			Text: func(name string) []byte { text, _ := os.ReadFile(name); return text }})
		pass.ExportPackageFact(r.Fact)
		for _, f := range r.Funcs {
			for _, fd := range f.Findings {
				pass.Report(analysis.Diagnostic{Pos: fd.Pos, Category: fd.Kind.String(), Message: r.Why.Finding(f.Own.Func, fd)})
			}
		}
		return r, nil
	}
	return a
}
