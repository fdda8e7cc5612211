package alloc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/tracker"
)

// Check mode. Every buffer gets a red zone before and behind its memory, filled with one byte.
// Free fills the memory with another one and puts the block in quarantine. When it
// leaves, because newer blocks have come in or memory is short, or when Check is
// called, both are looked at: what has changed was written out of bounds or after
// the Free. Stacks are kept of every Make and every Free. Everything goes
// through fills and copies of the device, in stream order, so it works for memory that
// the host cannot see.

const (
	redZone       = 512      // bytes before a buffer, and at least as many behind
	redByte       = 0xfd     // in red zones
	deadByte      = 0xdb     // in freed memory
	fullCheck     = 16 << 20 // bytes; of larger buffers only samples are looked at
	sampleLen     = 64 << 10 // bytes
	samples       = 64
	maxTombstones = 1 << 16 // freed buffers whose stacks are kept
)

// A Stack is a call stack, as runtime.Callers returns it.
type Stack []uintptr

// frames returns the stack's calls, innermost first.
func (s Stack) frames() (frames []tracker.Frame) {
	calls := runtime.CallersFrames(s)
	for {
		f, more := calls.Next()
		if f.Function != "" {
			frames = append(frames, tracker.Frame{Function: f.Function, File: f.File, Line: f.Line})
		}
		if !more {
			return frames
		}
	}
}

