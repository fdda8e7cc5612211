package alloc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/finalize"
)

// A Stream is a queue of work on the device: what is enqueued on it runs in order.
// Memory made on a stream may be used on it at once, and on another stream t after
// t.Wait(s). All methods may be called from any goroutine. Close a stream that is no
// longer used; the pool closes those that are left.
type Stream struct {
	pool    *Pool
	core    *core
	heap    *heap
	late    *finalize.Queue[uint32]
	wrapped bool

	// careful is not 0 if a Make must look closer before it starts.
	careful atomic.Uint32
	closed  atomic.Bool
	capture atomic.Pointer[member] // the stream's part in a capture of the pool's, else nil
}

// Why a Make must look closer: bits of Stream.careful.
const (
	carefulPool     = 1 << iota // Check mode, a history, a trace, or somebody observes the pool
	carefulClosed               // the stream is closed
	carefulExposed              // others may capture it
	carefulCaptured             // the pool does
)

// member returns the stream's part in a capture of the pool's, or nil.
func (s *Stream) member() *member {
	if s.careful.Load()&carefulCaptured == 0 {
		return nil
	}
	return s.capture.Load()
}

// Pool returns the pool that s belongs to, or nil for a nil Stream.
//
//lastuse:effect recv borrowed
func (s *Stream) Pool() *Pool {
	if s == nil {
		return nil
	}
	return s.pool
}

// none reports whether there is no stream at all: s is nil, or no pool has made it.
func (s *Stream) none() bool { return s == nil || s.heap == nil }

// Handle returns the device's handle of s, for foreign code that enqueues work. From
// then on the pool must reckon with others capturing the stream into a graph.
//
//lastuse:effect recv borrowed
func (s *Stream) Handle() uintptr {
	if s.none() {
		panic(fmt.Errorf("alloc: handle: %w", errNoStream))
	}
	s.heap.line.exposed.Store(true)
	if s.core.capturer != nil {
		s.careful.Or(carefulExposed)
	}
	return s.heap.line.handle
}

// open returns an error if s or its pool is closed, or if there is no stream.
func (s *Stream) open() error {
	switch {
	case s.none():
		return errNoStream
	case s.careful.Load() == 0:
		return nil
	case s.core.closed.Load():
		return errPoolClosed
	case s.closed.Load():
		return errStreamClosed
	}
	return nil
}

