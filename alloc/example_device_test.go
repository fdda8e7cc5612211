package alloc_test

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// A logged device is another one that says what memory it gives out. What the other can do beyond Device is
// hidden by the embedding, unless it is passed on.
type logged struct{ alloc.Device }

func (l logged) Alloc(size int64) (alloc.Ptr, error) {
	fmt.Println("alloc", size>>20, "MiB")
	return l.Device.Alloc(size)
}

// AllocHost and FreeHost make a Pinner of it.
func (l logged) AllocHost(size int64) (unsafe.Pointer, error) {
	if p, ok := l.Device.(alloc.Pinner); ok {
		return p.AllocHost(size)
	}
	return nil, errors.ErrUnsupported
}

func (l logged) FreeHost(p unsafe.Pointer, size int64) error {
	return l.Device.(alloc.Pinner).FreeHost(p, size)
}

// A device around another passes on what that can do.
func ExamplePinner() {
	plain, _ := open(alloc.Options{})
	pool, err := alloc.NewPool(logged{plain.Device()}, alloc.Options{})
	check(err)
	h, err := alloc.MakePinned[float32](pool, 1000)
	check(err)
	fmt.Println(len(h.Slice()))
	h.Free()
	check(pool.Close())
	// Output: 1000
}

// Segments of a device that maps grow in place, by its granularity.
func ExampleMapper() {
	pool, _ := open(alloc.Options{})
	m, ok := pool.Device().(alloc.Mapper)
	fmt.Println(ok && m.Granularity() >= alloc.MinAlign)
	// Output: true
}

// While a stream is captured, a pool that did not begin it hands out no memory there.
func ExampleCapturer() {
	pool, s := open(alloc.Options{})
	c := pool.Device().(alloc.Capturer)
	g, err := s.Capture(func() error {
		capturing, err := c.Capturing(s.Handle())
		fmt.Println(capturing)
		return err
	})
	check(err)
	g.Close()
	fmt.Println(c.Capturing(s.Handle()))
	// Output:
	// true
	// false <nil>
}

// Stream.Capture is made of these calls.
func ExampleGrapher() {
	pool, s := open(alloc.Options{})
	g := pool.Device().(alloc.Grapher)
	check(g.BeginCapture(s.Handle()))
	graph, err := g.EndCapture(s.Handle())
	check(err)
	exec, err := g.Instantiate(graph)
	check(err, g.DestroyGraph(graph))
	check(g.LaunchExec(exec, s.Handle()), s.Sync())
	fmt.Println(g.DestroyExec(exec))
	// Output: <nil>
}

// Wait of a stream of another pool needs a device that can.
func ExampleCrossWaiter() {
	pool, s := open(alloc.Options{})
	other, t := open(alloc.Options{})
	_, ok := other.Device().(alloc.CrossWaiter)
	t.Wait(s) // of pool, on a device of its own
	fmt.Println(ok, t.Sync(), pool.Close(), other.Close())
	// Output: true <nil> <nil> <nil>
}

// This machine has no urgent streams: NewStreamWith makes plain ones there.
func ExamplePrioritizer() {
	pool, _ := open(alloc.Options{})
	p, ok := pool.Device().(alloc.Prioritizer)
	if ok { // a GPU's
		least, most, err := p.Priorities()
		fmt.Println(most <= least, err)
	}
	_, err := pool.NewStreamWith(alloc.StreamOptions{Priority: -5})
	fmt.Println(ok, err)
	// Output: false <nil>
}

// Register asks a device that can page-lock memory of others; on another one it fails.
func ExampleRegistrar() {
	plain, _ := open(alloc.Options{})
	_, ok := plain.Device().(alloc.Registrar)
	pool, err := alloc.NewPool(logged{plain.Device()}, alloc.Options{})
	check(err)
	_, err = alloc.Register(pool, alloc.Pages[float32](1000))
	fmt.Println(ok, errors.Is(err, errors.ErrUnsupported))
	// Output: true true
}

// Where the device has no call for rows, Copy2D is a copy for each.
func ExampleRowCopier() {
	pool, s := open(alloc.Options{})
	_, ok := pool.Device().(alloc.RowCopier)
	image, err := alloc.Make[int32](s, 3*4)
	check(err)
	column, err := alloc.Make[int32](s, 3)
	check(err)
	check(image.CopyFrom(s, []int32{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}))
	check(alloc.Copy2D(s, column, 1, image.View(2, 12), 4, 1, 3))
	image.Free()
	got := make([]int32, 3)
	check(column.CopyTo(s, got))
	column.Free()
	fmt.Println(ok, got)
	// Output: false [2 12 22]
}

// What a device keeps for its own copies is in the figures of each pool on it.
func ExampleStager() {
	pool, _ := open(alloc.Options{})
	if st, ok := pool.Device().(alloc.Stager); ok { // a GPU
		fmt.Println(pool.Stats().PinnedStaging == st.Staged())
	}
	fmt.Println(pool.Stats().PinnedStaging)
	// Output: 0
}

// A stream that somebody else has made takes part in a pool, if its device says that it is one of its own.
func ExampleStreamAdopter() {
	pool, _ := open(alloc.Options{})
	h, err := pool.Device().NewStream() // by another library
	check(err)
	fmt.Println(pool.Device().(alloc.StreamAdopter).AdoptStream(h))
	s, err := pool.WrapStream(h)
	check(err)
	b, err := alloc.Make[byte](s, 100)
	check(err)
	b.Free()
	check(s.Sync(), pool.Close())
	fmt.Println(pool.Device().DestroyStream(h)) // by its maker
	// Output:
	// <nil>
	// <nil>
}

// RecordTimed fails on a device that does not know when its work ran.
func ExampleTimer() {
	plain, _ := open(alloc.Options{})
	_, ok := plain.Device().(alloc.Timer)
	pool, err := alloc.NewPool(logged{plain.Device()}, alloc.Options{})
	check(err)
	s, err := pool.NewStream()
	check(err)
	start, end := s.RecordTimed(), s.RecordTimed()
	d, err := end.Sub(start)
	fmt.Println(ok, d == time.Duration(0), err != nil)
	// Output: true true true
}

// Upload does not wait on a device that copies page-locked memory by itself, and waits on another one.
func ExampleTransferer() {
	pool, s := open(alloc.Options{})
	_, ok := pool.Device().(alloc.Transferer)
	h, err := alloc.MakePinned[int32](pool, 2)
	check(err)
	copy(h.Slice(), []int32{3, 4})
	b, err := alloc.Make[int32](s, 2)
	check(err)
	check(alloc.Upload(s, b, h))
	h.Free() // kept until the copy has run
	got := make([]int32, 2)
	check(b.CopyTo(s, got))
	b.Free()
	fmt.Println(ok, got)
	// Output: true [3 4]
}
