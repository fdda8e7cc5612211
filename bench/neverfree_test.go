package bench

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// How the Go objects of neverFree hold its buffers.
const (
	plain  = "plain"  // each in one variable
	cycles = "cycles" // four in a ring of Go objects
	shared = "shared" // each is known to several goroutines, which keep it for a while
)

const (
	neverSize    = 1 << 20 // bytes of a buffer
	sharers      = 4       // goroutines that know each buffer of the shape shared
	sharersKeep  = 8       // buffers that each of them keeps
	perRing      = 4       // buffers of a ring
	neverDefault = 8 << 30
)

var neverTotal = flag.Int64("neverfree.total", neverDefault, "bytes that BenchmarkNeverFree allocates in all")

// neverFree makes and fills buffers of 1 MiB, total bytes of them, with a limit, from several
// goroutines, and frees them or leaves that to the collector.
func neverFree(tb testing.TB, total, limit int64, goroutines int, shape string, explicit bool) (alloc.Stats, time.Duration) {
	dev, err := host.Open(host.Options{})
	require.NoError(tb, err)
	p, err := alloc.NewPool(dev, alloc.Options{Limit: limit})
	require.NoError(tb, err)
	var readers, writers sync.WaitGroup
	ears := make([]chan alloc.Buffer[byte], sharers)
	if shape == shared {
		for i := range ears {
			ears[i] = make(chan alloc.Buffer[byte], 1)
			readers.Go(func() {
				var kept [sharersKeep]alloc.Buffer[byte]
				n := 0
				for b := range ears[i] {
					kept[n%sharersKeep] = b
					n++
				}
				runtime.KeepAlive(&kept)
			})
		}
	}
	begin := time.Now()
	for range goroutines {
		s, err := p.NewStream()
		require.NoError(tb, err)
		writers.Go(func() {
			for range total / neverSize / int64(goroutines) / perRing {
				if err := turn(s, shape, ears, explicit); err != nil {
					tb.Error(err)
					return
				}
			}
			if err := s.Sync(); err != nil {
				tb.Error(err)
			}
		})
	}
	writers.Wait()
	took := time.Since(begin)
	for _, c := range ears {
		if c != nil {
			close(c)
		}
	}
	readers.Wait()
	st := p.Stats()
	runtime.KeepAlive(p)
	return st, took
}

// A node of a ring.
type node struct {
	b    alloc.Buffer[byte]
	next *node
}

// turn makes and fills a ring's worth of buffers.
func turn(s *alloc.Stream, shape string, ears []chan alloc.Buffer[byte], explicit bool) error {
	var ring *node
	for range perRing {
		b, err := alloc.Make[byte](s, neverSize)
		if err == nil {
			err = b.Fill(s, 1)
		}
		if err != nil {
			return err
		}
		switch shape {
		case cycles:
			n := &node{b: b}
			if ring == nil {
				ring = n
				n.next = n
			} else {
				n.next, ring.next = ring.next, n
			}
			continue
		case shared:
			for _, c := range ears {
				c <- b
			}
		}
		if explicit {
			b.Free()
		}
	}
	if ring != nil && explicit {
		for n := ring.next; ; n = n.next {
			n.b.Free()
			if n == ring {
				break
			}
		}
	}
	return nil
}

// TestNeverFree is the benchmark below in small.
func TestNeverFree(t *testing.T) {
	for _, shape := range []string{plain, cycles, shared} {
		t.Run(shape, func(t *testing.T) {
			st, _ := neverFree(t, 1<<30, 128<<20, 2, shape, false)
			require.LessOrEqual(t, st.PeakReserved, int64(128<<20))
			require.Zero(t, st.Freed)
			require.Zero(t, st.Failed)
			t.Log(st.Pacing)
		})
	}
}

// BenchmarkNeverFree compares a program that never frees with one that does: 8 GiB, or what
// -neverfree.total says, in steps of 1 MiB, with a limit of 1 GiB. %gc is the share of wall time in
// collections that foreign memory asked for, %gccpu the share of all collections in the
// processor time the program used.
func BenchmarkNeverFree(b *testing.B) {
	for _, g := range []int{1, 4, 16} {
		for _, shape := range []string{plain, cycles, shared} {
			for _, frees := range []string{"explicit", "none"} {
				b.Run(fmt.Sprintf("total=%s/goroutines=%d/shape=%s/frees=%s", sizeName(int(*neverTotal)), g, shape, frees), func(b *testing.B) {
					var all, gc time.Duration
					var asked int64
					gc0, cpu0 := processor()
					for b.Loop() {
						st, took := neverFree(b, *neverTotal, 1<<30, g, shape, frees == "explicit")
						require.LessOrEqual(b, st.PeakReserved, int64(1<<30))
						gc += st.Pacing.Time
						asked += st.Pacing.Pressing + st.Pacing.Exhausted
						all += took
					}
					gc1, cpu1 := processor()
					b.ReportMetric(100*float64(gc)/float64(all), "%gc")
					b.ReportMetric(100*(gc1-gc0)/(cpu1-cpu0), "%gccpu")
					b.ReportMetric(float64(asked)/float64(b.N), "collections")
				})
			}
		}
	}
}

// processor returns the processor time, in seconds, of collections and of the whole program, idle
// time left out.
func processor() (gc, used float64) {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64(), s[1].Value.Float64() - s[2].Value.Float64()
}
