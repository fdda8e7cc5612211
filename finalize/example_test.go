package finalize_test

import (
	"fmt"
	"runtime"
	"time"

	"github.com/lastuse/lastuse/finalize"
)

// A handle owns foreign memory. Go puts small objects without pointers together and collects them late, so it
// has one.
type handle struct {
	ptr  uintptr
	next *handle
}

// What a dead owner leaves behind comes to the queue; an ordinary goroutine drains it.
func ExampleQueue() {
	var dead finalize.Queue[uintptr]
	func() {
		h := &handle{ptr: 0x1000}
		finalize.Arm(&dead, h, h.ptr)
	}() // h is forgotten
	for dead.Len() == 0 {
		finalize.Collect(time.Second)
	}
	dead.Drain(func(ptr uintptr) { fmt.Printf("free %#x\n", ptr) })
	// Output: free 0x1000
}

// Who frees by hand disarms the net first.
func ExampleNet() {
	var dead finalize.Queue[uintptr]
	h := &handle{ptr: 0x1000}
	net := finalize.Arm(&dead, h, h.ptr)
	net.Disarm()
	runtime.KeepAlive(h)
	finalize.Collect(time.Second)
	fmt.Println(dead.Len())
	// Output: 0
}

// A pacer says when foreign memory is short enough for a collection of the Go heap.
func ExamplePacer() {
	p := finalize.NewPacer(finalize.Options{})
	const gib = 1 << 30
	roomy := finalize.Pressure{Live: 1 * gib, Grow: gib / 8, Budget: 8 * gib, Made: 1 * gib}
	tight := finalize.Pressure{Live: 7 * gib, Grow: gib / 8, Budget: 8 * gib, Made: 7 * gib}
	fmt.Println(p.Decide(roomy), p.Decide(roomy).Collect())
	fmt.Println(p.Decide(tight).Collect())
	// Output:
	// calm false
	// true
}

// Off leaves the collector alone, except where a request would fail otherwise.
func ExampleOptions() {
	p := finalize.NewPacer(finalize.Options{Off: true})
	fmt.Println(p.Decide(finalize.Pressure{Live: 99, Grow: 1, Budget: 100, Made: 99}).Collect())
	// Output: false
}

// A decision has its reason.
func ExampleDecision() {
	fmt.Println(finalize.Exhausted, finalize.Exhausted.Collect())
	// Output: exhausted true
}

// Bytes that are live, asked for and to be had are all that a decision depends on.
func ExamplePressure() {
	p := finalize.NewPacer(finalize.Options{})
	fmt.Println(p.Decide(finalize.Pressure{Live: 10, Grow: 1, Budget: 100, Made: 10}))
	// Output: calm
}

func ExampleStats() {
	p := finalize.NewPacer(finalize.Options{})
	p.Decide(finalize.Pressure{Live: 10, Grow: 1, Budget: 100, Made: 10})
	st := p.Stats()
	fmt.Println(st.Asked, st.Calm, st.Runs)
	// Output: 1 1 0
}
