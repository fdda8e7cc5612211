package cuda

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// An Exported is a buffer whose memory other processes may have too: what one writes, the others read. It is
// the pool's like any buffer, but in a segment of its own, whole granules of the driver's, and counts beyond
// the pool's limit, as adopted memory does. Free ends all copies; the device keeps the memory for as long as
// anybody has it, here or in another process, or has a file of it.
type Exported[T any] struct {
	alloc.Buffer[T]
	handle handle
}

// MakeExported returns memory for n > 0 elements that may be exported, contents unspecified, in the order of
// s. Errors: alloc.ErrOutOfMemory, after the pool's idle memory was given back; [ErrUnavailable] of a device
// whose memory cannot be exported; alloc.ErrCapturing.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func MakeExported[T any](s *alloc.Stream, n int) (Exported[T], error) {
	m, err := makeLone(s, "make exported", n, int64(unsafe.Sizeof(*(*T)(nil))), (*base).create)
	if err != nil {
		return Exported[T]{}, err
	}
	b, err := alloc.Adopt[T](s, alloc.Ptr(m.p), n, m.free)
	if err != nil {
		m.free()
		return Exported[T]{}, fmt.Errorf("cuda: make exported: %w", err)
	}
	return Exported[T]{b, m.h}, nil
}

// File waits for what s has been given so far, so that another process finds it done, and returns a file that
// stands for the memory. It is the caller's, who passes it to the other process, for instance among
// [os/exec.Cmd].ExtraFiles or over a Unix socket, and closes it; [Import] wants it there. What the other
// process has enqueued is done for this one when that process has waited for it and says so.
//
//lastuse:effect recv borrowed, arg s borrowed
func (e Exported[T]) File(s *alloc.Stream) (*os.File, error) {
	var room [1]alloc.Param
	if _, err := s.Begin(room[:0], e.Arg()); err != nil { // it has been freed
		return nil, err
	}
	defer s.End(e.Arg())
	if e.handle == 0 {
		return nil, fmt.Errorf("cuda: export: no memory, which MakeExported returns: %w", alloc.ErrSize)
	}
	if err := s.Sync(); err != nil {
		return nil, err
	}
	b, err := under(s, "export")
	if err != nil {
		return nil, err
	}
	fd, err := b.ctx.MemExport(e.handle)
	if err != nil {
		return nil, fmt.Errorf("cuda: export: %w", b.work(err))
	}
	return os.NewFile(uintptr(fd), "cuda memory"), nil
}

// Free gives the memory back, in stream order, like [alloc.Buffer.Free].
//
//lastuse:effect recv freed repeatable
func (e Exported[T]) Free() { e.Buffer.Free() }

// Import returns a buffer of n > 0 elements over memory that this process or another has exported as f, in
// the order of s, whose device is the same or one that reaches it. f may be closed afterwards. The memory
// counts in this process too. A file that stands for no memory of n elements is an error.
//
//lastuse:effect result 0 owned on success, arg f borrowed, arg n borrowed, arg s borrowed
func Import[T any](s *alloc.Stream, f *os.File, n int) (alloc.Buffer[T], error) {
	m, err := makeLone(s, "import", n, int64(unsafe.Sizeof(*(*T)(nil))), func(b *base, _ int64) (handle, error) {
		return b.imported(f)
	})
	if err != nil {
		return alloc.Buffer[T]{}, err
	}
	b, err := alloc.Adopt[T](s, alloc.Ptr(m.p), n, m.free)
	if err != nil {
		m.free()
		return alloc.Buffer[T]{}, fmt.Errorf("cuda: import: %w", err)
	}
	return b, nil
}

// create makes memory that may be exported.
func (b *base) create(size int64) (handle, error) {
	h, err := b.ctx.MemCreateExported(size)
	return h, b.work(err)
}

// imported returns the memory that a file stands for.
func (b *base) imported(f *os.File) (h handle, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	if e := conn.Control(func(fd uintptr) { h, err = b.ctx.MemImport(int(fd)) }); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, fmt.Errorf("%s stands for no memory of a GPU: want what Exported.File returned: %w", f.Name(),
			b.work(err))
	}
	return h, nil
}

// A lone is memory behind addresses of its own, outside what the pools have reserved.
type lone struct {
	b *base
	p uintptr
	n int64 // bytes
	h handle
}

// makeLone maps the memory that get returns, of elements that fill n or somewhat more bytes. If the pool may
// have what is lacking it is asked to give it back, and get is called again.
func makeLone(s *alloc.Stream, op string, n int, elem int64,
	get func(*base, int64) (handle, error)) (lone, error) {
	b, err := under(s, op)
	if err != nil {
		return lone{}, err
	}
	fail := func(err error) (lone, error) { return lone{}, fmt.Errorf("cuda: %s: %w", op, err) }
	if s.Captured() {
		return fail(fmt.Errorf("%w: do it before Capture", alloc.ErrCapturing))
	}
	if n <= 0 || elem == 0 || int64(n) > (1<<62)/elem {
		return fail(fmt.Errorf("%d elements of %d bytes: %w", n, elem, alloc.ErrSize))
	}
	can, err := b.drv.DeviceGetAttribute(b.ctx.Device(), cudadrv.FileHandleSupport)
	if err != nil {
		return fail(b.work(err))
	}
	if can == 0 || b.atlas.granule == 0 {
		return fail(fmt.Errorf("memory of %s cannot be exported: send copies: %w", b.name, ErrUnavailable))
	}
	least, err := b.ctx.MemGetAllocationGranularity()
	if err != nil {
		return fail(b.work(err))
	}
	a := lone{b: b, n: (int64(n)*elem + least - 1) / least * least}
	if a.h, err = get(b, a.n); errors.Is(err, alloc.ErrOutOfMemory) {
		s.Pool().Trim(0)
		a.h, err = get(b, a.n)
	}
	if errors.Is(err, alloc.ErrOutOfMemory) {
		err = fmt.Errorf("%d bytes: trim the pools, or ask for less: %w", a.n, err)
	}
	if err != nil {
		return fail(err)
	}
	if err := a.open(); err != nil {
		_ = b.ctx.MemRelease(a.h)
		return fail(fmt.Errorf("memory of %d bytes: ask for what there is behind it, or less: %w", a.n, b.work(err)))
	}
	return a, nil
}

// open puts the memory behind addresses that this device and its peers may use. On error nothing is left.
func (a *lone) open() (err error) {
	b, at := a.b, &a.b.atlas
	if a.p, err = b.ctx.MemAddressReserve(a.n, 0); err != nil {
		return err
	}
	at.order.RLock()
	defer at.order.RUnlock()
	d := Device{b}
	x := [1]mapped{{P: a.p, N: a.n, H: a.h}}
	if err := d.attach(x[:], 0); err != nil {
		if d.sweep(alloc.Ptr(a.p), a.n) == nil {
			_ = b.ctx.MemAddressFree(a.p, a.n)
		}
		return err
	}
	at.add(x[:], 0)
	return nil
}

// free gives memory and addresses back. No work uses them any more.
func (a lone) free() {
	b, at := a.b, &a.b.atlas
	at.order.RLock()
	defer at.order.RUnlock()
	at.mu.Lock()
	at.extents.Remove(a.p, a.n)
	at.mu.Unlock()
	if b.give(b.ctx.MemUnmap(a.p, a.n)) == nil {
		_ = b.ctx.MemAddressFree(a.p, a.n)
	}
	_ = b.ctx.MemRelease(a.h)
}
