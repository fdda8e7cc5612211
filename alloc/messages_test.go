package alloc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func TestNoStream(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	b := mustMake[int32](t, p.DefaultStream(), 4)
	const what = "no stream: nil, or not made by a pool"
	for name, s := range map[string]*alloc.Stream{"nil": nil, "zero": new(alloc.Stream)} {
		t.Run(name, func(t *testing.T) {
			for op, f := range map[string]func() error{
				"make":     func() error { _, err := alloc.Make[int32](s, 4); return err },
				"adopt":    func() error { _, err := alloc.Adopt[int32](s, 512, 4, nil); return err },
				"copy in":  func() error { return b.CopyFrom(s, make([]int32, 4)) },
				"copy out": func() error { return b.CopyTo(s, make([]int32, 4)) },
				"copy":     func() error { return alloc.Copy(s, b, b) },
				"fill":     func() error { return b.Fill(s, 1) },
				"sync":     func() error { return s.Sync() },
				"launch":   func() error { return host.Launch(s, func(host.Args) {}, b.Arg()) },
			} {
				assert.EqualError(t, f(), "alloc: "+op+": "+what)
			}
			_, err := alloc.Make[int32](s, 0)
			assert.EqualError(t, err, "alloc: make: "+what, "for no elements too")
			assert.EqualError(t, s.SyncContext(context.Background()), "alloc: sync: "+what)
			assert.EqualError(t, s.Close(), "alloc: close stream: "+what)
			for op, f := range map[string]func(){
				"address":    func() { b.Ptr(s) },
				"handle":     func() { s.Handle() },
				"record":     func() { s.Record() },
				"wait":       func() { s.Wait(p.DefaultStream()) },
				"wait event": func() { s.WaitEvent(alloc.Event{}) },
			} {
				assert.PanicsWithError(t, "alloc: "+op+": "+what, f)
			}
			assert.PanicsWithError(t, "alloc: wait: "+what, func() { p.DefaultStream().Wait(s) })
		})
	}
	b.Free()
	st := sound(t, p)
	assert.Zero(t, st.Live)
	require.NoError(t, p.Close())
}

func TestNoPool(t *testing.T) {
	for name, p := range map[string]*alloc.Pool{"nil": nil, "zero": new(alloc.Pool)} {
		for op, f := range map[string]func() error{
			"new stream":  func() error { _, err := p.NewStream(); return err },
			"wrap stream": func() error { _, err := p.WrapStream(1); return err },
			"make pinned": func() error { _, err := alloc.MakePinned[byte](p, 1); return err },
			"close":       p.Close,
		} {
			assert.EqualError(t, f(), "alloc: "+op+": no pool: nil, or not made by NewPool", name)
		}
	}
}

// What is wrong with a launch is said once, with the argument's number, and nothing stays pinned.
func TestLaunchMessages(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Limit: 1 << 20, Tracker: noSites()})
	q := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	good, dead := mustMake[int32](t, s, 4), mustMake[int32](t, s, 4)
	foreign := mustMake[int32](t, q.DefaultStream(), 4)
	dead.Free()
	closed := newStream(t, p)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		s    *alloc.Stream
		args []alloc.Arg
		is   error
		want string
	}{
		{s, []alloc.Arg{good.Arg(), {}}, alloc.ErrType,
			"alloc: launch: argument 1: the zero Arg, which no Buffer, View or Scalar made: bad element type"},
		{s, []alloc.Arg{good.Arg(), dead.Arg()}, alloc.ErrFreed,
			"alloc: launch: argument 1: buffer used after Free"},
		{s, []alloc.Arg{foreign.Arg()}, alloc.ErrForeign,
			"alloc: launch: argument 0: buffer belongs to another pool"},
		{s, []alloc.Arg{good.Arg(), alloc.Scalar("x")}, alloc.ErrType,
			"alloc: launch: argument 1: string is a Go pointer or holds one: bad element type"},
		{closed, []alloc.Arg{good.Arg()}, alloc.ErrClosed, "alloc: launch: " + streamClosed},
	} {
		err := host.Launch(c.s, func(host.Args) { t.Error("it ran") }, c.args...)
		assert.EqualError(t, err, c.want)
		assert.ErrorIs(t, err, c.is)
	}
	dev := hostDevice(p)
	u := newStream(t, p)
	require.NoError(t, dev.SetCapturing(u.Handle(), true))
	err := host.Launch(u, func(host.Args) { t.Error("it ran") }, good.Arg())
	assert.ErrorIs(t, err, alloc.ErrCapturing)
	assert.Equal(t, 1, strings.Count(err.Error(), "launch"), "%v", err)
	require.NoError(t, dev.SetCapturing(u.Handle(), false))
	good.Free()
	assert.Zero(t, sound(t, p).Live, "a pin that was left would hold it")
	foreign.Free()
	require.NoError(t, p.Close())
	require.NoError(t, q.Close())
}

