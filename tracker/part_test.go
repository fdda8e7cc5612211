package tracker

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// work makes and frees n allocations on a shard as an allocator does under its lock, all from one
// place, keeps the last keep of them and takes every tenth back as somebody without the lock would. It
// returns their sites.
//
//go:noinline
func work(books *Tracker, s *Shard, n, keep int, size int64) (live []SiteID) {
	for i := range n {
		s.Alloc(size)
		id := s.SiteAgain(0, size)
		if id == 0 {
			id = books.Site(0, s, size)
			s.Remember(0, id)
		}
		if i >= n-keep {
			live = append(live, id)
			continue
		}
		late := i%7 == 0
		if late {
			s.Late(size)
		} else {
			s.Free(size)
		}
		if i%10 == 0 || !s.Unsite(id, size, late) {
			books.Unsite(id, size, late)
		}
	}
	return live
}

// TestParts has many shards allocate from one place and looks at the sums: inside, and from outside.
func TestParts(t *testing.T) {
	const shards, n, keep, size = 8, 1000, 3, 100
	books := New(Options{Rate: 1})
	a := books.NewAccount("host")
	all := make([]*Shard, shards)
	live := make([][]SiteID, shards)
	var wg sync.WaitGroup
	for i := range all {
		all[i] = a.NewShard()
		wg.Go(func() { live[i] = work(books, all[i], n, keep, size) })
	}
	wg.Wait()
	distinct := map[SiteID]bool{}
	whole := map[SiteID]bool{}
	for _, ids := range live {
		distinct[ids[0]] = true
		whole[books.SiteOf(ids[0]).ID] = true
	}
	sites := books.Sites()
	var here []Site
	for _, s := range sites {
		if whole[s.ID] {
			here = append(here, s)
		}
	}
	if len(distinct) > 1 { // where stacks are cheap to compare
		require.Len(t, distinct, shards, "each has a part of its own")
	}
	made, lives, lates := int64(0), int64(0), int64(0)
	for _, s := range here {
		made, lives, lates = made+s.AllocObjects, lives+s.LiveObjects, lates+s.LateObjects
	}
	require.EqualValues(t, shards*n, made)
	require.EqualValues(t, shards*keep, lives)
	require.EqualValues(t, books.Stats().Late, lates)
	require.Len(t, here, len(whole), "parts are no sites of their own")

	snap := outside(t, books)
	var from struct{ made, live, late, samples uint64 }
	for _, s := range snap.Sites {
		from.made += s.AllocBytes
		from.live += s.AllocBytes - s.FreeBytes
		from.late += s.LateBytes
		from.samples += s.Samples
	}
	require.EqualValues(t, shards*n*size, from.made)
	require.EqualValues(t, shards*keep*size, from.live)
	require.EqualValues(t, lates*size, from.late)
	require.EqualValues(t, shards*n, from.samples)
	require.Len(t, snap.Sites, len(sites), "nor from outside")

	for i, ids := range live {
		for _, id := range ids {
			all[i].Free(size)
			if !all[i].Unsite(id, size, false) {
				books.Unsite(id, size, false)
			}
		}
	}
	for _, s := range books.Sites() {
		require.Zero(t, s.LiveBytes, s)
		require.Zero(t, s.LiveObjects, s)
	}
}

// TestPartsAreBounded keeps room for sites: parts take half of all places at most, and without one all
// is counted in the site.
func TestPartsAreBounded(t *testing.T) {
	books := New(Options{Rate: 1, MaxSites: 8})
	a := books.NewAccount("host")
	var shards []*Shard
	for range 20 {
		s := a.NewShard()
		shards = append(shards, s)
		work(books, s, 50, 1, 10)
	}
	st := books.Stats()
	require.Zero(t, st.SitesLost)
	require.LessOrEqual(t, books.table.sites.parts, 8/partsShare)
	var live, made int64
	for _, s := range books.Sites() {
		live, made = live+s.LiveBytes, made+s.AllocBytes
	}
	require.EqualValues(t, 200, live)
	require.EqualValues(t, 20*50*10, made)
	require.Len(t, shards, 20)
}

// TestPartsOfShardsThatAreGone has shards come and go in the same places: parts are used again, and
// what their accounts left behind is late.
func TestPartsOfShardsThatAreGone(t *testing.T) {
	books := New(Options{Rate: 1})
	for round := range 3 {
		done := make(chan bool)
		go func() {
			defer close(done)
			work(books, books.NewAccount("short").NewShard(), 100, 2, 10)
		}()
		<-done
		eventually(t, func() bool { return len(books.Stats().Accounts) == 0 })
		var live, late, made int64
		for _, s := range books.Sites() {
			live, late, made = live+s.LiveObjects, late+s.LateObjects, made+s.AllocObjects
		}
		require.Zero(t, live)
		require.EqualValues(t, books.Stats().Late, late)
		require.EqualValues(t, (round+1)*100, made)
	}
	require.LessOrEqual(t, books.table.sites.parts, 1)
}

// BenchmarkSampled is a sampled allocation and its free from one place, by shards at once: they must
// not slow each other down.
func BenchmarkSampled(b *testing.B) {
	books := New(Options{Rate: 1})
	a := books.NewAccount("bench")
	b.RunParallel(func(pb *testing.PB) {
		s := a.NewShard()
		for pb.Next() {
			s.Alloc(512)
			s.Sample(512)
			id := s.SiteAgain(0, 512)
			if id == 0 {
				id = books.Site(0, s, 512)
				s.Remember(0, id)
			}
			s.Free(512)
			if !s.Unsite(id, 512, false) {
				books.Unsite(id, 512, false)
			}
		}
	})
}
