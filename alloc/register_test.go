package alloc_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// A registry is a device that knows what is registered.
type registry struct {
	*host.Device
	mu  sync.Mutex
	all map[uintptr]int64
}

func newRegistry(t *testing.T) *registry {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	return &registry{Device: dev, all: map[uintptr]int64{}}
}

func (r *registry) Unwrap() alloc.Device { return r.Device }

func (r *registry) RegisterHost(p unsafe.Pointer, size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, n := range r.all {
		if at < uintptr(p)+uintptr(size) && uintptr(p) < at+uintptr(n) {
			return errors.New("registered already")
		}
	}
	if page := uintptr(os.Getpagesize()); uintptr(p)%page != 0 || uintptr(size)%page != 0 {
		return errors.New("not whole pages")
	}
	r.all[uintptr(p)] = size
	return nil
}

func (r *registry) UnregisterHost(p unsafe.Pointer, size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[uintptr(p)] != size {
		return errors.New("not registered so")
	}
	delete(r.all, uintptr(p))
	return nil
}

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// Memory of the program's is page-locked, in the books, used by copies that do not wait, and the program's
// alone again behind a Sync.
func TestRegister(t *testing.T) {
	dev := newRegistry(t)
	tr := tracker.New(tracker.Options{Rate: 1})
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{Tracker: tr})
	require.NoError(t, err)
	s := newStream(t, p)
	page := os.Getpagesize()
	mem := alloc.Pages[int32](page/4 + 10)
	assert.Len(t, mem, page/4+10)
	assert.Equal(t, 2*page/4, cap(mem))
	h, err := alloc.Register(p, mem)
	require.NoError(t, err)
	assert.Equal(t, unsafe.SliceData(mem), unsafe.SliceData(h.Slice()))
	assert.Equal(t, len(mem), h.Len())
	st := sound(t, p)
	assert.EqualValues(t, 2*page, st.PinnedLive)
	assert.EqualValues(t, 2*page, st.PinnedReserved)
	assert.Contains(t, sites(tr), "register_test.go")

	b := mustMake[int32](t, s, len(mem))
	for i := range mem {
		mem[i] = int32(i)
	}
	g := block(t, s)
	require.NoError(t, alloc.Upload(s, b, h))
	h.Free() // while the copy is queued
	h.Free()
	p.Trim(0)
	assert.Equal(t, 1, dev.count(), "the copy has not run")
	assert.EqualValues(t, 2*page, sound(t, p).PinnedPending)
	g.open()
	require.NoError(t, s.Sync())
	assert.Zero(t, dev.count(), "behind a Sync it is the program's alone")
	assert.Zero(t, sound(t, p).PinnedReserved)
	clear(mem)
	got := make([]int32, len(mem))
	require.NoError(t, b.CopyTo(s, got))
	for i, x := range got {
		require.EqualValues(t, i, x)
	}
	require.ErrorIs(t, alloc.Upload(s, b, h), alloc.ErrFreed)
	assert.Panics(t, func() { h.Slice() })

	part := mem[: page/4 : page/4]
	h, err = alloc.Register(p, part)
	require.NoError(t, err)
	h.Free() // the memory is the program's all the same, to copy from and to, and more of it too
	require.NoError(t, b.CopyTo(s, part))
	assert.EqualValues(t, 3, part[3])
	require.NoError(t, b.CopyTo(s, mem))
	require.NoError(t, b.CopyFrom(s, mem))
	require.NoError(t, s.Sync())
	assert.Zero(t, dev.count())

	h, err = alloc.Register(p, part)
	require.NoError(t, err)
	g = block(t, s)
	copied := make(chan error)
	go func() { copied <- b.CopyTo(s, part) }()
	h.Free()
	require.NoError(t, newStream(t, p).Sync())
	assert.Zero(t, dev.count(), "whatever copies are waiting for their turn")
	g.open()
	require.NoError(t, <-copied)

	h, err = alloc.Register(p, mem[:cap(mem)]) // again
	require.NoError(t, err)
	require.NoError(t, b.CopyTo(s, mem), "the copy that waits knows it too")
	assert.EqualValues(t, 5, mem[5])
	b.Free()
	require.NoError(t, p.Close())
	assert.Equal(t, 1, dev.count(), "live")
	h.Free()
	assert.Zero(t, dev.count(), "a closed pool gives it back at once")
}

// sites returns the sites of a tracker as text.
func sites(tr *tracker.Tracker) string {
	var b strings.Builder
	for _, s := range tr.Sites() {
		b.WriteString(s.String())
	}
	return b.String()
}

