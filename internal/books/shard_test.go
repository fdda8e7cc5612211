package books

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestShardCounts(t *testing.T) {
	for name, o := range map[string]Options{"table": {}, "heap": {NoTable: true}} {
		t.Run(name, func(t *testing.T) {
			b := New(o)
			a := b.NewAccount("host")
			var mu sync.Mutex
			s := a.NewShard(&mu)
			s.Alloc(512)
			s.Alloc(1024)
			s.Free(512)
			a.AddReserved(4096)
			s.Pend(512)
			require.Equal(t, int64(1024), b.Totals().Live)
			want := Stats{
				Name: "host", Live: 1024, Pending: 512, Reserved: 4096, ReservedPeak: 4096, Peak: 1536, Total: 1536,
				LiveObjects: 1, Made: 2, Freed: 1,
			}
			require.Equal(t, want, a.Stats())
			mu.Lock()
			require.Equal(t, want, a.StatsLocked())
			mu.Unlock()
			s.Late(1024)
			s.Unpend(512)
			s.Repeat()
			got := b.Totals()
			require.Zero(t, got.Live)
			require.Equal(t, int64(1), got.Late)
			require.Equal(t, int64(1024), got.LateBytes)
			require.Equal(t, int64(1), got.Repeated)
			require.Equal(t, int64(1536), got.Peak)
			runtime.KeepAlive(s)
		})
	}
}

// Readers take the writer's lock: under it no operation is seen half done.
func TestReadUnderTheLock(t *testing.T) {
	b := New(Options{NoTable: true, Rate: -1})
	a := b.NewAccount("host")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			var mu sync.Mutex
			s := a.NewShard(&mu)
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				s.Alloc(10) // every allocation has ten bytes, so bytes follow from objects
				mu.Unlock()
				mu.Lock()
				s.Free(10)
				mu.Unlock()
				runtime.Gosched()
			}
		})
	}
	for range 200 {
		st := a.Stats()
		require.Equal(t, 10*st.Made, st.Total)
		require.Equal(t, 10*st.LiveObjects, st.Live)
		runtime.Gosched()
	}
	close(stop)
	wg.Wait()
	require.Zero(t, b.Totals().Live)
}

// A shard that shared a cache line with another would slow it down.
func TestShardsShareNoLine(t *testing.T) {
	require.Zero(t, unsafe.Sizeof(Shard{})%lines)
}

// BenchmarkShard is what a warm pair costs of the books: counters, and at the default rate the samples of
// a loop that does nothing else.
func BenchmarkShard(b *testing.B) {
	for name, o := range map[string]Options{"table": {}, "heap": {NoTable: true}, "none": {Rate: -1}} {
		for _, size := range []int64{512, 1 << 20, 1 << 30} {
			b.Run(fmt.Sprintf("%s/size=%d", name, size), func(b *testing.B) {
				s := newShard(b, New(o))
				b.ReportAllocs()
				for b.Loop() {
					m := sampled(s, size)
					s.Free(size)
					if m != 0 {
						s.Unsite(m, size, false)
					}
				}
			})
		}
	}
}

// BenchmarkShardsAtOnce has each goroutine count in a shard of its own: they must not
// slow each other down.
func BenchmarkShardsAtOnce(b *testing.B) {
	a := New(Options{}).NewAccount("bench")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		s := shardOf(a)
		for pb.Next() {
			s.Alloc(512)
			s.Free(512)
		}
	})
}

// BenchmarkCallers is what rate 1 is measured against: the stack alone.
func BenchmarkCallers(b *testing.B) {
	for _, depth := range []int{4, 16, 40} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			deep(depth, func() {
				var pcs [maxDepth]uintptr
				for b.Loop() {
					runtime.Callers(1, pcs[:])
				}
			})
		})
	}
}

// BenchmarkRateOne is the cost of a call site for every allocation.
func BenchmarkRateOne(b *testing.B) {
	for _, depth := range []int{4, 16, 40, 60} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			s := newShard(b, New(Options{Rate: 1}))
			b.ReportAllocs()
			deep(depth, func() {
				for b.Loop() {
					s.Unsite(sampled(s, 512), 512, false)
				}
			})
		})
	}
}

// BenchmarkSampled is the same from one place by shards at once.
func BenchmarkSampled(b *testing.B) {
	a := New(Options{Rate: 1}).NewAccount("bench")
	b.RunParallel(func(pb *testing.PB) {
		s := shardOf(a)
		for pb.Next() {
			s.Unsite(sampled(s, 512), 512, false)
		}
	})
}

// BenchmarkNew makes books with one shard, and lets the collector take them away.
func BenchmarkNew(b *testing.B) {
	for name, o := range map[string]Options{"table": {}, "heap": {NoTable: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				shardOf(New(o).NewAccount("bench")).Alloc(1)
			}
		})
	}
}
