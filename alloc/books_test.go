package alloc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// exhaust makes buffers until there is no more memory.
//
//go:noinline
func exhaust(s *alloc.Stream) (all []alloc.Buffer[byte], err error) {
	for {
		b, err := alloc.Make[byte](s, 1<<20)
		if err != nil {
			return all, err
		}
		all = append(all, b)
	}
}

// TestRunsOut runs a pool out of memory and finds all that its tracker promised to keep for that
// moment: the history in its file, and the page that shows the pool's blocks.
func TestRunsOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	books := tracker.New(tracker.Options{Rate: 1, History: 50, HistoryFile: file})
	p := newPool(t, host.Options{}, alloc.Options{Tracker: books, Limit: 40 << 20})
	s := newStream(t, p)
	all, err := exhaust(s)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	text, err := os.ReadFile(file)
	require.NoError(t, err, "saved without being asked")
	require.Contains(t, string(text), "foreign heap: live 40 MiB in 40")
	require.Contains(t, string(text), "last 40 events")
	require.Contains(t, string(text), "alloc_test.exhaust")
	require.Contains(t, string(text), "books_test.go:")

	all[3].Free()
	all[4].Free()
	server, err := books.Serve("127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	r, err := http.Get(server.URL() + "&format=json")
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	var report struct {
		Segments []tracker.Segment
		Sites    []tracker.Site
	}
	require.NoError(t, json.Unmarshal(body, &report), "%s", body)
	sum := map[string]int64{}
	for _, g := range report.Segments {
		for _, b := range g.Blocks {
			sum[b.State] += b.Size
		}
	}
	require.Equal(t, map[string]int64{"live": 38 << 20, "idle": 2 << 20}, sum)
	require.Contains(t, report.Sites[0].String(), "books_test.go:")
	require.EqualValues(t, 38, report.Sites[0].LiveObjects)
	for _, b := range all {
		b.Free()
	}
	require.NoError(t, p.Close())
}

// TestCloseInAStorm closes a pool while the collector finds buffers dead by the thousand and others are
// still made: nothing is lost, nothing is freed twice, and all memory goes back to the device.
func TestCloseInAStorm(t *testing.T) {
	for range 4 {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		books := tracker.New(tracker.Options{Rate: 1})
		p, err := alloc.NewPool(ordered(t, dev), alloc.Options{Tracker: books})
		require.NoError(t, err)
		var wg sync.WaitGroup
		var stop atomic.Bool
		for range 4 {
			s, err := p.NewStream()
			require.NoError(t, err)
			wg.Go(func() {
				for i := 0; !stop.Load(); i++ {
					b, err := alloc.Make[byte](s, 1<<(i%16))
					if err != nil {
						assert.ErrorIs(t, err, alloc.ErrClosed)
						return
					}
					if i%8 == 0 {
						b.Free() // the others are dropped
					}
				}
			})
		}
		wg.Go(func() {
			for !stop.Load() {
				runtime.GC()
			}
		})
		for p.Stats().Late < 1000 {
			runtime.Gosched()
		}
		err = p.Close()
		var live *alloc.LiveError
		if err != nil {
			require.ErrorAs(t, err, &live, "what the collector has not found yet, and nothing else")
		}
		stop.Store(true)
		wg.Wait()
		collectUntil(t, func() bool { p.Stats(); return dev.Used() == 0 })
		st := books.Stats()
		require.Zero(t, st.Live)
		require.Zero(t, st.LiveObjects)
		require.Equal(t, st.Made, st.Freed+st.Late)
		for _, s := range books.Sites() {
			require.Zero(t, s.LiveBytes, s)
		}
		require.NoError(t, p.Close())
	}
}
