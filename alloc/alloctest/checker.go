package alloctest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/lastuse/lastuse/alloc"
)

// An Order is a device that passes its calls on to another one and checks that memory changes hands in order:
// whatever its former owner did to a byte is over before the next one does anything. It works around any
// device, a GPU too: it looks at no memory.
//
//	dev := alloctest.Ordered(t, gpu)            // in a test: a finding fails it
//	pool, err := alloc.NewPool(dev, …)          // the pool finds out, and tells dev whose each block is
//
// It keeps, for each range of bytes, the latest work of each stream on it, and vector clocks of what comes
// before what (see clock). An event that is recorded carries what its stream knows; a wait for it, a Query
// that says yes, SyncEvent and Sync hand that on. A Query that says no tells nothing, an error neither. Only
// such explicit order counts: that the default stream of some devices waits for others by itself is nothing
// to rely on.
//
// A finding is
//
//   - a buffer made on a stream while work of a former owner is not ordered before that stream, or is just
//     being enqueued;
//   - work with memory, on any stream, that is not ordered behind the work of a former owner;
//   - memory that is unmapped, moved or freed while the host does not know all work on it to be over;
//   - memory that is given to two buffers, or is not there, or is given back while it is a buffer's.
//
// It judges hand-overs, not races inside one owner. Memory that is registered stays its program's, whatever
// streams read and write it, until it is unregistered: that is judged like a free. And a program that uses a
// buffer on a stream that has not waited for the one it was made on is found out only where that makes a
// difference to the former owner. Work is what the device is told to do with the memory; what a buffer's pins
// enclose (launches); and, on a stream that [alloc.Buffer.Ptr] was told of, anything until the Free. What
// foreign code does on streams that the pool was not told of is out of reach.
//
// The checker takes part in what it watches, but not in its order: it adds no wait. Work counts as enqueued
// from the return of the call on, and an event as recorded before it is asked for, so calls of several
// goroutines that overlap are taken for as little order as they may have been.
type Order struct {
	dev      alloc.Device
	mapper   alloc.Mapper
	pinner   alloc.Pinner
	capturer alloc.Capturer
	adopter  alloc.StreamAdopter
	grapher  alloc.Grapher
	report   func(*Finding)

	mu      sync.Mutex // held over no call of the device
	streams threads
	events  map[uintptr]*event
	graphs  map[uintptr]*taking
	execs   map[uintptr]*launching
	mem     ranges
	found   []*Finding
	missed  int // findings beyond maxFindings
}

// An event carries what its stream knew when it was recorded.
type event struct {
	clock  clock
	number uint64 // of the recording
}

// maxFindings is how many findings are reported: one fault leads to many.
const maxFindings = 16

// NewOrder returns an Order around dev that calls report with each finding, the first ones at least. The
// report must not call the device or a pool: it may be made in the middle of a Make.
func NewOrder(dev alloc.Device, report func(*Finding)) *Order {
	o := &Order{
		dev:     dev,
		report:  report,
		events:  make(map[uintptr]*event),
		graphs:  make(map[uintptr]*taking),
		execs:   make(map[uintptr]*launching),
		streams: threads{byHandle: make(map[uintptr]*thread)},
	}
	o.mapper, _ = dev.(alloc.Mapper)
	o.pinner, _ = dev.(alloc.Pinner)
	o.capturer, _ = dev.(alloc.Capturer)
	o.adopter, _ = dev.(alloc.StreamAdopter)
	o.grapher, _ = dev.(alloc.Grapher)
	return o
}

// Ordered returns an Order around dev that fails tb with each finding.
func Ordered(tb testing.TB, dev alloc.Device) *Order {
	return NewOrder(dev, Fail(tb))
}

// Fail returns a report for [NewOrder] that fails tb.
func Fail(tb testing.TB) func(*Finding) {
	var mu sync.Mutex
	over := false
	tb.Cleanup(func() {
		mu.Lock()
		over = true
		mu.Unlock()
	})
	return func(f *Finding) {
		mu.Lock()
		defer mu.Unlock()
		if !over { // what the collector finds later has no test to fail
			tb.Errorf("%v", f)
		}
	}
}

// Unwrap returns the device behind o.
func (o *Order) Unwrap() alloc.Device { return o.dev }

// Findings returns what has been found so far, the first ones, and how many there were.
func (o *Order) Findings() ([]*Finding, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*Finding(nil), o.found...), len(o.found) + o.missed
}

// Err returns the first finding, or nil.
func (o *Order) Err() error {
	found, n := o.Findings()
	if n == 0 {
		return nil
	}
	return fmt.Errorf("alloctest: order: %d findings, first: %w", n, found[0])
}

// find reports f. o.mu is held.
func (o *Order) find(f *Finding) {
	if len(o.found) == maxFindings {
		o.missed++
		return
	}
	o.found = append(o.found, f)
	o.report(f)
}
