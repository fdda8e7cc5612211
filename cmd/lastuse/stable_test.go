package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/internal/built"
)

// By default the test below runs the tool once in each of two checkouts, over a
// quarter of the analyzer's cases. The whole is
//
//	go test ./cmd/lastuse -run StableOverRuns -timeout 30m -stable 20
var stableRuns = flag.Int("stable", 0, "run the tool `n` times over all cases, half of them on one processor, half in either checkout")

// caseModule makes the cases of the analyzer a module in dir, with the libraries
// that they import.
func caseModule(t *testing.T, dir, names string) {
	t.Helper()
	data := filepath.Join("..", "..", "escape", "testdata")
	require.NoError(t, os.CopyFS(filepath.Join(dir, "fake"), os.DirFS(filepath.Join(data, "fake"))))
	write := func(name string, text []byte) {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, text, 0o644))
	}
	var mod strings.Builder
	mod.WriteString("module row.test\n\ngo 1.26.0\n\n")
	for _, m := range [][2]string{{"github.com/lastuse/lastuse", "lastuse"}, {"gpu.test/buf", "buf"}, {"golang.org/x/sync", "sync"}} {
		fmt.Fprintf(&mod, "require %s v0.0.0\nreplace %[1]s => ./fake/%s\n", m[0], m[1])
	}
	write("go.mod", []byte(mod.String()))
	spec, err := os.ReadFile(filepath.Join(data, "fake", "buf", "lastuse.spec"))
	require.NoError(t, err)
	archives, err := filepath.Glob(filepath.Join(data, "cases", names))
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, name := range archives {
		ar, err := txtar.ParseFile(name)
		require.NoError(t, err)
		row := strings.TrimSuffix(filepath.Base(name), ".txtar")
		for _, f := range ar.Files {
			switch {
			case f.Name == "lastuse.spec":
				spec = append(append(spec, '\n'), f.Data...)
			case strings.HasSuffix(f.Name, ".go"):
				write(filepath.Join(row, f.Name), f.Data)
			}
		}
	}
	write("lastuse.spec", spec)
}

// TestStableOverRuns: what the tool writes does not depend on the number of
// processors, on chance, or on where the checkout lies.
func TestStableOverRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("loads many packages twice")
	}
	names, runs := "[A]*.txtar", 2
	if *stableRuns > 0 {
		names, runs = "*.txtar", *stableRuns
	}
	top := t.TempDir()
	dirs := []string{filepath.Join(top, "a"), filepath.Join(top, "far", "away", "checkout")}
	for _, dir := range dirs {
		caseModule(t, dir, names)
	}
	bin, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	first := map[string][]byte{}
	for run := range runs {
		dir, procs := dirs[run/2%2], "1"
		if run%2 == 1 {
			procs = "16"
		}
		if runs == 2 {
			dir = dirs[run]
		}
		got := map[string][]byte{}
		exec1 := func(what string, args ...string) {
			cmd := exec.Command(bin, append(args, "./...")...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+procs, "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			require.True(t, err == nil || cmd.ProcessState.Exited(), "%v", err)
			got[what] = stdout.Bytes()
			got[what+", stderr"] = stderr.Bytes()
		}
		exec1("-json", "-json", "-sarif", "out.sarif")
		exec1("-diff", "-diff")
		sarif, err := os.ReadFile(filepath.Join(dir, "out.sarif"))
		require.NoError(t, err)
		got["-sarif"] = sarif
		for what, text := range got {
			if run == 0 {
				require.True(t, len(text) > 0 || strings.HasSuffix(what, "stderr"), what)
				first[what] = text
			}
			require.Equal(t, string(first[what]), string(text), "%s, run %d in %s with GOMAXPROCS=%s", what, run, dir, procs)
		}
	}
	t.Logf("%d runs: %d bytes of -json, %d of -diff, %d of -sarif, all the same", runs, len(first["-json"]), len(first["-diff"]), len(first["-sarif"]))
}
