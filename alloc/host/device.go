package host

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/extent"
)

// Options are the choices of a device. The zero Options is good.
type Options struct {
	// Capacity is how many bytes the device has. 0 means as many as the machine.
	Capacity int64

	// Granularity is the unit of mapping in bytes: a power of two, a page of the
	// operating system at least. 0 means 2 MiB, as GPUs have.
	Granularity int64

	// NoMapping makes the device one that does not map.
	NoMapping bool

	// Name is what the device is called. "" means "host".
	Name string
}

// A Device is memory of this process with streams. It is an alloc.Mapper, an
// alloc.Pinner, an alloc.Capturer, an alloc.Grapher and an alloc.StreamAdopter.
type Device struct {
	options Options
	total   int64        // bytes
	used    atomic.Int64 // bytes allocated and mapped
	kept    kept
	std     *stream

	mapping sync.Mutex // a leaf, held over no call of the system
	extents extent.Table[struct{}]

	streams table[stream]
	events  table[event]
	marks   marks
	spares  spares
	graphs  table[program]
	execs   table[executable]
}

// Open returns a device. It holds nothing that needs closing: a pool gives back what it
// took.
func Open(o Options) (*Device, error) {
	if o.Granularity == 0 {
		o.Granularity = 2 << 20
	}
	page := int64(os.Getpagesize())
	if o.Capacity < 0 || bits.OnesCount64(uint64(o.Granularity)) != 1 || o.Granularity < page {
		return nil, fmt.Errorf("host: open: capacity %d, granularity %d bytes with pages of %d: %w",
			o.Capacity, o.Granularity, page, alloc.ErrSize)
	}
	if o.Name == "" {
		o.Name = "host"
	}
	d := &Device{options: o, total: o.Capacity}
	if d.total == 0 {
		_, total, err := machine()
		if err != nil {
			return nil, fmt.Errorf("host: open: %w", err)
		}
		d.total = total
	}
	d.std = d.newStream()
	return d, nil
}

// Name returns the device's name.
func (d *Device) Name() string { return d.options.Name }

// Used returns how many bytes are allocated and mapped now, page-locked memory included.
func (d *Device) Used() int64 { return d.used.Load() }

// MemInfo returns the bytes that are left and the bytes there are.
func (d *Device) MemInfo() (free, total int64, err error) {
	left := max(d.total-d.used.Load(), 0)
	if d.options.Capacity > 0 {
		return left, d.total, nil
	}
	free, _, err = machine()
	return min(free, left), d.total, err
}

// take counts n bytes against the capacity.
func (d *Device) take(n int64) error {
	for {
		old := d.used.Load()
		if n > d.total-old {
			return fmt.Errorf("host: %d bytes of %d in use, %d more: %w", old, d.total, n,
				alloc.ErrOutOfMemory)
		}
		if d.used.CompareAndSwap(old, old+n) {
			return nil
		}
	}
}

// Alloc returns memory from the operating system.
func (d *Device) Alloc(size int64) (alloc.Ptr, error) {
	if size <= 0 || size%alloc.MinAlign != 0 {
		return 0, fmt.Errorf("host: alloc %d bytes: %w", size, alloc.ErrSize)
	}
	if err := d.take(size); err != nil {
		return 0, err
	}
	p, err := d.kept.allocate(size)
	if err != nil {
		d.used.Add(-size)
		return 0, fmt.Errorf("host: alloc %d bytes: %w: %w", size, alloc.ErrOutOfMemory, err)
	}
	return alloc.Ptr(p), nil
}

// Free gives memory back to the operating system.
func (d *Device) Free(p alloc.Ptr, size int64) error {
	if err := d.kept.free(uintptr(p), size); err != nil {
		return fmt.Errorf("host: free %#x: %w", p, err)
	}
	d.used.Add(-size)
	return nil
}

// Granularity returns the unit of mapping, or 0 if the device does not map.
func (d *Device) Granularity() int64 {
	if d.options.NoMapping || !canMap {
		return 0
	}
	return d.options.Granularity
}

// Reserve takes a range of addresses.
func (d *Device) Reserve(size int64) (alloc.Ptr, error) {
	p, err := reserve(size, d.options.Granularity)
	if err != nil {
		return 0, fmt.Errorf("host: reserve %d bytes: %w: %w", size, alloc.ErrOutOfMemory, err)
	}
	return alloc.Ptr(p), nil
}

// Unreserve gives a range of addresses back.
func (d *Device) Unreserve(p alloc.Ptr, size int64) error {
	if err := d.kept.free(uintptr(p), size); err != nil {
		return fmt.Errorf("host: unreserve %#x: %w", p, err)
	}
	return nil
}

