package alloc

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/custody"
	"github.com/lastuse/lastuse/internal/lockrank"
)

// An estate is what a pool has from its device: what must go back when the pool
// is closed, or when it is dropped without a Close. It leads to the device but
// neither to the pool nor to anything that leads there, so that it can be the
// argument of the pool's own cleanup; the late queue is here for the same reason.
type estate struct {
	dev     Device
	mapper  Mapper           // nil if the device does not map
	pinner  Pinner           // nil if the device does not pin
	grapher Grapher          // nil if the device makes no graphs
	custody custody.Observer // as the core's
	account *books.Account
	late    finalize.Queue[uint32] // headers that died
	unpin   finalize.Queue[uint32] // those of page-locked memory

	door    atomic.Uint64 // how many are inside, and the bits below: see enter
	settled chan struct{} // closed when settle is through

	mu      lockrank.Mutex[rankEstate] // held briefly, over no call of the device
	ranges  map[Ptr]*granules          // segments
	pinned  map[uintptr]hostMemory     // page-locked memory by address
	streams map[uintptr]bool           // to be waited for; true: and to be destroyed
	events  []uintptr                  // all that were ever made
	idle    []uintptr                  // those that stand for nothing now
	timed   []uintptr                  // and are timed
	adopted map[*adopted]struct{}
	execs   map[uintptr]struct{} // executables of graphs

	pinnedAccount *books.Account // nil if there never was page-locked memory
}

// newEstate returns the estate of a pool that has nothing yet.
func newEstate(dev Device, account *books.Account) *estate {
	e := &estate{
		dev:     dev,
		account: account,
		settled: make(chan struct{}),
		ranges:  make(map[Ptr]*granules),
		pinned:  make(map[uintptr]hostMemory),
		streams: make(map[uintptr]bool),
		adopted: make(map[*adopted]struct{}),
		execs:   make(map[uintptr]struct{}),
	}
	e.pinner, _ = dev.(Pinner)
	return e
}

// The bits of estate.door above the number of those who are inside.
const (
	doorClosed  = 1 << 61 // the pool is closed: who leaves last settles if nothing is live
	doorDropped = 1 << 62 // and nothing can be, whatever the books say
	doorGone    = 1 << 63 // somebody settles or has settled: nobody comes in
)

// enter reports whether the caller may work with what the pool has from its device: then that does
// not go back before he leaves. Whoever calls the device with a segment, a stream or an event of the
// pool is inside, unless he has pinned a buffer, which is live for as long. He may enter again before
// he leaves.
func (e *estate) enter() bool {
	if e.door.Add(1)&doorGone == 0 {
		return true
	}
	e.door.Add(^uint64(0))
	return false
}

// last ends what enter began, and reports whether the caller was the last one inside of a pool that is to
// be settled: then he has to do that, and nobody comes in any more. All work has been waited for. If that
// cannot be done the error says why, and who leaves next tries again.
func (e *estate) last() (bool, error) {
	d := e.door.Add(^uint64(0))
	if (d != doorClosed || e.account.Stats().LiveObjects > 0) && d != doorClosed|doorDropped ||
		!e.door.CompareAndSwap(d, d|doorGone) {
		return false, nil
	}
	if e.sync() {
		return true, nil
	}
	e.door.And(^uint64(doorGone))
	return false, fmt.Errorf("alloc: close: memory stays until Close is called again: %w", ErrCapturing)
}

// close says that the pool is closed, and waits until nobody but the caller is inside.
func (e *estate) close() {
	for d := e.door.Or(doorClosed); d&(doorClosed-1) > 1; d = e.door.Load() {
		runtime.Gosched()
		time.Sleep(20 * time.Microsecond)
	}
}

// gone reports whether everything goes back to the device, or has gone.
func (e *estate) gone() bool { return e.door.Load()&doorGone != 0 }

