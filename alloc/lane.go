package alloc

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A lane is what the pool keeps of a stream: its heaps, and how far the device has come
// with its work. A closed stream leaves its lane, memory included, to the next new one.
//
// How far it has come is counted in events. The pool numbers the events it records
// on a stream; epoch is the number of the latest. A Free stamps its block with
// the epoch, so the block's work is complete once an event with a number above the
// stamp is. The number is taken before the event is recorded: a Free that sees the
// old epoch has come before the event. Events are recorded when somebody asks
// about a stamp, one for however many frees there were; a Free costs one load.
type lane struct {
	core  *core
	index int    // among the lanes of the pool
	bit   uint64 // 1 << index%64: lanes with the same bit are taken for one another, on the safe side
	heap  *heap  // the first one

	all    atomic.Pointer[[]*heap] // all of them; the slice is never written again
	wide   atomic.Bool             // there is more than one
	misses atomic.Uint32           // times that a Make found its heap locked

	epoch   atomic.Uint64 // number of the latest event
	done    atomic.Uint64 // events up to this number are known to be complete
	exposed atomic.Bool   // others have the handle and may capture the stream

	mu       sync.Mutex // held over calls that record and query, never over ones that wait
	handle   uintptr    // written while no stream has the lane
	open     bool       // a stream has the lane
	recorded uint64     // highest number that really has an event
	marks    []*mark    // recorded and not known to be complete, oldest first
	after    map[*lane]uint64
	failed   error // of a call that has no result of its own; Sync returns it
}

// A mark is a numbered event on a lane.
type mark struct {
	number uint64
	event  uintptr
	users  int  // waiting for it, without the lane's lock
	gone   bool // not in marks any more
}

// complete reports whether the work behind a stamp is known to have run.
func (l *lane) complete(stamp uint64) bool { return l.done.Load() > stamp }

// raise notes that events up to number n are complete.
func (l *lane) raise(n uint64) {
	for {
		old := l.done.Load()
		if n <= old || l.done.CompareAndSwap(old, n) {
			return
		}
	}
}

// look asks the device how far l has come, recording an event first if none
// stands above stamp yet. It never waits. It reports whether the work behind stamp
// is complete. No lock of a heap is held.
func (l *lane) look(stamp uint64) bool {
	if l.complete(stamp) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		return l.complete(stamp)
	}
	if l.capturing() {
		return false
	}
	if l.recorded <= stamp {
		if l.record() != nil {
			return false
		}
	}
	l.poll()
	return l.complete(stamp)
}

// record puts a numbered event on the stream. l.mu is held.
func (l *lane) record() error {
	c := l.core
	e, err := c.event()
	if err != nil {
		return err
	}
	n := l.epoch.Add(1)
	c.calls.Add(1)
	if err := c.dev.Record(e, l.handle); err != nil {
		c.putEvent(e)
		return err
	}
	l.recorded = n
	l.marks = append(l.marks, &mark{number: n, event: e})
	return nil
}

// poll takes note of the events that have come to pass. An event that cannot be queried
// counts as not complete. l.mu is held.
func (l *lane) poll() {
	i := 0
	for ; i < len(l.marks); i++ {
		m := l.marks[i]
		if l.done.Load() < m.number {
			l.core.calls.Add(1)
			if done, err := l.core.dev.Query(m.event); err != nil || !done {
				break
			}
			l.raise(m.number)
		}
		m.gone = true
		if m.users == 0 {
			l.core.putEvent(m.event)
		}
	}
	l.marks = l.marks[:copy(l.marks, l.marks[i:])]
}

// await waits until the work behind stamp has run. No lock is held.
func (l *lane) await(stamp uint64) error {
	if l.look(stamp) {
		return nil
	}
	l.mu.Lock()
	var m *mark
	for _, k := range l.marks {
		if k.number > stamp {
			m = k
			break
		}
	}
	if m == nil { // under capture, or the device did not record
		l.mu.Unlock()
		return errNotObservable
	}
	m.users++
	l.mu.Unlock()

	l.core.calls.Add(1)
	err := l.core.dev.SyncEvent(m.event)

	l.mu.Lock()
	if err == nil {
		l.raise(m.number)
	}
	if m.users--; m.users == 0 && m.gone {
		l.core.putEvent(m.event)
	}
	l.mu.Unlock()
	return err
}

