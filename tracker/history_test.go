package tracker

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/lockrank"
)

// record adds an event to the history as an allocator does.
func record(s *books.Shard, k Kind, ptr uintptr, size int64) { s.Record(books.Kind(k), ptr, size) }

func TestHistory(t *testing.T) {
	books := New(Options{History: 4})
	require.True(t, books.Recording())
	require.Empty(t, books.History())
	s := newShard(t, books)
	record(s, Made, 0x1000, 10)
	books.Alloc(0x2000, 20)
	require.NoError(t, books.Free(0x2000))
	events := books.History()
	require.Len(t, events, 3)
	for i, want := range []Event{
		{Kind: Made, Account: "host", Ptr: 0x1000, Size: 10},
		{Kind: Made, Account: "foreign", Ptr: 0x2000, Size: 20},
		{Kind: Freed, Account: "foreign", Ptr: 0x2000, Size: 20},
	} {
		got := events[i]
		require.False(t, got.Time.IsZero())
		require.True(t, slices.ContainsFunc(got.Stack[:2], func(f Frame) bool { return strings.HasSuffix(f.Function, ".TestHistory") }), "%v", got.Stack)
		got.Time, got.Stack = want.Time, nil
		require.Equal(t, want, got)
	}
	record(s, Late, 0x1000, 10)
	record(s, Made, 0x3000, 30)
	events = books.History()
	require.Len(t, events, 4, "bounded")
	require.Equal(t, uintptr(0x2000), events[0].Ptr, "the oldest has gone")
	require.Equal(t, uintptr(0x3000), events[3].Ptr)
	require.Equal(t, []string{"made", "freed", "late", "Kind(9)"}, []string{Made.String(), Freed.String(), Late.String(), Kind(9).String()})
}

func TestNoHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	books := New(Options{HistoryFile: path})
	s := newShard(t, books)
	require.False(t, books.Recording())
	record(s, Made, 1, 1)
	require.Nil(t, books.History())
	require.NoError(t, books.RanOut())
	require.NoFileExists(t, path)
}

func TestHistoryAllocatesNothing(t *testing.T) {
	books := New(Options{History: 8})
	s := newShard(t, books)
	n := testing.AllocsPerRun(100, func() { record(s, Made, 1, 1) })
	if !lockrank.On { // the check of the ranks allocates
		require.Zero(t, n)
	}
}

// TestRanOut saves the history when memory runs out.
func TestRanOut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history")
	elsewhere := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Symlink(elsewhere, path))
	books := New(Options{History: 4, HistoryFile: path})
	books.Alloc(0x2000, 20)
	require.NoError(t, books.RanOut())
	require.NoFileExists(t, elsewhere, "a link is not followed")
	st, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "foreign heap: live 20 B in 1")
	require.Regexp(t, `made  0x2000 20 bytes, foreign\n\t\S+\.TestRanOut\n\t\t\S+history_test\.go:\d+\n`, string(text))

	books.Alloc(0x3000, 30)
	require.NoError(t, books.RanOut())
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, again), "not twice within a second")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing half written is left over")
}

func TestRanOutCannotSave(t *testing.T) {
	books := New(Options{History: 4, HistoryFile: filepath.Join(t.TempDir(), "missing", "history")})
	require.ErrorContains(t, books.RanOut(), "tracker: save history:")
}

func TestHistoryAtOnce(t *testing.T) {
	books := New(Options{History: 100})
	a := account(books, "host")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := shardOf(a)
			for i := range uintptr(1000) {
				record(s, Made, i, 1)
			}
		})
	}
	for range 20 {
		books.History()
	}
	wg.Wait()
	require.Len(t, books.History(), 100)
}
