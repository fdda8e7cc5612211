// Package backend is the pool under a run: here, the real one in Check mode, on
// the host device.
package backend

import (
	"errors"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// Procs is how many processors the programs run on: the pool's own goroutines need some.
const Procs = 4

// Backend is the pool of one run.
type Backend struct {
	pool *alloc.Pool
	s, t *alloc.Stream
}

var (
	now *Backend
	dev *host.Device
	bad *alloc.Stream // of a closed pool: everything on it fails
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func init() {
	var err error
	dev, err = host.Open(host.Options{})
	must(err)
	b := New()
	bad = b.s
	must(b.pool.Close())
}

// New starts a pool.
func New() *Backend {
	p, err := alloc.NewPool(dev, alloc.Options{Check: true, Segment: 1 << 20, Quarantine: 1 << 20})
	must(err)
	t, err := p.NewStream()
	must(err)
	now = &Backend{p, p.DefaultStream(), t}
	return now
}

// Sizes says what Live counts for a buffer of each number of elements below n.
func Sizes(n int) []int64 {
	b := New()
	res := make([]int64, n)
	for i := 1; i < n; i++ {
		before := b.pool.Stats().Live
		x, err := alloc.Make[int64](b.s, i)
		must(err)
		res[i] = b.pool.Stats().Live - before
		x.Free()
	}
	must(b.pool.Close())
	return res
}

// Current is the pool of the run that goes on.
func Current() *Backend { return now }

// Stream returns the first stream, ordered after the second.
func (b *Backend) Stream() *alloc.Stream { b.s.Wait(b.t); return b.s }

// Second returns the second stream, ordered after the first.
func (b *Backend) Second() *alloc.Stream { b.t.Wait(b.s); return b.t }

// Bad returns a stream on which everything fails.
func (b *Backend) Bad() *alloc.Stream { return bad }

// Live returns the live bytes: this pool does not know its buffers by name.
func (b *Backend) Live(func(n int)) int64 { return b.pool.Stats().Live }

func (b *Backend) Frees(func(n, frees int)) {}
func (b *Backend) UAF() []string            { return nil }

// Poke writes through a raw pointer, as foreign code would.
func (b *Backend) Poke(p alloc.Ptr, x int64) {
	must(b.s.Sync())
	must(b.t.Sync())
	*(*int64)(unsafe.Pointer(uintptr(p))) = x
}

// Foreign returns memory that the pool did not make.
func (b *Backend) Foreign(size int) (alloc.Ptr, func()) {
	n := (int64(size) + alloc.MinAlign - 1) / alloc.MinAlign * alloc.MinAlign
	p, err := dev.Alloc(n)
	must(err)
	return p, func() { must(dev.Free(p, n)) }
}

// Close ends the run. What is still live stays until it dies: the judge has
// counted it.
func (b *Backend) Close() { _ = b.pool.Close() }

// IsFault reports whether err was injected.
func IsFault(err error) bool {
	return errors.Is(err, alloc.ErrClosed) || errors.Is(err, alloc.ErrForeign)
}
