//go:build linux && (amd64 || arm64)

package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseUsed(t *testing.T) {
	require.Equal(t, map[uint32]uint64{7: 3 << 20, 4711: 523 << 20},
		parseUsed("4711, 522\n7, 3\n4711, 1\n12, [N/A]\n-1, 5\n99999999999, 5\n5, 99999999999\nNo running processes found\n\n,\n"))
}

// TestToolMisbehaves asks tools that fail, say too much, or never answer.
func TestToolMisbehaves(t *testing.T) {
	dir := t.TempDir()
	ask := func(script string) (map[uint32]uint64, error) {
		path := filepath.Join(dir, "tool")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		return used(t.Context(), path)
	}
	_, err := ask("exit 9")
	require.Error(t, err)
	all, err := ask("echo 5, 1; yes | head -c 5000000; echo 6, 1")
	require.NoError(t, err)
	require.Equal(t, map[uint32]uint64{5: 1 << 20}, all)
	begin := time.Now()
	_, err = ask("exec sleep 100")
	require.Error(t, err)
	require.Less(t, time.Since(begin), driverAnswer+3*time.Second)
	_, err = used(t.Context(), filepath.Join(dir, "nothing"))
	require.Error(t, err)
	require.False(t, strings.Contains(driverTool(), dir))
}
