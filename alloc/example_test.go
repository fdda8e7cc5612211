package alloc_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// open returns a pool on this machine's memory, which stands for a GPU's in the examples, and a stream.
func open(o alloc.Options) (*alloc.Pool, *alloc.Stream) {
	dev, err := host.Open(host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := alloc.NewPool(dev, o)
	if err != nil {
		log.Fatal(err)
	}
	s, err := pool.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	return pool, s
}

// check ends an example that went wrong.
func check(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		log.Fatal(err)
	}
}

func ExampleBuffer() {
	pool, s := open(alloc.Options{})
	b, err := alloc.Make[float32](s, 3)
	check(err)
	check(b.CopyFrom(s, []float32{1, 2, 3}))
	out := make([]float32, 3)
	check(b.CopyTo(s, out))
	b.Free()
	fmt.Println(b.Len(), out, pool.Close())
	// Output: 3 [1 2 3] <nil>
}

// A view is part of a buffer and owns nothing.
func ExampleView() {
	_, s := open(alloc.Options{})
	b, err := alloc.Make[int32](s, 6)
	check(err)
	check(b.Fill(s, 1), b.View(2, 4).Fill(s, 7))
	out := make([]int32, 6)
	check(b.CopyTo(s, out))
	b.Free()
	fmt.Println(out)
	// Output: [1 1 7 7 1 1]
}

// Arguments of a launch are buffers, views and scalars, on any device.
func ExampleArg() {
	_, s := open(alloc.Options{})
	b, err := alloc.Make[float32](s, 2)
	check(err)
	check(b.Fill(s, 2))
	check(host.Launch(s, func(a host.Args) {
		for i, x := range host.Slice[float32](a, 0) {
			host.Slice[float32](a, 0)[i] = x * host.Value[float32](a, 1)
		}
	}, b.Arg(), alloc.Scalar(float32(10))))
	out := make([]float32, 2)
	check(b.CopyTo(s, out))
	b.Free()
	fmt.Println(out)
	// Output: [20 20]
}

