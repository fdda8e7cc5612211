package alloctest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// A Late is a device with the memory of another one and streams of its own, which run nothing until somebody
// must see it done: a Sync, an event that is waited for, a copy out. Then as little runs as the order of
// streams and events wants. So memory that changes hands too early is overwritten, and not only could be. A
// Query answers no at random, also for work that has run; whoever is told yes, or has waited, is told yes
// from then on. All work runs on the goroutine that waits, so a program of one goroutine does the same each
// time.
//
//	late, err := alloctest.NewLate(dev, seed)   // dev's memory is the host's
//	pool, err := alloc.NewPool(alloctest.Ordered(t, late), …)
//	err = late.Launch(s, func(p []alloc.Param) { … }, b.Arg())
//
// Work whose memory has been given back, or moved, in the meantime does not run: it is a fault, and
// [Late.Faults] has it.
type Late struct {
	dev    alloc.Device
	mapper alloc.Mapper
	pinner alloc.Pinner

	mu      sync.Mutex
	opened  sync.Cond // of a hold
	rand    *rand.Rand
	coy     int // one Query in so many is told yes
	streams map[uintptr]*lateStream
	events  map[uintptr]*lateEvent
	last    uintptr // handle that was given out
	graphs  map[uintptr]*lateTaking
	execs   map[uintptr]*lateExec
	// branches are the queues of launches that may not have run.
	branches []*lateStream
	faults   []error
}

// lateDefault is the handle of the stream that is always there.
const lateDefault = 1

// A lateStream is a queue. Its work is numbered from 1 on.
type lateStream struct {
	handle uintptr
	queue  []*lateWork
	ran    uint64 // what has run
	told   uint64 // what somebody has been told to be over

	captured bool        // see Late.SetCapturing
	member   *lateMember // of a capture of its own, or nil
}

// A lateMark is the work of a stream up to a number.
type lateMark struct {
	stream *lateStream
	number uint64
}

// A lateEvent stands for a mark, or for nothing before it is recorded.
type lateEvent struct {
	mark  *lateMark
	place *latePlace // in a capture
}

// lateWork is one thing to do: run, or wait for a mark, or for somebody to let it pass.
type lateWork struct {
	what  string
	run   func()
	after *lateMark
	from  *latePlace // in a capture: what it waits for
	lost  string     // of an executable: what has taken its memory away
	held  bool
	bytes [][2]uintptr // that it touches
}

// NewLate returns a Late on the memory of dev, which must be the host's. The seed decides the answers of
// queries.
func NewLate(dev alloc.Device, seed uint64) *Late {
	l := &Late{
		dev:     dev,
		rand:    rand.New(rand.NewPCG(seed, 1)),
		streams: make(map[uintptr]*lateStream),
		events:  make(map[uintptr]*lateEvent),
		last:    lateDefault,
		graphs:  make(map[uintptr]*lateTaking),
		execs:   make(map[uintptr]*lateExec),
	}
	l.coy = 1 << (1 + l.rand.IntN(8)) // those who never ask again see work that lies far behind
	l.opened.L = &l.mu
	l.streams[lateDefault] = &lateStream{handle: lateDefault}
	l.mapper, _ = dev.(alloc.Mapper)
	l.pinner, _ = dev.(alloc.Pinner)
	return l
}

// Faults returns what has gone wrong that no contents show.
func (l *Late) Faults() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.faults...)
}

var errNoHandle = errors.New("alloctest: late: no such handle")

// on returns a stream. l.mu is held.
func (l *Late) on(s uintptr) (*lateStream, error) {
	if st := l.streams[s]; st != nil {
		return st, nil
	}
	return nil, fmt.Errorf("%w: stream %d", errNoHandle, s)
}

// running is on for what a stream that is being captured refuses. l.mu is held.
func (l *Late) running(s uintptr) (*lateStream, error) {
	st, err := l.on(s)
	if err == nil && (st.captured || st.member != nil) {
		return nil, fmt.Errorf("alloctest: late: stream %d: %w", s, alloc.ErrCapturing)
	}
	return st, err
}

// tiesIn notes that the order of streams is asked for with one that is being captured: elsewhere that makes
// the other one a part of the capture. l.mu is held.
func (l *Late) tiesIn(what string, err error) {
	if errors.Is(err, alloc.ErrCapturing) {
		l.faults = append(l.faults, fmt.Errorf("alloctest: late: %s: %w", what, err))
	}
}

// end returns how much work st has been given.
func (st *lateStream) end() uint64 { return st.ran + uint64(len(st.queue)) }

// run runs work of st up to number n, and what must come before it. Without wait it stops at what is held
// back, and reports false. l.mu is held.
func (l *Late) run(st *lateStream, n uint64, wait bool) bool {
	for st.ran < n {
		w := st.queue[0]
		if w.held {
			if !wait {
				return false
			}
			l.opened.Wait()
			continue
		}
		if m := w.after; m != nil {
			if !l.run(m.stream, m.number, wait) {
				return false
			}
			if st.ran >= n || st.queue[0] != w {
				continue // somebody else has run it while this goroutine waited
			}
		}
		st.queue, st.ran = st.queue[1:], st.ran+1
		if w.run != nil {
			w.run()
		}
	}
	return true
}