// drop gives everything back, page-locked memory too. The Pool has been found dead, and so have been all
// handles that lead to it.
func (e *estate) drop() {
	if e.custody != nil {
		e.custody.Dropped()
	}
	for e.enter() {
		e.door.Or(doorClosed | doorDropped)
		if last, _ := e.last(); last {
			_ = e.settle()
			break
		}
		time.Sleep(10 * time.Millisecond) // a stream is being captured, or somebody is inside
	}
	<-e.settled // by another goroutine, which may still be at work on what it got from the Pool
	e.mu.Lock()
	pinned := slices.Collect(maps.Keys(e.pinned))
	e.mu.Unlock()
	for _, p := range pinned {
		_ = e.unpinHost(p)
	}
}

// add notes a new segment.
func (e *estate) add(g *granules) {
	e.mu.Lock()
	e.ranges[g.base] = g
	e.mu.Unlock()
}

// addStream notes a stream, unless e has it already: then it reports false.
func (e *estate) addStream(h uintptr, wrapped bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, there := e.streams[h]
	if !there {
		e.streams[h] = !wrapped
	}
	return !there
}

// take removes x from one of the sets of e, and reports whether it was there: then it is the caller's to give
// back. What has been settled is in none of them.
func take[K comparable, V any](e *estate, set *map[K]V, x K) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, there := (*set)[x]
	delete(*set, x)
	return there
}

// takeEvent returns an event that stands for nothing, if there is one.
func (e *estate) takeEvent() (uintptr, bool) { return e.pop(&e.idle) }

// takeTimed is takeEvent for a timed one.
func (e *estate) takeTimed() (uintptr, bool) { return e.pop(&e.timed) }

func (e *estate) pop(list *[]uintptr) (uintptr, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(*list)
	if n == 0 {
		return 0, false
	}
	ev := (*list)[n-1]
	*list = (*list)[:n-1]
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

// putTimed is putEvent for a timed one.
func (e *estate) putTimed(ev uintptr) {
	e.mu.Lock()
	e.timed = append(e.timed, ev)
	e.mu.Unlock()
}

// giveBack unmaps and frees all of a segment.
func (e *estate) giveBack(g *granules) error {
	if !g.maps {
		err := e.dev.Free(g.base, g.size)
		e.account.AddReserved(-g.size)
		return err
	}
	var errs []error
	for _, x := range g.mapped() {
		errs = append(errs, e.mapper.Unmap(Ptr(x.P), x.N))
		e.account.AddReserved(-x.N)
	}
	return errors.Join(append(errs, e.mapper.Unreserve(g.base, g.size))...)
}

// sync waits for the work on all streams, and reports whether it could: not for one that is being captured,
// whose earlier work may still be running. What else goes wrong is the streams' owners' to hear.
func (e *estate) sync() bool {
	e.mu.Lock()
	all := []uintptr{e.dev.DefaultStream()}
	all = slices.AppendSeq(all, maps.Keys(e.streams))
	e.mu.Unlock()
	over := true
	for _, h := range all {
		err := e.dev.Sync(h)
		if err != nil {
			// Only whether the work is over matters here, so a device that may have meant something
			// else is asked again.
			err = e.dev.Sync(h)
		}
		over = over && !errors.Is(err, ErrCapturing)
	}
	return over
}

// settle gives everything back but page-locked memory, which its handles still lead to. Whom last has told so
// calls it, once.
func (e *estate) settle() error {
	defer close(e.settled)
	e.mu.Lock()
	streams, events, adopted, ranges, execs := e.streams, e.events, e.adopted, e.ranges, e.execs
	e.streams, e.events, e.idle, e.timed, e.adopted, e.ranges, e.execs = nil, nil, nil, nil, nil, nil, nil
	e.mu.Unlock()

	var errs []error
	for x := range execs {
		errs = append(errs, e.grapher.DestroyExec(x))
	}
	for s, ours := range streams {
		if ours {
			errs = append(errs, e.dev.DestroyStream(s))
		}
	}
	for _, ev := range events {
		errs = append(errs, e.dev.DestroyEvent(ev))
	}
	for a := range adopted {
		e.account.AddReserved(-a.size)
		a.release()
	}
	for _, g := range ranges {
		errs = append(errs, e.giveBack(g))
	}
	e.account.Close()
	return errors.Join(errs...)
}
