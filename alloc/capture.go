package alloc

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// A capture is one run of the function of a [Stream.Capture] or a [Graph.Update], and what it leads to.
//
// Its streams are its members: the origin, which it began with, and those that have joined by waiting for
// one. What is enqueued on them runs later, so the device cannot be asked how far it is; what comes before
// what is known from the waits alone. Each member counts the points at which another one was made to wait for
// it, and knows of every other up to which of its points the work comes before its own.
type capture struct {
	core   *core
	op     string // for errors
	origin *Stream
	memory *graphMemory

	// What follows is under memory.mu.
	members []*member
	spans   []span // of the memory, by address
	made    []made // buffers that the function has made
	names   names
	over    bool  // the capture has ended
	stray   bool  // a member may have been given something that runs at once
	err     error // the first thing that cannot be captured
	graph   uintptr
}

// A member is a stream in a capture. Its numbers are under memory.mu.
type member struct {
	capture *capture
	stream  *Stream
	index   int
	taken   bool     // the device captures what it is given
	count   uint64   // of the next point
	work    uint64   // count when it was given work last
	knows   []uint64 // by member: its work of lower points comes before what this one is given now
}

// made is a buffer that the function has made. It keeps the collector from finding it dead meanwhile.
type made struct {
	header *header
	gen    uint64
	block  *block
}

// A point is what a member has been given up to a wait for it, or an event recorded on it.
type point struct {
	member *member
	number uint64
	knows  []uint64
}

var (
	errOutside = errors.New("a captured stream waits for work outside of the capture: Wait before Capture")
	errDefault = errors.New("the default stream cannot be captured: use a stream of NewStream")
)

// captureInto runs f while what s and the streams that join it are given is captured, on memory, and ends the
// capture. If the error is nil the capture has a graph; else nothing is left of it but its memory. The caller
// is inside.
func (s *Stream) captureInto(memory *graphMemory, op string, f func() error) (*capture, error) {
	c := s.core
	k := &capture{core: c, op: op, origin: s, memory: memory}
	k.spans = memory.layout()
	k.members = []*member{{capture: k, stream: s}}
	if err := k.claim(k.members[0]); err != nil {
		return nil, fmt.Errorf("alloc: %s: %w", op, err)
	}
	c.calls.Add(1)
	if err := c.grapher.BeginCapture(s.heap.line.handle); err != nil {
		k.release(k.members[0])
		return nil, fmt.Errorf("alloc: %s: %w", op, err)
	}
	k.members[0].take()
	returned := false
	defer func() {
		if !returned { // f has panicked or ended its goroutine, and goes on doing so
			_ = k.end(nil, true)
		}
	}()
	err := f()
	returned = true
	if err := k.end(err, false); err != nil {
		return nil, fmt.Errorf("alloc: %s: %w", op, err)
	}
	return k, nil
}

// claim makes m's stream a member of its capture.
func (k *capture) claim(m *member) error {
	s, c := m.stream, k.core
	if s == s.pool.std || s.heap.line.handle == c.dev.DefaultStream() {
		return errDefault
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed.Load():
		return errPoolClosed
	case s.closed.Load():
		return errStreamClosed
	case !s.heap.line.seize():
		return fmt.Errorf("%w already: Capture when that has ended", ErrCapturing)
	}
	c.graphs.captured.Add(1)
	s.capture.Store(m)
	s.careful.Or(carefulCaptured)
	return nil
}

// release ends what claim began.
func (k *capture) release(members ...*member) {
	c := k.core
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range members {
		s := m.stream
		if s.capture.Load() != m { // it could not be claimed, or has been released
			continue
		}
		s.careful.And(^uint32(carefulCaptured))
		s.capture.Store(nil)
		s.heap.line.seized.Store(false)
		c.graphs.captured.Add(-1)
	}
}

// end ends the capture behind its function, which returned err, or with broken did not return. The error says
// why there is no graph.
func (k *capture) end(err error, broken bool) error {
	c := k.core
	k.ending()
	if err == nil && !broken {
		err = k.joined()
	}
	c.calls.Add(1)
	graph, ended := c.grapher.EndCapture(k.origin.heap.line.handle)
	k.memory.mu.Lock()
	members := k.members
	k.memory.mu.Unlock()
	k.release(members...)
	k.memory.name()
	k.memory.mu.Lock()
	k.over = true
	if k.stray {
		for _, m := range k.members {
			k.names.usedOn(m.stream.heap)
			k.memory.users |= m.stream.heap.line.bit
		}
	}
	if k.err != nil && (err == nil || errors.Is(err, ErrCapturing)) {
		err = k.err // what went wrong first says more
	}
	k.memory.mu.Unlock()
	if err == nil {
		err = ended
	}
	if err != nil || broken {
		if graph != 0 {
			_ = c.grapher.DestroyGraph(graph)
		}
		k.discard()
		return err
	}
	k.graph = graph
	k.names.settle()
	return nil
}

// take notes that the device captures what m is given from now on.
func (m *member) take() {
	m.capture.memory.mu.Lock()
	m.taken = true
	m.capture.memory.mu.Unlock()
}

