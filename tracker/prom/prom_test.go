package prom

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/tracker"
)

// line is what the text format allows of a sample with the labels we use.
var line = regexp.MustCompile(`^[a-z_]+(\{account="([^"\\\n]|\\["\\n])*"(,how="[a-z]+")?\})? -?[0-9]+$`)

func write(t *testing.T, books *tracker.Tracker) string {
	var b bytes.Buffer
	require.NoError(t, Write(&b, books))
	seen := map[string]bool{}
	for text := range strings.Lines(b.String()) {
		text = strings.TrimSuffix(text, "\n")
		if !strings.HasPrefix(text, "#") {
			require.Regexp(t, line, text)
		}
		name, _, _ := strings.Cut(text, "} ")
		require.False(t, seen[name], "twice: %s", text)
		seen[name] = true
	}
	return b.String()
}

// account opens an account as an allocator does.
func account(t *tracker.Tracker, name string) *books.Account { return books.Of(t).NewAccount(name) }

// shardOf returns a new shard of a, whose only writer is the test.
func shardOf(a *books.Account) *books.Shard { return a.NewShard(new(sync.Mutex)) }

func TestWrite(t *testing.T) {
	books := tracker.New(tracker.Options{})
	a, b := account(books, "cuda:0"), account(books, "cuda:0")
	s, u := shardOf(a), shardOf(b)
	a.AddReserved(4096)
	s.Alloc(1000)
	u.Alloc(500)
	u.Late(500)
	s.Repeat()
	s.Pend(64)
	books.Alloc(0x1000, 70)
	require.NoError(t, books.Free(0x1000))
	text := write(t, books)
	for _, want := range []string{
		"# TYPE foreignheap_live_bytes gauge\nforeignheap_live_bytes{account=\"cuda:0\"} 1000\nforeignheap_live_bytes{account=\"foreign\"} 0\n",
		`foreignheap_reserved_bytes{account="cuda:0"} 4096`,
		`foreignheap_pending_bytes{account="cuda:0"} 64`,
		`foreignheap_allocated_bytes_total{account="cuda:0"} 1500`,
		`foreignheap_freed_objects_total{account="cuda:0",how="explicit"} 0`,
		`foreignheap_freed_objects_total{account="cuda:0",how="late"} 1`,
		`foreignheap_freed_objects_total{account="foreign",how="explicit"} 1`,
		`foreignheap_late_bytes_total{account="cuda:0"} 500`,
		`foreignheap_repeated_frees_total{account="cuda:0"} 1`,
		"foreignheap_sites_lost_total 0\n",
	} {
		require.Contains(t, text, want)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(u)
}

// TestAccountsThatAreGone keeps the counters of a pool that was dropped: a total never falls.
func TestAccountsThatAreGone(t *testing.T) {
	books := tracker.New(tracker.Options{})
	shardOf(account(books, "short")).Alloc(10)
	for i := 0; len(books.Stats().Accounts) > 0; i++ {
		require.Less(t, i, 2000)
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run after the collection
	}
	text := write(t, books)
	require.Contains(t, text, `foreignheap_allocated_bytes_total{account=""} 10`)
	require.Contains(t, text, `foreignheap_freed_objects_total{account="",how="late"} 1`)
	require.Contains(t, text, `foreignheap_live_bytes{account=""} 0`)
}

func TestOddNames(t *testing.T) {
	books := tracker.New(tracker.Options{})
	a := account(books, "a\"b\\c\nd\xff")
	text := write(t, books)
	require.Contains(t, text, `account="a\"b\\c\nd`+"\ufffd"+`"`)
	runtime.KeepAlive(a)
}

func TestHandler(t *testing.T) {
	h := Handler(tracker.New(tracker.Options{}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, contentType, w.Header().Get("Content-Type"))
	require.Contains(t, w.Body.String(), "foreignheap_sites_lost_total 0")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestWriteFails(t *testing.T) {
	require.EqualError(t, Write(broken{}, tracker.New(tracker.Options{})), "prom: write: gone")
}
