package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/built"
)

var update = flag.Bool("update", false, "write testdata/rewrite.diff anew")

// TestRewrite shows the whole patch that lastuse writes for this program. Every
// line of it should stand where a careful person would put it:
//
//   - loop: the workspace dies when use returns, on the error path as well;
//   - branch: in the likely branch before the long loop, not after it;
//   - early: before the early return, and after the returned call is evaluated;
//   - cLoop: C memory behind a finalizer, after its last use.
func TestRewrite(t *testing.T) {
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)

	cmd := exec.Command(tool, "-diff", "-test=false", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "want exit status 3, findings")
	require.Equal(t, 3, exit.ExitCode(), "%s", stderr.String())

	golden := filepath.Join("testdata", "rewrite.diff")
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
