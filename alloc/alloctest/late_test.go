package alloctest_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// byteAt reads the device's memory behind its back.
func byteAt(p alloc.Ptr) byte { return *(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

func newLate(t *testing.T, seed uint64) *alloctest.Late {
	h, err := host.Open(host.Options{Granularity: 4 << 10})
	require.NoError(t, err)
	return alloctest.NewLate(h, seed)
}

// must returns what a call has returned without an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return x
	}
}

// Nothing runs before somebody must see it, and then no more than order wants.
func TestLateRunsLittle(t *testing.T) {
	l := newLate(t, 1)
	handle := must[uintptr](t)
	p := must[alloc.Ptr](t)(l.Alloc(4096))
	s, u := handle(l.NewStream()), handle(l.NewStream())
	first, second := handle(l.NewEvent()), handle(l.NewEvent())
	require.NoError(t, l.Fill(s, p, 1, 1, 1))
	require.NoError(t, l.Record(first, s))
	require.NoError(t, l.Fill(s, p+1, 2, 1, 1))
	require.NoError(t, l.Record(second, s))
	require.NoError(t, l.Wait(u, first))
	require.NoError(t, l.Fill(u, p+2, 3, 1, 1))
	assert.Zero(t, byteAt(p))
	require.NoError(t, l.Sync(u))
	assert.EqualValues(t, []byte{1, 0, 3}, []byte{byteAt(p), byteAt(p + 1), byteAt(p + 2)},
		"what u waits for, no more")
	require.NoError(t, l.SyncEvent(second))
	assert.EqualValues(t, 2, byteAt(p+1))
	assert.True(t, must[bool](t)(l.Query(second)), "who has waited is told yes")
	require.NoError(t, l.Faults())
}

// A query that says yes has run the work; it says no first, and never again after a yes.
func TestLateQueries(t *testing.T) {
	answers := make(map[int]bool)
	for seed := range uint64(20) {
		l := newLate(t, seed)
		p := must[alloc.Ptr](t)(l.Alloc(4096))
		e := must[uintptr](t)(l.NewEvent())
		assert.True(t, must[bool](t)(l.Query(e)), "before it is recorded")
		require.NoError(t, l.Fill(l.DefaultStream(), p, 7, 1, 1))
		require.NoError(t, l.Record(e, l.DefaultStream()))
		n := 0
		for ; !must[bool](t)(l.Query(e)); n++ {
			assert.Zero(t, byteAt(p))
		}
		assert.EqualValues(t, 7, byteAt(p))
		assert.True(t, must[bool](t)(l.Query(e)))
		answers[n] = true
	}
	assert.Greater(t, len(answers), 5, "as the seed wants")
}

// Memory that goes while there is work left on it is a fault, and the work does not run.
func TestLateFaults(t *testing.T) {
	for name, away := range map[string]func(*alloctest.Late, alloc.Ptr) error{
		"free":  func(l *alloctest.Late, p alloc.Ptr) error { return l.Free(p, 4096) },
		"unmap": func(l *alloctest.Late, p alloc.Ptr) error { return l.Unmap(p, 4096) },
		"move":  func(l *alloctest.Late, p alloc.Ptr) error { return l.Move(p+4096, p, 4096) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLate(t, 1)
			var p alloc.Ptr
			if name == "free" {
				p = must[alloc.Ptr](t)(l.Alloc(4096))
			} else {
				p = must[alloc.Ptr](t)(l.Reserve(8192))
				require.NoError(t, l.Map(p, 4096))
			}
			s := must[uintptr](t)(l.NewStream())
			require.NoError(t, l.Fill(s, p+100, 1, 1, 8))
			require.ErrorContains(t, l.DestroyStream(s), "have not run")
			require.NoError(t, l.Faults())
			require.NoError(t, away(l, p))
			require.ErrorContains(t, l.Faults(), name+" of 4096 bytes")
			require.NoError(t, l.Sync(s))
			require.NoError(t, l.DestroyStream(s))
		})
	}
}

// A stream that is being captured refuses work; what would tie another stream to it is a fault.
func TestLateCaptures(t *testing.T) {
	l := newLate(t, 1)
	p := must[alloc.Ptr](t)(l.Alloc(4096))
	s := must[uintptr](t)(l.NewStream())
	e := must[uintptr](t)(l.NewEvent())
	require.NoError(t, l.AdoptStream(s))
	require.Error(t, l.AdoptStream(99))
	require.NoError(t, l.Fill(s, p, 1, 1, 1))
	require.NoError(t, l.SetCapturing(s, true))
	assert.True(t, must[bool](t)(l.Capturing(s)))
	require.ErrorIs(t, l.Fill(s, p, 2, 1, 1), alloc.ErrCapturing)
	require.ErrorIs(t, l.Sync(s), alloc.ErrCapturing)
	require.NoError(t, l.Faults())
	require.ErrorIs(t, l.Record(e, s), alloc.ErrCapturing)
	require.ErrorContains(t, l.Faults(), "late: record")
	require.ErrorIs(t, l.Wait(s, e), alloc.ErrCapturing)
	require.ErrorContains(t, l.Faults(), "late: wait")
	require.NoError(t, l.SetCapturing(s, false))
	assert.False(t, must[bool](t)(l.Capturing(s)))
	require.NoError(t, l.Sync(s))
	assert.EqualValues(t, 1, byteAt(p))
}

// A function runs when its turn comes, with the memory of buffers that have been freed since.
func TestLateLaunch(t *testing.T) {
	l := newLate(t, 1)
	p, err := alloc.NewPool(alloctest.Ordered(t, l), alloc.Options{})
	require.NoError(t, err)
	s := p.DefaultStream()
	b, err := alloc.Make[byte](s, 100)
	require.NoError(t, err)
	require.NoError(t, b.Fill(s, 5))
	var got byte
	launch := func(x alloc.Buffer[byte]) error {
		return l.Launch(s, func(p []alloc.Param) { got = byteAt(p[0].Ptr) }, x.Arg())
	}
	require.NoError(t, launch(b))
	b.Free()
	require.ErrorIs(t, launch(b), alloc.ErrFreed)
	c, err := alloc.Make[byte](s, 100)
	require.NoError(t, err)
	require.NoError(t, c.Fill(s, 6))
	assert.Zero(t, got)
	require.NoError(t, s.Sync())
	assert.EqualValues(t, 5, got)
	c.Free()
	require.NoError(t, p.Close())
}
