package prom

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/tracker"
)

// gather reads all series of g, by name and labels as Prometheus writes them.
func gather(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	families, err := g.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		require.NotEmpty(t, f.GetHelp(), f.GetName())
		counts := f.GetMetric()[0].GetCounter() != nil
		require.Equal(t, strings.HasSuffix(f.GetName(), "_total"), counts, f.GetName())
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			// A metric has one of the two, and the other reads as zero.
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}

// registry returns one that compares what is collected with what was described.
func registry(t *testing.T, books *tracker.Tracker) *prometheus.Registry {
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(NewCollector(books)))
	return r
}

// account opens an account as an allocator does.
func account(t *tracker.Tracker, name string) *books.Account { return books.Of(t).NewAccount(name) }

// shardOf returns a new shard of a, whose only writer is the test.
func shardOf(a *books.Account) *books.Shard { return a.NewShard(new(sync.Mutex)) }

func TestCollect(t *testing.T) {
	books := tracker.New(tracker.Options{})
	a, b := account(books, "cuda:0"), account(books, "cuda:0")
	s, u := shardOf(a), shardOf(b)
	a.AddReserved(4096)
	s.Alloc(1000)
	s.Alloc(24)
	s.Free(24)
	u.Alloc(500)
	u.Late(500)
	s.Repeat()
	s.Pend(64)
	books.Alloc(0x1000, 70)
	books.Alloc(0x2000, 30)
	require.NoError(t, books.Free(0x1000))
	books.Alloc(0x2000, 50) // the first one's free was never told
	st := books.Stats()
	r := registry(t, books)
	got := gather(t, r)

	// Each name in full, and both accounts together are the tracker's own totals.
	for metric, want := range map[string]struct{ pool, total int64 }{
		`foreignheap_live_bytes{account=%q}`:                         {1000, st.Live},
		`foreignheap_live_objects{account=%q}`:                       {1, st.LiveObjects},
		`foreignheap_live_peak_bytes{account=%q}`:                    {1524, 1524 + 100},
		`foreignheap_pending_bytes{account=%q}`:                      {64, st.Pending},
		`foreignheap_reserved_bytes{account=%q}`:                     {4096, st.Reserved},
		`foreignheap_allocated_bytes_total{account=%q}`:              {1524, st.Total},
		`foreignheap_allocated_objects_total{account=%q}`:            {3, st.Made},
		`foreignheap_freed_objects_total{account=%q,how="explicit"}`: {1, st.Freed},
		`foreignheap_freed_objects_total{account=%q,how="late"}`:     {1, st.Late},
		`foreignheap_late_bytes_total{account=%q}`:                   {500, st.LateBytes},
		`foreignheap_repeated_frees_total{account=%q}`:               {1, st.Repeated},
	} {
		pool, foreign := fmt.Sprintf(metric, "cuda:0"), fmt.Sprintf(metric, "foreign")
		require.Contains(t, got, pool)
		require.Contains(t, got, foreign)
		require.EqualValues(t, want.pool, got[pool], pool)
		require.EqualValues(t, want.total, got[pool]+got[foreign], metric)
		delete(got, pool)
		delete(got, foreign)
	}
	require.NotZero(t, st.Missed)
	require.Equal(t, map[string]float64{
		`foreignheap_sites_lost_total{}`:   float64(st.SitesLost),
		`foreignheap_missed_frees_total{}`: float64(st.Missed),
	}, got, "and nothing else")

	s.Free(1000)
	require.Zero(t, gather(t, r)[`foreignheap_live_bytes{account="cuda:0"}`], "each scrape asks anew")
	runtime.KeepAlive(s)
	runtime.KeepAlive(u)
}

// TestLint holds the names, units and help texts against Prometheus' own rules.
func TestLint(t *testing.T) {
	books := tracker.New(tracker.Options{})
	books.Alloc(0x1000, 1)
	problems, err := testutil.GatherAndLint(registry(t, books))
	require.NoError(t, err)
	require.Empty(t, problems)
}

