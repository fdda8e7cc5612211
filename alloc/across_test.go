package alloc_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// Work of one pool waits for work of another, on the same device and on two of one kind.
func TestWaitAcrossPools(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	same, err := alloc.NewPool(p.Device(), alloc.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, same.Close()) })
	other := newPool(t, host.Options{}, alloc.Options{})
	for name, q := range map[string]*alloc.Pool{"same device": same, "two devices": other} {
		for how, wait := range map[string]func(s, t *alloc.Stream){
			"Wait":      func(s, t *alloc.Stream) { s.Wait(t) },
			"WaitEvent": func(s, t *alloc.Stream) { s.WaitEvent(t.Record()) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				s, u := newStream(t, p), newStream(t, q)
				var ran atomic.Bool
				g := block(t, s)
				require.NoError(t, host.Launch(s, func(host.Args) { ran.Store(true) }))
				wait(u, s)
				var saw bool
				require.NoError(t, host.Launch(u, func(host.Args) { saw = ran.Load() }))
				assert.False(t, u.Record().Query())
				g.open()
				require.NoError(t, u.Sync())
				assert.True(t, saw)
			})
		}
	}
	t.Run("closed", func(t *testing.T) {
		s, u := newStream(t, p), newStream(t, other)
		e := u.Record()
		require.NoError(t, s.Close())
		g := block(t, u)
		assert.Panics(t, func() { s.WaitEvent(u.Record()) })
		g.open()
		require.NoError(t, u.Close())
		u = newStream(t, p)
		u.WaitEvent(e) // its work has run
		require.NoError(t, u.Sync())
	})
}

func TestTimedEvents(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	start := s.RecordTimed()
	require.NoError(t, host.Launch(s, func(host.Args) { time.Sleep(20 * time.Millisecond) }))
	end := s.RecordTimed()
	d, err := end.Sub(start) // waits
	require.NoError(t, err)
	assert.GreaterOrEqual(t, d, 20*time.Millisecond)
	assert.True(t, end.Query())
	back, err := start.Sub(end)
	require.NoError(t, err)
	assert.Equal(t, -d, back)

	t.Run("untimed", func(t *testing.T) {
		for _, pair := range [][2]alloc.Event{{s.Record(), start}, {end, s.Record()}, {end, {}}, {{}, start}} {
			_, err := pair[0].Sub(pair[1])
			require.ErrorContains(t, err, "use RecordTimed")
		}
	})
	t.Run("of two devices", func(t *testing.T) {
		_, err := end.Sub(newStream(t, newPool(t, host.Options{}, alloc.Options{})).RecordTimed())
		require.ErrorIs(t, err, alloc.ErrForeign)
	})
	untimed := alloctest.NewLate(p.Device(), 1)
	for name, dev := range map[string]alloc.Device{
		"":                            untimed,
		" behind the order checker":   alloctest.NewOrder(untimed, alloctest.Fail(t)),
		" behind one that may fail":   alloctest.NewFaulty(untimed),
		" behind both":                alloctest.NewOrder(alloctest.NewFaulty(untimed), alloctest.Fail(t)),
		" behind both, the other way": alloctest.NewFaulty(alloctest.NewOrder(untimed, alloctest.Fail(t))),
	} {
		t.Run("on a device that does not time"+name, func(t *testing.T) {
			late, err := alloc.NewPool(dev, alloc.Options{})
			require.NoError(t, err)
			e := late.DefaultStream().RecordTimed()
			require.NoError(t, e.Sync(), "an event all the same")
			_, err = e.Sub(e)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, dev.Name())
			require.NoError(t, late.Close())
		})
	}
	t.Run("of a closed pool", func(t *testing.T) {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		q, err := alloc.NewPool(dev, alloc.Options{})
		require.NoError(t, err)
		e := q.DefaultStream().RecordTimed()
		require.NoError(t, q.Close())
		_, err = e.Sub(e)
		require.ErrorIs(t, err, alloc.ErrClosed)
	})
}

// A timing is a device that counts its timed events.
type timing struct {
	*host.Device
	made int
}

func (d *timing) NewTimedEvent() (uintptr, error) {
	d.made++
	return d.Device.NewTimedEvent()
}

