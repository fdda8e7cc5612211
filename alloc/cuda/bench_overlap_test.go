//go:build cgo && linux

package cuda

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// A lane is one of some streams that each take a batch in, work on it and give it back.
type lane struct {
	s    *alloc.Stream
	in   alloc.Pinned[byte]
	out  alloc.Pinned[byte]
	x    alloc.Buffer[byte]
	inC  [3]drvtest.Call // the same three by the driver alone
	spin time.Duration
}

// lanes makes n lanes for batches of size bytes. The kernel runs for as long as a batch takes to get in.
func lanes(b *testing.B, e *env, k *Kernel, n, size int) []*lane {
	all := make([]*lane, n)
	for i := range all {
		s, err := e.pool.NewStream()
		require.NoError(b, err)
		l := &lane{s: s, x: buffer[byte](b, s, size)}
		l.in, err = alloc.MakePinned[byte](e.pool, size)
		require.NoError(b, err)
		l.out, err = alloc.MakePinned[byte](e.pool, size)
		require.NoError(b, err)
		all[i] = l
	}
	spin := since(b, all[0].s, func() error { return alloc.Upload(all[0].s, all[0].x, all[0].in) })
	for _, l := range all {
		l.spin = spin
		l.inC = l.calls(k, size)
	}
	return all
}

// calls are the lane's work in C.
func (l *lane) calls(k *Kernel, size int) [3]drvtest.Call {
	device, stream := drvtest.Value(uint64(l.x.Ptr(l.s))), drvtest.Value(uint64(l.s.LaunchHandle()))
	bytes := drvtest.Value(uint64(size))
	words, ns := (*[1]uintptr)(drvtest.Malloc(8)), (*uint64)(drvtest.Malloc(8))
	*ns = uint64(l.spin)
	words[0] = uintptr(unsafe.Pointer(ns)) // C's memory, which nobody frees
	launch := drvtest.Call{Function: "cuLaunchKernel"}
	for _, v := range []uintptr{k.handle, 1, 1, 1, 1, 1, 1, 0} {
		launch.Args = append(launch.Args, drvtest.Value(uint64(v)))
	}
	params := drvtest.Value(uint64(uintptr(unsafe.Pointer(words))))
	launch.Args = append(launch.Args, stream, params, drvtest.Value(0))
	host := func(h alloc.Pinned[byte]) drvtest.Arg {
		return drvtest.Value(uint64(uintptr(unsafe.Pointer(unsafe.SliceData(h.Slice())))))
	}
	return [3]drvtest.Call{
		{Function: "cuMemcpyHtoDAsync_v2", Args: []drvtest.Arg{device, host(l.in), bytes, stream}},
		launch,
		{Function: "cuMemcpyDtoHAsync_v2", Args: []drvtest.Arg{host(l.out), device, bytes, stream}},
	}
}

// batch enqueues the lane's work on a stream.
func (l *lane) batch(b *testing.B, s *alloc.Stream, k *Kernel) {
	if err := alloc.Upload(s, l.x, l.in); err != nil {
		b.Fatal(err)
	}
	if err := k.Launch(s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(l.spin))); err != nil {
		b.Fatal(err)
	}
	if err := alloc.Download(s, l.out, l.x); err != nil {
		b.Fatal(err)
	}
}

// since is how long some work takes on an idle stream, the second time.
func since(b *testing.B, s *alloc.Stream, f func() error) (d time.Duration) {
	for range 2 {
		start := time.Now()
		require.NoError(b, f())
		require.NoError(b, s.Sync())
		d = time.Since(start)
	}
	return d
}

// BenchmarkOverlap is a batch that is uploaded, worked on for as long and downloaded, all on one stream, and
// on three streams side by side, with page-locked memory: how far transfers overlap with kernels. Three
// streams can be three times as fast if both directions run at full speed at once. C-µs is the same on three
// streams by the driver's calls alone, in turn with ours.
func BenchmarkOverlap(b *testing.B) {
	e := start(b, alloc.Options{})
	k := e.kernel(b, testPTX, "spin")
	size := 64 << 20
	if e.StandIn != nil {
		size = 64 << 10
	}
	all := lanes(b, e, k, 3, size)
	runtime.LockOSThread() // as what C enqueues wants the context that is current here
	defer runtime.UnlockOSThread()
	const rounds = 8
	sync := func() {
		require.NoError(b, e.s.Sync())
		for _, l := range all {
			require.NoError(b, l.s.Sync())
		}
	}
	var one, three, c []float64
	timed := func(into *[]float64, enqueue func(l *lane)) {
		sync()
		start := time.Now()
		for range rounds {
			for _, l := range all {
				enqueue(l)
			}
		}
		sync()
		*into = append(*into, float64(time.Since(start).Microseconds())/float64(rounds*len(all)))
	}
	for b.Loop() {
		timed(&one, func(l *lane) { l.batch(b, e.s, k) })
		timed(&three, func(l *lane) { l.batch(b, l.s, k) })
		timed(&c, func(l *lane) { drvtest.Loop(b, e.Path, 1, l.inC[:]...) })
	}
	b.ReportMetric(float64(all[0].spin.Microseconds()), "part-µs")
	b.ReportMetric(median(one), "one-µs")
	b.ReportMetric(median(three), "three-µs")
	b.ReportMetric(median(c), "C-µs")
	b.ReportMetric(median(one)/median(three), "faster")
	for _, l := range all {
		l.x.Free()
		l.in.Free()
		l.out.Free()
	}
}

// BenchmarkPriority is how long a small kernel takes until it has run while another stream fills the device
// with blocks of 50 µs: on a stream like that one, and on one that is more urgent.
func BenchmarkPriority(b *testing.B) {
	e := start(b, alloc.Options{})
	if e.StandIn != nil {
		b.Skip("the stand-in runs one block after the other")
	}
	k := e.kernel(b, testPTX, "spin")
	const block = 256
	active, err := k.MaxActive(Dim{X: block}, 0)
	require.NoError(b, err)
	full := active * e.dev.Info().Limits.Multiprocessors
	plain, err := e.pool.NewStream()
	require.NoError(b, err)
	urgent, err := e.pool.NewStreamWith(alloc.StreamOptions{Priority: -1})
	require.NoError(b, err)
	const waves, queued = 20, 4
	took := map[*alloc.Stream][]float64{}
	for b.Loop() {
		for _, s := range []*alloc.Stream{plain, urgent} {
			for range queued {
				err := k.Launch(e.s, Dim{X: waves * full}, Dim{X: block}, 0, alloc.Scalar(uint64(50_000)))
				require.NoError(b, err)
			}
			start := time.Now()
			require.NoError(b, k.Launch(s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(1000))))
			require.NoError(b, s.Sync())
			took[s] = append(took[s], float64(time.Since(start).Microseconds()))
			require.NoError(b, e.s.Sync())
		}
	}
	b.ReportMetric(median(took[plain]), "same-µs")
	b.ReportMetric(median(took[urgent]), "urgent-µs")
}
