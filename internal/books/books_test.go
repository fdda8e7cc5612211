package books

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/probe"
)

// outside returns what a reader of the table sees.
func outside(t testing.TB, b *Books) *probe.Snapshot {
	head := b.head
	if len(b.shards) == 0 {
		t.Skip("no shared mapping here")
	}
	image := unsafe.Slice((*byte)(unsafe.Pointer(head)), head.Size)
	s, err := probe.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	return s
}

func TestTableIsTheBooks(t *testing.T) {
	b := New(Options{Rate: 1})
	a := b.NewAccount("cuda:0")
	s := shardOf(a)
	m := makeMore(s, 300)
	makeSome(s, 200)
	s.Late(300)
	s.Unsite(m, 300, true)
	a.AddReserved(4096)
	f := b.NewForeign("foreign")
	other := shardOf(f)
	makeSome(other, 70)
	f.RaisePeak(70)
	a.Close()

	out := outside(t, b)
	require.Len(t, out.Accounts, 2)
	host, foreign := out.Accounts[0], out.Accounts[1]
	require.Equal(t, "cuda:0", host.Name)
	require.True(t, host.Closed)
	require.Equal(t, []int64{200, 4096, 4096 - 200, 500},
		[]int64{host.Live(), host.Reserved, host.Idle(), host.PeakBound})
	require.Equal(t, uint64(1), host.LateObjects)
	require.True(t, foreign.Foreign)
	require.Equal(t, []int64{70, 0, 70}, []int64{foreign.Live(), foreign.Idle(), foreign.PeakBound})
	require.Equal(t, uint64(s.Seq()), uint64(3), "two made, one freed")
	require.Len(t, out.Sites, 3)
	require.Regexp(t, `^github.com/lastuse/lastuse/internal/books\.sampled\t\S+/helpers_test\.go:\d+\n`+
		`github.com/lastuse/lastuse/internal/books\.makeSome\t\S+/helpers_test\.go:\d+\n`+
		`github.com/lastuse/lastuse/internal/books\.makeMore\t\S+/helpers_test\.go:\d+\n`+
		`github.com/lastuse/lastuse/internal/books\.TestTableIsTheBooks\t`, out.Sites[0].Stack)
	require.True(t, out.Sites[2].Exact)
	runtime.KeepAlive(other)
}

// TestNoMapping makes books where the mapping fails, or is not wanted.
func TestNoMapping(t *testing.T) {
	refuse := func(int64) (mapping, error) { return mapping{}, errors.New("no memory") }
	for name, b := range map[string]*Books{
		"refused": newBooks(Options{Rate: 1}, refuse), "unwanted": New(Options{Rate: 1, NoTable: true}),
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, b.shards)
			s := newShard(t, b)
			m := makeSome(s, 100)
			require.Equal(t, int64(100), b.Totals().Live)
			require.Equal(t, int64(100), b.SiteOf(m.Site()).LiveBytes)
			require.NotEqual(t, s.Seq(), shardOf(b.NewAccount("other")).Seq())
		})
	}
}

// TestManyBooks makes more books than a process keeps mappings for. All of them count, and
// there are mappings again when they have gone.
func TestManyBooks(t *testing.T) {
	before := ours(t)
	all := make([]*Shard, 400)
	for i := range all {
		all[i] = shardOf(New(Options{}).NewAccount("host"))
		all[i].Alloc(10)
	}
	require.LessOrEqual(t, ours(t), 256)
	for _, s := range all {
		require.Equal(t, int64(10), s.account.books.Totals().Live)
	}
	require.Empty(t, all[len(all)-1].account.books.shards)
	clear(all)
	// All of them, or a later test finds none.
	eventually(t, func() bool { return ours(t) <= before })
	require.NotEmpty(t, New(Options{}).shards)
}