// An event that nobody knows any more is recorded again, and then has the time of that.
func TestTimedEventsAgain(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	d := &timing{Device: dev}
	p, err := alloc.NewPool(d, alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	start := s.RecordTimed()
	recorded, last := 1, time.Duration(0)
	collectUntil(t, func() bool {
		now, err := s.RecordTimed().Sub(start)
		require.NoError(t, err)
		require.Greater(t, now, last, "the time of an older recording")
		recorded, last = recorded+1, now
		return d.made < recorded
	})
	require.NoError(t, s.Close())
	require.NoError(t, p.Close())
}

// No callback runs behind work that has failed.
func TestCallbackFails(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	f := alloctest.NewFaulty(dev)
	p, err := alloc.NewPool(f, alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	f.Only("SyncEvent")
	f.FailNth(1)
	var ran [2]atomic.Bool
	require.NoError(t, s.Callback(func() { ran[0].Store(true) }))
	over(t)
	assert.False(t, ran[0].Load(), "its work has failed")
	require.NoError(t, s.Callback(func() { ran[1].Store(true) }))
	over(t)
	assert.True(t, ran[1].Load(), "later work has not")
	f.Heal()
	f.Only("Record")
	f.FailNth(1)
	require.ErrorIs(t, s.Callback(func() { t.Error("without an event") }), alloctest.ErrInjected)
	f.Heal()
	require.NoError(t, p.Close(), "and nobody is inside")
}

// over returns when no goroutine of a callback is left.
func over(t *testing.T) {
	for i := 0; ; i++ {
		stacks := make([]byte, 1<<20)
		if !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "alloc.(*Stream).Callback.func") {
			return
		}
		require.Less(t, i, 100_000, "%s", stacks)
		time.Sleep(time.Millisecond)
	}
}

func TestCallback(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	g := block(t, s)
	var wg sync.WaitGroup
	var before, made atomic.Bool
	require.NoError(t, host.Launch(s, func(host.Args) { before.Store(true) }))
	wg.Add(1)
	require.NoError(t, s.Callback(func() {
		defer wg.Done()
		b := mustMake[byte](t, s, 100) // it may use the pool, and wait for the stream
		defer b.Free()
		assert.NoError(t, s.Sync())
		made.Store(before.Load())
	}))
	after := make(chan struct{})
	require.NoError(t, host.Launch(s, func(host.Args) { close(after) }))
	assert.False(t, made.Load())
	g.open()
	<-after // whether or not the callback has run
	wg.Wait()
	assert.True(t, made.Load())

	require.Error(t, s.Callback(nil))
	require.Error(t, (*alloc.Stream)(nil).Callback(func() {}))
	require.NoError(t, hostDevice(p).SetCapturing(s.Handle(), true))
	require.ErrorIs(t, s.Callback(func() { t.Error("in a capture") }), alloc.ErrCapturing)
	require.NoError(t, hostDevice(p).SetCapturing(s.Handle(), false))
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Callback(func() { t.Error("on a closed stream") }), alloc.ErrClosed)
}

// A callback may close the pool whose work it waited for.
func TestCallbackCloses(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	done := make(chan error)
	require.NoError(t, p.DefaultStream().Callback(func() { done <- p.Close() }))
	require.NoError(t, <-done)
}

// urgent is a device with priorities from 2 down to -3, which notes those that it is asked for.
type urgent struct {
	*host.Device
	asked []int
}

func (u *urgent) Priorities() (least, most int, err error) { return 2, -3, nil }

func (u *urgent) NewPriorityStream(priority int) (uintptr, error) {
	u.asked = append(u.asked, priority)
	return u.NewStream()
}

func TestPriority(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	u := &urgent{Device: dev}
	p, err := alloc.NewPool(u, alloc.Options{})
	require.NoError(t, err)
	for _, priority := range []int{0, -1, -100, 1, 100} {
		s, err := p.NewStreamWith(alloc.StreamOptions{Priority: priority})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	assert.Equal(t, []int{-1, -3, 1, 2}, u.asked)
	require.NoError(t, p.Close())

	plain := newPool(t, host.Options{}, alloc.Options{})
	s, err := plain.NewStreamWith(alloc.StreamOptions{Priority: -1}) // the host has none
	require.NoError(t, err)
	require.NoError(t, s.Sync())
}