// An operation's error begins with its own name.
func TestTypeMessages(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := p.DefaultStream()
	_, err := alloc.Make[*int](s, 1)
	assert.EqualError(t, err, "alloc: make: *int is a Go pointer or holds one: bad element type")
	_, err = alloc.Adopt[[]int](s, 512, 1, nil)
	assert.EqualError(t, err, "alloc: adopt: []int is a Go pointer or holds one: bad element type")
	_, err = alloc.MakePinned[struct{ s string }](p, 1)
	assert.EqualError(t, err,
		"alloc: make pinned: struct { s string }: field s is a Go pointer: bad element type")
	require.NoError(t, p.Close())
}

// The work of a closed stream has run: who polls its event must not do so for ever.
func TestEventOfAClosedStream(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	ran := false
	require.NoError(t, host.Launch(s, func(host.Args) { ran = true }))
	before := s.Record()
	require.NoError(t, s.Close())
	assert.True(t, ran)
	assert.True(t, before.Query())
	require.NoError(t, before.Sync())
	after := s.Record()
	assert.True(t, after.Query())
	assert.EqualError(t, after.Sync(), "alloc: event: "+streamClosed)
	u.WaitEvent(after)
	require.NoError(t, u.Sync(), "there is nothing to wait for")
	require.ErrorIs(t, s.SyncContext(context.Background()), alloc.ErrClosed)
	require.NoError(t, p.Close())
	assert.True(t, u.Record().Query())
	assert.ErrorIs(t, u.Record().Sync(), alloc.ErrClosed)
}

// Elements without a size take no memory, and there are as many as were asked for.
func TestElementsOfNoSize(t *testing.T) {
	type none struct{}
	p := newPool(t, host.Options{}, alloc.Options{})
	s := p.DefaultStream()
	b := mustMake[none](t, s, 5)
	assert.Equal(t, 5, b.Len())
	assert.Zero(t, b.Bytes())
	assert.Equal(t, 2, b.View(1, 3).Len())
	assert.Panics(t, func() { b.View(0, 6) })
	require.NoError(t, b.CopyFrom(s, make([]none, 5)))
	require.NoError(t, b.CopyTo(s, make([]none, 5)))
	require.ErrorIs(t, b.CopyTo(s, make([]none, 6)), alloc.ErrSize)
	require.NoError(t, b.Fill(s, none{}))
	seen := 0
	require.NoError(t, host.Launch(s, func(a host.Args) { seen = len(host.Slice[none](a, 0)) }, b.Arg()))
	require.NoError(t, s.Sync())
	assert.Equal(t, 5, seen)
	b.Free()
	h, err := alloc.MakePinned[none](p, 5)
	require.NoError(t, err)
	assert.Len(t, h.Slice(), 5)
	assert.Equal(t, 5, h.Len())
	h.Free()
	st := sound(t, p)
	assert.Zero(t, st.Made)
	assert.Zero(t, st.Repeated)
	_, err = alloc.Make[none](s, -1)
	require.ErrorIs(t, err, alloc.ErrSize)
	require.NoError(t, p.Close())
}

// What no device could hold is a bad size; what this one does not is a lack of memory.
func TestHugeSizes(t *testing.T) {
	p := newPool(t, host.Options{Capacity: 1 << 30}, alloc.Options{})
	s := p.DefaultStream()
	for _, n := range []int{1 << 48, 1<<48 + 1, 1 << 50, 1 << 62} {
		_, err := alloc.Make[byte](s, n)
		require.ErrorIs(t, err, alloc.ErrSize, "%d", n)
		require.False(t, errors.Is(err, alloc.ErrOutOfMemory))
		_, err = alloc.MakePinned[byte](p, n)
		require.ErrorIs(t, err, alloc.ErrSize, "%d", n)
		_, err = alloc.Adopt[byte](s, 512, n, nil)
		require.ErrorIs(t, err, alloc.ErrSize, "%d", n)
	}
	for _, n := range []int{1<<30 + 1, 1 << 40, 1<<47 + 1, 1<<48 - 1} {
		_, err := alloc.Make[byte](s, n)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory, "%d", n)
	}
	b := mustMake[byte](t, s, 1<<29)
	b.Free()
	assert.Zero(t, sound(t, p).Live)
	require.NoError(t, p.Close())
}