// Several goroutines use one pool, each with a stream of its own.
func ExamplePool() {
	dev, err := host.Open(host.Options{})
	check(err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	check(err)
	b, err := alloc.Make[byte](pool.DefaultStream(), 1<<20)
	check(err)
	fmt.Println(pool.Stats().Live)
	b.Free()
	fmt.Println(pool.Stats().Live, pool.Close())
	// Output:
	// 1048576
	// 0 <nil>
}

// What is enqueued on a stream runs in order; another stream is told to wait.
func ExampleStream() {
	pool, s := open(alloc.Options{})
	t, err := pool.NewStream()
	check(err)
	b, err := alloc.Make[int32](s, 1)
	check(err)
	check(b.Fill(s, 5))
	t.Wait(s)
	out := make([]int32, 1)
	check(b.CopyTo(t, out))
	b.Free() // its memory is free when both streams have got there
	check(s.Sync(), t.Sync())
	fmt.Println(out[0])
	// Output: 5
}

// Lower is more urgent; a device without priorities takes no notice.
func ExampleStreamOptions() {
	pool, _ := open(alloc.Options{})
	s, err := pool.NewStreamWith(alloc.StreamOptions{Priority: -1})
	fmt.Println(s != nil, err)
	// Output: true <nil>
}

func ExampleEvent() {
	_, s := open(alloc.Options{})
	gate := make(chan struct{})
	check(host.Launch(s, func(host.Args) { <-gate }))
	e := s.Record()
	fmt.Println(e.Query())
	close(gate)
	check(e.Sync())
	fmt.Println(e.Query())
	// Output:
	// false
	// true
}

// Timed events say how long the device took.
func ExampleEvent_Sub() {
	_, s := open(alloc.Options{})
	start := s.RecordTimed()
	check(host.Launch(s, func(host.Args) { time.Sleep(2 * time.Millisecond) }))
	took, err := s.RecordTimed().Sub(start)
	fmt.Println(took >= 2*time.Millisecond, err)
	// Output: true <nil>
}

// What is captured once is launched often, for the cost of one launch.
func ExampleGraph() {
	_, s := open(alloc.Options{})
	b, err := alloc.Make[int32](s, 1)
	check(err)
	check(b.Fill(s, 0))
	g, err := s.Capture(func() error {
		return host.Launch(s, func(a host.Args) { host.Slice[int32](a, 0)[0]++ }, b.Arg())
	})
	check(err)
	for range 3 {
		check(g.Launch(s))
	}
	out := make([]int32, 1)
	check(b.CopyTo(s, out))
	g.Close()
	b.Free()
	fmt.Println(out[0])
	// Output: 3
}

// Tight keeps little idle memory and calls the device more often; Fast the other way round.
func ExampleGrowth() {
	pool, s := open(alloc.Options{Growth: alloc.Tight})
	b, err := alloc.Make[byte](s, 5<<20)
	check(err)
	fmt.Println(pool.Stats().Reserved >= 5<<20)
	b.Free()
	// Output: true
}

// With a limit a Make fails that would take more, after everything else was tried.
func ExampleOptions() {
	_, s := open(alloc.Options{Limit: 64 << 20, CollectWait: time.Millisecond})
	b, err := alloc.Make[byte](s, 65<<20)
	fmt.Println(errors.Is(err, alloc.ErrOutOfMemory))
	b.Free() // of the zero Buffer: nothing
	// Output: true
}

func ExampleMemoryError() {
	_, s := open(alloc.Options{Limit: 64 << 20, CollectWait: time.Millisecond})
	b, err := alloc.Make[byte](s, 65<<20)
	var short *alloc.MemoryError
	if errors.As(err, &short) {
		fmt.Println(short.Requested>>20, "of", short.Limit>>20, "MiB, live:", short.Stats.Live)
	}
	b.Free()
	// Output: 65 of 64 MiB, live: 0
}

// Copies from page-locked memory do not wait, and it may be freed at once.
func ExamplePinned() {
	pool, s := open(alloc.Options{})
	h, err := alloc.MakePinned[int32](pool, 2)
	check(err)
	copy(h.Slice(), []int32{3, 4})
	b, err := alloc.Make[int32](s, 2)
	check(err)
	check(alloc.Upload(s, b, h))
	h.Free()
	out := make([]int32, 2)
	check(b.CopyTo(s, out))
	b.Free()
	fmt.Println(out)
	// Output: [3 4]
}

// A library that copies by itself gets the address while the memory is pinned.
func ExamplePinnedUse() {
	pool, s := open(alloc.Options{})
	h, err := alloc.MakePinned[int32](pool, 4)
	check(err)
	use, err := alloc.BeginPinned(s, h)
	check(err)
	fmt.Println(use.Size, use.Ptr != nil) // enqueue the work here
	use.End()
	h.Free()
	// Output: 16 true
}

func ExampleStats() {
	pool, s := open(alloc.Options{})
	b, err := alloc.Make[byte](s, 3<<20)
	check(err)
	b.Free()
	st := pool.Stats()
	live, ok := st.Read("/memory/live:bytes")
	fmt.Println(st.PeakLive, live, ok)
	// Output: 3145728 0 true
}

// Descriptions name the figures for an exporter.
func ExampleDescription() {
	for _, d := range alloc.Descriptions() {
		if d.Field == "Live" {
			fmt.Println(d.Name, d.Kind)
		}
	}
	// Output: /memory/live:bytes gauge
}

// A pool that is closed says what is still live, and where it was made.
func ExampleLiveError() {
	pool, s := open(alloc.Options{Tracker: tracker.New(tracker.Options{Rate: 1})})
	b, err := alloc.Make[byte](s, 1<<20)
	check(err)
	var live *alloc.LiveError
	if errors.As(pool.Close(), &live) {
		fmt.Println(live.Buffers, "buffer,", live.Bytes, "bytes, made at", len(live.Sites), "site")
	}
	b.Free()
	// Output: 1 buffer, 1048576 bytes, made at 1 site
}

// What was not sampled has no site: a small buffer seldom has one at the default rate.
func ExampleUnknown() {
	pool, s := open(alloc.Options{Tracker: tracker.New(tracker.Options{Rate: -1})})
	b, err := alloc.Make[byte](s, 1<<20)
	check(err)
	var live *alloc.LiveError
	if errors.As(pool.Close(), &live) {
		fmt.Println(live.Unknown)
	}
	b.Free()
	// Output: {1 1048576}
}

// A use after Free is an error, where there is an error result; in Check mode it is a panic with the stacks.
func ExampleUseError() {
	_, s := open(alloc.Options{})
	b, err := alloc.Make[byte](s, 16)
	check(err)
	b.Free()
	err = b.Fill(s, 1)
	var use *alloc.UseError
	fmt.Println(errors.Is(err, alloc.ErrFreed), errors.As(err, &use) && use.Op == "fill")
	// Output: true true
}

// A stack is printed with a function and a line of the source each.
func ExampleStack() {
	_, s := open(alloc.Options{Check: true})
	b, err := alloc.Make[byte](s, 16)
	check(err)
	b.Free()
	defer func() {
		if use, ok := recover().(*alloc.UseError); ok {
			fmt.Println(strings.Contains(use.Made.String(), "ExampleStack"), len(use.Free) > 0)
		}
	}()
	_ = b.Fill(s, 1) // panics
	// Output: true true
}

// In Check mode a write through an address that was kept too long is found.
func ExampleCorruptionError() {
	pool, s := open(alloc.Options{Check: true})
	b, err := alloc.Make[byte](s, 16)
	check(err)
	p := b.Ptr(s)
	b.Free()
	check(pool.Device().Fill(s.Handle(), p, 1, 1, 16), s.Sync())
	var found *alloc.CorruptionError
	if errors.As(pool.Check(), &found) {
		fmt.Println(found.What, found.Offset)
	}
	// Output: write after free 0
}

// Memory that somebody else made is counted and freed like a pool's own.
func ExamplePtr() {
	pool, s := open(alloc.Options{})
	dev := pool.Device()
	p, err := dev.Alloc(4096)
	check(err)
	b, err := alloc.Adopt[float32](s, p, 1024, func() { check(dev.Free(p, 4096)) })
	check(err)
	fmt.Println(b.Len(), b.Ptr(s) == p)
	b.Free()
	check(s.Sync())
	// Output: 1024 true
}

// A package that launches kernels resolves its arguments between Begin and End.
func ExampleParam() {
	_, s := open(alloc.Options{})
	b, err := alloc.Make[float32](s, 8)
	check(err)
	args := []alloc.Arg{b.Arg(), alloc.Scalar(int32(3))}
	params, err := s.Begin(nil, args...)
	check(err)
	for _, p := range params {
		fmt.Println(p.Type, p.Size, p.IsScalar())
	}
	s.End(args...)
	b.Free()
	// Output:
	// float32 32 false
	// int32 4 true
}

// Rows of a picture are copied in one call where the device has one: see RowCopier.
func ExampleRows() {
	_, s := open(alloc.Options{})
	b, err := alloc.Make[byte](s, 12)
	check(err)
	check(b.CopyFrom(s, []byte("abcdefghijkl")))
	part, err := alloc.Make[byte](s, 4)
	check(err)
	check(alloc.Copy2D(s, part, 2, b, 6, 2, 2)) // two of six columns, two rows
	out := make([]byte, 4)
	check(part.CopyTo(s, out))
	part.Free()
	b.Free()
	fmt.Printf("%s\n", out)
	// Output: abgh
}

// What a device can do beyond the interface is asked by type, as a pool does.
func ExampleDevice() {
	pool, _ := open(alloc.Options{})
	var dev alloc.Device = pool.Device()
	_, pins := dev.(alloc.Pinner)
	_, captures := dev.(alloc.Grapher)
	_, rows := dev.(alloc.RowCopier)
	fmt.Println(dev.Name(), pins, captures, rows)
	// Output: host true true false
}