// finish runs work up to m, and notes that somebody knows. l.mu is held.
func (l *Late) finish(m *lateMark) {
	l.run(m.stream, m.number, true)
	m.stream.told = max(m.stream.told, m.number)
}

// takes is running, but for streams in a capture of their own. l.mu is held.
func (l *Late) takes(s uintptr) (*lateStream, error) {
	if st, err := l.on(s); err == nil && st.member != nil {
		return st, nil
	}
	return l.running(s)
}

// enqueue gives work to a stream, or to the capture that it is in.
func (l *Late) enqueue(s uintptr, w *lateWork) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.takes(s)
	switch {
	case err != nil:
	case st.member != nil:
		st.member.queue = append(st.member.queue, w)
	default:
		st.queue = append(st.queue, w)
	}
	return err
}

// refuses returns an error if a stream is being captured.
func (l *Late) refuses(s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.running(s)
	return err
}

// gone drops work that touches memory that goes away. It reports whether there was any.
func (l *Late) gone(what string, p uintptr, size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	any := false
	touches := func(x [2]uintptr) bool { return x[0] < p+uintptr(size) && p < x[1] }
	for _, st := range slices.AppendSeq(slices.Clone(l.branches), maps.Values(l.streams)) {
		for _, w := range st.queue {
			if w.run != nil && slices.ContainsFunc(w.bytes, touches) {
				w.run, any = nil, true
				l.faults = append(l.faults,
					fmt.Errorf("alloctest: late: %s of %d bytes at %#x before the %s on "+
						"stream %d that touches them", what, size, p, w.what, st.handle))
			}
		}
	}
	for _, x := range l.execs {
		for _, m := range x.taking.members {
			for _, w := range m.queue {
				if slices.ContainsFunc(w.bytes, touches) {
					w.lost = what
				}
			}
		}
	}
	return any
}

// Launch enqueues f on s, a stream of a pool that is on l or on a device around it. f gets its memory from
// its parameters, and must not use the pool or the device.
func (l *Late) Launch(s *alloc.Stream, f func([]alloc.Param), args ...alloc.Arg) error {
	params, err := s.Begin(nil, args...)
	if err != nil {
		return err
	}
	defer s.End(args...)
	w := &lateWork{what: "launch", run: func() { f(params) }}
	for i := range params {
		if p := &params[i]; !p.IsScalar() && p.Size > 0 {
			w.bytes = append(w.bytes, rangeOf(uintptr(p.Ptr), p.Size))
		}
	}
	return l.enqueue(s.LaunchHandle(), w)
}

// Hold makes work that is enqueued on s from now on wait until release is called.
func (l *Late) Hold(s uintptr) (release func(), err error) {
	if err := l.refuses(s); err != nil {
		return nil, err
	}
	w := &lateWork{held: true}
	if err := l.enqueue(s, w); err != nil {
		return nil, err
	}
	return func() {
		l.mu.Lock()
		w.held = false
		l.opened.Broadcast()
		l.mu.Unlock()
	}, nil
}

// bytesAt returns n bytes of the host's memory.
func bytesAt(p uintptr, n int64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

// rangeOf returns [p, p+n) for lateWork.bytes.
func rangeOf(p uintptr, n int64) [2]uintptr { return [2]uintptr{p, p + uintptr(n)} }

// CopyIn enqueues a copy of what src holds now.
func (l *Late) CopyIn(s uintptr, dst alloc.Ptr, src unsafe.Pointer, n int64) error {
	if err := l.refuses(s); err != nil {
		return err
	}
	data := slices.Clone(unsafe.Slice((*byte)(src), n))
	return l.enqueue(s, &lateWork{
		what:  "copy in",
		run:   func() { copy(bytesAt(uintptr(dst), n), data) },
		bytes: [][2]uintptr{rangeOf(uintptr(dst), n)},
	})
}

// CopyOut runs all work of the stream.
func (l *Late) CopyOut(s uintptr, dst unsafe.Pointer, src alloc.Ptr, n int64) error {
	if err := l.Sync(s); err != nil {
		return err
	}
	copy(unsafe.Slice((*byte)(dst), n), bytesAt(uintptr(src), n))
	return nil
}

// Copy enqueues a copy.
func (l *Late) Copy(s uintptr, dst, src alloc.Ptr, n int64) error {
	return l.enqueue(s, &lateWork{
		what:  "copy",
		run:   func() { copy(bytesAt(uintptr(dst), n), bytesAt(uintptr(src), n)) },
		bytes: [][2]uintptr{rangeOf(uintptr(dst), n), rangeOf(uintptr(src), n)},
	})
}

// Fill enqueues the writing of a pattern.
func (l *Late) Fill(s uintptr, dst alloc.Ptr, pattern uint32, width int, count int64) error {
	if width != 1 && width != 2 && width != 4 || int64(dst)%int64(width) != 0 {
		return fmt.Errorf("alloctest: late: fill: pattern of %d bytes at %#x: %w", width, dst, alloc.ErrSize)
	}
	n := count * int64(width)
	return l.enqueue(s, &lateWork{
		what: "fill",
		run: func() {
			all := bytesAt(uintptr(dst), n)
			for i := range min(width, len(all)) {
				all[i] = byte(pattern >> (8 * i))
			}
			for done := width; done < len(all); done *= 2 {
				copy(all[done:], all[:done])
			}
		},
		bytes: [][2]uintptr{rangeOf(uintptr(dst), n)},
	})
}
