package alloc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
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
	redZone   = 512      // bytes before a buffer, and at least as many behind
	redByte   = 0xfd     // in red zones
	deadByte  = 0xdb     // in freed memory
	fullCheck = 16 << 20 // bytes; of larger buffers only samples are looked at
	sampleLen = 64 << 10 // bytes
	samples   = 64
	maxGraves = 1 << 16 // freed buffers whose stacks are kept
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
	filled   uint64 // stamp of the work that filled the red zones
	watchers int    // who look at them
	torn     bool   // they have been written, and that has been said
}

// A checker is the part of a pool that Check mode needs.
type checker struct {
	stream uintptr // of the device, for looking at memory; nothing else runs on it

	mu     sync.Mutex
	graves map[grave]*checked
	order  []grave // oldest first, from next on
	next   int
}

// A grave names a buffer that is no more.
type grave struct {
	net uint32
	gen uint64
}

// bury remembers the stacks of a freed buffer.
func (k *checker) bury(g grave, c *checked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.graves == nil {
		k.graves = make(map[grave]*checked)
	}
	if len(k.order) < maxGraves {
		k.order = append(k.order, g)
	} else {
		delete(k.graves, k.order[k.next])
		k.order[k.next] = g
		k.next = (k.next + 1) % maxGraves
	}
	k.graves[g] = c
}

func (k *checker) find(g grave) *checked {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.graves[g]
}

// data returns the address of the buffer's memory in a live block.
func (b *block) data() Ptr {
	if b.checked != nil {
		return b.ptr + Ptr(b.checked.front)
	}
	return b.ptr
}

// used returns the error for the use of a dead handle. In Check mode it panics with
// it.
func (h *header) used(gen uint64, op string) error {
	c := h.pool.core
	e := &UseError{Op: op}
	if c.checker == nil {
		if past := atomic.LoadUint64(&h.past); past>>32 == gen&0xffffffff {
			e.Site = c.books.SiteOf(tracker.SiteID(past))
		}
		return e
	}
	if g := c.checker.find(grave{h.net, gen}); g != nil {
		e.Made, e.Free = g.made, g.freed
	}
	e.Use = callers(2)
	panic(e)
}

// makeChecked is Make in Check mode.
func (s *Stream) makeChecked(typ any, size int64) (*header, uint64, error) {
	c := s.core
	if !c.estate.enter() {
		return nil, 0, fmt.Errorf("alloc: make: pool %w", ErrClosed)
	}
	defer c.leave()
	if err := c.release(c.options.Quarantine, false); err != nil {
		panic(err)
	}
	k := &checked{front: redZone, size: size, made: callers(4)}
	h, gen, err := s.makeBlock(typ, k.front+size+redZone, nil, nil, depthChecked)
	if err != nil {
		return nil, 0, err
	}
	b := h.block
	k.back = b.size - k.front - size
	hp := b.heap
	hp.mu.Lock()
	b.checked = k
	hp.mu.Unlock()
	err = errors.Join(
		c.dev.Fill(s.lane.handle, b.ptr, redByte, 1, k.front),
		c.dev.Fill(s.lane.handle, b.ptr+Ptr(k.front+size), redByte, 1, k.back))
	if err != nil {
		h.free(gen)
		return nil, 0, fmt.Errorf("alloc: make: red zones: %w", err)
	}
	hp.mu.Lock()
	k.fenced, k.filled = true, s.lane.epoch.Load()
	hp.mu.Unlock()
	return h, gen, nil
}

// freeChecked is what becomes of a block in Check mode after its Free: poison in stream
// order, and quarantine. h is nil if the collector found the buffer dead. No lock is held.
func (c *core) freeChecked(h *header, b *block, how uintptr) {
	c.estate.enter() // b is live, so nothing has gone back yet
	defer c.leave()
	k, hp := b.checked, b.heap
	if h != nil {
		k.freed = callers(4)
		c.checker.bury(grave{h.net, h.word.Load()>>pinBits - 1}, k)
	}
	l := hp.lane
	// The poison comes after all work with the buffer. If its stream is closed, or cannot be put
	// behind the others, there is none.
	orderly := l.isOpen()
	others := b.others.Load()
	for _, t := range *c.lanes.Load() {
		if t.bit&others != 0 && t != l && orderly {
			orderly = l.follow(t) == nil
		}
	}
	if orderly {
		b.others.Store(0) // the block is the stream's alone again
		k.poisoned = k.fenced && c.dev.Fill(l.handle, b.ptr+Ptr(k.front), deadByte, 1, k.size) == nil
	}

	hp.mu.Lock()
	site, ptr, size := b.site, b.ptr, b.size
	b.site, b.header, b.state = 0, h, statePending
	b.stamp = l.epoch.Load()
	hp.last = b.stamp
	if how == probe.Late {
		hp.shard.Late(size)
	} else {
		hp.shard.Free(size)
	}
	if c.trace != nil && k.fenced { // else its Make has failed, and there is no line of that
		c.trace.add('f', l.index, b.ptr, 0)
	}
	seq := hp.shard.Seq()
	hp.shard.Pend(size)
	hp.pens += size
	hp.held.push(b)
	hp.mu.Unlock()
	c.freed(hp, site, site == 0, ptr, size, seq, how)
}

