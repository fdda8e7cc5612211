package cuda

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// The stage copies between Go memory and the device. A copy in fills page-locked chunks and enqueues their transfer; a
// chunk is free again when the event behind its transfer is done. A copy out keeps two chunks under way, so that one is
// emptied while the other is filled.
//
// Chunks come in two sizes, so that many small copies in flight do not each hold a large chunk. A kind grows to its most
// chunks only while all it has are in flight; then a copy waits for the oldest.

const (
	smallChunk = 64 << 10 // bytes
	largeChunk = 4 << 20
	smallMost  = 64 // chunks
	largeMost  = 8
	// directLeast is the size in bytes from which page-locked memory is copied without the stage. It is then used until
	// the transfer has run, so the caller waits; below, copying twice is faster than waiting.
	directLeast = 256 << 10
)

type stage struct {
	mu    sync.Mutex
	kinds [2]chunkKind // small, large
}

type chunkKind struct {
	idle, flying *chunk // flying: the oldest first
	last         *chunk // of flying
	made         int
}

type chunk struct {
	next  *chunk
	p     uintptr
	event uintptr
	large bool
}

func (c *chunk) size() int64 {
	if c.large {
		return largeChunk
	}
	return smallChunk
}

func (c *chunk) bytes(n int64) []byte { return unsafe.Slice((*byte)(hostPointer(c.p)), n) }

// take returns a chunk that nothing uses. It may wait for the oldest one in flight.
func (g *stage) take(b *base, large bool) (*chunk, error) {
	k, most := &g.kinds[0], smallMost
	if large {
		k, most = &g.kinds[1], largeMost
	}
	for {
		g.mu.Lock()
		if c := k.idle; c != nil {
			k.idle = c.next
			g.mu.Unlock()
			c.next = nil
			return c, nil
		}
		oldest := k.flying
		grow := k.made < most
		if oldest != nil {
			done, err := b.ctx.EventQuery(oldest.event)
			if err != nil {
				g.mu.Unlock()
				return nil, b.work(err)
			}
			if done || !grow {
				k.flying = oldest.next
				oldest.next = nil
				g.mu.Unlock()
				if done {
					return oldest, nil
				}
				err := b.ctx.EventSynchronize(oldest.event)
				if err != nil {
					g.mu.Lock()
					k.made-- // its transfer may still run: it is nobody's from here on
					g.mu.Unlock()
					return nil, b.work(err)
				}
				return oldest, nil
			}
		}
		if grow {
			k.made++
		}
		g.mu.Unlock()
		if grow {
			c, err := newChunk(b, large)
			if err != nil {
				g.mu.Lock()
				k.made--
				g.mu.Unlock()
			}
			return c, err
		}
		// All chunks are in other goroutines' hands, which are about to put one back.
		runtime.Gosched()
	}
}

func newChunk(b *base, large bool) (*chunk, error) {
	c := &chunk{large: large}
	var err error
	if c.event, err = b.ctx.EventCreate(); err != nil {
		return nil, b.work(err)
	}
	if c.p, err = b.ctx.MemHostAlloc(c.size()); err != nil {
		_ = b.ctx.EventDestroy(c.event)
		return nil, b.work(err)
	}
	return c, nil
}

// put takes a chunk back. flies says that its event stands for work that still uses it.
func (g *stage) put(c *chunk, flies bool) {
	k := &g.kinds[0]
	if c.large {
		k = &g.kinds[1]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !flies:
		c.next = k.idle
		k.idle = c
	case k.flying == nil:
		k.flying, k.last = c, c
	default:
		k.last.next = c
		k.last = c
	}
}

// sent records the event behind a transfer that was enqueued. If that fails it waits for the stream, so that the chunk is
// free either way.
func (g *stage) sent(b *base, c *chunk, s uintptr) (flies bool, err error) {
	if err = b.ctx.EventRecord(c.event, s); err == nil {
		return true, nil
	}
	_ = b.ctx.StreamSynchronize(s)
	return false, b.work(err)
}

