package apply

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// files writes a folder of files and returns outputs that turn each "old NAME"
// into "new NAME".
func files(t *testing.T, names ...string) (dir string, outs []*Output) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("old "+name), 0o640))
		outs = append(outs, &Output{File: path, Old: []byte("old " + name), New: []byte("new " + name)})
	}
	return dir, outs
}

// demand checks that each file is as said and that nothing else is there.
func demand(t *testing.T, dir string, outs []*Output, what string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, len(outs), "files are left over: %v", entries)
	for _, out := range outs {
		text, err := os.ReadFile(out.File)
		require.NoError(t, err)
		require.Equal(t, what+" "+filepath.Base(out.File), string(text))
	}
}

func TestWriteAll(t *testing.T) {
	dir, outs := files(t, "a", "b", "c")
	require.NoError(t, WriteAll(context.Background(), outs))
	demand(t, dir, outs, "new")
	info, err := os.Stat(outs[0].File)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode().Perm(), "a file keeps its permissions")

	// The second run finds other files than those that it read.
	require.ErrorIs(t, WriteAll(context.Background(), outs), ErrChanged)
	demand(t, dir, outs, "new")
}

// One file that changed keeps all of its folder as it is.
func TestWriteAllChanged(t *testing.T) {
	dir, outs := files(t, "a", "b", "c")
	outs[1].Old = []byte("something else")
	err := WriteAll(context.Background(), outs)
	require.ErrorIs(t, err, ErrChanged)
	require.ErrorContains(t, err, outs[1].File)
	demand(t, dir, outs, "old")
}

func TestWriteAllRefuses(t *testing.T) {
	dir, outs := files(t, "a", "b")
	require.NoError(t, os.Chmod(outs[1].File, 0o440))
	require.ErrorIs(t, WriteAll(context.Background(), outs), fs.ErrPermission)
	demand(t, dir, outs, "old")

	require.NoError(t, os.Remove(outs[1].File))
	require.ErrorIs(t, WriteAll(context.Background(), outs), fs.ErrNotExist)
	demand(t, dir, outs[:1], "old")

	require.NoError(t, os.Mkdir(outs[1].File, 0o755))
	require.Error(t, WriteAll(context.Background(), outs))
	text, err := os.ReadFile(outs[0].File)
	require.NoError(t, err)
	require.Equal(t, "old a", string(text))
}

func TestWriteAllInterrupted(t *testing.T) {
	dir, outs := files(t, "a", "b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, WriteAll(ctx, outs), context.Canceled)
	demand(t, dir, outs, "old")
}

// Several runs at once that all read the same files: one of them writes, the
// others say that the files changed.
func TestWriteAllTogether(t *testing.T) {
	dir, outs := files(t, "a", "b", "c")
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch err := WriteAll(context.Background(), outs); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, ErrChanged):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	demand(t, dir, outs, "new")
}

// A rename that fails takes back those before it.
func TestRestore(t *testing.T) {
	dir, outs := files(t, "a", "b")
	require.NoError(t, WriteAll(context.Background(), outs))
	var done []*staged
	for _, out := range outs {
		done = append(done, &staged{out: out, target: out.File})
	}
	require.NoError(t, restore(done))
	demand(t, dir, outs, "old")

	// What was changed in between is not overwritten.
	require.NoError(t, os.WriteFile(outs[0].File, []byte("edited"), 0o640))
	err := restore(done[:1])
	require.ErrorIs(t, err, ErrChanged)
	require.True(t, strings.Contains(err.Error(), "could not be changed back"))
}