// A quarantine holds freed blocks back, oldest first.
type quarantine struct {
	first, last *block // linked by next
	bytes       int64
}

func (q *quarantine) push(b *block) {
	if q.last == nil {
		q.first = b
	} else {
		q.last.next = b
	}
	q.last, b.next = b, nil
	q.bytes += b.size
}

func (q *quarantine) pop() *block {
	b := q.first
	if q.first = b.next; q.first == nil {
		q.last = nil
	}
	b.next = nil
	q.bytes -= b.size
	return b
}

// release lets blocks out of quarantine until at most keep bytes are left in each heap.
// Blocks whose poison may not be written yet stay, unless wait says to wait for it. It
// returns what was found wrong.
func (c *core) release(keep int64, wait bool) error {
	var errs []error
	c.eachHeap(func(hp *heap) {
		for {
			hp.mu.Lock()
			if hp.held.first == nil || hp.held.bytes <= keep {
				hp.mu.Unlock()
				return
			}
			stamp := hp.held.first.stamp
			hp.mu.Unlock()
			if !hp.lane.look(stamp) && (!wait || hp.lane.await(stamp) != nil) {
				return
			}
			hp.mu.Lock()
			if hp.held.first == nil || hp.held.bytes <= keep {
				hp.mu.Unlock()
				return
			}
			if hp.held.first.checked.watchers > 0 {
				hp.unwatched(hp.held.first.checked)
				hp.mu.Unlock()
				continue // it may have left meanwhile
			}
			b := hp.held.pop()
			b.state = stateBusy
			hp.mu.Unlock()
			err := c.examine(hp, b)
			hp.mu.Lock()
			hp.shard.Unpend(b.size)
			hp.pens -= b.size
			b.checked = nil
			if b.others.Load() != 0 {
				hp.pend(b)
			} else {
				hp.retire(b)
			}
			hp.mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			}
		}
	})
	return errors.Join(errs...)
}

// checkQuarantine looks at the blocks in quarantine and leaves them there. It does not
// wait: blocks whose poison may not be written yet are left out.
func (c *core) checkQuarantine() error {
	var errs []error
	c.eachHeap(func(hp *heap) {
		hp.mu.Lock()
		held := hp.held
		hp.held = quarantine{}
		for b := held.first; b != nil; b = b.next {
			b.state = stateBusy
		}
		hp.mu.Unlock()
		for held.first != nil {
			b := held.pop()
			if err := c.examine(hp, b); err != nil {
				errs = append(errs, err)
				b.checked.poisoned = false // said once
			}
			hp.mu.Lock()
			b.state = statePending
			hp.held.push(b)
			hp.mu.Unlock()
		}
	})
	return errors.Join(errs...)
}

// examine looks at the red zones and the poison of a block that nobody else has, if the
// stream is known to have written them.
func (c *core) examine(hp *heap, b *block) error {
	k := b.checked
	if !k.poisoned || !hp.lane.look(b.stamp) {
		return nil
	}
	// A mismatch in the middle says more than one at the edge: it comes first.
	zones := []zone{{"write after free", k.front, k.size, deadByte}}
	if !k.torn {
		zones = append(zones, k.zones()...)
	}
	if z, at := c.torn(b, zones); at >= 0 {
		return &CorruptionError{What: z.what, Offset: z.off + at - k.front, Size: k.size, Made: k.made, Free: k.freed}
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
		if err := c.dev.CopyOut(c.checker.stream, unsafe.Pointer(&buf[0]), p+Ptr(off), int64(len(buf))); err != nil {
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
