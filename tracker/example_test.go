package tracker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// Memory that a C library made is told to the tracker when it is made and before it is freed.
func Example() {
	books := tracker.New(tracker.Options{})

	const mat = uintptr(0x7f0000001000)      // as C.newMat() returned it
	books.Alloc(mat, 4<<20)                  // after it was made
	fmt.Println(books.Bytes(), "bytes live") // also in Go's own terms: books.Stats()
	fmt.Println(books.Free(mat))             // before C.freeMat(mat)
	fmt.Println(books.Bytes(), "bytes live")

	// Output:
	// 4194304 bytes live
	// <nil>
	// 0 bytes live
}

func ExampleTracker_Stats() {
	books := tracker.New(tracker.Options{})
	books.Alloc(0x1000, 3<<20)
	books.Alloc(0x2000, 1<<20)
	_ = books.Free(0x2000)
	fmt.Println(books.Stats())

	// Output:
	// live 3.0 MiB in 1, peak 4.0 MiB, total 4.0 MiB in 2, freed 1, late 0
}

// At rate 1 every call stack is taken, and the figures of sites are exact.
func ExampleOptions() {
	books := tracker.New(tracker.Options{Rate: 1})
	books.Alloc(0x1000, 1<<20)
	for _, s := range books.Sites() {
		fmt.Println(s.LiveObjects, s.LiveBytes, len(s.Frames) > 0)
	}

	// Output:
	// 1 1048576 true
}

// A site is a call stack with what it made and what of that is live.
func ExampleSite() {
	books := tracker.New(tracker.Options{Rate: 1})
	for i := range 3 {
		books.Alloc(uintptr(i+1)<<12, 4096)
	}
	_ = books.Free(0x1000)
	s := books.Sites()[0]
	fmt.Println(s.AllocObjects, "made,", s.LiveObjects, "live:", s.LiveBytes, "bytes")

	// Output:
	// 3 made, 2 live: 8192 bytes
}

// Frames are innermost first.
func ExampleFrame() {
	books := tracker.New(tracker.Options{Rate: 1})
	books.Alloc(0x1000, 4096)
	f := books.Sites()[0].Frames[0]
	fmt.Println(f.Function, f.Line > 0)

	// Output:
	// github.com/lastuse/lastuse/tracker_test.ExampleFrame true
}

// A site's number names it in the markers that memwatch reads.
func ExampleSiteID() {
	books := tracker.New(tracker.Options{Rate: 1})
	books.Alloc(0x1000, 4096)
	id := books.Sites()[0].ID
	fmt.Println(books.SiteOf(id).AllocBytes)

	// Output:
	// 4096
}

// A second free says where the memory was made and freed first.
func ExampleFreeError() {
	books := tracker.New(tracker.Options{History: 10})
	books.Alloc(0x1000, 4096)
	_ = books.Free(0x1000)
	err := books.Free(0x1000)
	var twice *tracker.FreeError
	fmt.Println(errors.Is(err, tracker.ErrDoubleFree), errors.As(err, &twice) && twice.Size == 4096)

	// Output:
	// true true
}

// A history has the last events with their stacks.
func ExampleEvent() {
	books := tracker.New(tracker.Options{History: 10})
	books.Alloc(0x1000, 4096)
	_ = books.Free(0x1000)
	for _, e := range books.History() {
		fmt.Println(e.Kind, e.Size, e.Account)
	}

	// Output:
	// made 4096 foreign
	// freed 4096 foreign
}

// Totals are kept by account: a device's, and foreign for memory of others.
func ExampleStats() {
	books := tracker.New(tracker.Options{})
	books.Alloc(0x1000, 3<<20)
	for _, a := range books.Stats().Accounts {
		fmt.Println(a.Name, a.Live, a.LiveObjects)
	}

	// Output:
	// foreign 3145728 1
}

// An account has what one device gave out, or what others made.
func ExampleAccountStats() {
	books := tracker.New(tracker.Options{})
	books.Alloc(0x1000, 3<<20)
	_ = books.Free(0x1000)
	a := books.Stats().Accounts[0]
	fmt.Println(a.Name, a.Foreign, a.Made, a.Freed, a.Peak)

	// Output:
	// foreign true 1 1 3145728
}

// An event is a buffer that was made, freed, or found by the collector.
func ExampleKind() {
	books := tracker.New(tracker.Options{History: 10})
	books.Alloc(0x1000, 4096)
	fmt.Println(books.History()[0].Kind == tracker.Made, tracker.Late)

	// Output:
	// true late
}

// The report as JSON has the segments of all pools.
func ExampleSegment() {
	for _, s := range segments() {
		fmt.Println(s.Account, s.Size>>20, "MiB in", len(s.Blocks), "blocks")
	}

	// Output:
	// host 2 MiB in 2 blocks
}

// A block of a segment is live, pending or idle.
func ExampleBlock() {
	for _, b := range segments()[0].Blocks {
		fmt.Println(b.Offset>>10, b.Size>>10, b.State)
	}

	// Output:
	// 0 256 live
	// 256 1792 idle
}

// segments returns those of a pool that has one live buffer.
func segments() []tracker.Segment {
	books := tracker.New(tracker.Options{})
	dev, err := host.Open(host.Options{})
	check(err)
	pool, err := alloc.NewPool(dev, alloc.Options{Tracker: books})
	check(err)
	b, err := alloc.Make[byte](pool.DefaultStream(), 256<<10)
	check(err)
	var text bytes.Buffer
	check(books.WriteJSON(&text))
	var report struct{ Segments []tracker.Segment }
	check(json.Unmarshal(text.Bytes(), &report))
	b.Free()
	check(pool.Close())
	return report.Segments
}

// check ends an example that went wrong.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The page of a server shows what is live, by call site.
func ExampleServer() {
	server, err := tracker.New(tracker.Options{}).Serve("localhost:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(server.URL(), "http://127.0.0.1:"))
	fmt.Println(server.Close())

	// Output:
	// true
	// <nil>
}

// In a test Check fails it if memory is live at its end.
func ExampleTB() {
	books := tracker.New(tracker.Options{Rate: 1})
	books.Alloc(0x1000, 4096)
	t := &failures{} // in a test: t
	tracker.Check(t, books)
	fmt.Println(t.n)

	// Output:
	// 1
}

// failures counts.
type failures struct{ n int }

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }
