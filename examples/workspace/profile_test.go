package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// lineOf returns the number of the first line of a file of this folder that contains text, after the
// one that contains after.
func lineOf(t *testing.T, file, after, text string) int {
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	found := false
	for i, line := range strings.Split(string(src), "\n") {
		if found = found || strings.Contains(line, after); found && strings.Contains(line, text) {
			return i + 1
		}
	}
	t.Fatalf("%s: no %q after %q", file, text, after)
	return 0
}

// TestProfile has go tool pprof open the program's profile and name the lines that made
// workspaces, with how much each did.
func TestProfile(t *testing.T) {
	tier.Skip(t, "builds pprof")
	const iterations = 20
	m := &meter{w: io.Discard}
	require.NoError(t, poolVariant(m, 4<<20, iterations, 1<<30)) // 16 MiB each: every one is sampled
	name := filepath.Join(t.TempDir(), "foreignheap.pb.gz")
	require.NoError(t, m.writeProfile(name))

	pprof := func(args ...string) string {
		out, err := exec.Command("go", append(append([]string{"tool", "pprof"}, args...), name)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	top := pprof("-sample_index=alloc_objects", "-top", "-cum", "-lines")
	for _, want := range []struct {
		function, file string
		line, made     int
	}{
		{"foreign.ForeignAlloc", "foreign/foreign.go", lineOf(t, "foreign/foreign.go", "func ForeignAlloc", "alloc.Make"), iterations + 5},
		{"workspace.loop", "workspace/loop.go", lineOf(t, "loop.go", "func loop", "ForeignAlloc"), iterations},
		{"workspace.branch", "workspace/loop.go", lineOf(t, "loop.go", "func branch", "ForeignAlloc"), 4},
		{"workspace.early", "workspace/loop.go", lineOf(t, "loop.go", "func early", "ForeignAlloc"), 1},
	} {
		require.Regexp(t, regexp.MustCompile(fmt.Sprintf(`(?m) %d +[0-9.]+%% +\S+%s(\[\S+\])? \S*%s:%d$`,
			want.made, regexp.QuoteMeta(want.function), regexp.QuoteMeta(want.file), want.line)), top)
	}
	require.Contains(t, pprof("-top"), "Type: inuse_space", "as for Go's own heap")
	require.Contains(t, pprof("-list=workspace.early$"), "ForeignAlloc[float32](s, n)", "the source with its figures")
}
