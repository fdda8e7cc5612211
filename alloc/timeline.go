package alloc

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/internal/lockrank"
)

// A timeline says how far the device has come with the work of a stream. It is counted in events.
// The pool numbers the events it records on a stream; epoch is the number of the latest. A Free takes
// the epoch as its stamp, so the work before it is complete once an event with a higher number is. The
// number is taken before the event is recorded: a Free that sees the old epoch has come before the
// event. Events are recorded when somebody asks about a stamp, one for however many frees there were; a
// Free costs one load.
type timeline struct {
	core  *core
	heap  *heap  // of the same stream; constant
	index int    // among the timelines of the pool
	bit   uint64 // 1 << index%64: timelines with the same bit are taken for one another, on the safe side

	epoch   atomic.Uint64 // number of the latest event
	done    atomic.Uint64 // events up to this number are known to be complete
	exposed atomic.Bool   // others have the handle and may capture the stream
	seized  atomic.Bool   // the pool captures it

	mu       lockrank.Mutex[rankTimeline] // held over calls that record and query, never over ones that wait
	handle   uintptr                      // written while no stream has the timeline
	open     bool                         // a stream has it
	visitors int                          // see visit
	leaving  bool                         // the stream is being closed
	recorded uint64                       // highest number that really has an event
	marks    []*mark                      // recorded and not known to be complete, oldest first
	failed   error                        // of a call that has no result of its own; Sync returns it

	afterMu lockrank.Mutex[rankAfter] // held over nothing
	after   map[*timeline]uint64      // by timeline, the number of the event that later work here runs after
}

// A stamp is a point on a timeline: all work that was enqueued on the stream before it. It says whose
// number it has, so that the numbers of two streams are never compared. The zero stamp has no work
// before it.
type stamp struct {
	line   *timeline
	number uint64
}

// now returns the stamp of what is freed at this moment.
func (t *timeline) now() stamp { return stamp{t, t.epoch.Load()} }

// complete reports whether the work before s is known to have run.
func (s stamp) complete() bool { return s.line == nil || s.line.done.Load() > s.number }

// orders reports whether what is enqueued on t from now on runs after the work before s: because that
// is t's own, because it has run, or because t has been made to wait for it. It is the one rule by
// which memory goes from one stream to another.
func (t *timeline) orders(s stamp) bool {
	return s.line == t || s.complete() || t.follows(s.line) > s.number
}

// later returns the later one of two stamps of one timeline.
func (s stamp) later(o stamp) stamp {
	if o.number > s.number {
		return o
	}
	return s
}

// latest adds s to stamps of which each timeline has one, its latest.
func latest(all []stamp, s stamp) []stamp {
	i := slices.IndexFunc(all, func(x stamp) bool { return x.line == s.line })
	if i < 0 {
		return append(all, s)
	}
	all[i] = all[i].later(s)
	return all
}

// A mark is a numbered event on a timeline.
type mark struct {
	number uint64
	event  uintptr
	users  int  // waiting for it, without the timeline's lock
	gone   bool // not in marks any more
}

// raise notes that events up to number n are complete.
func (t *timeline) raise(n uint64) {
	for old := t.done.Load(); n > old && !t.done.CompareAndSwap(old, n); {
		old = t.done.Load()
	}
}

// look asks the device whether the work before s has run, recording an event first if none stands above
// s yet. It never waits. No lock of the pool's memory is held.
func (s stamp) look() bool {
	if s.complete() {
		return true
	}
	t := s.line
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open || t.capturing() {
		return s.complete()
	}
	if t.recorded <= s.number && t.record() != nil {
		return false
	}
	t.poll()
	return s.complete()
}

// record puts a numbered event on the stream. t.mu is held.
func (t *timeline) record() error {
	c := t.core
	e, err := c.event()
	if err != nil {
		return err
	}
	n := t.epoch.Add(1)
	c.calls.Add(1)
	if err := c.dev.Record(e, t.handle); err != nil {
		c.estate.putEvent(e)
		return err
	}
	t.recorded = n
	t.marks = append(t.marks, &mark{number: n, event: e})
	return nil
}

// poll takes note of the events that have come to pass. An event that cannot be queried counts as not
// complete. t.mu is held.
func (t *timeline) poll() {
	i := 0
	for ; i < len(t.marks); i++ {
		m := t.marks[i]
		if t.done.Load() < m.number {
			t.core.calls.Add(1)
			if done, err := t.core.dev.Query(m.event); err != nil || !done {
				break
			}
			t.raise(m.number)
		}
		m.gone = true
		if m.users == 0 {
			t.core.estate.putEvent(m.event)
		}
	}
	t.marks = t.marks[:copy(t.marks, t.marks[i:])]
}

