package alloc_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// A lonely is what a goroutine that shares nothing writes to.
type lonely struct {
	_    [128]byte
	word atomic.Uint64
	_    [120]byte
}

// together runs f on so many goroutines that start at one moment, and returns how long it took until the
// last was done.
func together(g int, f func(i int)) time.Duration {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range g {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			f(i)
		})
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	return time.Since(begin)
}

// BenchmarkStreams is a pair by several goroutines, each on a stream of its own, or all on one. It reports
// how many times the pairs of one goroutine they make together (x-of-one), and what that is for goroutines
// that share nothing (x-of-machine): a machine may have fewer processors than it says. The rounds of all
// take turns.
func BenchmarkStreams(b *testing.B) {
	const pairs = 50_000
	for _, shared := range []bool{false, true} {
		for g := 2; g <= max(2, runtime.GOMAXPROCS(0)); g *= 2 {
			b.Run(fmt.Sprintf("shared=%v/goroutines=%d", shared, g), func(b *testing.B) {
				p := newPool(b, host.Options{}, alloc.Options{Tracker: noSites()})
				s := make([]*alloc.Stream, g)
				for i := range s {
					s[i] = newStream(b, p)
				}
				run := func(i int) {
					if shared {
						i = 0
					}
					for range pairs {
						x, err := alloc.Make[byte](s[i], 4096)
						if err != nil {
							b.Error(err)
							return
						}
						x.Free()
					}
				}
				words := make([]lonely, g)
				alone := func(i int) {
					for range 3 * pairs {
						words[i].word.Add(1)
					}
				}
				for range 5 { // each stream has memory of its own, and nothing is lent any more
					together(g, run)
					together(1, run)
				}
				var one, all, machineOne, machineAll time.Duration
				for b.Loop() {
					one += together(1, run)
					all += together(g, run)
					machineOne += together(1, alone)
					machineAll += together(g, alone)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(g)*float64(one)/float64(all), "x-of-one")
				b.ReportMetric(float64(g)*float64(machineOne)/float64(machineAll), "x-of-machine")
			})
		}
	}
}

// BenchmarkHandOff has buffers made by one goroutine and freed by another, by several such pairs at once,
// each with a stream: the shape of xmalloc's test. ns/buffer is wall time by the buffers of one pair; with
// numbers in place of buffers it is what the channel takes.
func BenchmarkHandOff(b *testing.B) {
	const n = 20_000
	for _, pairs := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("pairs=%d", pairs), func(b *testing.B) {
			p := newPool(b, host.Options{}, alloc.Options{Tracker: noSites()})
			s := make([]*alloc.Stream, pairs)
			for i := range s {
				s[i] = newStream(b, p)
			}
			ours := func(i int) alloc.Buffer[byte] {
				x, err := alloc.Make[byte](s[i], 4096)
				if err != nil {
					b.Error(err)
				}
				return x
			}
			handOver(pairs, n, ours, alloc.Buffer[byte].Free) // warm
			runtime.GC()
			var took, channel time.Duration
			for b.Loop() {
				took += handOver(pairs, n, ours, alloc.Buffer[byte].Free)
				channel += handOver(pairs, n, func(i int) int { return i }, func(int) {})
			}
			each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) / n }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(each(took), "ns/buffer")
			b.ReportMetric(each(channel), "channel-ns/buffer")
			st := p.Stats()
			require.Zero(b, st.Live)
			require.Equal(b, st.Made, st.Freed)
		})
	}
}

// handOver runs pairs of goroutines of which one makes n things and the other ends them.
func handOver[T any](pairs, n int, start func(pair int) T, end func(T)) time.Duration {
	const batch, queue = 64, 4 // things that go through a channel at a time, and batches that it holds
	var wg sync.WaitGroup
	begin := time.Now()
	for pair := range pairs {
		full, empty := make(chan []T, queue), make(chan []T, queue)
		for range queue {
			empty <- make([]T, 0, batch)
		}
		wg.Go(func() {
			defer close(full)
			for done := 0; done < n; {
				all := (<-empty)[:0]
				for ; len(all) < batch && done < n; done++ {
					all = append(all, start(pair))
				}
				full <- all
			}
		})
		wg.Go(func() {
			for all := range full {
				for _, x := range all {
					end(x)
				}
				empty <- all
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}
