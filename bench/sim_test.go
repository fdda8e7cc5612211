package bench

import (
	"fmt"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// sim is a device without memory: addresses that nobody reads, work that is done at once. What
// is measured on it is the pool's bookkeeping alone, at any size.
type sim struct {
	capacity int64
	granule  int64 // 0: it does not map
	next     atomic.Uintptr
	used     atomic.Int64
	events   atomic.Uintptr
	calls    atomic.Int64 // that would have gone to a driver for memory
	mapped   atomic.Int64 // bytes in all that were put behind addresses fresh
	moved    atomic.Int64 // and that were moved
}

const simCapacity = 1 << 40

func newSim(granule int64) *sim {
	d := &sim{capacity: simCapacity, granule: granule}
	d.next.Store(1 << 40)
	return d
}

func (d *sim) Name() string { return "sim" }
func (d *sim) MemInfo() (free, total int64, err error) {
	return d.capacity - d.used.Load(), d.capacity, nil
}
func (d *sim) DefaultStream() uintptr                            { return 1 }
func (d *sim) NewStream() (uintptr, error)                       { return d.events.Add(1) + 1, nil }
func (d *sim) DestroyStream(uintptr) error                       { return nil }
func (d *sim) Sync(uintptr) error                                { return nil }
func (d *sim) NewEvent() (uintptr, error)                        { return d.events.Add(1) + 1, nil }
func (d *sim) DestroyEvent(uintptr) error                        { return nil }
func (d *sim) Record(e, s uintptr) error                         { return nil }
func (d *sim) Query(uintptr) (bool, error)                       { return true, nil }
func (d *sim) SyncEvent(uintptr) error                           { return nil }
func (d *sim) Wait(s, e uintptr) error                           { return nil }
func (d *sim) Copy(s uintptr, dst, src alloc.Ptr, n int64) error { return nil }
func (d *sim) CopyIn(uintptr, alloc.Ptr, unsafe.Pointer, int64) error {
	return nil
}
func (d *sim) CopyOut(uintptr, unsafe.Pointer, alloc.Ptr, int64) error {
	return nil
}
func (d *sim) Fill(uintptr, alloc.Ptr, uint32, int, int64) error { return nil }

func (d *sim) take(n int64) error {
	d.calls.Add(1)
	if d.used.Add(n) > d.capacity {
		d.used.Add(-n)
		return fmt.Errorf("sim: %d bytes: %w", n, alloc.ErrOutOfMemory)
	}
	return nil
}

func (d *sim) addresses(n int64) alloc.Ptr {
	unit := max(d.granule, 2<<20)
	n = (n + 2*unit - 1) &^ (unit - 1) // no two ranges touch
	return alloc.Ptr(d.next.Add(uintptr(n)) - uintptr(n))
}

func (d *sim) Alloc(n int64) (alloc.Ptr, error) {
	if err := d.take(n); err != nil {
		return 0, err
	}
	return d.addresses(n), nil
}

func (d *sim) Free(p alloc.Ptr, n int64) error {
	d.calls.Add(1)
	d.used.Add(-n)
	return nil
}

func (d *sim) Granularity() int64                   { return d.granule }
func (d *sim) Reserve(n int64) (alloc.Ptr, error)   { return d.addresses(n), nil }
func (d *sim) Unreserve(p alloc.Ptr, n int64) error { return nil }

func (d *sim) Map(p alloc.Ptr, n int64) error {
	if err := d.take(n); err != nil {
		return err
	}
	d.mapped.Add(n)
	return nil
}

func (d *sim) Move(dst, src alloc.Ptr, n int64) error {
	d.calls.Add(1)
	d.moved.Add(n)
	return nil
}

func (d *sim) Unmap(p alloc.Ptr, n int64) error {
	d.calls.Add(1)
	d.used.Add(-n)
	return nil
}

// simPool returns a pool on a sim with streams.
func simPool(tb testing.TB, granule int64, streams int, g alloc.Growth) (*alloc.Pool, []*alloc.Stream) {
	tb.Helper()
	p, err := alloc.NewPool(newSim(granule), alloc.Options{Growth: g})
	require.NoError(tb, err)
	all := make([]*alloc.Stream, streams)
	for i := range all {
		all[i], err = p.NewStream()
		require.NoError(tb, err)
	}
	return p, all
}
