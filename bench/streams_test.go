package bench

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// together runs f on g goroutines that start at one moment, and returns how long it took until the
// last one was done.
func together(g int, f func(i int)) time.Duration {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range g {
		ready.Add(1)
		done.Add(1)
		go func() {
			ready.Done()
			<-start
			f(i)
			done.Done()
		}()
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	return time.Since(begin)
}

// lonely is what one goroutine of the machine's own measure writes to.
type lonely struct {
	_    [128]byte
	word atomic.Uint64
	_    [120]byte
}

// BenchmarkStreams is a pair of Make and Free by several goroutines, each on a stream of its own, or
// all on one. It reports how many times the pairs of one goroutine they do together (x-of-one), and
// what that is for goroutines that share nothing and do three atomic additions each time
// (x-of-machine): processors that share a core, or a machine with other guests, give less than their
// number. The rounds of all take turns.
func BenchmarkStreams(b *testing.B) {
	const pairs = 50_000
	for _, shared := range []bool{false, true} {
		for g := 2; g <= max(2, runtime.GOMAXPROCS(0)); g *= 2 {
			b.Run(fmt.Sprintf("shared=%v/goroutines=%d", shared, g), func(b *testing.B) {
				p, s := plainPool(b, granule, 0, g)
				run := func(i int) {
					own := s[i]
					if shared {
						own = s[0]
					}
					for range pairs {
						buf, err := alloc.Make[byte](own, 4096)
						if err != nil {
							b.Error(err)
							return
						}
						buf.Free()
					}
				}
				words := make([]lonely, g)
				alone := func(i int) {
					for range pairs {
						for range 3 {
							words[i].word.Add(1)
						}
					}
				}
				// Each stream gets memory that it can hold while all others hold some: which goroutines run at the same time in the rounds
				// below is up to a busy machine, and one that has only ever used what others had idle would ask for
				// more in a later round.
				held := make([]alloc.Buffer[byte], g)
				for i := range held {
					var err error
					held[i], err = alloc.Make[byte](s[i], 4096)
					require.NoError(b, err)
				}
				for _, buf := range held {
					buf.Free()
				}
				// Streams that start together lend each other memory, and may have it back soon after.
				calls := int64(-1)
				for same := 0; same < 3; same++ {
					together(g, run)
					together(1, run)
					if now := p.Stats().DeviceCalls; now != calls {
						calls, same = now, 0
					}
				}
				var one, all, machineOne, machineAll time.Duration
				for b.Loop() {
					one += together(1, run)
					all += together(g, run)
					machineOne += together(1, alone)
					machineAll += together(g, alone)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(all)/float64(b.N)/pairs/float64(g), "ns/pair")
				b.ReportMetric(float64(g)*float64(one)/float64(all), "x-of-one")
				b.ReportMetric(float64(g)*float64(machineOne)/float64(machineAll), "x-of-machine")
				if !shared {
					require.Equal(b, calls, p.Stats().DeviceCalls, "a warm pool calls no device: %v", p.Stats())
				}
				runtime.KeepAlive(p)
			})
		}
	}
}
