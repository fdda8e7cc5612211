package books

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRateOneIsExact allocates and frees at random from two sites.
func TestRateOneIsExact(t *testing.T) {
	b := New(Options{Rate: 1})
	s := newShard(t, b)
	rng := rand.New(rand.NewPCG(1, 1))
	type made struct {
		sample Sample
		size   int64
	}
	var live []made
	sums := map[uint32]int64{}
	for range 5000 {
		if len(live) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(live))
			m := live[i]
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			late := rng.IntN(4) == 0
			if late {
				s.Late(m.size)
			} else {
				s.Free(m.size)
			}
			s.Unsite(m.sample, m.size, late)
			sums[m.sample.Site()] -= m.size
			continue
		}
		m := made{size: rng.Int64N(1 << 20)}
		if rng.IntN(2) == 0 {
			m.sample = makeSome(s, m.size)
		} else {
			m.sample = makeMore(s, m.size)
		}
		sums[m.sample.Site()] += m.size
		live = append(live, m)
	}
	require.Len(t, sums, 2)
	var total, late int64
	for _, site := range b.Sites() {
		require.Equal(t, sums[site.Number], site.LiveBytes)
		total += site.LiveBytes
		late += site.LateObjects
	}
	st := b.Totals()
	require.Equal(t, st.Live, total)
	require.Equal(t, st.Late, late)
	require.Equal(t, int64(len(live)), st.LiveObjects)
}

// explode allocates from n different stacks.
func explode(s *Shard, n int) (all []Sample) {
	var at func(bits, depth int)
	at = func(bits, depth int) {
		switch {
		case depth == 0:
			all = append(all, sampled(s, 64))
		case bits&1 == 0:
			at(bits>>1, depth-1)
		default:
			at(bits>>1, depth-1)
		}
	}
	for i := range n {
		at(i, 14)
	}
	return all
}

// TestSiteExplosion makes more stacks than there is room for: the rest is counted
// where it can be seen, and conservation holds.
func TestSiteExplosion(t *testing.T) {
	for name, o := range map[string]Options{"table": {Rate: 1, MaxSites: 100},
		"heap": {Rate: 1, MaxSites: 100, NoTable: true}} {
		t.Run(name, func(t *testing.T) {
			b := New(o)
			s := newShard(t, b)
			all := explode(s, 1000)
			sites := b.Sites()
			require.Len(t, sites, 100)
			require.Equal(t, int64(901), b.Totals().Lost)
			require.EqualValues(t, OtherSites, sites[0].Number)
			require.EqualValues(t, 901*64, sites[0].LiveBytes)
			require.Empty(t, sites[0].PCs)
			var live int64
			for _, site := range sites {
				live += site.LiveBytes
			}
			require.Equal(t, b.Totals().Live, live)
			for _, m := range all {
				s.Free(64)
				s.Unsite(m, 64, false)
			}
			for _, site := range b.Sites() {
				require.Zero(t, site.LiveBytes)
			}
		})
	}
}

// TestSitesAtOnce takes the same stacks from many goroutines.
func TestSitesAtOnce(t *testing.T) {
	b := New(Options{Rate: 1})
	a := b.NewAccount("host")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := shardOf(a)
			for range 20 {
				explode(s, 50)
			}
		})
	}
	wg.Wait()
	sites := b.Sites()
	require.Len(t, sites, 50)
	for _, s := range sites {
		require.Equal(t, int64(8*20), s.Samples)
		require.Equal(t, int64(8*20*64), s.LiveBytes+s.LateBytes)
	}
	runtime.KeepAlive(a)
}

func TestSiteAllocatesNothing(t *testing.T) {
	s := newShard(t, New(Options{Rate: 1}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Unsite(sampled(s, 64), 64, false)
	}))
}

func TestSiteOf(t *testing.T) {
	b := New(Options{Rate: 1})
	site := b.SiteOf(makeMore(newShard(t, b), 64).Site())
	calls := Frames(site.PCs)
	require.Equal(t, "github.com/lastuse/lastuse/internal/books.makeSome", calls[1].Function,
		"sampled is a test's too")
	require.Equal(t, "github.com/lastuse/lastuse/internal/books.makeMore", calls[2].Function)
	require.Zero(t, b.SiteOf(0))
	require.Zero(t, b.SiteOf(1000))
}

// TestOneSiteByManyWays comes from one line of a user to Site by ways of ours that differ: it is one site.
func TestOneSiteByManyWays(t *testing.T) {
	b := New(Options{Rate: 1})
	a := b.NewAccount("host")
	var direct, quick [8]uintptr
	for i := range 3 {
		key := Walk(quick[:])
		if i > 0 {
			key = key[:len(key)-i] // another way, as far as the table knows
		}
		st := b.addStack(a.account, hashOf(key), key)
		require.EqualValues(t, OtherSites+1, st.number)
		require.Same(t, st, b.sites.find(a.account, hashOf(key), key), "known from now on")
	}
	n := runtime.Callers(1, direct[:])
	require.Equal(t, "github.com/lastuse/lastuse/internal/books.TestOneSiteByManyWays",
		Frames(direct[:n])[0].Function)
	require.EqualValues(t, 2, len(*b.sites.all.Load()))
	runtime.KeepAlive(a)
}

// TestUnknownStack shows a stack that has no names, as when it was taken where the symbol table knows
// nothing.
func TestUnknownStack(t *testing.T) {
	require.Empty(t, Frames([]uintptr{1, 2}))
	require.Empty(t, stackText([]uintptr{1, 2}))
	require.Equal(t, []uintptr{1, 2}, users([]uintptr{1, 2}))
}
