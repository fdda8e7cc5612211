package alloc

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/finalize"
)

// A Pinned owns page-locked host memory for elements of type T, which copies reach
// without staging. Like [Buffer] it is a small value; one Free ends all copies, and
// the zero Pinned is empty. It stays good when its pool is closed, until it is freed or the collector
// has found it dead together with the pool.
type Pinned[T any] struct {
	handle *pinnedHandle
	n      int
}

// A pinnedHandle is what the collector watches for a Pinned.
type pinnedHandle struct {
	host *pinnedHost
	pool *Pool
	free atomic.Bool
}

// A pinnedHost is a piece of page-locked memory.
type pinnedHost struct {
	ptr  unsafe.Pointer
	size int64 // bytes
}

// MakePinned returns n elements of page-locked host memory, zeroed or not as the
// device likes. It may block. On a device that cannot pin, errors.Is(err,
// errors.ErrUnsupported) is true.
//
//lastuse:effect result 0 owned on success
func MakePinned[T any](p *Pool, n int) (Pinned[T], error) {
	h, err := p.makePinned((*T)(nil), unsafe.Sizeof(*(*T)(nil)), n)
	if err != nil {
		n = 0
	}
	return Pinned[T]{h, n}, err
}

func (p *Pool) makePinned(typ any, elem uintptr, n int) (*pinnedHandle, error) {
	if p.none() {
		return nil, fmt.Errorf("alloc: make pinned: %w", errNoPool)
	}
	c, e := p.core, p.core.estate
	if !e.enter() {
		return nil, fmt.Errorf("alloc: make pinned: pool %w", ErrClosed)
	}
	defer c.leave()
	if c.closed.Load() {
		return nil, fmt.Errorf("alloc: make pinned: pool %w", ErrClosed)
	}
	if err := c.checkElem("make pinned", typ); err != nil {
		return nil, err
	}
	if n < 0 || elem > 0 && uint64(n) > maxSize/uint64(elem) {
		return nil, fmt.Errorf("alloc: make pinned: %d elements of %d bytes: %w", n, elem, ErrSize)
	}
	if n == 0 || elem == 0 {
		return nil, nil
	}
	c.drain(drainPerMake)
	if e.pinner == nil {
		return nil, fmt.Errorf("alloc: make pinned: %s: %w", c.dev.Name(), errors.ErrUnsupported)
	}
	size := int64(n) * int64(elem)
	c.calls.Add(1)
	ptr, err := e.pinner.AllocHost(size)
	if err != nil {
		return nil, fmt.Errorf("alloc: make pinned %s: %w", sizeText(size), err)
	}
	host := &pinnedHost{ptr: ptr, size: size}
	e.mu.Lock()
	e.pinned[host] = struct{}{}
	e.mu.Unlock()
	c.tellPinned(host, true)
	h := &pinnedHandle{host: host, pool: p}
	finalize.Arm(&e.unpin, h, host)
	return h, nil
}

// Slice returns the memory. It is good until Free, or until p becomes unreachable: keep p, and
// not the slice alone. It panics if p has been freed.
//
//lastuse:effect result 0 views recv
func (p Pinned[T]) Slice() []T {
	h := p.handle
	if h == nil {
		return make([]T, p.n) // of no bytes
	}
	if h.free.Load() {
		panic(fmt.Errorf("alloc: pinned: %w", ErrFreed))
	}
	return unsafe.Slice((*T)(h.host.ptr), p.n)
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (p Pinned[T]) Len() int { return p.n }

// Free gives the memory back to the device, which may wait for the copies that use
// it. Freeing again does nothing.
//
//lastuse:effect recv freed repeatable
func (p Pinned[T]) Free() {
	h := p.handle
	if h == nil || h.free.Swap(true) {
		return
	}
	h.pool.core.unpinLate(h.host)
	runtime.KeepAlive(h)
}

// unpinLate gives page-locked memory back, once.
func (c *core) unpinLate(host *pinnedHost) {
	if e := c.estate; take(e, &e.pinned, host) {
		c.calls.Add(1)
		c.tellPinned(host, false)
		e.pinner.FreeHost(host.ptr, host.size)
	}
}
