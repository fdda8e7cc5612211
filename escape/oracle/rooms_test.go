package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/internal/shadow"
	"github.com/lastuse/lastuse/escape/oracle/gen"
	"github.com/lastuse/lastuse/escape/spec"
	"github.com/lastuse/lastuse/internal/tier"
)

var (
	roomsN    = flag.Int("rooms", tier.Of(20, 60), "how many programs the rooms rewrite")
	roomsSeed = flag.Uint64("rooms-seed", 3, "seed of these programs")

	roomsTexts = flag.String("rooms-texts", "", "write what they are rewritten to into this file")
)

// rooms rewrites with the rooms that the analyzer becomes, in place of the tool, and asks the
// proof about what they do. What it does not accept is judged as well.
type rooms struct {
	sites, frees, edits int
	kept                map[string]int          // why what is not freed is not: how many sites
	withheld            map[string][]string     // why the proof does not accept edits: where
	facts               map[string]*effect.Fact // by package
	proofs              map[*types.Func]*proof.Summary
}

func (r *rooms) Rewrite(ctx context.Context, dir string) (string, error) {
	cfg := &packages.Config{Context: ctx, Dir: dir, Env: append(environ(), "CGO_ENABLED=0"),
		Mode: packages.LoadSyntax}
	list, err := packages.Load(cfg, "./...", gen.PathRT, "github.com/lastuse/lastuse/alloc/host",
		"github.com/lastuse/lastuse/alloc")
	if err != nil {
		return "", err
	}
	set, err := spec.Load(nil, "")
	if err != nil {
		return "", err
	}
	set = set.Fork()
	for _, p := range list {
		if len(p.Errors) > 0 {
			return "", p.Errors[0]
		}
		if err := direct(set, p.Fset, p.Syntax, p.TypesInfo); err != nil {
			return "", err
		}
	}
	r.facts, r.proofs = map[string]*effect.Fact{}, map[*types.Func]*proof.Summary{}
	seen := map[*packages.Package]bool{}
	var visit func(p *packages.Package) error
	visit = func(p *packages.Package) error {
		if seen[p] || !slices.Contains(list, p) {
			return nil
		}
		seen[p] = true
		for _, q := range p.Imports {
			if err := visit(q); err != nil {
				return err
			}
		}
		return r.one(dir, p, set)
	}
	for _, p := range list {
		if err := visit(p); err != nil {
			return "", err
		}
	}
	return "", nil
}

// one rewrites the files of a package, if it is one of programs.
func (r *rooms) one(dir string, p *packages.Package, set *spec.Set) error {
	texts := map[string][]byte{}
	for _, f := range p.Syntax {
		name := p.Fset.Position(f.FileStart).Filename
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		texts[name] = text
	}
	known := effect.NewFacts(func(q *types.Package) *effect.Fact { return r.facts[q.Path()] })
	res := shadow.Run(&shadow.Input{Fset: p.Fset, Files: p.Syntax, Types: p.Types, Info: p.TypesInfo,
		Set: set, Facts: known, Text: func(name string) []byte { return texts[name] }})
	if err := res.IR.Verify(); err != nil {
		return err
	}
	r.facts[p.PkgPath] = res.Fact
	facts := func(f *types.Func) *proof.Summary { return r.proofs[f] }
	sums, err := proof.SummarizeSource(&proof.Source{Fset: p.Fset, Files: p.Syntax, Types: p.Types,
		Info: p.TypesInfo, Specs: set, Facts: facts})
	if err != nil {
		return err
	}
	maps.Copy(r.proofs, sums)
	if !strings.HasPrefix(p.Fset.Position(p.Syntax[0].FileStart).Filename, dir+"/") {
		return nil
	}
	r.count(res)
	for _, v := range res.Prove(&shadow.Asker{GoVersion: "go1.26", Sizes: p.TypesSizes, Sums: sums, Facts: facts}).Edits {
		r.edits++
		if !v.Accepted() {
			r.withheld[fmt.Sprintf("%s: %s", v.Why.Rule, v.Why.Words)] = append(
				r.withheld[fmt.Sprintf("%s: %s", v.Why.Rule, v.Why.Words)],
				fmt.Sprintf("%s:%d, line %d: %s", v.Func, v.Pos.Line, v.Why.At.Line, v.Text))
		}
	}
	for _, f := range p.Syntax {
		name := p.Fset.Position(f.FileStart).Filename
		if err := os.WriteFile(name, []byte(res.Text(f)), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// count notes what becomes of the sites of a package.
func (r *rooms) count(res *shadow.Result) {
	for _, f := range res.Funcs {
		r.frees += len(f.Frees)
		r.sites += len(f.Verdicts)
		for _, g := range f.Own.Groups {
			if g.Why() != "" {
				r.kept[g.Why()] += len(g.Sites)
			}
		}
		for _, v := range f.Verdicts {
			why := res.Why.Of(f.Own.Func, &v).Short()
			if f.Refused != "" && v.Due {
				why = "refused: " + f.Refused
			}
			r.kept[why]++
		}
	}
}

// TestRooms judges the frees that the rooms place as it does the analyzer's: none may be
// wrong. How many there are is said, and not demanded yet.
func TestRooms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a batch")
	}
	r := &rooms{kept: map[string]int{}, withheld: map[string][]string{}}
	o := &Oracle{Rewriter: r, Options: RunOptions{6, 1}, Temp: t.TempDir()}
	var res []*Outcome
	for from := 0; from < *roomsN; from += 100 {
		some, err := o.Run(context.Background(), programs(*roomsSeed, from, min(from+100, *roomsN)))
		require.NoError(t, err)
		res = append(res, some...)
	}
	seen, freed, exact := 0, 0, 0
	for _, oc := range res {
		for _, f := range oc.Wrong() {
			t.Errorf("%s\n%s", f, oc.Fixed)
		}
		for _, v := range oc.Verdicts {
			if v.Seen && !v.Escapes {
				seen++
				if v.Freed {
					freed++
				}
				if v.Exact {
					exact++
				}
			}
		}
	}
	refused := 0
	for _, at := range r.withheld {
		refused += len(at)
	}
	t.Logf("%d sites, %d frees; of %d buffers %d are freed, %d at the optimum; of %d edits the proof accepts %d",
		r.sites, r.frees, seen, freed, exact, r.edits, r.edits-refused)
	most := func(m map[string]int) []string {
		return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
			return cmp.Or(m[b]-m[a], strings.Compare(a, b))
		})
	}
	for _, why := range most(r.kept) {
		t.Logf("%6d %s", r.kept[why], why)
	}
	n := map[string]int{}
	for why, at := range r.withheld {
		n[why] = len(at)
	}
	for _, why := range most(n) {
		t.Logf("%6d withheld: %s: %s", n[why], why, strings.Join(r.withheld[why][:min(n[why], 3)], "; "))
	}
	if *roomsTexts != "" {
		var w strings.Builder
		for _, oc := range res {
			w.WriteString(oc.Fixed)
		}
		require.NoError(t, os.WriteFile(*roomsTexts, []byte(w.String()), 0o666))
	}
}
