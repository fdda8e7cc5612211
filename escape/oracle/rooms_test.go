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
	"github.com/lastuse/lastuse/escape/internal/shadow"
	"github.com/lastuse/lastuse/escape/oracle/gen"
	"github.com/lastuse/lastuse/escape/spec"
)

var (
	roomsN    = flag.Int("rooms", 60, "how many programs the rooms rewrite")
	roomsSeed = flag.Uint64("rooms-seed", 3, "seed of these programs")
)

// rooms rewrites with the rooms that the analyzer becomes, in place of the tool.
type rooms struct {
	sites, frees, left int
	kept               map[string]int // why what is not freed is not: how many sites
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
	facts := map[*types.Func]*effect.Summary{}
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
		return r.one(dir, p, set, facts)
	}
	for _, p := range list {
		if err := visit(p); err != nil {
			return "", err
		}
	}
	return "", nil
}

// one rewrites the files of a package, if it is one of programs.
func (r *rooms) one(dir string, p *packages.Package, set *spec.Set,
	facts map[*types.Func]*effect.Summary) error {
	res := shadow.Run(&shadow.Input{Fset: p.Fset, Files: p.Syntax, Types: p.Types, Info: p.TypesInfo,
		Set: set, Facts: facts})
	if err := res.IR.Verify(); err != nil {
		return err
	}
	if !strings.HasPrefix(p.Fset.Position(p.Syntax[0].FileStart).Filename, dir+"/") {
		return nil
	}
	for _, f := range res.Funcs {
		r.frees += len(f.Frees)
		r.sites += len(f.Verdicts)
		for _, g := range f.Own.Groups {
			if g.Why() != "" {
				r.kept[g.Why()] += len(g.Sites)
			}
		}
		for _, v := range f.Verdicts {
			r.kept[v.Why()]++
		}
	}
	for _, f := range p.Syntax {
		name := p.Fset.Position(f.FileStart).Filename
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		edited, left, err := res.Edit(f, string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.left += left
		if err := os.WriteFile(name, []byte(edited), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// TestRooms judges the frees that the rooms place as it does the analyzer's: none may be
// wrong. How many there are is said, and not demanded yet.
func TestRooms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a batch")
	}
	r := &rooms{kept: map[string]int{}}
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
	t.Logf("%d sites, %d frees, %d without a place of their own; of %d buffers %d are freed, %d at the optimum",
		r.sites, r.frees, r.left, seen, freed, exact)
	for _, why := range slices.SortedFunc(maps.Keys(r.kept), func(a, b string) int {
		return cmp.Or(r.kept[b]-r.kept[a], strings.Compare(a, b))
	}) {
		t.Logf("%6d %s", r.kept[why], why)
	}
}
