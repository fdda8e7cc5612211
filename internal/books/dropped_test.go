package books

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDroppedBooks drops trackers while a shard of each lives on and is written to, and
// then the shards.
func TestDroppedBooks(t *testing.T) {
	before := ours(t)
	shards := make([]*Shard, 50)
	for i := range shards {
		shards[i] = shardOf(New(Options{}).NewAccount("host"))
		require.NotEmpty(t, shards[i].account.books.shards, "it has a mapping")
	}
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		for _, s := range shards {
			s.Alloc(10) // would fault if the mapping were gone
		}
	}
	for _, s := range shards {
		require.Equal(t, int64(30), s.account.books.Totals().Live)
	}
	clear(shards)
	eventually(t, func() bool { return ours(t) <= before })
}

// TestDroppedShard drops a stream's counters: its numbers stay, its slot is used again.
func TestDroppedShard(t *testing.T) {
	b := New(Options{})
	a := b.NewAccount("host")
	func() {
		s := shardOf(a)
		s.Alloc(1000)
		s.Alloc(500)
		s.Free(1000)
	}()
	eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.freeShards) == 1
	})
	st := a.Stats()
	require.Equal(t, []int64{500, 1500, 2, 1, 1500}, []int64{st.Live, st.Total, st.Made, st.Freed, st.Peak})
	require.Equal(t, int64(500), outside(t, b).Accounts[0].Live())

	s := shardOf(a)
	require.Zero(t, s.seq, "the same slot")
	s.Alloc(200)
	s.Free(200)
	st = a.Stats()
	require.Equal(t, []int64{500, 1700, 1500}, []int64{st.Live, st.Total, st.Peak},
		"500 + 200 is no new peak")
	require.Equal(t, uint64(1500), uint64(outside(t, b).Accounts[0].PeakBound))
	s.Alloc(1200)
	require.Equal(t, int64(1700), a.Stats().Peak)
	runtime.KeepAlive(s)
}

// TestDroppedAccount drops a pool with something live in it: that is freed late.
func TestDroppedAccount(t *testing.T) {
	b := New(Options{Rate: 1})
	func() {
		a := b.NewAccount("host")
		a.AddReserved(4096)
		makeSome(shardOf(a), 1000)
		c := b.NewAccount("stays")
		shardOf(c)
		runtime.KeepAlive(c)
	}()
	require.Equal(t, int64(1), b.Totals().Made)
	eventually(t, func() bool { return b.Totals().Live == 0 })
	st := b.Totals()
	require.Equal(t, []int64{0, 0, 1000, 1, 1, 1000},
		[]int64{st.Live, st.Reserved, st.Total, st.Made, st.Late, st.LateBytes})
	require.Equal(t, int64(1000), st.Peak)
	require.Empty(t, st.Accounts)
	require.Empty(t, outside(t, b).Accounts)

	site := b.Sites()[0]
	require.Equal(t, []int64{0, 0, 1, 1000},
		[]int64{site.LiveBytes, site.LiveObjects, site.LateObjects, site.LateBytes})
	require.Empty(t, site.Account)

	a := b.NewAccount("next")
	out := outside(t, b)
	require.Equal(t, "next", out.Accounts[0].Name, "in a slot used before")
	require.Empty(t, out.Sites[0].Account)
	runtime.KeepAlive(a)
}

// TestDroppedFromTheHeap drops accounts and shards that many goroutines have used, where the
// records are on the Go heap and the race detector watches them.
func TestDroppedFromTheHeap(t *testing.T) {
	b := New(Options{Rate: 1, NoTable: true})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				a := b.NewAccount("host")
				a.AddReserved(100)
				var lock sync.Mutex
				s := a.NewShard(&lock)
				lock.Lock()
				s.Alloc(10)
				s.Free(10)
				s.Alloc(7)
				m := s.Sample()
				lock.Unlock()
				s.Site(m, 7)
				a.Close()
			}
		})
	}
	for range 20 {
		runtime.GC()
		b.Totals()
		b.Sites()
	}
	wg.Wait()
	eventually(t, func() bool { return len(b.Totals().Accounts) == 0 })
	st := b.Totals()
	require.Equal(t, []int64{0, 0, 160, 80, 80, 560},
		[]int64{st.Live, st.Reserved, st.Made, st.Freed, st.Late, st.LateBytes})
	for _, s := range b.Sites() {
		require.Zero(t, s.LiveBytes)
	}
}

// TestSitesOfAccounts allocates from one stack in several accounts, one after the other and
// at once: what is gone leaves its site to the next.
func TestSitesOfAccounts(t *testing.T) {
	b := New(Options{Rate: 1})
	accounts := map[string]*Account{}
	ids := []uint32{}
	for _, name := range []string{"gone", "gone", "a", "b", "a"} {
		if accounts[name] == nil {
			accounts[name] = b.NewAccount(name)
		}
		id := makeSome(shardOf(accounts[name]), 10).Site() // the one stack
		if name == "gone" {
			delete(accounts, name)
			eventually(t, func() bool { return len(b.Totals().Accounts) == 0 })
			require.Len(t, b.Sites(), 1)
			continue
		}
		ids = append(ids, id)
	}
	require.Equal(t, ids[0], ids[2])
	require.NotEqual(t, ids[0], ids[1])
	require.Equal(t, "a", b.SiteOf(ids[0]).Account)
	require.Equal(t, int64(20), b.SiteOf(ids[0]).LiveBytes)
	require.Equal(t, int64(2), b.SiteOf(ids[0]).LateObjects, "it was the others' before")
	out := outside(t, b)
	require.Equal(t, []string{"a", "b"}, []string{out.Sites[0].Account, out.Sites[1].Account})
	runtime.KeepAlive(accounts)
}
