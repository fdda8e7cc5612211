package alloc

import (
	"errors"
	"fmt"
	"unsafe"
)

// Page-locked memory: host memory that a device reaches by itself, so that copies need no staging.
//
//	Pinned         the handle: a header and a generation
//	pinnedHeader   what the collector watches; it serves one owner of its block after another
//	pinnedBlock    a part of a segment; its word says whether it is live and how many use it now
//	pinnedSegment  one piece of memory got from the device, cut into blocks of one size
//	pinnedHeap     all of a pool's: segments by address, idle and pending blocks by size class, one lock
//
// The way in: MakePinned takes an idle block of the size class, with the header that waits in it. If there is
// none it takes back pending ones that are known to be over, then asks the device about the others, then asks
// it for a segment; if the device has none, idle segments of other sizes go back, pending work is waited for,
// and the collector is asked. Only from the second step on is a device called.
//
// The way out: Free ends the generation. Nobody may write to the memory before all the work that reads or
// writes it has run: host memory is used by the host, which no stream orders. So a block that work on
// streams was given (BeginPinned) is pending until the events behind that work are seen complete; any other
// is idle at once. Neither calls a device, neither waits. A copy by CopyFrom or CopyTo is over when it
// returns; it pins the block, if the slice lies in one, so that a Free meanwhile takes effect at its end.
// What the collector found dead comes through the late queue to the same place. Trim and Close give
// segments back that are all idle.
//
// The books are an account of their own, "<device> page-locked", as this is the host's memory: it is no
// part of the limit, and of none of the pool's other figures. What a device keeps for its own copies is the
// device's: see Stager.

// A Pinned owns page-locked host memory for elements of type T, which copies reach without staging. Like
// [Buffer] it is a small value; one Free ends all copies, and the zero Pinned is empty. It stays good
// when its pool is closed, until it is freed or the collector has found it dead together with the pool.
type Pinned[T any] struct {
	header *pinnedHeader
	gen    uint64
	n      int
}

// MakePinned returns n elements of page-locked host memory. Its contents are unspecified. If the pool has an
// idle block of that size, which is so after a Free or a Sync behind it, no device is called; otherwise
// it may block. On a device that cannot pin, errors.Is(err, errors.ErrUnsupported) is true.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg p borrowed
func MakePinned[T any](p *Pool, n int) (Pinned[T], error) {
	h, gen, err := p.makePinned((*T)(nil), unsafe.Sizeof(*(*T)(nil)), n)
	if err != nil {
		n = 0
	}
	return Pinned[T]{h, gen, n}, err
}

func (p *Pool) makePinned(typ any, elem uintptr, n int) (*pinnedHeader, uint64, error) {
	return p.newPinned("make pinned", typ, elem, n, (*pinnedHeap).take)
}

// newPinned makes a handle of n elements, for whose bytes take finds a live block.
func (p *Pool) newPinned(op string, typ any, elem uintptr, n int,
	take func(*pinnedHeap, int64) (*pinnedBlock, error)) (*pinnedHeader, uint64, error) {
	if p.none() {
		return nil, 0, fmt.Errorf("alloc: %s: %w", op, errNoPool)
	}
	c, e := p.core, p.core.estate
	if !e.enter() {
		return nil, 0, fmt.Errorf("alloc: %s: %w", op, errPoolClosed)
	}
	defer c.leave()
	if c.closed.Load() {
		return nil, 0, fmt.Errorf("alloc: %s: %w", op, errPoolClosed)
	}
	if err := c.checkElem(op, typ); err != nil {
		return nil, 0, err
	}
	if n < 0 || elem > 0 && uint64(n) > maxSize/uint64(elem) {
		return nil, 0, fmt.Errorf("alloc: %s: %d elements of %d bytes: %w", op, n, elem, ErrSize)
	}
	if n == 0 || elem == 0 {
		return nil, 0, nil
	}
	if e.pinner == nil {
		return nil, 0, fmt.Errorf("alloc: %s: %s: %w", op, c.dev.Name(), errors.ErrUnsupported)
	}
	c.drain(drainPerMake)
	size := int64(n) * int64(elem)
	hp := c.pinnedHeap()
	b, err := take(hp, size)
	if err != nil {
		return nil, 0, fmt.Errorf("alloc: %s %s: %w", op, sizeText(size), err)
	}
	h := b.header
	if h == nil {
		h = hp.newHeader(p, b)
	}
	b.header = nil // from here on the collector may find it dead
	hp.told(b)
	return h, b.word.Load() >> pinBits, nil
}

// Slice returns the memory. It is good until Free, or until p becomes unreachable: keep p, and
// not the slice alone. It panics if p has been freed.
//
//lastuse:effect result 0 views recv
func (p Pinned[T]) Slice() []T {
	h := p.header
	if h == nil {
		return make([]T, p.n) // of no bytes
	}
	if h.block.word.Load()>>pinBits != p.gen {
		panic(h.pool.core.pinned.Load().used(h.block, p.gen, "page-locked memory"))
	}
	return unsafe.Slice((*T)(h.block.ptr), p.n)
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (p Pinned[T]) Len() int { return p.n }

// Free gives the memory back to its pool, which uses it again when the work on streams that was given it so
// far, by [BeginPinned] or by the copies of a package that calls it, is known to have run; work that has
// its address in any other way must have run before. It never waits and calls no device, unless the pool is
// closed: then the memory goes back to the device. Freeing again does nothing but count.
//
//lastuse:effect recv freed repeatable
func (p Pinned[T]) Free() {
	if h := p.header; h != nil {
		h.pool.core.pinned.Load().free(h, p.gen)
	}
}
