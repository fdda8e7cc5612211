package tracker

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/probe"
)

// outside returns what a reader of the table sees.
func outside(t testing.TB, books *Tracker) *probe.Snapshot {
	head := books.table.head
	if len(books.table.shards) == 0 {
		t.Skip("no shared mapping here")
	}
	image := unsafe.Slice((*byte)(unsafe.Pointer(head)), head.Size)
	s, err := probe.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	return s
}

func TestTableIsTheBooks(t *testing.T) {
	books := New(Options{Rate: 1})
	a := books.NewAccount("cuda:0")
	s := a.NewShard()
	id := makeMore(s, 300)
	makeSome(s, 200)
	s.Late(300)
	books.Unsite(id, 300, true)
	a.AddReserved(4096)
	books.Alloc(0x1000, 70)
	a.Close()

	out := outside(t, books)
	require.Len(t, out.Accounts, 2)
	host, foreign := out.Accounts[0], out.Accounts[1]
	require.Equal(t, "cuda:0", host.Name)
	require.True(t, host.Closed)
	require.Equal(t, []int64{200, 4096, 4096 - 200, 500}, []int64{host.Live(), host.Reserved, host.Idle(), host.PeakBound})
	require.Equal(t, uint64(1), host.LateObjects)
	require.True(t, foreign.Foreign)
	require.Equal(t, []int64{70, 0, 70}, []int64{foreign.Live(), foreign.Idle(), foreign.PeakBound})
	require.Equal(t, uint64(s.Seq()), uint64(3), "two made, one freed")
	require.Len(t, out.Sites, 3)
	require.Regexp(t, `^github.com/lastuse/lastuse/tracker\.makeSome\t\S+/profile_test\.go:\d+\n`+
		`github.com/lastuse/lastuse/tracker\.makeMore\t\S+/profile_test\.go:\d+\n`+
		`github.com/lastuse/lastuse/tracker\.TestTableIsTheBooks\t`, out.Sites[0].Stack)
}

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

// TestNoMapping makes books where the mapping fails, or is not wanted.
func TestNoMapping(t *testing.T) {
	refuse := func(int64) (mapping, error) { return mapping{}, errors.New("no memory") }
	for name, books := range map[string]*Tracker{
		"refused": newTracker(Options{Rate: 1}, refuse), "unwanted": New(Options{Rate: 1, NoTable: true}),
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, books.table.shards)
			s := newShard(t, books)
			id := makeSome(s, 100)
			require.Equal(t, int64(100), books.Bytes())
			require.Equal(t, int64(100), books.SiteOf(id).LiveBytes)
			books.Alloc(1, 10)
			require.NoError(t, books.Free(1))
			require.NotEqual(t, s.Seq(), books.NewAccount("other").NewShard().Seq())
		})
	}
}

// TestManyBooks makes more books than a process keeps mappings for. All of them count, and
// there are mappings again when they have gone.
func TestManyBooks(t *testing.T) {
	before := ours(t)
	books := make([]*Tracker, 400)
	for i := range books {
		books[i] = New(Options{})
		books[i].Alloc(1, 10)
	}
	require.LessOrEqual(t, ours(t), 256)
	for _, b := range books {
		require.Equal(t, int64(10), b.Bytes())
	}
	require.Empty(t, books[len(books)-1].table.shards)
	clear(books)
	// All of them, or a later test finds none.
	eventually(t, func() bool { return ours(t) <= before })
	require.NotEmpty(t, New(Options{}).table.shards)
}

// TestFullTable opens more accounts and shards than the table has room for.
func TestFullTable(t *testing.T) {
	books := New(Options{})
	accounts := make([]*Account, tableAccounts+3)
	for i := range accounts {
		accounts[i] = books.NewAccount("a")
	}
	shards := make([]*Shard, tableShards+2)
	for i := range shards {
		shards[i] = accounts[0].NewShard()
		shards[i].Alloc(1)
	}
	last := accounts[len(accounts)-1].NewShard()
	last.Alloc(1)
	require.Equal(t, int64(len(shards)+1), books.Bytes())
	out := outside(t, books)
	require.Equal(t, []uint64{3, 3}, []uint64{out.LostAccounts, out.LostShards})
	require.Equal(t, int64(tableShards), out.Accounts[0].Live(), "what found room")
	runtime.KeepAlive(accounts)
	runtime.KeepAlive(shards)
}

