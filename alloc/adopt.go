package alloc

import (
	"fmt"
	"unsafe"

	"github.com/lastuse/lastuse/internal/books"
)

// An adopted is memory made by somebody else that a buffer owns.
type adopted struct {
	size    int64 // bytes
	own     bool  // the pool itself got it from its device: see makeApart
	release func()
	next    *adopted // of those that are to be released
}

// Adopt returns a buffer that owns memory made by somebody else: n elements at device
// address p. It is tracked like the pool's own and counts as live and as reserved, but
// not against the limit. When it has been freed and all work on it is complete, release
// is called once, from a Make's slow path, Trim, Sync or Close; it must not use the
// pool. If the error is not nil the memory is still the caller's.
//
// Work that uses the memory must be ordered before what is enqueued on s from now on.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func Adopt[T any](s *Stream, p Ptr, n int, release func()) (Buffer[T], error) {
	h, gen, err := s.adopt((*T)(nil), unsafe.Sizeof(*(*T)(nil)), p, n, release)
	if err != nil {
		n = 0
	}
	return Buffer[T]{h, gen, n}, err
}

func (s *Stream) adopt(typ any, elem uintptr, p Ptr, n int, release func()) (*header, uint64, error) {
	if err := s.ready(); err != nil {
		return nil, 0, fmt.Errorf("alloc: adopt: %w", err)
	}
	c := s.core
	if err := c.checkElem("adopt", typ); err != nil {
		return nil, 0, err
	}
	if p == 0 || n <= 0 || elem == 0 || uint64(n) > maxSize/uint64(elem) ||
		p+Ptr(uint64(n)*uint64(elem)) < p {
		return nil, 0, fmt.Errorf("alloc: adopt: %d elements of %d bytes at %#x: %w", n, elem, p, ErrSize)
	}
	if release == nil {
		release = func() {}
	}
	return s.adopted(&adopted{size: int64(n) * int64(elem), release: release}, p)
}

// adopted makes a buffer that owns a's memory at p, whose type is known to be good.
func (s *Stream) adopted(a *adopted, p Ptr) (*header, uint64, error) {
	c, e, hp := s.core, s.core.estate, s.heap
	if !e.enter() {
		return nil, 0, fmt.Errorf("alloc: adopt: %w", errPoolClosed)
	}
	defer c.leave()
	a.release = c.tellAdopted(s, p, a.size, a.release)
	c.record(hp, books.Made, p, a.size)
	b := &block{ptr: p, size: a.size, stamp: hp.line.now(), state: stateLive, adopted: a}
	hp.mu.Lock()
	e.mu.Lock()
	e.adopted[a] = struct{}{}
	e.mu.Unlock()
	c.account.AddReserved(a.size)
	hp.shard.Alloc(b.size)
	h := hp.headerFor(s.pool, b)
	return h, s.made(hp, h, b), nil
}

// disown forgets the adopted block b, whose work is complete, and reports whether the caller has to release
// it: else the estate has. hp.mu is held.
func (c *core) disown(hp *heap, b *block) bool {
	b.state = stateBusy
	hp.strip(b)
	if !take(c.estate, &c.estate.adopted, b.adopted) {
		return false
	}
	c.account.AddReserved(-b.size)
	if b.adopted.own {
		c.unclaim(b.size)
	}
	return true
}
