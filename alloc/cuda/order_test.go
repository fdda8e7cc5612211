//go:build cgo && linux

package cuda

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
)

// With the order checker around it the device conforms as before, and its parts are in order.
func TestOrderConforms(t *testing.T) {
	checked := func(face func(*Device, testing.TB) alloc.Device) func(*Device, testing.TB) alloc.Device {
		return func(d *Device, tb testing.TB) alloc.Device { return alloctest.Ordered(tb, face(d, tb)) }
	}
	t.Run("mapped", func(t *testing.T) {
		alloctest.TestDevice(t, opener(Options{Granule: 2 << 20}, checked(holding)))
	})
	t.Run("plain", func(t *testing.T) { alloctest.TestDevice(t, opener(Options{}, checked(plain))) })
}

var soak = flag.Duration("soak", 0, "how long TestOrderSoak runs; 0: a few rounds")

// TestOrderSoak uses pools with no more order than the rules want, under the order checker, with kernels that
// take their time. On a machine with a GPU:
//
//	cuda.test -test.run TestOrderSoak -test.v -driver … -soak 2m -test.timeout 0
func TestOrderSoak(t *testing.T) {
	e := start(t, alloc.Options{})
	if e.StandIn != nil {
		e.StandIn.Set(t, "delay", 5)
	}
	rounds, steps, begin := uint64(6), 0, time.Now()
	for seed := uint64(0); seed < rounds || time.Since(begin) < *soak; seed++ {
		w := newWild(t, e, seed)
		for range 200 {
			w.step()
			steps++
		}
		w.finish()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d steps in %v", steps, time.Since(begin).Round(time.Millisecond))
}

// A wild is a program that makes up its mind as it goes, and a model of what its buffers hold. Unlike a
// script's streams its streams wait for nothing but what has used a buffer before.
type wild struct {
	t           *testing.T
	r           *rand.Rand
	pool        *alloc.Pool
	order       *alloctest.Order
	streams     []*alloc.Stream
	buffers     []*wildBuffer
	pinned      []*wildPinned
	stamp, spin *Kernel
	modules     []*Module
	live, room  int
	slow        bool // kernels run one step at a time
}

type wildBuffer struct {
	alloc.Buffer[byte]
	holds byte
	last  *alloc.Stream // which has used it last; others must wait for it
	event alloc.Event
}

type wildPinned struct {
	alloc.Pinned[byte]
	holds byte
	last  *alloc.Stream
}

func newWild(t *testing.T, e *env, seed uint64) *wild {
	w := &wild{t: t, r: rand.New(rand.NewPCG(seed, 5)), room: 12 << 20, slow: e.StandIn != nil}
	var dev alloc.Device = e.dev
	if seed&1 != 0 {
		dev = e.dev.Plain()
	}
	o := alloc.Options{CollectWait: time.Millisecond, Check: seed%6 == 5, Quarantine: 4 << 20}
	if seed&2 != 0 {
		o.Limit, o.Segment = 24<<20, 24<<20>>(seed>>2&3)
	}
	w.order = alloctest.Ordered(t, dev)
	var err error
	w.pool, err = alloc.NewPool(w.order, o)
	require.NoError(t, err)
	for _, k := range []struct {
		to        **Kernel
		ptx, name string
	}{{&w.stamp, stampPTX, "stamp"}, {&w.spin, testPTX, "spin"}} {
		m, err := LoadModule(w.pool, []byte(k.ptx))
		require.NoError(t, err)
		w.modules = append(w.modules, m)
		*k.to, err = m.Kernel(k.name)
		require.NoError(t, err)
	}
	for range 3 + seed%4 {
		w.streams = append(w.streams, w.newStream())
	}
	return w
}

func (w *wild) newStream() *alloc.Stream {
	s, err := w.pool.NewStream()
	require.NoError(w.t, err)
	return s
}

func (w *wild) stream() *alloc.Stream { return w.streams[w.r.IntN(len(w.streams))] }

func (w *wild) buffer() *wildBuffer {
	if len(w.buffers) == 0 {
		return nil
	}
	return w.buffers[w.r.IntN(len(w.buffers))]
}

// behind puts s behind the latest use of b.
func (w *wild) behind(s *alloc.Stream, b *wildBuffer) {
	if b.last != nil && b.last != s {
		if w.r.IntN(2) == 0 {
			s.WaitEvent(b.event)
		} else {
			s.Wait(b.last)
		}
	}
}

func (w *wild) used(s *alloc.Stream, b *wildBuffer) { b.last, b.event = s, s.Record() }

// write stamps b on s, at times late.
func (w *wild) write(s *alloc.Stream, b *wildBuffer) {
	w.behind(s, b)
	if w.r.IntN(3) == 0 {
		d := uint64(time.Duration(w.r.IntN(300)) * time.Microsecond)
		require.NoError(w.t, w.spin.Launch(s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(d)))
	}
	b.holds = byte(w.r.Uint32())
	n := b.Len()
	if w.slow && n > 4096 {
		require.NoError(w.t, b.Fill(s, b.holds))
		w.used(s, b)
		return
	}
	grid := Dim{X: (n + 255) / 256}
	args := []alloc.Arg{b.Arg(), alloc.Scalar(uint32(b.holds)), alloc.Scalar(uint32(n))}
	require.NoError(w.t, w.stamp.Launch(s, grid, Dim{X: 256}, 0, args...))
	w.used(s, b)
}

func (w *wild) make(s *alloc.Stream) *wildBuffer {
	size := [...]int{512, 512, 4096, 32 << 10, 256 << 10, 1 << 20, 3 << 20}[w.r.IntN(7)]
	for w.live+size > w.room && len(w.buffers) > 0 {
		w.free(w.buffer())
	}
	b, err := alloc.Make[byte](s, size)
	if err != nil {
		require.ErrorIs(w.t, err, alloc.ErrOutOfMemory)
		return nil
	}
	x := &wildBuffer{Buffer: b, last: s, event: s.Record()}
	w.live += size
	w.buffers = append(w.buffers, x)
	w.write(s, x)
	return x
}

func (w *wild) free(b *wildBuffer) {
	b.Free()
	w.forget(b)
}

func (w *wild) forget(b *wildBuffer) {
	w.live -= b.Len()
	for i, x := range w.buffers {
		if x == b {
			w.buffers[i] = w.buffers[len(w.buffers)-1]
			w.buffers = w.buffers[:len(w.buffers)-1]
		}
	}
}

func (w *wild) read(s *alloc.Stream, b *wildBuffer) {
	w.behind(s, b)
	got := make([]byte, b.Len())
	require.NoError(w.t, b.CopyTo(s, got))
	for i, x := range got {
		if x != b.holds {
			require.Failf(w.t, "wrong contents", "byte %d of %d is %#x, want %#x", i, len(got), x, b.holds)
		}
	}
	w.used(s, b)
}

func (w *wild) step() {
	s, b := w.stream(), w.buffer()
	switch k := w.r.IntN(40); {
	case k < 10 || b == nil:
		w.make(s)
	case k < 16:
		w.free(b)
	case k < 20:
		w.write(s, b)
	case k < 22:
		if a := w.buffer(); a != b && a.Len() >= b.Len() {
			w.behind(s, a)
			w.behind(s, b)
			require.NoError(w.t, alloc.Copy(s, a.View(0, b.Len()), b.All()))
			require.NoError(w.t, a.View(b.Len(), a.Len()).Fill(s, b.holds))
			a.holds = b.holds
			w.used(s, a)
			w.used(s, b)
		}
	case k < 24:
		w.read(s, b)
	case k < 28: // as a loop does, behind another stream at times
		if k == 24 {
			s.Wait(w.stream())
		}
		for range w.r.IntN(12) {
			if x := w.make(s); x != nil {
				w.free(x)
			}
		}
	case k < 30:
		s.Wait(w.stream())
	case k == 30:
		require.NoError(w.t, s.Sync())
	case k == 31:
		s.Record().Query()
	case k == 32:
		w.pool.Trim(int64(w.r.IntN(16 << 20)))
	case k == 33:
		w.replace(w.r.IntN(len(w.streams)))
	case k == 34:
		w.behind(s, b)
		b.Ptr(s)
		w.used(s, b)
	case k == 35:
		w.forget(b) // dropped
	default:
		w.stepPinned(s, b)
	}
	if n := len(w.buffers); n%8 == 0 {
		require.NoError(w.t, w.pool.Check())
	}
}

// replace closes a stream. What used buffers there is over.
func (w *wild) replace(i int) {
	old := w.streams[i]
	require.NoError(w.t, old.Close())
	w.streams[i] = w.newStream()
	for _, b := range w.buffers {
		if b.last == old {
			b.last = nil
		}
	}
	for _, h := range w.pinned {
		if h.last == old {
			h.last = nil
		}
	}
}

// stepPinned copies between page-locked memory and b without waiting.
func (w *wild) stepPinned(s *alloc.Stream, b *wildBuffer) {
	if len(w.pinned) < 4 {
		h, err := alloc.MakePinned[byte](w.pool, 1+w.r.IntN(1<<16))
		require.NoError(w.t, err)
		x := &wildPinned{Pinned: h, holds: byte(w.r.Uint32())}
		for i := range h.Slice() {
			h.Slice()[i] = x.holds
		}
		w.pinned = append(w.pinned, x)
	}
	i := w.r.IntN(len(w.pinned))
	h := w.pinned[i]
	if b.Len() < h.Len() || w.r.IntN(4) == 0 {
		h.Free()
		w.pinned[i] = w.pinned[len(w.pinned)-1]
		w.pinned = w.pinned[:len(w.pinned)-1]
		return
	}
	w.behind(s, b)
	if h.last != nil {
		s.Wait(h.last)
	}
	part := b.View(0, h.Len())
	if w.r.IntN(2) == 0 {
		require.NoError(w.t, alloc.Upload(s, part, h.Pinned))
		require.NoError(w.t, b.View(h.Len(), b.Len()).Fill(s, h.holds))
		b.holds = h.holds
	} else {
		require.NoError(w.t, alloc.Download(s, h.Pinned, part))
		h.holds = b.holds
	}
	h.last = s
	w.used(s, b)
}

func (w *wild) finish() {
	for _, b := range w.buffers {
		w.read(w.stream(), b)
	}
	for len(w.buffers) > 0 {
		w.free(w.buffers[0])
	}
	for _, h := range w.pinned {
		h.Free()
	}
	for _, s := range w.streams {
		require.NoError(w.t, s.Sync())
	}
	require.NoError(w.t, w.pool.Check())
	for _, m := range w.modules {
		require.NoError(w.t, m.Unload())
	}
	if err := w.pool.Close(); err != nil && !errors.Is(err, alloc.ErrLive) { // what was dropped may be live
		require.NoError(w.t, err)
	}
	if _, n := w.order.Findings(); n > 0 {
		w.t.Error(fmt.Errorf("%d findings", n))
	}
}
