package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// Alloc allocates size bytes by the driver's ordinary allocator, which may wait for the device.
func (b *base) Alloc(size int64) (alloc.Ptr, error) {
	p, err := b.ctx.MemAlloc(size)
	if err != nil {
		return 0, b.work(err)
	}
	if p%alloc.MinAlign != 0 {
		_ = b.ctx.MemFree(p)
		return 0, fmt.Errorf("cuda: alloc: driver returned %#x, which is not aligned to %d", p,
			alloc.MinAlign)
	}
	b.held.Add(1)
	return alloc.Ptr(p), nil
}

// Free gives back what Alloc returned. The driver waits until the device is idle.
func (b *base) Free(p alloc.Ptr, size int64) error {
	if err := b.ctx.MemFree(uintptr(p)); err != nil {
		if err := b.give(err); err != nil {
			return err
		}
	}
	b.held.Add(-1)
	return nil
}

// AllocHost returns page-locked memory.
func (b *base) AllocHost(size int64) (unsafe.Pointer, error) {
	p, err := b.ctx.MemHostAlloc(size)
	if err != nil {
		return nil, b.work(err)
	}
	b.pinned.add(p, size)
	return hostPointer(p), nil
}

// FreeHost gives page-locked memory back.
func (b *base) FreeHost(p unsafe.Pointer, size int64) error {
	b.pinned.drop(uintptr(p))
	if err := b.ctx.MemFreeHost(uintptr(p)); err != nil {
		return b.give(err)
	}
	return nil
}

// RegisterHost page-locks memory that somebody else has allocated.
func (b *base) RegisterHost(p unsafe.Pointer, size int64) error {
	err := b.ctx.MemHostRegister(uintptr(p), size)
	if err == nil {
		b.pinned.add(uintptr(p), size)
		return nil
	}
	var e *cudadrv.Error
	if errors.As(err, &e) && e.Code == cudadrv.CodeRegistered {
		return fmt.Errorf("cuda: another pool or library has page-locked the memory: let that give it back "+
			"first: %w", b.work(err))
	}
	return b.work(err)
}

// UnregisterHost gives it back to its owner.
func (b *base) UnregisterHost(p unsafe.Pointer, size int64) error {
	b.pinned.drop(uintptr(p))
	if err := b.ctx.MemHostUnregister(uintptr(p)); err != nil {
		return b.give(err)
	}
	return nil
}

// hostPointer returns an address of C memory as a pointer. The collector does not follow it.
func hostPointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// Copy enqueues a copy within the device.
func (b *base) Copy(s uintptr, dst, src alloc.Ptr, n int64) error {
	if dst == src {
		return nil
	}
	if err := b.ctx.MemcpyDtoD(uintptr(dst), uintptr(src), n, s); err != nil {
		return b.work(err)
	}
	return nil
}

// CopyRows enqueues a copy of rows.
func (b *base) CopyRows(s uintptr, dst, src alloc.Rows, width, height int64) error {
	if err := b.ctx.Memcpy2D(rowsOf(dst), rowsOf(src), width, height, s); err != nil {
		return b.work(err)
	}
	return nil
}

func rowsOf(r alloc.Rows) cudadrv.Rows {
	if r.Host != nil {
		return cudadrv.Rows{P: uintptr(r.Host), Pitch: r.Pitch, Host: true}
	}
	return cudadrv.Rows{P: uintptr(r.Ptr), Pitch: r.Pitch}
}

// Fill enqueues the writing of count times the low width bytes of pattern.
func (b *base) Fill(s uintptr, dst alloc.Ptr, pattern uint32, width int, count int64) error {
	var err error
	switch width {
	case 1:
		err = b.ctx.MemsetD8(uintptr(dst), uint8(pattern), count, s)
	case 2:
		err = b.ctx.MemsetD16(uintptr(dst), uint16(pattern), count, s)
	case 4:
		err = b.ctx.MemsetD32(uintptr(dst), pattern, count, s)
	default:
		return fmt.Errorf("cuda: fill: width %d: %w", width, alloc.ErrSize)
	}
	if err != nil {
		return b.work(err)
	}
	return nil
}

// ranges are address ranges that do not overlap, in order.
type ranges struct {
	mu  sync.RWMutex
	all []*lockedSpan
}

type span struct {
	p uintptr
	n int64 // bytes
}

// A lockedSpan is page-locked memory.
type lockedSpan struct {
	span
	copies sync.WaitGroup // that use it; they begin under the lock of the ranges, before it is dropped
}

func (r *ranges) find(p uintptr) (int, bool) {
	return slices.BinarySearchFunc(r.all, p, func(a *lockedSpan, p uintptr) int {
		switch {
		case a.p+uintptr(a.n) <= p:
			return -1
		case a.p > p:
			return 1
		}
		return 0
	})
}

func (r *ranges) add(p uintptr, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := r.find(p)
	r.all = slices.Insert(r.all, i, &lockedSpan{span: span{p, n}})
}

// drop takes out the range that begins at p, and waits for the copies that use it.
func (r *ranges) drop(p uintptr) {
	r.mu.Lock()
	i, ok := r.find(p)
	if !ok {
		r.mu.Unlock()
		return
	}
	gone := r.all[i]
	r.all = slices.Delete(r.all, i, i+1)
	r.mu.Unlock()
	gone.copies.Wait()
}

// use returns the range that contains [p, p+n), or nil. A copy uses it until its Done.
func (r *ranges) use(p uintptr, n int64) *lockedSpan {
	r.mu.RLock()
	defer r.mu.RUnlock()
	i, ok := r.find(p)
	if !ok || p+uintptr(n) > r.all[i].p+uintptr(r.all[i].n) {
		return nil
	}
	r.all[i].copies.Add(1)
	return r.all[i]
}