// TestTwoTrackers keeps two trackers apart on one registry, and refuses to mix them up.
func TestTwoTrackers(t *testing.T) {
	a, b := tracker.New(tracker.Options{}), tracker.New(tracker.Options{})
	a.Alloc(0x1000, 10)
	b.Alloc(0x1000, 20)
	r := prometheus.NewPedanticRegistry()
	for name, books := range map[string]*tracker.Tracker{"a": a, "b": b} {
		labels := prometheus.Labels{"heap": name}
		require.NoError(t, prometheus.WrapRegistererWith(labels, r).Register(NewCollector(books)))
	}
	prefixed := prometheus.WrapRegistererWithPrefix("train_", r)
	c := NewCollector(a)
	require.NoError(t, prefixed.Register(c))
	require.ErrorAs(t, prefixed.Register(NewCollector(b)), new(prometheus.AlreadyRegisteredError))

	got := gather(t, r)
	require.EqualValues(t, 10, got[`foreignheap_live_bytes{account="foreign",heap="a"}`])
	require.EqualValues(t, 20, got[`foreignheap_live_bytes{account="foreign",heap="b"}`])
	require.EqualValues(t, 10, got[`train_foreignheap_live_bytes{account="foreign"}`])

	require.True(t, prefixed.Unregister(c))
	require.NotContains(t, gather(t, r), `train_foreignheap_live_bytes{account="foreign"}`)
}

// TestScrapesOverlap collects from several goroutines while others allocate and accounts come and go. A
// counter never falls within what one goroutine sees, and the end is exact.
func TestScrapesOverlap(t *testing.T) {
	books := tracker.New(tracker.Options{})
	r := registry(t, books)
	var makers, scrapers sync.WaitGroup
	done := make(chan struct{})
	for i := range 3 {
		makers.Go(func() {
			for n := range 200 {
				p := uintptr(i+1)<<32 + uintptr(n)<<12
				books.Alloc(p, 8)
				var mu sync.Mutex // as a stream's: whoever reads the totals takes it too
				shard := account(books, fmt.Sprint("pool ", n%7)).NewShard(&mu)
				mu.Lock()
				shard.Alloc(1)
				mu.Unlock()
				if books.Free(p) != nil {
					t.Error("free of what was allocated")
				}
			}
		})
	}
	for range 3 {
		scrapers.Go(func() {
			last := float64(0)
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				families, err := r.Gather()
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range families {
					if f.GetName() != "foreignheap_allocated_objects_total" {
						continue
					}
					sum := float64(0)
					for _, m := range f.GetMetric() {
						sum += m.GetCounter().GetValue()
					}
					if sum < last {
						t.Errorf("%v after %v", sum, last)
					}
					last = sum
				}
			}
		})
	}
	makers.Wait()
	close(done)
	scrapers.Wait()
	made := float64(0)
	for name, v := range gather(t, r) {
		if strings.HasPrefix(name, "foreignheap_allocated_objects_total{") {
			made += v
		}
	}
	require.EqualValues(t, 2*3*200, made)
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
	got := gather(t, registry(t, books))
	require.EqualValues(t, 10, got[`foreignheap_allocated_bytes_total{account=""}`])
	require.EqualValues(t, 1, got[`foreignheap_freed_objects_total{account="",how="late"}`])
	require.Contains(t, got, `foreignheap_live_bytes{account=""}`)
	require.Zero(t, got[`foreignheap_live_bytes{account=""}`])
}

// TestOddNames gives a pool a name that is no UTF-8, which no label may be.
func TestOddNames(t *testing.T) {
	books := tracker.New(tracker.Options{})
	a := account(books, "a\"b\\c\nd\xff")
	want := fmt.Sprintf("foreignheap_live_bytes{account=%q}", "a\"b\\c\nd\ufffd")
	require.Contains(t, gather(t, registry(t, books)), want)
	runtime.KeepAlive(a)
}
