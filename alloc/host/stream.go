package host

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// A stream is a queue of operations and, while there is something in it, a
// goroutine that runs them.
type stream struct {
	handle    uintptr
	run       func() // the goroutine's function, made once
	capturing atomic.Bool
	taker     atomic.Pointer[taker] // its part in a capture, else nil
	now       op                    // that runs; the goroutine's

	mu     sync.Mutex
	queue  []op // a ring: n operations from first on
	first  int
	n      int
	active bool // somebody runs operations: the goroutine, or a caller in place of it
}

type kind uint8

const (
	opCopy    kind = iota // n bytes from src to dst
	opFill                // n times width bytes of pattern to dst
	opAside               // like opCopy, from memory that was put aside
	opRecord              // mark comes to pass
	opWait                // until mark has come to pass
	opCall                // fn(args)
	opProgram             // prog, from its operation n on
)

// An op is one operation. The pointers keep Go memory of a caller that waits
// alive; device memory the collector does not know.
type op struct {
	kind     kind
	width    uint8
	pattern  uint32
	n        int64
	dst, src unsafe.Pointer
	aside    []byte
	mark     *mark
	fn       func(Args)
	args     *launchArgs
	prog     *program
}

func (d *Device) newStream() *stream {
	s := &stream{queue: make([]op, 16)}
	s.run = func() { s.work(d) }
	s.handle = d.streams.add(s)
	return s
}

// enqueue puts o at the end of the queue and sees to it that somebody gets to it.
func (s *stream) enqueue(d *Device, o op) {
	if t := s.taker.Load(); t != nil && t.add(o) {
		return
	}
	s.mu.Lock()
	s.push(o)
	start := !s.active
	s.active = true
	s.mu.Unlock()
	if start {
		go s.run()
	}
}

// push adds o to the ring. s.mu is held.
func (s *stream) push(o op) {
	if s.n == len(s.queue) {
		larger := make([]op, 2*len(s.queue))
		for i := range s.n {
			larger[i] = s.queue[(s.first+i)%len(s.queue)]
		}
		s.queue, s.first = larger, 0
	}
	s.queue[(s.first+s.n)%len(s.queue)] = o
	s.n++
}

// begin lets the caller run one operation itself, in place of the goroutine, if all
// earlier ones have run. If it reports true, end must follow.
func (s *stream) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active {
		return false
	}
	s.active = true
	return true
}

// end hands what has come in since begin to the goroutine.
func (s *stream) end() {
	s.mu.Lock()
	s.active = s.n > 0
	start := s.active
	s.mu.Unlock()
	if start {
		go s.run()
	}
}

// work runs operations until there are none.
func (s *stream) work(d *Device) {
	finished := false
	defer func() {
		// A launched function may end its goroutine, as testing.T.FailNow does: the
		// stream goes on. If it panics the program ends.
		if finished {
			return
		}
		if r := recover(); r != nil {
			panic(r)
		}
		if s.now.kind == opProgram { // the rest of it comes first
			s.mu.Lock()
			s.push(op{}) // makes room
			s.first = (s.first + len(s.queue) - 1) % len(s.queue)
			s.queue[s.first] = s.now
			s.mu.Unlock()
		}
		go s.run()
	}()
	for {
		s.mu.Lock()
		if s.n == 0 {
			s.now, s.active = op{}, false
			s.mu.Unlock()
			finished = true
			return
		}
		s.now = s.queue[s.first]
		s.queue[s.first] = op{}
		s.first = (s.first + 1) % len(s.queue)
		s.n--
		s.mu.Unlock()
		s.now.execute(d)
	}
}

func (o *op) execute(d *Device) {
	switch o.kind {
	case opCopy:
		copy(unsafe.Slice((*byte)(o.dst), o.n), unsafe.Slice((*byte)(o.src), o.n))
	case opAside:
		copy(unsafe.Slice((*byte)(o.dst), o.n), o.aside)
		d.spares.put(o.aside)
	case opFill:
		fill(o.dst, o.pattern, int(o.width), o.n)
	case opRecord:
		o.mark.pass()
		o.mark.drop()
	case opWait:
		o.mark.wait()
		o.mark.drop()
	case opCall:
		a := o.args
		defer d.spares.putArgs(a)
		o.fn(Args{a.params})
	case opProgram:
		o.prog.run(d, &o.n)
	}
}

// fill writes n copies of a pattern.
func fill(dst unsafe.Pointer, pattern uint32, width int, n int64) {
	switch width {
	case 1:
		all := unsafe.Slice((*uint8)(dst), n)
		for i := range all {
			all[i] = uint8(pattern)
		}
	case 2:
		all := unsafe.Slice((*uint16)(dst), n)
		for i := range all {
			all[i] = uint16(pattern)
		}
	case 4:
		all := unsafe.Slice((*uint32)(dst), n)
		for i := range all {
			all[i] = pattern
		}
	}
}

var errNoStream = errors.New("host: no such stream")

// on returns the stream with handle h for an operation that no capture takes. If one is under way it returns
// the stream with the error.
func (d *Device) on(h uintptr) (*stream, error) {
	s := d.streams.get(h)
	switch {
	case s == nil:
		return nil, fmt.Errorf("%w: %d", errNoStream, h)
	case s.capturing.Load():
		return nil, fmt.Errorf("host: %w", alloc.ErrCapturing)
	case s.taker.Load() != nil:
		return s, fmt.Errorf("host: %w", alloc.ErrCapturing)
	}
	return s, nil
}