// TestFullTable opens more accounts and shards than the table has room for.
func TestFullTable(t *testing.T) {
	b := New(Options{})
	accounts := make([]*Account, tableAccounts+3)
	for i := range accounts {
		accounts[i] = b.NewAccount("a")
	}
	shards := make([]*Shard, tableShards+2)
	for i := range shards {
		shards[i] = shardOf(accounts[0])
		shards[i].Alloc(1)
	}
	last := shardOf(accounts[len(accounts)-1])
	last.Alloc(1)
	require.Equal(t, int64(len(shards)+1), b.Totals().Live)
	out := outside(t, b)
	require.Equal(t, []uint64{3, 3}, []uint64{out.LostAccounts, out.LostShards})
	require.Equal(t, int64(tableShards), out.Accounts[0].Live(), "what found room")
	runtime.KeepAlive(accounts)
	runtime.KeepAlive(shards)
}

// TestReadWhileWritten reads the table while shards are written without a pause, and come
// and go.
func TestReadWhileWritten(t *testing.T) {
	b := New(Options{})
	a := b.NewAccount("host")
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				var mu sync.Mutex
				s := a.NewShard(&mu)
				for range 100_000 { // every allocation has ten bytes, so bytes follow from objects
					mu.Lock()
					s.Alloc(10)
					mu.Unlock()
					mu.Lock()
					s.Free(10)
					mu.Unlock()
				}
			}
		})
	}
	torn := 0
	for still := 0; still < 200; {
		if out := outside(t, b); out.Torn == 0 {
			still++
			sum := out.Accounts[0]
			require.Equal(t, sum.MadeObjects*10, sum.MadeBytes)
			require.Equal(t, sum.FreedObjects*10, sum.FreedBytes)
		} else {
			torn++
			runtime.Gosched() // to the writer that was stopped in the middle
		}
		if st := b.Totals(); st.Live < 0 {
			t.Error("live is", st.Live)
		}
	}
	stop.Store(true)
	wg.Wait()
	require.Zero(t, b.Totals().Live)
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
		b := newBooks(Options{Rate: rate, NoTable: len(script)%2 == 0}, mapTable)
		rng := rand.New(rand.NewPCG(uint64(len(script)), 7))
		a := b.NewAccount("host")
		type made struct {
			shard *Shard
			size  int64
			site  Sample
		}
		var live []made
		var bytes, total, late, peak int64
		shards := []*Shard{shardOf(a)}
		for _, op := range script {
			switch s := shards[rng.IntN(len(shards))]; {
			case op%8 < 4 || len(live) == 0:
				m := made{shard: s, size: int64(op) * 3}
				m.site = sampled(s, m.size)
				live = append(live, m)
				bytes, total = bytes+m.size, total+m.size
				peak = max(peak, bytes)
			case op%8 == 4:
				shards = append(shards, shardOf(a))
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
				m.shard.Unsite(m.site, m.size, op%8 == 5)
			}
			st := b.Totals()
			if st.Live != bytes || st.Total != total || st.LiveObjects != int64(len(live)) ||
				st.Late != late || st.Peak < peak {
				t.Fatalf("%+v, want live %d in %d, total %d, late %d, peak at least %d", st, bytes, len(live),
					total, late, peak)
			}
			var sites Site // the sum of all
			for _, s := range b.Sites() {
				if s.LiveBytes < 0 || s.LiveObjects < 0 || s.LateBytes > s.AllocBytes-s.LiveBytes {
					t.Fatalf("%+v", s)
				}
				sites.LiveBytes, sites.AllocBytes, sites.LateObjects = sites.LiveBytes+s.LiveBytes, sites.AllocBytes+s.AllocBytes, sites.LateObjects+s.LateObjects
			}
			if rate == 1 &&
				(sites.LiveBytes != bytes || sites.AllocBytes != total || sites.LateObjects != late) {
				t.Fatalf("sites together %+v, want live %d, total %d, late %d", sites, bytes, total, late)
			}
		}
		if len(shards) == 1 && b.Totals().Peak != peak {
			t.Fatalf("peak %d of one shard, want %d", b.Totals().Peak, peak)
		}
		for _, m := range live {
			m.shard.Free(m.size)
			m.shard.Unsite(m.site, m.size, false)
		}
		for _, s := range b.Sites() {
			if s.LiveBytes != 0 || s.LiveObjects != 0 {
				t.Fatalf("%+v after all is freed", s)
			}
		}
		runtime.KeepAlive(shards)
	})
}
