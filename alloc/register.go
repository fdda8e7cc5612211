package alloc

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"unsafe"
)

// Memory of the program's own that the device reaches by itself. It is page-locked as what MakePinned returns
// is, but belongs to the program, before and after: a block that is alone in its segment and is never used
// again. What has been freed is unregistered by whoever waits for its streams next, or looks for memory:
// Sync, Register, Trim and Close.

// Register page-locks memory of the program's own, Go's or mapped privately from a file, so that copies need
// no staging and [Upload] and [Download] take it. The memory is whole pages: it begins with one, and its
// capacity reaches the end of its last; [Pages] makes such memory. It is pinned (runtime.Pinner) until the
// Free of what Register returns, and then until the work on streams that was given it has run: when a
// [Stream.Sync] behind the Free has returned it is registered no more, and may be unmapped, unless a stream
// of the pool is being captured meanwhile.
//
// Memory that a pool has registered already, wholly or in part, is an error. On a device that cannot register
// errors.Is(err, errors.ErrUnsupported) is true.
//
//lastuse:effect result 0 owned on success, arg memory escapes, arg p borrowed
func Register[T any](p *Pool, memory []T) (Pinned[T], error) {
	elem := unsafe.Sizeof(*(*T)(nil))
	h, gen, err := p.register((*T)(nil), elem, unsafe.Pointer(unsafe.SliceData(memory)), len(memory),
		cap(memory))
	if err != nil {
		return Pinned[T]{}, err
	}
	return Pinned[T]{h, gen, len(memory)}, nil
}

// Pages returns Go memory for n elements that fills whole pages, for [Register]. It panics if T has Go
// pointers.
func Pages[T any](n int) []T {
	elem, page := unsafe.Sizeof(*(*T)(nil)), os.Getpagesize()
	if path := pointerIn(reflect.TypeFor[T]()); path != "" {
		panic(fmt.Errorf("alloc: pages: %v: %s is a Go pointer: %w", reflect.TypeFor[T](), path, ErrType))
	}
	if n <= 0 || elem == 0 || uint64(n) > maxSize/uint64(elem) {
		return make([]T, n)
	}
	size := (n*int(elem) + page - 1) / page * page
	room := make([]byte, size+page)
	skip := -int(uintptr(unsafe.Pointer(&room[0]))) & (page - 1)
	return unsafe.Slice((*T)(unsafe.Pointer(&room[skip])), size/int(elem))[:n]
}

func (p *Pool) register(typ any, elem uintptr, memory unsafe.Pointer, n, capacity int) (*pinnedHeader, uint64,
	error) {
	return p.newPinned("register", typ, elem, n, func(hp *pinnedHeap, size int64) (*pinnedBlock, error) {
		page := int64(os.Getpagesize())
		whole := (size + page - 1) / page * page
		if int64(uintptr(memory))%page != 0 || whole-int64(capacity)*int64(elem) >= int64(elem) {
			return nil, fmt.Errorf("memory at %p is not whole pages of %d bytes: alloc.Pages makes such memory: "+
				"%w", memory, page, ErrSize)
		}
		return hp.register(memory, whole)
	})
}

// register returns a live block of registered memory.
func (hp *pinnedHeap) register(memory unsafe.Pointer, size int64) (*pinnedBlock, error) {
	r, ok := hp.core.dev.(Registrar)
	if !ok {
		return nil, fmt.Errorf("%s: %w", hp.core.dev.Name(), errors.ErrUnsupported)
	}
	for step := 0; ; step++ {
		hp.registering.Lock()
		if !hp.overlaps(memory, size) {
			break
		}
		hp.registering.Unlock()
		switch step {
		case 0:
		case 1: // it may have been freed, and work with it be under way
			hp.await()
		default:
			return nil, fmt.Errorf("memory at %p is page-locked already: free that first: %w", memory, ErrLive)
		}
		hp.core.unregister()
	}
	defer hp.registering.Unlock()
	m := hostMemory{size: size, pin: new(runtime.Pinner)}
	m.pin.Pin(memory)
	hp.core.calls.Add(1)
	if err := r.RegisterHost(memory, size); err != nil {
		m.pin.Unpin()
		return nil, err
	}
	seg := &pinnedSegment{ptr: memory, size: size, class: classOf(size), blocks: make([]pinnedBlock, 1),
		registered: true}
	seg.blocks[0].seg, seg.blocks[0].ptr = seg, memory
	e := hp.core.estate
	e.mu.Lock()
	e.pinned[uintptr(memory)] = m
	e.mu.Unlock()
	hp.account.AddReserved(size)
	hp.registered.Add(1)
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.add(seg)
	return hp.own(&seg.blocks[0]), nil
}

// overlaps reports whether some of the memory is page-locked by this pool.
func (hp *pinnedHeap) overlaps(memory unsafe.Pointer, size int64) bool {
	first, end := uintptr(memory), uintptr(memory)+uintptr(size)
	return slices.ContainsFunc(*hp.index.Load(), func(seg *pinnedSegment) bool {
		return uintptr(seg.ptr) < end && first < uintptr(seg.ptr)+uintptr(seg.size)
	})
}

// unregister gives registered memory that has been freed back to its owners, as far as the work with it is
// known to have run.
func (c *core) unregister() {
	hp := c.pinned.Load()
	if hp == nil || hp.registered.Load() == 0 {
		return
	}
	c.drain(-1)
	hp.look(0, math.MaxInt, math.MaxInt)
	hp.settleAll(false)
	_, _ = hp.giveBack(math.MaxInt64) // nobody could do anything about an error
}