// await waits until the work before s has run. No lock is held.
func (s stamp) await() error {
	if s.look() {
		return nil
	}
	t := s.line
	t.mu.Lock()
	var m *mark
	for _, k := range t.marks {
		if k.number > s.number {
			m = k
			break
		}
	}
	if m == nil { // under capture, or the device did not record
		t.mu.Unlock()
		return errNotObservable
	}
	m.users++
	t.mu.Unlock()

	t.core.calls.Add(1)
	err := t.core.dev.SyncEvent(m.event)

	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.raise(m.number)
	}
	if m.users--; m.users == 0 && m.gone {
		t.core.estate.putEvent(m.event)
	}
	return err
}

// sync waits for everything on the stream.
func (t *timeline) sync() error {
	n := t.epoch.Add(1) // a number without an event: frees so far lie below it
	t.core.calls.Add(1)
	if err := t.core.dev.Sync(t.handle); err != nil {
		return err
	}
	t.raise(n)
	return nil
}

// fail keeps an error for the next sync.
func (t *timeline) fail(err error) {
	t.mu.Lock()
	if t.failed == nil {
		t.failed = err
	}
	t.mu.Unlock()
}

// failure returns and forgets what fail kept.
func (t *timeline) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.failed
	t.failed = nil
	return err
}

// over reports whether the stream is closed and all its work has run.
func (t *timeline) over() bool { return t.done.Load() == math.MaxUint64 }

// visit lets somebody enqueue work on the stream who does not own it, or wait for it, until left. It reports
// false if the stream is closed, or about to be.
func (t *timeline) visit() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open || t.leaving {
		return false
	}
	t.visitors++
	return true
}

// left ends what visit began.
func (t *timeline) left() {
	t.mu.Lock()
	t.visitors--
	t.mu.Unlock()
}

// leave begins to close the stream: nobody may visit it any more, and what visitors have enqueued is there.
func (t *timeline) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.leaving = true; t.visitors > 0; {
		t.mu.Unlock()
		runtime.Gosched()
		time.Sleep(20 * time.Microsecond)
		t.mu.Lock()
	}
}

// begin gives the timeline to the stream with handle h. What was freed on it so far is complete: whoever
// had it before has waited for his work.
func (t *timeline) begin(h uintptr, exposed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handle, t.open, t.leaving = h, true, false
	t.recorded = t.epoch.Add(1)
	t.done.Store(t.recorded)
	t.exposed.Store(exposed)
}

// end takes the timeline from its stream. If it is not known that the stream's work is over, what was
// freed on it stays out of reach until the pool is closed.
func (t *timeline) end(over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = false
	if over {
		t.done.Store(math.MaxUint64) // and nothing more will be enqueued
		t.poll()                     // the events stand for nothing now
	}
	t.afterMu.Lock()
	clear(t.after)
	t.afterMu.Unlock()
}

// seize begins a capture of the stream by the pool: nobody asks the device about it from now on. It reports
// false if the stream is being captured or closed.
func (t *timeline) seize() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open || t.leaving || t.capturing() {
		return false
	}
	t.seized.Store(true)
	return true
}

// behind records an event that stands for what t has been given so far, and returns it with its number. Who
// has waited for it, or has enqueued that, puts it back. A closed stream has nothing more to wait for: then
// the event is 0. But if its Close failed to wait its owner may have destroyed it, and nobody can.
func (t *timeline) behind() (e uintptr, number uint64, err error) {
	c := t.core
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.open && t.over():
		return 0, 0, nil
	case !t.open:
		return 0, 0, errNotObservable
	case t.capturing():
		return 0, 0, ErrCapturing // the event would be the graph's
	}
	if e, err = c.event(); err != nil {
		return 0, 0, err
	}
	number = t.epoch.Add(1) // like sync's
	c.calls.Add(1)
	if err := c.dev.Record(e, t.handle); err != nil {
		c.estate.putEvent(e)
		return 0, 0, err
	}
	return e, number, nil
}

// follow makes later work on t run after what u has now.
func (t *timeline) follow(u *timeline) error {
	if t == u {
		return nil
	}
	c := t.core
	e, n, err := u.behind()
	if err != nil || e == 0 {
		return err
	}
	defer c.estate.putEvent(e)
	if t.capturing() {
		return ErrCapturing // the wait would be the graph's, and both streams be captured
	}
	c.calls.Add(1)
	if err := c.dev.Wait(t.handle, e); err != nil {
		return err
	}
	t.afterMu.Lock()
	defer t.afterMu.Unlock()
	if t.after == nil {
		t.after = make(map[*timeline]uint64)
	}
	t.after[u] = max(t.after[u], n)
	return nil
}

// follows returns the number of the event of u that t's later work runs after.
func (t *timeline) follows(u *timeline) uint64 {
	t.afterMu.Lock()
	defer t.afterMu.Unlock()
	return t.after[u]
}

// capturing reports whether the stream is being captured, as far as can be known. If the device cannot say,
// the call that asks will meet itself what is wrong with it. It costs nothing while nobody else has the
// handle.
func (t *timeline) capturing() bool {
	c := t.core
	if t.seized.Load() {
		return true
	}
	if c.capturer == nil || !t.exposed.Load() {
		return false
	}
	on, err := c.capturer.Capturing(t.handle)
	return on || errors.Is(err, ErrCapturing)
}