// String returns the stack with a function and a file:line on each line.
func (s Stack) String() string {
	var b strings.Builder
	for _, f := range s.frames() {
		fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func callers(skip int) Stack {
	var pcs [64]uintptr
	return append(Stack(nil), pcs[:runtime.Callers(skip+2, pcs[:])]...)
}

// A CorruptionError reports memory that was written where the program had no
// business. In Check mode a Make that finds one panics with it.
type CorruptionError struct {
	What   string // "write after free", "write before the buffer", "write behind the buffer"
	Offset int64  // bytes from the buffer's start to the first changed byte
	Size   int64  // bytes of the buffer
	Made   Stack  // where the buffer was made
	Free   Stack  // where it was freed; nil if it was dropped, or is live
	Live   bool   // it is live
}

func (e *CorruptionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alloc: check: %s: byte %d of a buffer of %d bytes", e.What, e.Offset, e.Size)
	fmt.Fprintf(&b, "\nmade at:\n%v", e.Made)
	switch {
	case e.Live:
		b.WriteString("\nstill live")
	case e.Free != nil:
		fmt.Fprintf(&b, "\nfreed at:\n%v", e.Free)
	default:
		b.WriteString("\nfreed by the collector")
	}
	return b.String()
}

// checked is what Check mode knows of a block.
type checked struct {
	front, size, back int64 // bytes of red zone, memory, red zone
	made, freed       Stack
	fenced            bool // the red zones are filled
	poisoned          bool // and the memory too, since the Free

	// Of a buffer that is live, under the lock of its heap: see checkLive.
	filled   stamp // of the work that filled the red zones
	watchers int   // who look at them
	torn     bool  // they have been written, and that has been said
}

// A checker is the part of a pool that Check mode needs.
type checker struct {
	stream uintptr // of the device, for looking at memory; nothing else runs on it

	mu         lockrank.Mutex[rankChecker]
	held       []*block            // in quarantine, the oldest first
	bytes      int64               // of them
	out        map[*block]struct{} // of the quarantine, in the hands of who looks at them
	tombstones map[tombstone]*checked
	order      []tombstone // oldest first, from next on
	next       int
}

// A tombstone names a buffer that is no more.
type tombstone struct {
	owner uint32
	gen   uint64
}

// bury remembers the stacks of a freed buffer.
func (k *checker) bury(g tombstone, c *checked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tombstones == nil {
		k.tombstones = make(map[tombstone]*checked)
	}
	if len(k.order) < maxTombstones {
		k.order = append(k.order, g)
	} else {
		delete(k.tombstones, k.order[k.next])
		k.order[k.next] = g
		k.next = (k.next + 1) % maxTombstones
	}
	k.tombstones[g] = c
}

func (k *checker) find(g tombstone) *checked {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tombstones[g]
}

// data returns the address of the buffer's memory in a live block.
func (b *block) data() Ptr {
	if b.checked != nil {
		return b.ptr + Ptr(b.checked.front)
	}
	return b.ptr
}

// room returns how many bytes from there on the program may use.
func (b *block) room() int64 {
	if b.checked != nil {
		return b.checked.size
	}
	return b.size
}

// used returns the error for the use of a dead handle. In Check mode it panics with
// it.
func (h *header) used(gen uint64, op string) error {
	e := h.useError(gen, op)
	if h.pool.core.checker != nil {
		panic(e)
	}
	return e
}

// useError is used without the panic.
func (h *header) useError(gen uint64, op string) *UseError {
	c := h.pool.core
	e := &UseError{Op: op}
	if c.checker == nil {
		if past := h.past.Load(); past>>32 == gen&0xffffffff {
			e.Site = c.books.SiteOf(tracker.SiteID(books.Sample(past).Site()))
		}
		return e
	}
	if g := c.checker.find(tombstone{h.number, gen}); g != nil {
		e.Made, e.Free = g.made, g.freed
	}
	e.Use = callers(3)
	return e
}

// makeChecked is Make in Check mode.
func (s *Stream) makeChecked(typ any, size int64) (*header, uint64, error) {
	c := s.core
	if !c.estate.enter() {
		return nil, 0, fmt.Errorf("alloc: make: %w", errPoolClosed)
	}
	defer c.leave()
	if err := c.releaseHeld(c.options.Quarantine, false); err != nil {
		panic(err)
	}
	k := &checked{front: redZone, size: size, made: callers(4)}
	h, gen, err := s.makeBlock(typ, k.front+size+redZone)
	if err != nil {
		return nil, 0, err
	}
	b := h.block
	k.back = b.size - k.front - size
	c.tellMade(&s.heap.line, b) // before anybody can look at its red zones
	hp := b.heap()
	hp.mu.Lock()
	b.checked = k
	hp.mu.Unlock()
	err = errors.Join(
		c.dev.Fill(s.heap.line.handle, b.ptr, redByte, 1, k.front),
		c.dev.Fill(s.heap.line.handle, b.ptr+Ptr(k.front+size), redByte, 1, k.back))
	if err != nil {
		h.free(gen)
		return nil, 0, fmt.Errorf("alloc: make: red zones: %w", err)
	}
	hp.mu.Lock()
	k.fenced, k.filled = true, hp.line.now()
	hp.mu.Unlock()
	return h, gen, nil
}

// poison fills what a buffer of Check mode had, in stream order after all work with it, and keeps the stack
// of the Free. What graphs name keeps its contents: launches may be still to come. h is nil if the collector
// found it dead. No lock is held.
func (c *core) poison(b *block, h *header, named bool) {
	if c.checker == nil {
		return
	}
	hp, l := b.heap(), &b.heap().line
	hp.mu.Lock()
	k := b.checked
	hp.mu.Unlock()
	if k == nil || !c.estate.enter() { // adopted
		return
	}
	defer c.leave()
	if h != nil {
		k.freed = callers(4)
		c.checker.bury(tombstone{h.number, h.word.Load()>>pinBits - 1}, k)
	}
	if named {
		return
	}
	// If its stream is closed, or cannot be put behind the others, there is no poison.
	orderly := l.visit()
	if orderly {
		defer l.left()
		orderly = !l.capturing() // what it is given would run whenever the graph does
	}
	others := b.others.Load()
	for _, o := range c.allHeaps() {
		if o.line.bit&others != 0 && o != hp && orderly {
			orderly = l.follow(&o.line) == nil
		}
	}
	if orderly {
		b.others.Store(0) // the block is the stream's alone again
		k.poisoned = k.fenced && c.dev.Fill(l.handle, b.ptr+Ptr(k.front), deadByte, 1, k.size) == nil
	}
}

// hold puts the block b of Check mode into quarantine. The lock of its heap is held.
func (k *checker) hold(b *block) {
	hp := b.heap()
	b.state = statePending
	hp.shard.Pend(b.size)
	hp.pendingBytes += b.size
	k.mu.Lock()
	k.push(b)
	k.mu.Unlock()
}

// push puts b at the end of the quarantine. k.mu is held.
func (k *checker) push(b *block) {
	k.held = append(k.held, b)
	k.bytes += b.size
}

// oldest takes the block into the caller's hands that has been in quarantine longest, unless at most keep
// bytes are there.
func (k *checker) oldest(keep int64) *block {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.held) == 0 || k.bytes <= keep {
		return nil
	}
	b := k.held[0]
	k.held[0], k.held = nil, k.held[1:]
	k.bytes -= b.size
	k.out[b] = struct{}{}
	return b
}

// back puts b, which oldest returned, into quarantine again.
func (k *checker) back(b *block) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.out, b)
	k.push(b)
}

