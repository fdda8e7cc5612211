//go:build cgo && linux

package cuda

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// current returns the context that is the calling thread's current one.
func current(t *testing.T, b *base) uintptr {
	was, err := b.ctx.Swap()
	require.NoError(t, err)
	require.NoError(t, b.ctx.Restore(was))
	return was
}

func TestDo(t *testing.T) {
	e := start(t, alloc.Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := e.dev.base
	require.NoError(t, b.ctx.Restore(0)) // the thread has none, like one of foreign code
	ours := uintptr(0)
	want := errors.New("f's")
	require.ErrorIs(t, e.dev.Do(func() error {
		ours = current(t, b)
		require.NotZero(t, ours)
		require.NoError(t, e.dev.Do(func() error { return nil }))
		assert.Equal(t, ours, current(t, b), "behind a nested one")
		return want
	}), want)
	assert.Zero(t, current(t, b), "what was there before")

	require.EqualError(t, e.dev.Do(nil), "cuda: do: no function")
	assert.PanicsWithValue(t, "in f", func() {
		_ = e.dev.Do(func() error { panic("in f") })
	})
	assert.Zero(t, current(t, b), "behind a panic")

	require.NoError(t, e.dev.Do(func() error {
		require.NoError(t, b.ctx.Restore(0)) // foreign code changes it
		return nil
	}))
	assert.Zero(t, current(t, b))

	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = e.dev.Do(func() error { runtime.Goexit(); return nil })
	}()
	<-left
	x := buffer[int32](t, e.s, 10) // and the pool works on a thread whose context was taken away
	require.NoError(t, x.Fill(e.s, 1))
	x.Free()
	require.NoError(t, e.s.Sync())
}

func TestDoAllocatesNothing(t *testing.T) {
	e := start(t, alloc.Options{})
	f := func() error { return nil }
	noGoMemory(t, 100, func() { _ = e.dev.Do(f) })
}

func TestTimedEvents(t *testing.T) {
	e := start(t, alloc.Options{})
	b := buffer[int32](t, e.s, 1<<20)
	defer b.Free()
	begin := e.s.RecordTimed()
	for range 10 {
		require.NoError(t, b.Fill(e.s, 1))
	}
	end := e.s.RecordTimed()
	d, err := end.Sub(begin)
	require.NoError(t, err)
	assert.Positive(t, d)
	_, err = end.Sub(e.s.Record())
	require.Error(t, err)
}

// Timed events agree with the driver's own, recorded beside them, to the microsecond. A kernel runs before
// each stretch, so that what the device does between two events is seen and not how soon they are enqueued.
func TestTimedAgrees(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "spin")
	h := e.s.LaunchHandle()
	var own [2]uintptr
	for i := range own {
		var err error
		own[i], err = e.dev.ctx.EventCreateTimed()
		require.NoError(t, err)
	}
	var off []float64 // microseconds
	spin := func(d time.Duration) {
		require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(d))))
	}
	for range 21 {
		spin(200 * time.Microsecond)
		begin := e.s.RecordTimed()
		_, err := e.dev.ctx.EventRecord(own[0], h)
		require.NoError(t, err)
		spin(time.Millisecond)
		end := e.s.RecordTimed()
		_, err = e.dev.ctx.EventRecord(own[1], h)
		require.NoError(t, err)
		d, err := end.Sub(begin)
		require.NoError(t, err)
		require.NoError(t, e.s.Sync())
		want, err := e.dev.ctx.EventElapsedTime(own[0], own[1])
		require.NoError(t, err)
		off = append(off, math.Abs(float64(d-want))/1e3)
	}
	t.Logf("median %.3f µs apart", median(off))
	if e.Real() { // the stand-in's clock is that of threads that wait for processors
		assert.Less(t, median(off), 1.0)
	}
	for _, x := range own {
		require.NoError(t, e.dev.ctx.EventDestroy(x))
	}
}