// sync waits for everything on the stream.
func (l *lane) sync() error {
	n := l.epoch.Add(1) // a number without an event: frees so far lie below it
	l.core.calls.Add(1)
	if err := l.core.dev.Sync(l.handle); err != nil {
		return err
	}
	l.raise(n)
	return nil
}

// fail keeps an error for the next sync.
func (l *lane) fail(err error) {
	l.mu.Lock()
	if l.failed == nil {
		l.failed = err
	}
	l.mu.Unlock()
}

// failure returns and forgets what fail kept.
func (l *lane) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.failed
	l.failed = nil
	return err
}

// over reports whether l is closed and all its work has run.
func (l *lane) over() bool { return l.done.Load() == math.MaxUint64 }

// isOpen reports whether a stream has the lane.
func (l *lane) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// follow makes later work on l run after what t has now. A closed stream has nothing more to wait
// for, unless its Close failed to wait: then its owner may have destroyed it, and nobody can.
func (l *lane) follow(t *lane) error {
	if l == t {
		return nil
	}
	c := l.core
	e, err := c.event()
	if err != nil {
		return err
	}
	defer c.putEvent(e) // waiting for it is enqueued: it may stand for something else
	t.mu.Lock()
	if !t.open {
		over := t.over()
		t.mu.Unlock()
		if over {
			return nil
		}
		return errNotObservable
	}
	n := t.epoch.Add(1) // like sync's
	c.calls.Add(1)
	err = c.dev.Record(e, t.handle)
	t.mu.Unlock()
	if err != nil {
		return err
	}
	c.calls.Add(1)
	if err := c.dev.Wait(l.handle, e); err != nil {
		return err
	}
	l.mu.Lock()
	if l.after == nil {
		l.after = make(map[*lane]uint64)
	}
	l.after[t] = max(l.after[t], n)
	l.mu.Unlock()
	return nil
}

// follows returns the number of the event of t that l's later work runs after.
func (l *lane) follows(t *lane) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.after[t]
}

// capturing reports whether the stream is being captured, as far as can be known. If the device cannot say,
// what is wrong with it the call that asks will meet itself. It costs nothing while nobody else has the handle.
func (l *lane) capturing() bool {
	c := l.core
	if c.capturer == nil || !l.exposed.Load() {
		return false
	}
	on, err := c.capturer.Capturing(l.handle)
	return on || errors.Is(err, ErrCapturing)
}

// meetings is how often a Make must have found its heap locked before its stream
// gets more of them.
const meetings = 32

// contended returns a locked heap of the lane after hp was found locked.
func (l *lane) contended(hp *heap) *heap {
	if n := l.misses.Add(1); n%meetings == 0 {
		l.widen()
	}
	all := *l.all.Load()
	first := max(slices.Index(all, hp), 0) // not all who come here should go on to the same one
	for i := 1; i < len(all); i++ {
		if other := all[(first+i)%len(all)]; other.mu.TryLock() {
			return other
		}
	}
	hp.mu.Lock()
	return hp
}

// widen doubles the number of heaps, up to one for each processor.
func (l *lane) widen() {
	c := l.core
	c.mu.Lock()
	defer c.mu.Unlock()
	all := *l.all.Load()
	if len(all) >= runtime.GOMAXPROCS(0) {
		return
	}
	wide := append([]*heap(nil), all...)
	for range all {
		wide = append(wide, c.newHeap(l))
	}
	l.all.Store(&wide)
	l.wide.Store(true)
}

// pick returns the heap that the calling goroutine should try first. Where several goroutines
// meet, each processor has its own, so that they only meet if one is stopped in the middle. Where
// the processor is not known, the goroutines are told apart by the address of a local variable,
// as they run on stacks of their own.
func (l *lane) pick() *heap {
	if !l.wide.Load() {
		return l.heap
	}
	all := *l.all.Load()
	if n := cpu(); n >= 0 {
		return all[n%len(all)]
	}
	var here byte
	h := uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9e3779b97f4a7c15
	return all[(h>>32)*uint64(len(all))>>32]
}
