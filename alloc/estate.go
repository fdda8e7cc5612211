package alloc

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/tracker"
)

// An estate is what a pool has from its device: what must go back when the pool
// is closed, or when it is dropped without a Close. It leads to the device but
// neither to the pool nor to anything that leads there, so that it can be the
// argument of the pool's own cleanup; the late queue is here for the same reason.
type estate struct {
	dev     Device
	mapper  Mapper // nil if the device does not map
	pinner  Pinner // nil if the device does not pin
	account *tracker.Account
	late    finalize.Queue[uint32]      // headers that died
	unpin   finalize.Queue[*pinnedHost] // pinned memory whose handle died

	mu      sync.Mutex        // held briefly, over no call of the device
	ranges  map[Ptr]*granules // segments
	pinned  map[*pinnedHost]struct{}
	streams map[uintptr]struct{} // to be destroyed
	wrapped map[uintptr]struct{} // not to be destroyed, but waited for
	events  []uintptr            // all that were ever made
	idle    []uintptr            // those that stand for nothing now
	adopted map[*adopted]struct{}
	gone    bool // given back
}

// add notes a new segment. It reports false if the pool is gone.
func (e *estate) add(g *granules) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.gone {
		e.ranges[g.base] = g
	}
	return !e.gone
}

// takeEvent returns an event that stands for nothing, if there is one.
func (e *estate) takeEvent() (uintptr, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.idle)
	if n == 0 {
		return 0, false
	}
	ev := e.idle[n-1]
	e.idle = e.idle[:n-1]
	return ev, true
}

// addEvent notes a new event, which is in use.
func (e *estate) addEvent(ev uintptr) {
	e.mu.Lock()
	e.events = append(e.events, ev)
	e.mu.Unlock()
}

// putEvent notes that an event stands for nothing any more. It may run on a goroutine of
// the collector's.
func (e *estate) putEvent(ev uintptr) {
	e.mu.Lock()
	e.idle = append(e.idle, ev)
	e.mu.Unlock()
}

// granules says which granules of a segment are mapped. Where the device does not map,
// bits is nil and all of the segment is memory.
type granules struct {
	base Ptr
	size int64 // bytes
	unit int64 // bytes

	mu   sync.Mutex
	bits []uint64
}

// set notes that [p, p+size) has been mapped, or unmapped.
func (g *granules) set(p Ptr, size int64, mapped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := int64(p-g.base) / g.unit
	for i, end := first, first+size/g.unit; i < end; {
		n := min(end-i, 64-i%64) // in one word
		mask := (^uint64(0) >> (64 - n)) << (i % 64)
		if mapped {
			g.bits[i/64] |= mask
		} else {
			g.bits[i/64] &^= mask
		}
		i += n
	}
}

// mapped returns how many bytes are.
func (g *granules) mapped() int64 {
	if g.bits == nil {
		return g.size
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, w := range g.bits {
		n += bits.OnesCount64(w)
	}
	return int64(n) * g.unit
}

// giveBack unmaps and frees all of a segment.
func (e *estate) giveBack(g *granules) error {
	var errs []error
	size := g.mapped()
	if g.bits == nil {
		errs = append(errs, e.dev.Free(g.base, g.size))
	} else {
		n := int64(len(g.bits)) * 64
		for i := int64(0); i < n; {
			if w := g.bits[i/64] >> (i % 64); w&1 == 0 {
				i += int64(min(bits.TrailingZeros64(w), 64-int(i%64)))
				continue
			}
			j := i
			for j < n && g.bits[j/64]>>(j%64)&1 != 0 {
				j++
			}
			errs = append(errs, e.mapper.Unmap(g.base+Ptr(i*g.unit), (j-i)*g.unit))
			i = j
		}
		errs = append(errs, e.mapper.Unreserve(g.base, g.size))
	}
	e.account.AddReserved(-size)
	return errors.Join(errs...)
}

// settle gives everything back. Nobody has a buffer, a stream or the pool any more. It
// waits for the work that is still queued.
func (e *estate) settle() error {
	e.mu.Lock()
	if e.gone {
		e.mu.Unlock()
		return nil
	}
	e.gone = true
	e.mu.Unlock()

	var errs []error
	for s := range e.streams {
		if e.dev.Sync(s) != nil {
			// Its error was the user's to hear. Here it matters only that the work is over,
			// so a device that may have meant something else is asked again.
			e.dev.Sync(s)
		}
		errs = append(errs, e.dev.DestroyStream(s))
	}
	for s := range e.wrapped {
		e.dev.Sync(s)
	}
	e.dev.Sync(e.dev.DefaultStream())
	for _, ev := range e.events {
		errs = append(errs, e.dev.DestroyEvent(ev))
	}
	for a := range e.adopted {
		e.account.AddReserved(-a.size)
		a.release()
	}
	for p := range e.pinned {
		errs = append(errs, e.pinner.FreeHost(p.ptr, p.size))
	}
	for _, g := range e.ranges {
		errs = append(errs, e.giveBack(g))
	}
	e.streams, e.wrapped, e.events, e.adopted, e.pinned, e.ranges = nil, nil, nil, nil, nil, nil
	e.account.Close()
	return errors.Join(errs...)
}