// DefaultStream returns the stream that is always there.
func (d *Device) DefaultStream() uintptr { return d.std.handle }

// NewStream makes a stream.
func (d *Device) NewStream() (uintptr, error) { return d.newStream().handle, nil }

// DestroyStream gives a stream up.
func (d *Device) DestroyStream(h uintptr) error {
	if h == d.std.handle {
		return errors.New("host: destroy stream: the default stream stays")
	}
	if d.streams.remove(h) == nil {
		return fmt.Errorf("%w: %d", errNoStream, h)
	}
	return nil
}

// AdoptStream accepts any stream of d.
func (d *Device) AdoptStream(h uintptr) error {
	_, err := d.on(h)
	return err
}

// Hold makes work that is enqueued on a stream from now on wait until release is
// called, once or more often. It is for tests that must see work waiting.
func (d *Device) Hold(h uintptr) (release func(), err error) {
	s, err := d.on(h)
	if err != nil {
		return nil, err
	}
	gate := make(chan struct{})
	s.enqueue(d, op{kind: opCall, fn: func(Args) { <-gate }, args: d.spares.getArgs()})
	return sync.OnceFunc(func() { close(gate) }), nil
}

// SetCapturing makes a stream behave as if somebody else captured it into a graph, or ends
// that. It is for testing programs that must cope with such.
func (d *Device) SetCapturing(h uintptr, on bool) error {
	s := d.streams.get(h)
	if s == nil {
		return fmt.Errorf("%w: %d", errNoStream, h)
	}
	s.capturing.Store(on)
	return nil
}

// Capturing reports whether SetCapturing said so, or a capture is under way.
func (d *Device) Capturing(h uintptr) (bool, error) {
	s := d.streams.get(h)
	if s == nil {
		return false, fmt.Errorf("%w: %d", errNoStream, h)
	}
	return s.capturing.Load() || s.taker.Load() != nil, nil
}

// Sync waits until everything on a stream has run.
func (d *Device) Sync(h uintptr) error {
	s, err := d.on(h)
	if err != nil {
		return err
	}
	if s.begin() { // it has
		s.end()
		return nil
	}
	m := d.marks.new(2)
	s.enqueue(d, op{kind: opRecord, mark: m})
	m.wait()
	m.drop()
	return nil
}

// Copy enqueues a copy.
func (d *Device) Copy(h uintptr, dst, src alloc.Ptr, n int64) error {
	s, err := d.takes(h)
	if err != nil {
		return err
	}
	s.enqueue(d, op{kind: opCopy, dst: pointer(uintptr(dst)), src: pointer(uintptr(src)), n: n})
	return nil
}

// Fill enqueues the writing of a pattern.
func (d *Device) Fill(h uintptr, dst alloc.Ptr, pattern uint32, width int, count int64) error {
	s, err := d.takes(h)
	if err != nil {
		return err
	}
	if width != 1 && width != 2 && width != 4 || int64(dst)%int64(width) != 0 {
		return fmt.Errorf("host: fill: pattern of %d bytes at %#x: %w", width, dst, alloc.ErrSize)
	}
	s.enqueue(d,
		op{kind: opFill, dst: pointer(uintptr(dst)), pattern: pattern, width: uint8(width), n: count})
	return nil
}

// Transfer enqueues a copy from or to page-locked memory, which is any memory here.
func (d *Device) Transfer(h uintptr, p alloc.Ptr, mem unsafe.Pointer, n int64, in bool) error {
	s, err := d.takes(h)
	if err != nil {
		return err
	}
	o := op{kind: opCopy, dst: pointer(uintptr(p)), src: mem, n: n}
	if !in {
		o.dst, o.src = o.src, o.dst
	}
	s.enqueue(d, o)
	return nil
}

// CopyIn copies at once if the stream has nothing else to do, puts the data aside if there is
// room, and waits for its turn otherwise.
func (d *Device) CopyIn(h uintptr, dst alloc.Ptr, src unsafe.Pointer, n int64) error {
	s, err := d.on(h)
	if err != nil {
		return err
	}
	if s.begin() {
		copy(unsafe.Slice((*byte)(pointer(uintptr(dst))), n), unsafe.Slice((*byte)(src), n))
		s.end()
		return nil
	}
	if aside := d.spares.get(n); aside != nil {
		copy(aside, unsafe.Slice((*byte)(src), n))
		s.enqueue(d, op{kind: opAside, dst: pointer(uintptr(dst)), aside: aside, n: n})
		return nil
	}
	d.enqueueAndWait(s, op{kind: opCopy, dst: pointer(uintptr(dst)), src: src, n: n})
	return nil
}

// CopyOut waits for its turn and copies.
func (d *Device) CopyOut(h uintptr, dst unsafe.Pointer, src alloc.Ptr, n int64) error {
	s, err := d.on(h)
	if err != nil {
		return err
	}
	if s.begin() {
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(pointer(uintptr(src))), n))
		s.end()
		return nil
	}
	d.enqueueAndWait(s, op{kind: opCopy, dst: dst, src: pointer(uintptr(src)), n: n})
	return nil
}

func (d *Device) enqueueAndWait(s *stream, o op) {
	m := d.marks.new(2)
	s.mu.Lock()
	s.push(o)
	s.push(op{kind: opRecord, mark: m})
	start := !s.active
	s.active = true
	s.mu.Unlock()
	if start {
		go s.run()
	}
	m.wait()
	m.drop()
}