// discharge lets b, which oldest returned, out of quarantine. The lock of its heap is held.
func (k *checker) discharge(b *block) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.out, b)
}

// releaseHeld lets blocks out of quarantine until at most keep bytes are left. Blocks whose poison may not be
// written yet stay, unless wait says to wait for it. It returns what was found wrong.
func (c *core) releaseHeld(keep int64, wait bool) error {
	var errs []error
	var stuck []*block // what cannot be waited for holds nothing up
	for b := c.checker.oldest(keep); b != nil; b = c.checker.oldest(keep) {
		hp := b.heap()
		if !b.stamp.look() && (!wait || b.stamp.await() != nil) {
			stuck = append(stuck, b)
			if wait {
				continue
			}
			break
		}
		hp.mu.Lock()
		hp.unwatched(b.checked)
		hp.mu.Unlock()
		if err := c.examine(b); err != nil {
			errs = append(errs, err)
		}
		hp.mu.Lock()
		c.checker.discharge(b)
		hp.shard.Unpend(b.size)
		hp.pendingBytes -= b.size
		b.checked = nil
		if b.others.Load() != 0 {
			hp.pend(b)
		} else {
			hp.idle(b)
		}
		hp.mu.Unlock()
	}
	for _, b := range stuck {
		c.checker.back(b)
	}
	return errors.Join(errs...)
}

// checkQuarantine looks at the blocks in quarantine and leaves them there. It does not wait: blocks whose
// poison may not be written yet are left out.
func (c *core) checkQuarantine() error {
	var errs []error
	k := c.checker
	k.mu.Lock()
	n := len(k.held)
	k.mu.Unlock()
	for ; n > 0; n-- { // each once
		b := k.oldest(0)
		if b == nil {
			break
		}
		if err := c.examine(b); err != nil {
			errs = append(errs, err)
			b.checked.poisoned = false // said once
		}
		k.back(b)
	}
	return errors.Join(errs...)
}

// examine looks at the red zones and the poison of a block that nobody else has, if the
// stream is known to have written them.
func (c *core) examine(b *block) error {
	k := b.checked
	if !k.poisoned || !b.stamp.look() {
		return nil
	}
	// A mismatch in the middle says more than one at the edge: it comes first.
	zones := []zone{{"write after free", k.front, k.size, deadByte}}
	if !k.torn {
		zones = append(zones, k.zones()...)
	}
	if z, at := c.torn(b, zones); at >= 0 {
		return &CorruptionError{What: z.what, Offset: z.off + at - k.front, Size: k.size, Made: k.made,
			Free: k.freed}
	}
	return nil
}

// differs returns the offset of the first byte of [p, p+n) that is not want, or -1. Of
// much memory it looks at samples, the first and the last bytes among them.
func (c *core) differs(p Ptr, n int64, want byte) int64 {
	scratch := looks.Get().(*[sampleLen]byte)
	defer looks.Put(scratch)
	buf := scratch[:min(n, sampleLen)]
	step := int64(len(buf))
	if n > fullCheck {
		step = (n - int64(len(buf))) / (samples - 1)
	}
	for off := int64(0); off < n; off += step {
		off := min(off, n-int64(len(buf)))
		if err := c.dev.CopyOut(c.checker.stream, unsafe.Pointer(&buf[0]), p+Ptr(off),
			int64(len(buf))); err != nil {
			return -1 // what cannot be read cannot be blamed
		}
		if buf[0] == want && bytes.Equal(buf[1:], buf[:len(buf)-1]) {
			continue // every byte is like the one before
		}
		for i, x := range buf {
			if x != want {
				return off + int64(i)
			}
		}
	}
	return -1
}

// looks is room for what differs reads.
var looks = sync.Pool{New: func() any { return new([sampleLen]byte) }}
