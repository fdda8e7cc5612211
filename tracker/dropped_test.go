package tracker

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/probe"
)

// ours returns how many tables this process has mapped.
func ours(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no list of mappings here: ", err)
	}
	return strings.Count(string(maps), "/memfd:"+probe.Name)
}

// eventually collects until ok returns true, and gives up after so many collections: a busy machine may
// need any time for one.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for i := 0; !ok(); i++ {
		require.Less(t, i, 2000, "it has not come true")
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run after the collection
	}
}

// TestDroppedBooks drops trackers while a shard of each lives on and is written to, and
// then the shards.
func TestDroppedBooks(t *testing.T) {
	before := ours(t)
	shards := make([]*Shard, 50)
	for i := range shards {
		shards[i] = New(Options{}).NewAccount("host").NewShard()
		require.NotEmpty(t, shards[i].Tracker().table.shards, "it has a mapping")
	}
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		for _, s := range shards {
			s.Alloc(10) // would fault if the mapping were gone
		}
	}
	for _, s := range shards {
		require.Equal(t, int64(30), s.Tracker().Bytes())
	}
	clear(shards)
	eventually(t, func() bool { return ours(t) <= before })
}

// TestDroppedShard drops a stream's counters: its numbers stay, its slot is used again.
func TestDroppedShard(t *testing.T) {
	books := New(Options{})
	a := books.NewAccount("host")
	func() {
		s := a.NewShard()
		s.Alloc(1000)
		s.Alloc(500)
		s.Free(1000)
	}()
	eventually(t, func() bool {
		books.table.mu.Lock()
		defer books.table.mu.Unlock()
		return len(books.table.freeSlots) == 1
	})
	st := a.Stats()
	require.Equal(t, []int64{500, 1500, 2, 1, 1500}, []int64{st.Live, st.Total, st.Made, st.Freed, st.Peak})
	require.Equal(t, int64(500), outside(t, books).Accounts[0].Live())

	s := a.NewShard()
	require.Zero(t, s.index, "the same slot")
	s.Alloc(200)
	s.Free(200)
	st = a.Stats()
	require.Equal(t, []int64{500, 1700, 1500}, []int64{st.Live, st.Total, st.Peak}, "500 + 200 is no new peak")
	require.Equal(t, uint64(1500), uint64(outside(t, books).Accounts[0].PeakBound))
	s.Alloc(1200)
	require.Equal(t, int64(1700), a.Stats().Peak)
	runtime.KeepAlive(s)
}

// TestDroppedAccount drops a pool with something live in it: that is freed late.
func TestDroppedAccount(t *testing.T) {
	books := New(Options{Rate: 1})
	func() {
		a := books.NewAccount("host")
		a.AddReserved(4096)
		makeSome(a.NewShard(), 1000)
		b := books.NewAccount("stays")
		b.NewShard()
		runtime.KeepAlive(b)
	}()
	require.Equal(t, int64(1), books.Stats().Made)
	eventually(t, func() bool { return books.Bytes() == 0 })
	st := books.Stats()
	require.Equal(t, []int64{0, 0, 1000, 1, 1, 1000}, []int64{st.Live, st.Reserved, st.Total, st.Made, st.Late, st.LateBytes})
	require.Equal(t, int64(1000), st.Peak)
	require.Empty(t, st.Accounts)
	require.Empty(t, outside(t, books).Accounts)

	site := books.Sites()[0]
	require.Equal(t, []int64{0, 0, 1, 1000}, []int64{site.LiveBytes, site.LiveObjects, site.LateObjects, site.LateBytes})
	require.Empty(t, site.Account)

	a := books.NewAccount("next")
	out := outside(t, books)
	require.Equal(t, "next", out.Accounts[0].Name, "in a slot used before")
	require.Empty(t, out.Sites[0].Account)
	runtime.KeepAlive(a)
}

// TestDroppedFromTheHeap drops accounts and shards that many goroutines have used, where the
// records are on the Go heap and the race detector watches them.
func TestDroppedFromTheHeap(t *testing.T) {
	books := New(Options{Rate: 1, NoTable: true})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				a := books.NewAccount("host")
				a.AddReserved(100)
				s := a.NewShard()
				s.Alloc(10)
				s.Free(10)
				makeSome(s, 7)
				a.Close()
			}
		})
	}
	for range 20 {
		runtime.GC()
		books.Stats()
		books.Sites()
	}
	wg.Wait()
	eventually(t, func() bool { return len(books.Stats().Accounts) == 0 })
	st := books.Stats()
	require.Equal(t, []int64{0, 0, 160, 80, 80, 560}, []int64{st.Live, st.Reserved, st.Made, st.Freed, st.Late, st.LateBytes})
	for _, s := range books.Sites() {
		require.Zero(t, s.LiveBytes)
	}
}

// TestSitesOfAccounts allocates from one stack in several accounts, one after the other and
// at once: what is gone leaves its site to the next.
func TestSitesOfAccounts(t *testing.T) {
	books := New(Options{Rate: 1})
	accounts := map[string]*Account{}
	ids := []SiteID{}
	for _, name := range []string{"gone", "gone", "a", "b", "a"} {
		if accounts[name] == nil {
			accounts[name] = books.NewAccount(name)
		}
		id := makeSome(accounts[name].NewShard(), 10) // the one stack
		if name == "gone" {
			delete(accounts, name)
			eventually(t, func() bool { return len(books.Stats().Accounts) == 0 })
			require.Len(t, books.Sites(), 1)
			continue
		}
		ids = append(ids, id)
	}
	require.Equal(t, ids[0], ids[2])
	require.NotEqual(t, ids[0], ids[1])
	require.Equal(t, "a", books.SiteOf(ids[0]).Account)
	require.Equal(t, int64(20), books.SiteOf(ids[0]).LiveBytes)
	require.Equal(t, int64(2), books.SiteOf(ids[0]).LateObjects, "it was the others' before")
	out := outside(t, books)
	require.Equal(t, []string{"a", "b"}, []string{out.Sites[0].Account, out.Sites[1].Account})
	runtime.KeepAlive(accounts)
}
