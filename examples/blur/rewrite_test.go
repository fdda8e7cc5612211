package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/built"
)

// TestRewrite takes the frees out of the pipeline and has lastuse write them again.
func TestRewrite(t *testing.T) {
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)

	require.NoError(t, os.MkdirAll("testdata", 0o777))
	dir, err := os.MkdirTemp("testdata", "rewrite") // inside the module, for its imports
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	want, err := os.ReadFile("pipeline.go")
	require.NoError(t, err)
	bare := regexp.MustCompile(`(?m)^\s*\w+\.Free\(\)\n`).ReplaceAll(want, nil)
	require.Less(t, len(bare), len(want))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pipeline.go"), bare, 0o666))
	for _, name := range []string{"main.go", "kernels.go", "blur.ptx"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
	}

	out, err := exec.Command(tool, "-fix", "./"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	got, err := os.ReadFile(filepath.Join(dir, "pipeline.go"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
