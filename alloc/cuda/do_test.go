//go:build cgo && linux

package cuda

import (
	"errors"
	"runtime"
	"testing"

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
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.dev.Do(f) }))
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
	s.Wait(e.s)
	e.s.WaitEvent(s.Record())
	require.NoError(t, s.Sync())
	require.NoError(t, other.Close())
}