// A handle that is dropped is found, and its memory is not collected before.
func TestRegisterDropped(t *testing.T) {
	dev := newRegistry(t)
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	b := mustMake[byte](t, s, os.Getpagesize())
	g := block(t, s)
	freed := make(chan bool, 1)
	func() {
		mem := alloc.Pages[byte](os.Getpagesize())
		runtime.AddCleanup(&mem[0], func(int) { freed <- true }, 0)
		mem[0], mem[len(mem)-1] = 7, 9
		h, err := alloc.Register(p, mem)
		require.NoError(t, err)
		require.NoError(t, alloc.Upload(s, b, h))
	}()
	for range 3 {
		runtime.GC()
	}
	select {
	case <-freed:
		t.Error("collected while the device may read it")
	default:
	}
	g.open()
	got := make([]byte, b.Len())
	require.NoError(t, b.CopyTo(s, got))
	assert.EqualValues(t, 7, got[0])
	assert.EqualValues(t, 9, got[len(got)-1])
	collectUntil(t, func() bool { return s.Sync() == nil && dev.count() == 0 })
	collectUntil(t, func() bool {
		select {
		case <-freed:
			return true
		default:
			return false
		}
	})
	b.Free()
	require.NoError(t, p.Close())

	// A pool that is dropped gives it back as well.
	func() {
		q, err := alloc.NewPool(dev, alloc.Options{})
		require.NoError(t, err)
		_, err = alloc.Register(q, alloc.Pages[byte](10))
		require.NoError(t, err)
	}()
	collectUntil(t, func() bool { return dev.count() == 0 })
}

func TestRegisterBadInput(t *testing.T) {
	dev := newRegistry(t)
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	page := os.Getpagesize()
	mem := alloc.Pages[byte](4 * page)
	h, err := alloc.Register(p, mem[page:3*page:3*page])
	require.NoError(t, err)
	_, err = alloc.Register(p, mem)
	require.ErrorIs(t, err, alloc.ErrLive)
	require.ErrorContains(t, err, "alloc: register 16 KiB: memory at ")
	require.ErrorContains(t, err, "is page-locked already: free that first")
	h.Free()
	h, err = alloc.Register(p, mem) // what was freed is no more in the way
	require.NoError(t, err)
	h.Free()
	_, err = alloc.Register(p, mem[1:])
	require.ErrorIs(t, err, alloc.ErrSize)
	require.ErrorContains(t, err, "is not whole pages of 4096 bytes: alloc.Pages makes such memory")
	_, err = alloc.Register(p, mem[:page+1:2*page-1])
	require.ErrorIs(t, err, alloc.ErrSize)
	_, err = alloc.Register(p, alloc.Pages[[3]byte](1000)) // the last byte of the page is no element
	require.NoError(t, err)
	none, err := alloc.Register(p, []byte(nil))
	require.NoError(t, err)
	none.Free()
	_, err = alloc.Register(p, []string{"a"})
	require.ErrorIs(t, err, alloc.ErrType)
	_, err = alloc.Register[byte](nil, mem)
	require.ErrorContains(t, err, "alloc: register: no pool")
	assert.PanicsWithError(t, "alloc: pages: *int: *int is a Go pointer: bad element type",
		func() { alloc.Pages[*int](1) })
	assert.Empty(t, alloc.Pages[byte](0))

	late, err := alloc.NewPool(alloctest.NewFaulty(alloctest.NewLate(dev.Device, 1)), alloc.Options{})
	require.NoError(t, err)
	_, err = alloc.Register(late, mem)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, late.Close())
	f := alloctest.NewFaulty(dev)
	q, err := alloc.NewPool(f, alloc.Options{})
	require.NoError(t, err)
	f.Only("RegisterHost")
	f.FailNth(1)
	_, err = alloc.Register(q, mem)
	require.ErrorIs(t, err, alloctest.ErrInjected)
	assert.Zero(t, sound(t, q).PinnedReserved)
	require.NoError(t, q.Close())
	require.NoError(t, p.Close())
}

// Several goroutines register, use and free the same memory.
func TestRegisterStorm(t *testing.T) {
	dev := newRegistry(t)
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	mem := alloc.Pages[byte](8 * os.Getpagesize())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := newStream(t, p)
			b := mustMake[byte](t, s, len(mem))
			for range 100 {
				part := mem[i%2*4*os.Getpagesize():][: 4*os.Getpagesize() : 4*os.Getpagesize()]
				h, err := alloc.Register(p, part)
				if err != nil {
					assert.ErrorIs(t, err, alloc.ErrLive)
					continue
				}
				assert.NoError(t, alloc.Upload(s, b, h))
				h.Free()
				assert.NoError(t, b.View(0, len(part)).CopyFrom(s, part), "no handle is needed for that")
				if i < 2 {
					assert.NoError(t, s.Sync())
				}
			}
			b.Free()
			assert.NoError(t, s.Close())
		})
	}
	wg.Wait()
	require.NoError(t, p.Close())
	assert.Zero(t, dev.count())
}
