package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/oracle/gen"
	"github.com/lastuse/lastuse/internal/tier"
)

// identity rewrites nothing.
type identity struct{}

func (identity) Rewrite(context.Context, string) (string, error) { return "", nil }

// TestModel demands that the interpreter predicts what compiled programs do, in
// every run, faults included: on this the verdicts on rewrites stand.
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a batch")
	}
	o := &Oracle{Rewriter: identity{}, Options: RunOptions{8, 2}, Temp: t.TempDir()}
	res, err := o.Run(context.Background(), programs(3, 0, 60))
	require.NoError(t, err)
	for _, oc := range res {
		for _, f := range oc.Fails {
			require.False(t, f.Kind.Wrong(), "%s\n%s", f, oc.Orig)
		}
	}
}

// TestPrograms is a small run of the command: rewritten programs show what the
// originals show, and nothing is freed while it can still be used.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("rewrites and compiles programs")
	}
	for _, pool := range []struct {
		name string
		n    int
	}{{"ledger", tier.Of(20, 300)}, {"alloc", tier.Of(4, 40)}} {
		t.Run(pool.name, func(t *testing.T) {
			var out, log bytes.Buffer
			wrong, err := run(context.Background(), options{
				n: pool.n, batch: pool.n / tier.Of(1, 2), jobs: 2, seed: 42, pool: pool.name, runs: 6, faults: 1, tool: testTool(t).path,
			}, &out, &log)
			require.NoError(t, err, log.String())
			require.Zero(t, wrong, "%s%s", out.String(), log.String())
			figures := out.String()
			t.Log(figures[strings.Index(figures, "\nprograms:"):])
		})
	}
}

// TestDeterministic demands the same programs from the same seed.
func TestDeterministic(t *testing.T) {
	for i := range 20 {
		a, err := gen.Print(programs(5, i, i+1)[0], "oracle.test/orig")
		require.NoError(t, err)
		b, err := gen.Print(programs(5, i, i+1)[0], "oracle.test/orig")
		require.NoError(t, err)
		require.Equal(t, a, b)
	}
}

// TestShrink demands that a program is cut down to what shows a failure: here,
// with nothing rewritten, one buffer that is not freed.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles batches")
	}
	tier.Skip(t, "compiles batches, one after the other")
	o := &Oracle{Rewriter: identity{}, Options: RunOptions{2, 0}, Temp: t.TempDir()}
	ctx := context.Background()
	res, err := o.Run(ctx, programs(8, 2, 3))
	require.NoError(t, err)
	require.NotEmpty(t, res[0].Fails)
	small := o.Shrink(ctx, res[0], sameKind, t.Output())
	require.True(t, sameKind(res[0], small))
	require.LessOrEqual(t, gen.Size(small.Prog), 4, small.Orig)
}

// TestLedgerIsTheRuntime demands that the ledger declares the effects that the
// runtime declares: the analyzer must meet the same package either way.
func TestLedgerIsTheRuntime(t *testing.T) {
	repo, err := repository()
	require.NoError(t, err)
	for _, pkg := range []string{"alloc", "alloc/host"} {
		runtime := effects(t, filepath.Join(repo, pkg))
		n := 0
		for name, effect := range effects(t, filepath.Join("testdata/module/ledger", pkg)) {
			if name == "Arg.Data" { // how the ledger's own host package reads an argument
				continue
			}
			require.Equal(t, runtime[name], effect, "%s.%s", pkg, name)
			n++
		}
		require.NotZero(t, n)
	}
}

var directive = regexp.MustCompile(`(?m)^//lastuse:effect (.*)$`)

// effects maps the exported functions of a folder to their directives.
func effects(t *testing.T, dir string) map[string]string {
	t.Helper()
	res := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		require.NoError(t, err)
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Doc == nil {
				continue
			}
			key := fn.Name.Name
			if fn.Recv != nil {
				typ := fn.Recv.List[0].Type
				if p, ok := typ.(*ast.StarExpr); ok {
					typ = p.X
				}
				if x, ok := typ.(*ast.IndexExpr); ok {
					typ = x.X
				}
				key = typ.(*ast.Ident).Name + "." + key
			}
			var lines []string
			for _, c := range fn.Doc.List {
				if m := directive.FindStringSubmatch(c.Text); m != nil {
					lines = append(lines, m[1])
				}
			}
			if lines != nil {
				res[key] = strings.Join(lines, "; ")
			}
		}
	}
	return res
}

// TestSkipped is a command that skips a function since the analyzer failed on it, and ends well otherwise.
func TestSkipped(t *testing.T) {
	for _, tt := range []struct {
		says string
		ok   bool
	}{
		{"p.go:3:6: p.F is skipped: internal error at x.go:1: index out of range", false},
		{"lastuse: 3 findings fixed, 0 left", true},
	} {
		path := filepath.Join(t.TempDir(), "lastuse")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+tt.says+"' >&2\n"), 0o755))
		_, err := tool{path: path}.Rewrite(t.Context(), t.TempDir())
		if tt.ok {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, tt.says)
		}
	}
}
