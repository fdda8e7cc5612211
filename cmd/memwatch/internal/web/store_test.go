package web

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// kept is a history that begins with what a file has, and then keeps snapshots of process 7 at some times.
func kept(t *testing.T, file, boot string, most int, times ...int64) *history {
	t.Helper()
	s, err := openStore(file, boot, most)
	require.NoError(t, err)
	defer s.Close()
	h := &history{fault: func(err error) { t.Error(err) }}
	h.take(s)
	h.keep(&heap.Snapshot{}) // a server's first: it has not looked around
	for _, at := range times {
		snap := &heap.Snapshot{Time: at, Processes: []heap.Process{{PID: 7, Start: 70, Live: at * 10}, {PID: 8, Start: 80, Exited: true}}}
		h.keep(snap)
	}
	return h
}

// TestStore stops a server and starts the next one: what the first one kept is there, of this boot, up to
// where the file is damaged.
func TestStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	kept(t, file, "boot", keepMost, 1, 2, 3)
	id := processID{7, 70}
	h := kept(t, file, "boot", keepMost, 3, 4)
	require.Equal(t, &past{7, 70, []int64{1, 2, 3, 4}, []int64{10, 20, 30, 40}}, h.past[id])

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(string(text), "\n"), "its head, and a step for each time:\n%s", text)
	for cut := range len(text) {
		if cut <= strings.Index(string(text), "\n") {
			continue // see TestStoreRefuses
		}
		require.NoError(t, os.WriteFile(file, text[:cut], 0o600))
		steps := strings.Count(string(text[:cut]), "\n") - 1
		h := kept(t, file, "boot", keepMost, 9)
		require.Len(t, h.past[id].Times, steps+1, "cut at %d", cut)
	}
	require.Equal(t, []int64{5}, kept(t, file, "another", keepMost, 5).past[id].Times)
	require.Equal(t, []int64{5, 6}, kept(t, file, "another", keepMost, 6).past[id].Times)
}

// TestStoreForgets keeps more steps than there is room for: the file stays below twice as many, and holds the
// newest.
func TestStoreForgets(t *testing.T) {
	const most = 4
	file := filepath.Join(t.TempDir(), "history")
	times := []int64{}
	for at := range int64(30) {
		times = append(times, at+1)
		kept(t, file, "boot", most, at+1)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(text), "\n"), 2*most+1)
	}
	h := kept(t, file, "boot", most)
	require.Subset(t, h.was[processID{7, 70}].Times, times[len(times)-most:])
	kept(t, file, "boot", most, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41)
	got := kept(t, file, "boot", most).was[processID{7, 70}].Times
	require.GreaterOrEqual(t, len(got), most)
	require.Equal(t, []int64{38, 39, 40, 41}, got[len(got)-most:])
}

// TestStoreRefuses leaves alone what is not its own.
func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for text, want := range map[string]string{
		"notes\n":                       "the file is of something else",
		"{}\n":                          "the file is of something else",
		`{"memwatch_history":1,"bo`:     "the file is of something else",
		`{"memwatch_history":2}` + "\n": "the file is of something else",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := OpenStore(file, "boot")
		require.ErrorIs(t, err, ErrHistory)
		require.ErrorContains(t, err, file+": "+want)
		now, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(now))
	}
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s, err := OpenStore(file, "boot")
	require.NoError(t, err)
	_, err = OpenStore(file, "boot")
	require.ErrorContains(t, err, "another memwatch writes to it")
	require.NoError(t, s.Close())
	require.NoError(t, os.Chmod(file, 0o622))
	_, err = OpenStore(file, "boot")
	require.ErrorContains(t, err, "others may write to it")
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "link")))
	for _, bad := range []string{"link", ".", "no/such"} {
		_, err = OpenStore(filepath.Join(dir, bad), "boot")
		require.Error(t, err, bad)
	}
}

// TestStoreFails keeps the history in memory when the file cannot be written any more, and says so once.
func TestStoreFails(t *testing.T) {
	s, err := OpenStore(filepath.Join(t.TempDir(), "history"), "boot")
	require.NoError(t, err)
	var said []error
	h := &history{fault: func(err error) { said = append(said, err) }}
	h.take(s)
	require.NoError(t, s.Close())
	for at := range int64(3) {
		h.keep(&heap.Snapshot{Time: at + 1, Processes: []heap.Process{{PID: 7, Start: 70, Live: 1}}})
	}
	require.Len(t, h.past[processID{7, 70}].Times, 3)
	require.Len(t, said, 1)
	require.True(t, errors.Is(said[0], os.ErrClosed))
}
