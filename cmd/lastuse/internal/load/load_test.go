package load

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A package, its variant with tests and the edits are about one text of a file, although
// somebody writes to it between two readings.
func TestReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.go")
	require.NoError(t, os.WriteFile(file, []byte("package p\n"), 0o644))
	var p Program
	first, err := p.Read(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("package other\n"), 0o644))
	again, err := p.Read(file)
	require.NoError(t, err)
	require.Equal(t, string(first), string(again))
	_, err = p.Read(file + ".absent")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