// TestReadWhileWritten reads the table while shards are written without a pause, and come
// and go.
func TestReadWhileWritten(t *testing.T) {
	books := New(Options{})
	a := books.NewAccount("host")
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				s := a.NewShard()
				for range 100_000 { // every allocation has ten bytes, so bytes follow from objects
					s.Alloc(10)
					s.Free(10)
				}
			}
		})
	}
	torn := 0
	for still := 0; still < 200; {
		if out := outside(t, books); out.Torn == 0 {
			still++
			sum := out.Accounts[0]
			require.Equal(t, sum.MadeObjects*10, sum.MadeBytes)
			require.Equal(t, sum.FreedObjects*10, sum.FreedBytes)
		} else {
			torn++
			runtime.Gosched() // to the writer that was stopped in the middle
		}
		if st := books.Stats(); st.Live < 0 {
			t.Error("live is", st.Live)
		}
	}
	stop.Store(true)
	wg.Wait()
	require.Zero(t, books.Bytes())
	t.Logf("%d snapshots did not hold still", torn)
}

// FuzzConservation runs a script on accounts that come and go and compares with a
// naive model: live = made - freed, everywhere and at every step.
func FuzzConservation(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Fuzz(func(t *testing.T, script []byte) {
		rate := int64(100)
		if len(script)%3 == 0 {
			rate = 1 // sites are exact
		}
		books := newTracker(Options{Rate: rate, NoTable: len(script)%2 == 0}, mapTable)
		rng := rand.New(rand.NewPCG(uint64(len(script)), 7))
		a := books.NewAccount("host")
		type made struct {
			shard *Shard
			size  int64
			site  SiteID
		}
		var live []made
		var bytes, total, late, peak int64
		shards := []*Shard{a.NewShard()}
		for _, op := range script {
			switch s := shards[rng.IntN(len(shards))]; {
			case op%8 < 4 || len(live) == 0:
				m := made{shard: s, size: int64(op) * 3}
				s.Alloc(m.size)
				if s.Sample(m.size) {
					if m.site = s.SiteAgain(0, m.size); m.site == 0 {
						m.site = books.Site(0, s, m.size)
						s.Remember(0, m.site)
					}
				}
				live = append(live, m)
				bytes, total = bytes+m.size, total+m.size
				peak = max(peak, bytes)
			case op%8 == 4:
				shards = append(shards, a.NewShard())
			default:
				i := rng.IntN(len(live))
				m := live[i]
				live = append(live[:i], live[i+1:]...)
				bytes -= m.size
				if op%8 == 5 {
					late++
					m.shard.Late(m.size)
				} else {
					m.shard.Free(m.size)
				}
				if op >= 128 || !m.shard.Unsite(m.site, m.size, op%8 == 5) {
					books.Unsite(m.site, m.size, op%8 == 5)
				}
			}
			st := books.Stats()
			if st.Live != bytes || st.Total != total || st.LiveObjects != int64(len(live)) || st.Late != late || st.Peak < peak {
				t.Fatalf("%+v, want live %d in %d, total %d, late %d, peak at least %d", st, bytes, len(live), total, late, peak)
			}
			var sites Site // the sum of all
			for _, s := range books.Sites() {
				if s.LiveBytes < 0 || s.LiveObjects < 0 || s.LateBytes > s.AllocBytes-s.LiveBytes {
					t.Fatalf("%+v", s)
				}
				sites.LiveBytes, sites.AllocBytes, sites.LateObjects = sites.LiveBytes+s.LiveBytes, sites.AllocBytes+s.AllocBytes, sites.LateObjects+s.LateObjects
			}
			if rate == 1 && (sites.LiveBytes != bytes || sites.AllocBytes != total || sites.LateObjects != late) {
				t.Fatalf("sites together %+v, want live %d, total %d, late %d", sites, bytes, total, late)
			}
		}
		if len(shards) == 1 && books.Stats().Peak != peak {
			t.Fatalf("peak %d of one shard, want %d", books.Stats().Peak, peak)
		}
		for _, m := range live {
			m.shard.Free(m.size)
			books.Unsite(m.site, m.size, false)
		}
		for _, s := range books.Sites() {
			if s.LiveBytes != 0 || s.LiveObjects != 0 {
				t.Fatalf("%+v after all is freed", s)
			}
		}
		runtime.KeepAlive(shards)
	})
}