// ready is like open, and also returns an error while s is being captured by others.
func (s *Stream) ready() error {
	if s.none() {
		return errNoStream
	}
	if s.careful.Load() == 0 {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if s.member() != nil {
		return nil
	}
	if s.heap.line.capturing() {
		return errByOthers
	}
	return nil
}

// Wait makes work that is enqueued on s from now on run after all that t has been given
// so far. It does not block. Trouble of the device surfaces in [Stream.Sync]. The two may be of different
// pools, on one device or on two of one kind in this process ([CrossWaiter]). Wait panics if one is closed,
// and with [ErrForeign] if their devices know nothing of each other.
//
//lastuse:effect recv borrowed, arg t borrowed
func (s *Stream) Wait(t *Stream) {
	if s.none() || t.none() {
		panic(fmt.Errorf("alloc: wait: %w", errNoStream))
	}
	if s == t {
		return
	}
	for _, x := range []*Stream{s, t} {
		if x.closed.Load() {
			panic(fmt.Errorf("alloc: wait: %w", errStreamClosed))
		}
	}
	if s.core != t.core {
		s.WaitEvent(t.Record()) // no memory goes from one pool to the other
		return
	}
	if m, n := s.member(), t.member(); m != nil || n != nil {
		waitCaptured(s, m, n)
		return
	}
	if !s.core.estate.enter() {
		panic(fmt.Errorf("alloc: wait: %w", errStreamClosed))
	}
	defer s.core.leave()
	err := s.heap.line.follow(&t.heap.line)
	if err != nil && !errors.Is(err, ErrCapturing) {
		// Without the event the order can still be had the slow way.
		if err2 := t.heap.line.sync(); err2 != nil {
			err = errors.Join(err, err2)
		} else {
			err = nil
		}
	}
	if err != nil {
		s.heap.line.fail(fmt.Errorf("alloc: wait: %w", err))
	}
}

// Sync blocks until all work on s has run, and returns the first error of that
// work, if any.
//
//lastuse:effect recv borrowed
func (s *Stream) Sync() error {
	if s.none() {
		return fmt.Errorf("alloc: sync: %w", errNoStream)
	}
	if !s.core.estate.enter() {
		return fmt.Errorf("alloc: sync: %w", errStreamClosed)
	}
	defer s.core.leave()
	open, err := s.wait()
	if !open {
		return fmt.Errorf("alloc: sync: %w", errStreamClosed)
	}
	s.core.settleAll()
	s.core.unregister()
	s.core.reap()
	if keep := s.core.options.Keep; keep > 0 {
		s.core.trim(keep)
	}
	if err != nil {
		return fmt.Errorf("alloc: sync: %w", err)
	}
	return nil
}

// wait waits for the work on s, and Close for wait. It reports false if s is closed.
func (s *Stream) wait() (open bool, err error) {
	l := &s.heap.line
	if !l.visit() {
		return false, nil
	}
	defer l.left()
	if s.closed.Load() { // l may be another stream's by now
		return false, nil
	}
	if s.member() != nil {
		return true, errInCapture
	}
	err = l.sync()
	if errors.Is(err, ErrCapturing) {
		err = errByOthers
	}
	return true, errors.Join(err, l.failure())
}

// SyncContext is like [Stream.Sync], but gives up when ctx is done, with the error of
// ctx. The work goes on, and so may a goroutine that waits for it, as no device can be told to stop
// waiting; [Stream.Close] waits for that one too.
//
//lastuse:effect recv borrowed, arg ctx borrowed
func (s *Stream) SyncContext(ctx context.Context) error {
	if s.none() {
		return fmt.Errorf("alloc: sync: %w", errNoStream)
	}
	e := s.Record()
	for pause := 10 * time.Microsecond; !e.Query() && !e.failed(); pause = min(2*pause, time.Millisecond) {
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("alloc: sync: %w", context.Cause(ctx))
		case <-t.C:
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("alloc: sync: %w", context.Cause(ctx))
	}
	// Only Sync hears of everything that went wrong. It returns at once, unless others have given s more
	// to do meanwhile, or there was no event to be had.
	done := make(chan error, 1)
	go func() { done <- s.Sync() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("alloc: sync: %w", context.Cause(ctx))
	}
}

// Close waits for the work on s and gives the stream up. Nobody may use it meanwhile. Buffers made on it stay
// good and are used on other streams from now on; what is idle can serve any stream. Closing again does
// nothing. The pool's default stream is closed with the pool only. If the device cannot wait, the stream and
// what it has used stay as they are until the pool is closed.
func (s *Stream) Close() error {
	if s.none() {
		return fmt.Errorf("alloc: close stream: %w", errNoStream)
	}
	c := s.core
	if s == s.pool.std && !c.closed.Load() || !c.estate.enter() {
		return nil
	}
	defer c.leave()
	c.mu.Lock()
	captured := s.member() != nil
	open := !captured && s.shut()
	c.mu.Unlock()
	switch {
	case captured:
		return fmt.Errorf("alloc: close stream: %w", errInCapture)
	case !open:
		return nil
	}
	return s.close()
}

// shut lets nobody use s any more who asks from now on. It reports false if s was shut before.
func (s *Stream) shut() bool {
	s.careful.Or(carefulClosed)
	return !s.closed.Swap(true)
}

// close is the rest of Close, for whoever has shut s. The caller is inside.
func (s *Stream) close() error {
	c, l := s.core, &s.heap.line
	l.leave()
	err := l.sync()
	if err != nil {
		err = l.sync() // whether the work has run matters more than one failure
	}
	over := err == nil
	err = errors.Join(err, l.failure())
	l.end(over)
	if c.custody != nil && over {
		c.custody.Closed(l.handle)
	}
	// A stream whose work may not have run stays with the device until the pool closes: the device
	// gives the handle of one that is gone to the next, and nobody could ask about this one any more. The
	// pool's Close leaves all of them until nobody can be using one.
	if over && !c.closed.Load() {
		if take(c.estate, &c.estate.streams, l.handle) && !s.wrapped {
			c.calls.Add(1)
			err = errors.Join(err, c.dev.DestroyStream(l.handle))
		}
	}
	c.mu.Lock()
	delete(c.streams, s)
	if s != s.pool.std && over {
		c.spare = append(c.spare, s.heap)
	}
	c.mu.Unlock()
	c.settleAll()
	if err != nil {
		return fmt.Errorf("alloc: close stream: %w", err)
	}
	return nil
}

// An Event stands for what a stream had been given when it was recorded. The zero Event
// is done. An Event may be copied; its device event is used again once no copy is left.
type Event struct{ rec *eventRecord }

type eventRecord struct {
	core   *core
	pool   *Pool
	event  uintptr
	err    atomic.Pointer[error]
	noMore atomic.Bool // seen done
	inside *point      // of the capture that it was recorded in, else nil

	untimed error // why Sub cannot ask about it; nil if it can
}

// Record returns an event that stands for the work that s has been given so far. An error
// of the device surfaces in [Event.Sync]. If s is closed its work has run, so the event is done; its
// Sync says that s is closed all the same.
//
//lastuse:effect recv borrowed
func (s *Stream) Record() Event { return s.record(false) }

// record is Record, or RecordTimed.
func (s *Stream) record(timed bool) Event {
	if s.none() {
		panic(fmt.Errorf("alloc: record: %w", errNoStream))
	}
	r := &eventRecord{core: s.core, pool: s.pool, untimed: errUntimed}
	if timed {
		r.untimed = nil
	}
	if !s.core.estate.enter() {
		r.close()
		return Event{r}
	}
	defer s.core.leave()
	if err := s.ready(); err != nil {
		if r.fail(err); errors.Is(err, ErrClosed) {
			r.close()
		}
		return Event{r}
	}
	if m := s.member(); m != nil {
		err := errInCapture // whatever is asked of it but WaitEvent
		if !timed {
			if failed := m.record(r); failed != nil {
				err = failed
			}
		}
		r.fail(err)
		return Event{r}
	}
	take, put := s.core.event, s.core.estate.putEvent
	if timed {
		take, put = s.core.timedEvent, s.core.estate.putTimed
	}
	e, err := take()
	if timed && errors.Is(err, errors.ErrUnsupported) {
		r.untimed = fmt.Errorf("%s: %w", s.core.dev.Name(), err)
		put = s.core.estate.putEvent
		e, err = s.core.event()
	}
	if err != nil {
		r.fail(err)
		return Event{r}
	}
	s.core.calls.Add(1)
	if err := s.core.dev.Record(e, s.heap.line.handle); err != nil {
		put(e)
		r.fail(err)
		return Event{r}
	}
	r.event = e
	// The pool is dropped no earlier than the event, which leads to it.
	runtime.AddCleanup(r, put, e)
	return Event{r}
}

func (r *eventRecord) fail(err error) { r.err.CompareAndSwap(nil, &err) }

// close says that there is no stream any more. Close has waited for the work, so whoever asks again and
// again need not go on.
func (r *eventRecord) close() {
	r.fail(errStreamClosed)
	r.noMore.Store(true)
}

// over reports whether the work is known to have run: the pool may have been closed, and have waited for all
// of it. If it is not, and there is no error either, the caller is inside: see estate.enter.
func (r *eventRecord) over() (over bool, err error) {
	if r == nil || r.noMore.Load() {
		return true, nil
	}
	if err := r.err.Load(); err != nil {
		return false, *err
	}
	if !r.core.estate.enter() {
		r.noMore.Store(true)
		return true, nil
	}
	return false, nil
}

func (e Event) failed() bool { return e.rec != nil && e.rec.err.Load() != nil }

// Query reports whether the work has run. It does not block. If the device cannot tell
// it reports false, now and later, and Sync says why: who asks in a loop calls Sync at some point, or
// [Stream.SyncContext] instead.
func (e Event) Query() bool {
	r := e.rec
	if over, err := r.over(); over || err != nil {
		return over
	}
	defer r.core.leave()
	r.core.calls.Add(1)
	done, err := r.core.dev.Query(r.event)
	runtime.KeepAlive(r)
	if err != nil {
		r.fail(err)
		return false
	}
	if done {
		r.noMore.Store(true)
	}
	return done
}

// Sync blocks until the work has run.
func (e Event) Sync() error {
	r := e.rec
	if r == nil {
		return nil
	}
	if err := r.err.Load(); err != nil {
		return fmt.Errorf("alloc: event: %w", *err)
	}
	over, err := r.over()
	if over {
		return nil
	}
	if err == nil {
		defer r.core.leave()
		r.core.calls.Add(1)
		err = r.core.dev.SyncEvent(r.event)
	}
	runtime.KeepAlive(r)
	if err != nil {
		r.fail(err)
		return fmt.Errorf("alloc: event: %w", err)
	}
	r.noMore.Store(true)
	return nil
}

// WaitEvent makes work that is enqueued on s from now on run after the work that e
// stands for. It does not block. Trouble of the device surfaces in [Stream.Sync]. The event may be of
// another pool, as a stream of [Stream.Wait] may.
//
//lastuse:effect recv borrowed, arg e borrowed
func (s *Stream) WaitEvent(e Event) {
	if s.none() {
		panic(fmt.Errorf("alloc: wait event: %w", errNoStream))
	}
	r, m := e.rec, s.member()
	if r != nil && r.inside != nil || m != nil {
		s.waitInside(m, r)
		return
	}
	over, err := r.over()
	if over {
		return
	}
	if err == nil {
		defer r.core.leave()
	}
	wait := s.core.waiter(r.core)
	switch {
	case wait == nil:
		panic(errOtherKind)
	case s.closed.Load() || !s.core.estate.enter():
		panic(fmt.Errorf("alloc: wait event: %w", errStreamClosed))
	}
	defer s.core.leave()
	switch {
	case err != nil:
	case s.heap.line.capturing():
		err = errByOthers
	default:
		s.core.calls.Add(1)
		err = wait(s.heap.line.handle, r.event)
	}
	if errors.Is(err, ErrForeign) {
		panic(errOtherKind)
	}
	if err != nil {
		s.heap.line.fail(fmt.Errorf("alloc: wait event: %w", err))
	}
	runtime.KeepAlive(r)
}

// waiter returns what makes a stream of c wait for an event of o, which may be another pool's; nil: nothing
// does.
func (c *core) waiter(o *core) func(s, e uintptr) error {
	if c == o || c.dev == o.dev {
		return c.dev.Wait
	}
	if d, ok := c.dev.(CrossWaiter); ok {
		return func(s, e uintptr) error { return d.WaitAcross(s, o.dev, e) }
	}
	return nil
}