func TestPriorities(t *testing.T) {
	e := start(t, alloc.Options{})
	least, most, err := e.dev.Priorities()
	require.NoError(t, err)
	require.Less(t, most, least)
	for _, p := range []int{-1, -1000, 1000} {
		s, err := e.pool.NewStreamWith(alloc.StreamOptions{Priority: p})
		require.NoError(t, err)
		b := buffer[int32](t, s, 10)
		require.NoError(t, b.Fill(s, 1))
		b.Free()
		require.NoError(t, s.Close())
	}
	_, err = e.dev.NewPriorityStream(most - 1)
	if err == nil { // real drivers bring it into the range themselves
		t.Log("the driver takes a priority out of its range")
	}
}

func TestCallback(t *testing.T) {
	e := start(t, alloc.Options{})
	ran := make(chan struct{})
	require.NoError(t, e.s.Callback(func() { close(ran) }))
	<-ran
}

func TestWaitAcrossPools(t *testing.T) {
	e := start(t, alloc.Options{})
	other, err := alloc.NewPool(e.dev.Plain(), alloc.Options{})
	require.NoError(t, err)
	s, err := other.NewStream()
	require.NoError(t, err)
	spin, axpy := e.kernel(t, testPTX, "spin"), e.kernel(t, testPTX, "axpy")
	x, y := buffer[float32](t, e.s, 1), buffer[float32](t, s, 1)
	one, long := Dim{X: 1}, alloc.Scalar(uint64(50*time.Millisecond))
	// add enqueues *to += *from on s, of which only to is of the stream's pool.
	add := func(s *alloc.Stream, to alloc.Arg, from alloc.Ptr) {
		require.NoError(t, axpy.Launch(s, one, one, 0, to, alloc.Scalar(uint64(from)), alloc.Scalar(float32(1)),
			alloc.Scalar(uint32(1))))
	}
	require.NoError(t, x.Fill(e.s, 0))
	require.NoError(t, y.Fill(s, 0))
	require.NoError(t, errors.Join(e.s.Sync(), s.Sync()))
	require.NoError(t, spin.Launch(e.s, one, one, 0, long))
	require.NoError(t, x.Fill(e.s, 1))
	s.Wait(e.s)
	add(s, y.Arg(), x.Ptr(e.s)) // y is 1, or 0 if it did not wait
	require.NoError(t, spin.Launch(s, one, one, 0, long))
	add(s, y.Arg(), x.Ptr(e.s)) // y is 2
	e.s.WaitEvent(s.Record())
	add(e.s, x.Arg(), y.Ptr(s)) // x is 3, or 2 if it did not wait
	got := make([]float32, 1)
	require.NoError(t, x.CopyTo(e.s, got))
	assert.EqualValues(t, 3, got[0])
	x.Free()
	y.Free()
	require.NoError(t, other.Close())
}

// A device whose context is broken breaks no other that waits for it or copies from it.
func TestWaitForBroken(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	sick := startWith(t, e.Driver, 1, Options{}, alloc.Options{})
	s := sick.s
	far, near := buffer[byte](t, s, 512), buffer[byte](t, e.s, 512)
	before := s.Record()
	require.NoError(t, sick.kernel(t, testPTX, "fault").Launch(s, Dim{X: 1}, Dim{X: 1}, 0))
	require.ErrorIs(t, s.Sync(), ErrBroken)

	e.s.WaitEvent(before)
	err := e.s.Sync()
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorContains(t, err, "wait for cuda:1 ")
	require.ErrorIs(t, CopyPeer(e.s, near, s, far), ErrBroken)
	require.ErrorIs(t, CopyPeer(s, far, e.s, near), ErrBroken)

	require.NoError(t, near.Fill(e.s, 1))
	require.NoError(t, e.s.Sync(), "the device is as well as before")
	assert.Nil(t, e.dev.broken.Load())
	assert.NotNil(t, sick.dev.broken.Load())
	near.Free()
	far.Free()
}

// What fails behind a callback keeps it from being called.
func TestCallbackBroken(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	k := e.kernel(t, testPTX, "fault")
	e.StandIn.Hold(true)
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0))
	var ran atomic.Bool
	require.NoError(t, e.s.Callback(func() { ran.Store(true) }))
	e.StandIn.Hold(false)
	require.ErrorIs(t, e.s.Sync(), ErrBroken)
	for stacks := make([]byte, 1<<20); ; time.Sleep(time.Millisecond) { // until its goroutine is gone
		if !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*Stream).Callback.func") {
			break
		}
	}
	assert.False(t, ran.Load())
}
