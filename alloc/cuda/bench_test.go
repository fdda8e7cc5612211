//go:build cgo && linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
	"github.com/lastuse/lastuse/tracker"
)

func startBench(b *testing.B, o alloc.Options) *env {
	if o.Tracker == nil {
		o.Tracker = tracker.New(tracker.Options{}) // sampling as users have it
	}
	return startOn(b, choose(b), o)
}

// BenchmarkMakeFree is the warm pair, with sampled call sites and without, and the driver's own
// stream-ordered pair from Go on the same stream.
func BenchmarkMakeFree(b *testing.B) {
	startBench(b, alloc.Options{}) // holds the device's context, which takes long to make, for all below
	for _, size := range []int{256, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30} {
		for _, c := range []struct {
			name string
			rate int64
		}{{"ours", 0}, {"ours-nosites", -1}} {
			b.Run(fmt.Sprintf("pool=%s/size=%d", c.name, size), func(b *testing.B) {
				e := startBench(b, alloc.Options{Tracker: tracker.New(tracker.Options{Rate: c.rate})})
				b.ReportAllocs()
				for b.Loop() {
					x, err := alloc.Make[byte](e.s, size)
					if err != nil {
						b.Fatal(err)
					}
					x.Free()
				}
			})
		}
		b.Run(fmt.Sprintf("pool=cuMemAllocAsync/size=%d", size), func(b *testing.B) {
			e := startBench(b, alloc.Options{})
			c, s := &e.dev.ctx, e.s.Handle()
			for range 4 {
				p, err := c.MemAllocAsync(int64(size), s)
				require.NoError(b, err)
				require.NoError(b, c.MemFreeAsync(p, s))
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				p, err := c.MemAllocAsync(int64(size), s)
				if err == nil {
					err = c.MemFreeAsync(p, s)
				}
				if err != nil {
					b.Fatal(err)
				}
				if n++; n%500 == 0 { // so that no call waits for room in the stream's queue
					b.StopTimer()
					_ = c.StreamSynchronize(s)
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkLaunch is the launch of an empty kernel through the runtime, and the same by a C loop that only
// calls cuLaunchKernel. They take turns; the stream is drained between rounds, outside the time. over-% is
// the median over the rounds of what one took more than the other in the same round, as the host's clock
// changes.
func BenchmarkLaunch(b *testing.B) {
	for _, args := range []int{0, 3} {
		b.Run(fmt.Sprintf("args=%d", args), func(b *testing.B) {
			e := startBench(b, alloc.Options{})
			k := e.kernel(b, testPTX, "empty")
			var list []alloc.Arg
			x := buffer[float32](b, e.s, 64)
			if args == 3 { // axpy on no elements
				k = e.kernel(b, testPTX, "axpy")
				list = []alloc.Arg{x.Arg(), x.Arg(), alloc.Scalar(float32(1)), alloc.Scalar(uint32(0))}
			}
			one := Dim{X: 1}
			s := e.s.LaunchHandle()
			params := drvtest.Malloc(64)
			words := (*[8]uintptr)(params)
			for i := range 4 {
				words[i] = uintptr(drvtest.Malloc(8))
			}
			c := drvtest.Call{Function: "cuLaunchKernel"}
			for _, v := range []uintptr{k.handle, 1, 1, 1, 1, 1, 1, 0, s, uintptr(params), 0} {
				c.Args = append(c.Args, drvtest.Value(uint64(v)))
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			const calls = 100
			var ours, theirs, over []float64
			launch := func(n int) {
				for range n {
					if err := k.Launch(e.s, one, one, 0, list...); err != nil {
						b.Fatal(err)
					}
				}
			}
			for b.Loop() {
				for round := range 60 {
					var o, t float64
					for half := range 2 {
						// Either goes first in half of the rounds, after some launches of its own that are
						// not timed.
						if half == round%2 {
							launch(20)
							start := time.Now()
							launch(calls)
							o = float64(time.Since(start).Nanoseconds()) / calls
						} else {
							drvtest.Loop(b, e.Path, 20, c)
							t = float64(drvtest.Loop(b, e.Path, calls, c).Nanoseconds()) / calls
						}
						_ = e.dev.Sync(s)
					}
					ours, theirs, over = append(ours, o), append(theirs, t), append(over, 100*(o-t)/t)
				}
			}
			b.ReportMetric(median(ours), "ns/op")
			b.ReportMetric(median(theirs), "C-ns/op")
			b.ReportMetric(median(over), "over-%")
			x.Free()
		})
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// BenchmarkMap times putting memory behind a range, and taking it away, by the size of the handles: what the
// choice of a segment policy rests on.
func BenchmarkMap(b *testing.B) {
	for _, total := range []int64{2 << 20, 64 << 20, 512 << 20} {
		for _, handle := range []int64{2 << 20, 8 << 20, 32 << 20, 128 << 20, 512 << 20} {
			if handle > total {
				continue
			}
			b.Run(fmt.Sprintf("total=%dMiB/handle=%dMiB", total>>20, handle>>20), func(b *testing.B) {
				d := choose(b)
				dev, err := open(d.Path, 0, Options{Granule: 2 << 20})
				require.NoError(b, err)
				defer dev.Close()
				p, err := dev.Reserve(total)
				require.NoError(b, err)
				mapAll := func() (err error) {
					for at := int64(0); err == nil && at < total; at += handle {
						err = dev.Map(p+alloc.Ptr(at), handle)
					}
					return err
				}
				require.NoError(b, mapAll())
				require.NoError(b, dev.Unmap(p, total))
				var up, down time.Duration
				n := 0
				for b.Loop() {
					t0 := time.Now()
					err := mapAll()
					t1 := time.Now()
					if err == nil {
						err = dev.Unmap(p, total)
					}
					if err != nil {
						b.Fatal(err)
					}
					up += t1.Sub(t0)
					down += time.Since(t1)
					n++
				}
				b.ReportMetric(float64(up.Microseconds())/float64(n), "map-µs")
				b.ReportMetric(float64(down.Microseconds())/float64(n), "unmap-µs")
				require.NoError(b, dev.Unreserve(p, total))
			})
		}
	}
}

// BenchmarkRandom is RMM's random_allocations: steps that allocate a random size or free a random live block,
// with at most N blocks and 16,000 MiB live. Cold: each run has a fresh pool; the driver's own gives its
// memory back when a stream is waited for, which is at the end. reserved-MiB is what a pool had got from the
// device at most, by its own word.
func BenchmarkRandom(b *testing.B) {
	for _, w := range []struct{ n, mib int }{{1000, 1}, {10000, 1}, {1000, 64}, {1000, 1024}} {
		for _, kind := range []string{"mapped", "mapped-16MiB", "plain", "cuMemAllocAsync"} {
			b.Run(fmt.Sprintf("N=%d/max=%dMiB/pool=%s", w.n, w.mib, kind), func(b *testing.B) {
				d := choose(b)
				if d.StandIn != nil {
					d.StandIn.Set(b, "memory", 32<<30)
				}
				o := Options{}
				if kind == "mapped-16MiB" {
					o.Granule = 16 << 20
				}
				dev, err := open(d.Path, 0, o)
				require.NoError(b, err)
				defer dev.Close()
				var device alloc.Device = dev
				if kind == "plain" {
					device = dev.Plain()
				}
				var reserved int64
				for b.Loop() {
					if kind == "cuMemAllocAsync" {
						s, err := dev.ctx.StreamCreate()
						require.NoError(b, err)
						random(b, w.n, w.mib, func(size int64) func() {
							p, err := dev.ctx.MemAllocAsync(size, s)
							if err != nil {
								b.Fatal(err)
							}
							return func() { _ = dev.ctx.MemFreeAsync(p, s) }
						})
						require.NoError(b, dev.ctx.StreamSynchronize(s))
						require.NoError(b, dev.ctx.StreamDestroy(s))
						reserved = driverReserved(b, d, dev)
						continue
					}
					pool, err := alloc.NewPool(device, alloc.Options{})
					require.NoError(b, err)
					s, err := pool.NewStream()
					require.NoError(b, err)
					random(b, w.n, w.mib, func(size int64) func() {
						x, err := alloc.Make[byte](s, int(size))
						if err != nil {
							b.Fatal(err)
						}
						return x.Free
					})
					reserved = pool.Stats().Reserved
					b.StopTimer()
					require.NoError(b, pool.Close())
					b.StartTimer()
				}
				b.ReportMetric(float64(reserved>>20), "reserved-MiB")
			})
		}
	}
}

// driverReserved returns the bytes that the driver's own pool has had from the device at most.
func driverReserved(b *testing.B, d drvtest.Driver, dev *Device) int64 {
	if d.StandIn != nil {
		return 0 // keeps no such book
	}
	const reservedHigh = 6 // CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
	n := (*int64)(drvtest.Malloc(8))
	drvtest.Loop(b, d.Path, 1,
		drvtest.Call{Function: "cuDeviceGetDefaultMemPool",
			Args: []drvtest.Arg{drvtest.Out(0), drvtest.Value(uint64(dev.ctx.Device()))}},
		drvtest.Call{Function: "cuMemPoolGetAttribute", Args: []drvtest.Arg{drvtest.Slot(0),
			drvtest.Value(reservedHigh), drvtest.Value(uint64(uintptr(unsafe.Pointer(n))))}})
	return *n
}

func random(b *testing.B, n, mib int, alloc func(int64) func()) {
	rng := rand.New(rand.NewPCG(7, 9))
	type block struct {
		free func()
		size int64
	}
	var live []block
	var bytes int64
	made := 0
	for range 2 * n {
		size := 1 + rng.Int64N(int64(mib)<<20)
		chance := 0
		if len(live) > 0 {
			chance = rng.IntN(100)
		}
		if made < n && chance < 73 && bytes+size < 16000<<20 {
			live = append(live, block{alloc(size), size})
			bytes += size
			made++
		} else if len(live) > 0 {
			i := rng.IntN(n) % len(live)
			live[i].free()
			bytes -= live[i].size
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	for _, x := range live {
		x.free()
	}
}

// BenchmarkMapCalls times each call of the driver that puts one handle behind addresses and takes it away, by
// its size, and what the driver's own allocator takes for as much.
func BenchmarkMapCalls(b *testing.B) {
	for _, n := range []int64{2 << 20, 32 << 20, 256 << 20, 1 << 30, 4 << 30} {
		b.Run(fmt.Sprintf("size=%dMiB", n>>20), func(b *testing.B) {
			e := startBench(b, alloc.Options{})
			if e.dev.Info().Memory < 2*n {
				b.Skip("the device has too little memory")
			}
			c := &e.dev.ctx
			p, err := c.MemAddressReserve(n, 0)
			require.NoError(b, err)
			var h uint64
			var q uintptr
			steps := []struct {
				name string
				call func() error
				took time.Duration
			}{
				{"create", func() (err error) { h, err = c.MemCreate(n); return err }, 0},
				{"map", func() error { return c.MemMap(p, n, h) }, 0},
				{"access", func() error { return c.MemSetAccess(p, n, c.Device()) }, 0},
				{"unmap", func() error { return c.MemUnmap(p, n) }, 0},
				{"release", func() error { return c.MemRelease(h) }, 0},
				{"cuMemAlloc", func() (err error) { q, err = c.MemAlloc(n); return err }, 0},
				{"cuMemFree", func() error { return c.MemFree(q) }, 0},
			}
			rounds := 0
			for b.Loop() {
				for i := range steps {
					start := time.Now()
					err := steps[i].call()
					steps[i].took += time.Since(start)
					if err != nil {
						b.Fatal(steps[i].name, err)
					}
				}
				rounds++
			}
			for _, s := range steps {
				b.ReportMetric(float64(s.took.Nanoseconds())/float64(rounds)/1000, s.name+"-µs")
			}
			require.NoError(b, c.MemAddressFree(p, n))
		})
	}
}

// BenchmarkCopy is the time of copies with Go memory, through the stage, and with page-locked memory, by
// their size. The device has caught up at the end of each, or, for those that are "queued", of a hundred.
func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{64, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 64 << 20, 1 << 30} {
		e := startBench(b, alloc.Options{})
		if e.dev.Info().Memory < 4*int64(n) {
			continue
		}
		x := buffer[byte](b, e.s, n)
		host := make([]byte, n)
		pinned, err := alloc.MakePinned[byte](e.pool, n)
		require.NoError(b, err)
		for _, c := range []struct {
			name string
			f    func() error
			each int // copies for which the device is waited for
		}{
			{"in/memory=go", func() error { return x.CopyFrom(e.s, host) }, 1},
			{"in/memory=go-queued", func() error { return x.CopyFrom(e.s, host) }, 100},
			{"in/memory=pinned", func() error { return x.CopyFrom(e.s, pinned.Slice()) }, 1},
			{"out/memory=go", func() error { return x.CopyTo(e.s, host) }, 1},
			{"out/memory=pinned", func() error { return x.CopyTo(e.s, pinned.Slice()) }, 1},
		} {
			b.Run(fmt.Sprintf("%s/size=%d", c.name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					err := c.f()
					if i++; err == nil && i%c.each == 0 {
						err = e.dev.Sync(e.s.Handle())
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, e.s.Sync())
			})
		}
		x.Free()
		pinned.Free()
	}
}