// close gives all chunks back. Chunks in flight are waited for.
func (g *stage) close(b *base) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var first error
	for i := range g.kinds {
		k := &g.kinds[i]
		for _, list := range []*chunk{k.flying, k.idle} {
			for c := list; c != nil; c = c.next {
				for _, err := range []error{
					b.ctx.EventSynchronize(c.event), b.ctx.EventDestroy(c.event), b.ctx.MemFreeHost(c.p),
				} {
					if err = b.give(err); err != nil && first == nil {
						first = err
					}
				}
			}
		}
		*k = chunkKind{}
	}
	return first
}

// CopyIn copies Go memory to the device. It returns when src may be changed.
func (b *base) CopyIn(s uintptr, dst alloc.Ptr, src unsafe.Pointer, n int64) error {
	if n >= directLeast && b.pinned.holds(uintptr(src), n) {
		return b.direct(s, n, func() error { return b.ctx.MemcpyHtoD(uintptr(dst), uintptr(src), n, s) })
	}
	// Slices are cut rather than pointers advanced: one past the end is another object's.
	for from := unsafe.Slice((*byte)(src), n); len(from) > 0; {
		c, err := b.stage.take(b, len(from) > smallChunk)
		if err != nil {
			return err
		}
		m := min(int64(len(from)), c.size())
		copy(c.bytes(m), from)
		if err := b.ctx.MemcpyHtoD(uintptr(dst), c.p, m, s); err != nil {
			b.stage.put(c, false)
			return b.work(err)
		}
		flies, err := b.stage.sent(b, c, s)
		b.stage.put(c, flies)
		if err != nil {
			return err
		}
		dst += alloc.Ptr(m)
		from = from[m:]
	}
	return nil
}

// CopyOut copies device memory to Go memory and returns when it is there.
func (b *base) CopyOut(s uintptr, dst unsafe.Pointer, src alloc.Ptr, n int64) error {
	if n >= directLeast && b.pinned.holds(uintptr(dst), n) {
		return b.direct(s, n, func() error { return b.ctx.MemcpyDtoH(uintptr(dst), uintptr(src), n, s) })
	}
	to := unsafe.Slice((*byte)(dst), n)
	var ahead *chunk // the one before, whose transfer is under way
	var size int64   // of it, in bytes
	land := func() error {
		if ahead == nil {
			return nil
		}
		err := b.ctx.EventSynchronize(ahead.event)
		if err == nil {
			to = to[copy(to, ahead.bytes(size)):]
		}
		b.stage.put(ahead, err != nil)
		ahead = nil
		if err != nil {
			return b.work(err)
		}
		return nil
	}
	for n > 0 {
		c, err := b.stage.take(b, n > smallChunk)
		if err != nil {
			_ = land()
			return err
		}
		m := min(n, c.size())
		if err := b.ctx.MemcpyDtoH(c.p, uintptr(src), m, s); err != nil {
			b.stage.put(c, false)
			_ = land()
			return b.work(err)
		}
		if flies, err := b.stage.sent(b, c, s); !flies {
			b.stage.put(c, false)
			_ = land()
			return err
		}
		if err := land(); err != nil {
			b.stage.put(c, true)
			return err
		}
		ahead, size = c, m
		src += alloc.Ptr(m)
		n -= m
	}
	return land()
}

// direct enqueues a copy of page-locked memory and waits for it, by an event of a chunk.
func (b *base) direct(s uintptr, n int64, enqueue func() error) error {
	c, err := b.stage.take(b, false)
	if err != nil {
		return err
	}
	if err := enqueue(); err != nil {
		b.stage.put(c, false)
		return b.work(err)
	}
	flies, err := b.stage.sent(b, c, s)
	if flies {
		if err = b.ctx.EventSynchronize(c.event); err != nil {
			err = b.work(err)
		}
	}
	b.stage.put(c, false)
	return err
}
