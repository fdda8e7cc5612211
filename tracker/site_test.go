package tracker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRateOneIsExact allocates and frees at random from two sites.
func TestRateOneIsExact(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	rng := rand.New(rand.NewPCG(1, 1))
	type made struct {
		id   SiteID
		size int64
	}
	var live []made
	sums := map[SiteID]int64{}
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
			books.Unsite(m.id, m.size, late)
			sums[m.id] -= m.size
			continue
		}
		size := rng.Int64N(1 << 20)
		var id SiteID
		if rng.IntN(2) == 0 {
			id = makeSome(s, size)
		} else {
			id = makeMore(s, size)
		}
		sums[id] += size
		live = append(live, made{id, size})
	}
	require.Len(t, sums, 2)
	var total, late int64
	for _, site := range books.Sites() {
		require.Equal(t, sums[site.ID], site.LiveBytes)
		total += site.LiveBytes
		late += site.LateObjects
	}
	st := books.Stats()
	require.Equal(t, st.Live, total)
	require.Equal(t, st.Late, late)
	require.Equal(t, int64(len(live)), st.LiveObjects)
}

// TestSamplingIsUnbiased allocates very different sizes at one site each and compares
// the estimates with the truth. The tolerance is five standard deviations.
func TestSamplingIsUnbiased(t *testing.T) {
	const rate = 4096
	for _, size := range []int64{16, 100, 1000, 4096, 5000, 20000, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			books := New(Options{Rate: rate})
			s := newShard(t, books)
			n := int64(200_000)
			for range n {
				s.Alloc(size)
				if s.Sample(size) {
					books.Site(0, s, size)
				}
			}
			site := books.Sites()[0]
			p := -math.Expm1(-float64(size) / rate) // chance of one allocation
			deviation := math.Sqrt((1 - p) / (p * float64(n)))
			tolerance := 5*deviation + 1e-3 // weights are whole numbers
			require.InEpsilon(t, n, site.AllocObjects, tolerance)
			require.InEpsilon(t, n*size, site.AllocBytes, tolerance)
			require.InEpsilon(t, float64(n)*p, site.Samples, 5*math.Sqrt((1-p)/(p*float64(n)))+1e-3)
		})
	}
}

// TestSampledSitesReturnToZero frees everything at a low rate: nothing is left over
// from rounding.
func TestSampledSitesReturnToZero(t *testing.T) {
	books := New(Options{Rate: 1000})
	s := newShard(t, books)
	rng := rand.New(rand.NewPCG(3, 3))
	ids, sizes := []SiteID{}, []int64{}
	for range 10_000 {
		size := rng.Int64N(5000)
		s.Alloc(size)
		if s.Sample(size) {
			ids, sizes = append(ids, books.Site(0, s, size)), append(sizes, size)
		}
	}
	require.NotEmpty(t, ids)
	for i, id := range ids {
		books.Unsite(id, sizes[i], false)
	}
	site := books.Sites()[0]
	require.Zero(t, site.LiveBytes)
	require.Zero(t, site.LiveObjects)
}

func TestWeigh(t *testing.T) {
	for _, c := range []struct {
		rate, size     int64
		objects, bytes uint64
	}{
		{1, 300, 1024, 300},
		{1024, 1024, 1620, 1620},
		{1024, 1 << 40, 1024, 1 << 40}, // certain to be sampled
		{1, 0, 1024, 0},
	} {
		objects, bytes := weigh(c.rate, c.size)
		require.Equal(t, []uint64{c.objects, c.bytes}, []uint64{objects, bytes}, "%+v", c)
	}
}

func TestNegativeRateTakesNothing(t *testing.T) {
	s := New(Options{Rate: -1}).NewAccount("host").NewShard()
	for range 1000 {
		s.Alloc(1 << 40)
		require.False(t, s.Sample(1<<40))
	}
}

