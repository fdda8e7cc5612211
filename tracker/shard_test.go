package tracker

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func BenchmarkShard(b *testing.B) {
	for name, o := range map[string]Options{"table": {}, "heap": {NoTable: true}} {
		b.Run(name, func(b *testing.B) {
			s := New(o).NewAccount("bench").NewShard()
			b.ReportAllocs()
			for b.Loop() {
				s.Alloc(512)
				if s.Sample(512) {
					s.Tracker().Site(0, s, 512)
				}
				s.Free(512)
			}
		})
	}
}

// BenchmarkShardsAtOnce has each goroutine count in a shard of its own: they must not
// slow each other down.
func BenchmarkShardsAtOnce(b *testing.B) {
	a := New(Options{}).NewAccount("bench")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		s := a.NewShard()
		for pb.Next() {
			s.Alloc(512)
			s.Free(512)
		}
	})
}

func BenchmarkForeign(b *testing.B) {
	t := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		t.Alloc(0x1000, 512)
		if t.Free(0x1000) != nil {
			b.Fatal()
		}
	}
}

func TestShardCounts(t *testing.T) {
	for name, o := range map[string]Options{"table": {}, "heap": {NoTable: true}} {
		t.Run(name, func(t *testing.T) {
			books := New(o)
			a := books.NewAccount("host")
			s := a.NewShard()
			s.Alloc(512)
			s.Alloc(1024)
			s.Free(512)
			a.AddReserved(4096)
			s.Pend(512)
			require.Equal(t, int64(1024), books.Bytes())
			st := a.Stats()
			require.Equal(t, AccountStats{
				Name: "host", Live: 1024, Pending: 512, Reserved: 4096, ReservedPeak: 4096, Peak: 1536, Total: 1536,
				LiveObjects: 1, Made: 2, Freed: 1,
			}, st)
			s.Late(1024)
			s.Unpend(512)
			s.Repeat()
			got := books.Stats()
			require.Zero(t, got.Live)
			require.Equal(t, int64(1), got.Late)
			require.Equal(t, int64(1024), got.LateBytes)
			require.Equal(t, int64(1), got.Repeated)
			require.Equal(t, int64(1536), got.Peak)
		})
	}
}

// A shard that shared a cache line with another would slow it down when it changes what it remembers.
func TestShardsShareNoLine(t *testing.T) {
	require.Zero(t, unsafe.Sizeof(Shard{})%128)
	require.Zero(t, unsafe.Sizeof(sampler{})%128)
}

// Due says what Sample will say, and may be asked any number of times: Make asks before it decides
// which way to go.
func TestDueIsSample(t *testing.T) {
	for _, rate := range []int64{-1, 1, 1000} {
		s := New(Options{Rate: rate}).NewAccount("host").NewShard()
		samples := 0
		for i := range int64(10_000) {
			s.Alloc(1 + i%997)
			due := s.Due()
			require.Equal(t, due, s.Due())
			require.Equal(t, due, s.Sample(1+i%997), "rate %d", rate)
			if due {
				samples++
			}
		}
		switch rate {
		case -1:
			require.Zero(t, samples)
		case 1:
			require.Equal(t, 10_000, samples)
		default:
			require.Greater(t, samples, 1000) // about 3,700
			require.Less(t, samples, 9000)
		}
	}
}

// deep calls f with n more frames on the stack.
//
//go:noinline
func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
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
	for _, depth := range []int{4, 16, 40} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			t := New(Options{Rate: 1})
			s := t.NewAccount("bench").NewShard()
			b.ReportAllocs()
			deep(depth, func() {
				for b.Loop() {
					t.Unsite(t.Site(0, s, 512), 512, false)
				}
			})
		})
	}
}

// BenchmarkNew makes books with one shard, and lets the collector take them away.
func BenchmarkNew(b *testing.B) {
	for name, o := range map[string]Options{"table": {}, "heap": {NoTable: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(o).NewAccount("bench").NewShard().Alloc(1)
			}
		})
	}
}