// empty returns an error if something is mapped in [p, p+size).
func (d *Device) empty(p alloc.Ptr, size int64) error {
	d.mapping.Lock()
	defer d.mapping.Unlock()
	return d.extents.Empty(uintptr(p), size)
}

// whole returns an error unless [p, p+size) is whole extents.
func (d *Device) whole(p alloc.Ptr, size int64) error {
	d.mapping.Lock()
	defer d.mapping.Unlock()
	_, err := d.extents.Find(uintptr(p), size)
	return err
}

// Map puts memory behind addresses, one extent.
func (d *Device) Map(p alloc.Ptr, size int64) error {
	if err := d.empty(p, size); err != nil {
		return fmt.Errorf("host: map: %w", err)
	}
	if err := d.take(size); err != nil {
		return err
	}
	if err := back(uintptr(p), size); err != nil {
		d.used.Add(-size)
		return fmt.Errorf("host: map %d bytes: %w: %w", size, alloc.ErrOutOfMemory, err)
	}
	d.mapping.Lock()
	defer d.mapping.Unlock()
	d.extents.Add(extent.Extent[struct{}]{P: uintptr(p), N: size})
	return nil
}

// Move takes the memory from behind src and puts as much behind dst. What it held is
// lost.
func (d *Device) Move(dst, src alloc.Ptr, size int64) error {
	if err := errors.Join(d.empty(dst, size), d.whole(src, size)); err != nil {
		return fmt.Errorf("host: move: %w", err)
	}
	if err := back(uintptr(dst), size); err != nil {
		return fmt.Errorf("host: move %d bytes: %w", size, err)
	}
	if err := unback(uintptr(src), size); err != nil {
		unback(uintptr(dst), size)
		return fmt.Errorf("host: move %d bytes: %w", size, err)
	}
	d.mapping.Lock()
	defer d.mapping.Unlock()
	moved, _ := d.extents.Find(uintptr(src), size)
	moved = slices.Clone(moved)
	d.extents.Remove(uintptr(src), size)
	for _, x := range moved {
		x.P += uintptr(dst) - uintptr(src)
		d.extents.Add(x)
	}
	return nil
}

// Unmap takes the memory from behind addresses.
func (d *Device) Unmap(p alloc.Ptr, size int64) error {
	if err := d.whole(p, size); err != nil {
		return fmt.Errorf("host: unmap: %w", err)
	}
	if err := unback(uintptr(p), size); err != nil {
		return fmt.Errorf("host: unmap %d bytes: %w", size, err)
	}
	d.used.Add(-size)
	d.mapping.Lock()
	defer d.mapping.Unlock()
	d.extents.Remove(uintptr(p), size)
	return nil
}

// AllocHost returns memory like any other: on this device all of it is the host's.
func (d *Device) AllocHost(size int64) (unsafe.Pointer, error) {
	if err := d.take(size); err != nil {
		return nil, err
	}
	p, err := d.kept.allocate(size)
	if err != nil {
		d.used.Add(-size)
		return nil, fmt.Errorf("host: alloc host %d bytes: %w: %w", size, alloc.ErrOutOfMemory, err)
	}
	return pointer(p), nil
}

// FreeHost gives it back.
func (d *Device) FreeHost(p unsafe.Pointer, size int64) error {
	return d.Free(alloc.Ptr(uintptr(p)), size)
}

// RegisterHost has nothing to do: on this device all memory is the host's.
func (d *Device) RegisterHost(p unsafe.Pointer, size int64) error { return nil }

// UnregisterHost has nothing to undo.
func (d *Device) UnregisterHost(p unsafe.Pointer, size int64) error { return nil }

// A table gives numbers to things, from 1 on, and finds them again. Finding takes no
// lock.
type table[T any] struct {
	all atomic.Pointer[[]*T] // the slice is replaced, not written

	mu   sync.Mutex
	free []uintptr
}

func (t *table[T]) add(x *T) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*T
	if old := t.all.Load(); old != nil {
		all = append(all, *old...)
	}
	var h uintptr
	if n := len(t.free); n > 0 {
		h = t.free[n-1]
		t.free = t.free[:n-1]
		all[h-1] = x
	} else {
		all = append(all, x)
		h = uintptr(len(all))
	}
	t.all.Store(&all)
	return h
}

func (t *table[T]) get(h uintptr) *T {
	if all := t.all.Load(); all != nil && h-1 < uintptr(len(*all)) {
		return (*all)[h-1]
	}
	return nil
}

func (t *table[T]) remove(h uintptr) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.get(h)
	if x == nil {
		return nil
	}
	all := append([]*T(nil), *t.all.Load()...)
	all[h-1] = nil
	t.free = append(t.free, h)
	t.all.Store(&all)
	return x
}
