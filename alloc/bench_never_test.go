package alloc_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// How the Go objects of neverFree hold its buffers: each in one variable, four in a ring of Go objects, each
// known to four goroutines that keep the last eight.
var ownerships = []string{"plain", "cycles", "shared"}

// A node of a ring.
type node struct {
	b    alloc.Buffer[byte]
	next *node
}

// neverFree makes and fills buffers of 1 MiB, total bytes of them, with a limit, from several goroutines, and
// frees them or leaves that to the collector.
func neverFree(
	tb testing.TB, total, limit int64, goroutines int, shape string, free bool,
) (alloc.Stats, time.Duration) {
	dev, err := host.Open(host.Options{})
	require.NoError(tb, err)
	p, err := alloc.NewPool(dev, alloc.Options{Limit: limit})
	require.NoError(tb, err)
	var readers, writers sync.WaitGroup
	var ears []chan alloc.Buffer[byte]
	if shape == "shared" {
		ears = make([]chan alloc.Buffer[byte], 4)
	}
	for i := range ears {
		ears[i] = make(chan alloc.Buffer[byte], 1)
		readers.Go(func() {
			var kept [8]alloc.Buffer[byte]
			n := 0
			for b := range ears[i] {
				kept[n%len(kept)] = b
				n++
			}
			runtime.KeepAlive(&kept)
		})
	}
	begin := time.Now()
	for range goroutines {
		s, err := p.NewStream()
		require.NoError(tb, err)
		writers.Go(func() {
			var err error
			for i := int64(0); i < total>>22/int64(goroutines) && err == nil; i++ {
				err = turn(s, shape == "cycles", ears, free)
			}
			if err == nil {
				err = s.Sync()
			}
			if err != nil {
				tb.Error(err)
			}
		})
	}
	writers.Wait()
	took := time.Since(begin)
	for _, c := range ears {
		close(c)
	}
	readers.Wait()
	st := p.Stats()
	require.LessOrEqual(tb, st.PeakReserved, limit)
	runtime.KeepAlive(p)
	return st, took
}

// turn makes and fills four buffers.
func turn(s *alloc.Stream, cycle bool, ears []chan alloc.Buffer[byte], free bool) error {
	var ring *node
	for range 4 {
		b, err := alloc.Make[byte](s, 1<<20)
		if err == nil {
			err = b.Fill(s, 1)
		}
		if err != nil {
			return err
		}
		for _, c := range ears {
			c <- b
		}
		switch {
		case cycle && ring == nil:
			ring = &node{b: b}
			ring.next = ring
		case cycle:
			ring.next = &node{b, ring.next}
		case free:
			b.Free()
		}
	}
	for n := ring; free && n != nil; n = n.next {
		n.b.Free()
		if n.next == ring {
			break
		}
	}
	return nil
}

// TestNeverFree is the benchmark below in small.
func TestNeverFree(t *testing.T) {
	if checking {
		return // its device is not checked: it would be the same again
	}
	for _, shape := range ownerships {
		t.Run(shape, func(t *testing.T) {
			st, _ := neverFree(t, 1<<30, 128<<20, 2, shape, false)
			require.Zero(t, st.Freed)
			require.Zero(t, st.Failed)
			t.Log(st.Pacing)
		})
	}
}

// BenchmarkNeverFree compares a program that never frees with one that does: 4 GiB in steps of 1 MiB, with a
// limit of 1 GiB. %gc is the share of wall time in collections that foreign memory asked for.
func BenchmarkNeverFree(b *testing.B) {
	for _, g := range []int{1, 4} {
		for _, shape := range ownerships {
			for _, free := range []bool{true, false} {
				b.Run(fmt.Sprintf("goroutines=%d/shape=%s/frees=%v", g, shape, free), func(b *testing.B) {
					var all, gc time.Duration
					var asked int64
					for b.Loop() {
						st, took := neverFree(b, 4<<30, 1<<30, g, shape, free)
						all, gc = all+took, gc+st.Pacing.Time
						asked += st.Pacing.Pressing + st.Pacing.Exhausted
					}
					b.ReportMetric(100*float64(gc)/float64(all), "%gc")
					b.ReportMetric(float64(asked)/float64(b.N), "collections")
				})
			}
		}
	}
}