// ending notes that what the members are given from now on may be captured, and may run at once; and so may
// what others have in their hands.
func (k *capture) ending() {
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	for _, m := range k.members {
		m.taken = false
	}
	k.stray = k.stray || k.names.inHands() ||
		slices.ContainsFunc(k.made, func(x made) bool { return x.header.word.Load()&pinMask != 0 })
}

// worked notes that m is given work. memory.mu is held.
func (m *member) worked() {
	m.work = m.count
	m.capture.stray = m.capture.stray || !m.taken
}

// discard ends the buffers that the function has made, and lets go of what it has named.
func (k *capture) discard() {
	k.memory.mu.Lock()
	all := k.made
	k.made = nil
	k.memory.mu.Unlock()
	for _, x := range all {
		if x.header.word.Load()>>pinBits == x.gen {
			x.header.free(x.gen)
		}
	}
	k.names.letGo(k.core, 0)
}

// forget ends a capture that came to something of which nothing can be made.
func (k *capture) forget() {
	c := k.core
	_ = c.grapher.DestroyGraph(k.graph)
	k.discard()
}

// fail notes what cannot be captured; the function's end says so.
func (k *capture) fail(err error) {
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	if k.err == nil {
		k.err = err
	}
}

// joined returns an error if a member has work that the origin does not wait for.
func (k *capture) joined() error {
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	for _, m := range k.members[1:] {
		if k.members[0].knowsOf(m) <= m.work {
			return fmt.Errorf("work on stream %d of the %d that joined is not waited for: "+
				"Wait for it on the captured stream before the function returns", m.index, len(k.members)-1)
		}
	}
	return nil
}

// use notes that work on m's stream is given p, whose block is pinned: memory of the capture's own, or that
// of a buffer outside, which the graph names from now on.
func (m *member) use(p part) {
	k, b := m.capture, p.header.block
	g := &k.core.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	m.worked()
	switch in := b.inner; {
	case k.over:
		b.usedOn(m.stream.heap)
	case in != nil && in.memory == k.memory && in.run == k:
		in.use(m)
	case k.names.add(named{header: p.header, gen: p.gen, block: b, heap: b.heap()}):
		g.hold(b)
	}
}

// make is Make on m's stream, of size bytes, which are more than 0.
func (m *member) make(typ any, size int64) (*header, uint64, error) {
	k, s, c := m.capture, m.stream, m.capture.core
	if err := c.checkElem("make", typ); err != nil {
		return nil, 0, err
	}
	size = (size + unit - 1) &^ (unit - 1)
	b := &block{size: size, state: stateInner, stamp: stamp{line: &s.heap.line}}
	b.inner = &inner{run: k, memory: k.memory}
	b.inner.use(m) // who has it next comes behind those that m came behind
	for {
		placed, err := k.place(m, b)
		if placed {
			break
		}
		if err == nil {
			err = k.memory.grow(s, size)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("alloc: make %s in a graph: %w", sizeText(size), err)
		}
		k.extend()
	}
	hp := s.heap
	hp.mu.Lock()
	h := hp.headerFor(s.pool, b)
	hp.mu.Unlock()
	gen := h.word.Load() >> pinBits
	k.memory.mu.Lock()
	over := k.over
	k.made = append(k.made, made{h, gen, b})
	k.memory.mu.Unlock()
	if over {
		h.free(gen)
		return nil, 0, fmt.Errorf("alloc: make: %w", errEnded)
	}
	return h, gen, nil
}

// usePinned notes that work on m's stream is given the page-locked block b, which is pinned: the graph keeps
// it pinned.
func (m *member) usePinned(b *pinnedBlock, gen uint64) {
	k := m.capture
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	m.worked()
	if k.over {
		b.usedOn(&m.stream.heap.line)
	} else if k.names.addPinned(namedPinned{heap: k.core.pinned.Load(), block: b, gen: gen}) {
		b.word.Add(1)
	}
}

// copyIn copies n bytes of Go memory at mem to ptr, whenever the graph is launched, as they are now: from
// page-locked memory that only the graph keeps.
func (m *member) copyIn(ptr Ptr, mem unsafe.Pointer, n int64) error {
	s, c := m.stream, m.capture.core
	if _, ok := c.dev.(Transferer); !ok {
		return fmt.Errorf("a copy from Go memory in a capture on %s: copy before Capture: %w", c.dev.Name(), errors.ErrUnsupported)
	}
	h, gen, err := s.pool.makePinned((*byte)(nil), 1, int(n))
	if err != nil {
		return err
	}
	hp, b := c.pinned.Load(), h.block
	b.pin(gen)
	defer hp.unpin(b)
	copy(unsafe.Slice((*byte)(b.ptr), n), unsafe.Slice((*byte)(mem), n))
	hp.free(h, gen) // it is the graph's alone: see names.settle
	m.usePinned(b, gen)
	return c.transfer(s.heap.line.handle, ptr, b.ptr, n, true)
}