// explode allocates from n different stacks.
func explode(books *Tracker, s *Shard, n int) (ids []SiteID) {
	var at func(bits, depth int)
	at = func(bits, depth int) {
		switch {
		case depth == 0:
			s.Alloc(64)
			ids = append(ids, books.Site(0, s, 64))
		case bits&1 == 0:
			at(bits>>1, depth-1)
		default:
			at(bits>>1, depth-1)
		}
	}
	for i := range n {
		at(i, 14)
	}
	return ids
}

// TestSiteExplosion makes more stacks than there is room for: the rest is counted
// where it can be seen, and conservation holds.
func TestSiteExplosion(t *testing.T) {
	for name, o := range map[string]Options{"table": {Rate: 1, MaxSites: 100}, "heap": {Rate: 1, MaxSites: 100, NoTable: true}} {
		t.Run(name, func(t *testing.T) {
			books := New(o)
			s := newShard(t, books)
			ids := explode(books, s, 1000)
			sites := books.Sites()
			require.Len(t, sites, 100)
			require.Equal(t, int64(901), books.Stats().SitesLost)
			require.Equal(t, otherSites, sites[0].ID, "it holds the most")
			require.Equal(t, "other sites", sites[0].String())
			var live int64
			for _, site := range sites {
				live += site.LiveBytes
			}
			require.Equal(t, books.Bytes(), live)
			for _, id := range ids {
				s.Free(64)
				books.Unsite(id, 64, false)
			}
			for _, site := range books.Sites() {
				require.Zero(t, site.LiveBytes)
			}
		})
	}
}

// TestSitesAtOnce takes the same stacks from many goroutines.
func TestSitesAtOnce(t *testing.T) {
	books := New(Options{Rate: 1})
	a := books.NewAccount("host")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := a.NewShard()
			for range 20 {
				explode(books, s, 50)
			}
		})
	}
	wg.Wait()
	sites := books.Sites()
	require.Len(t, sites, 50)
	for _, s := range sites {
		require.Equal(t, int64(8*20), s.Samples)
		require.Equal(t, int64(8*20*64), s.LiveBytes)
	}
}

func TestSiteAllocatesNothing(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		id := books.Site(0, s, 64)
		books.Unsite(id, 64, false)
	}))
}

func TestSiteOf(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	site := books.SiteOf(makeMore(s, 64))
	require.Regexp(t, `profile_test\.go:\d+$`, site.String())
	require.Equal(t, "github.com/lastuse/lastuse/tracker.makeSome", site.Frames[0].Function)
	require.Equal(t, "github.com/lastuse/lastuse/tracker.makeMore", site.Frames[1].Function)
	require.Zero(t, books.SiteOf(0))
	require.Zero(t, books.SiteOf(1000))
}

// TestUnknownStack shows a site whose stack has no names, as when it was taken where the
// symbol table knows nothing.
func TestUnknownStack(t *testing.T) {
	books := New(Options{Rate: 1})
	a := books.NewAccount("host")
	require.Empty(t, frames([]uintptr{1, 2}))
	st := &site{pcs: []uintptr{1, 2}}
	st.owner.Store(a.account)
	books.table.siteFor(a.account, []uintptr{3}, 0) // so that it is not the first
	books.table.sites.mu.Lock()
	books.table.addSite(st, stackText(st.pcs))
	books.table.sites.mu.Unlock()
	books.table.addTo(st.rec, 1, 100)
	got := books.Sites()[0]
	require.Equal(t, "unknown", got.String())
	require.Equal(t, "an unknown function", got.function())
	require.Equal(t, int64(100), got.LiveBytes)
	require.Equal(t, "unknown", Frame{}.String())
	require.Contains(t, pprof(t, "-top", writeProfile(t, books)), "(unknown)")
	var text strings.Builder
	require.NoError(t, books.WriteText(&text))
	require.Contains(t, text.String(), "100 B live in 1, 100 B made in 1, 0 freed late\n\tunknown\n")
	runtime.KeepAlive(a)
}
