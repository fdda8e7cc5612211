package alloc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// A meeting is a device whose Syncs are met.
type meeting struct {
	*alloctest.Order
	synced func(s uintptr)
}

func (d *meeting) Unwrap() alloc.Device { return d.Order }

func (d *meeting) Sync(s uintptr) error {
	err := d.Order.Sync(s)
	d.synced(s)
	return err
}

// Work that was being enqueued when Close came may be given page-locked memory after Close has waited for all
// work. The memory goes back to the device when that work, too, has run, whoever gives it back.
func TestCloseMeetsPinnedUse(t *testing.T) {
	hd, err := host.Open(host.Options{})
	require.NoError(t, err)
	dev := &meeting{Order: alloctest.Ordered(t, hd), synced: func(uintptr) {}}
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	h, err := alloc.MakePinned[byte](p, 4096)
	require.NoError(t, err)
	b := mustMake[byte](t, s, 4096)
	params, err := s.Begin(nil, b.Arg()) // as a copy between the two does
	require.NoError(t, err)
	require.Len(t, params, 1)
	use, err := alloc.BeginPinned(s, h)
	require.NoError(t, err)
	h.Free()

	handle, std := s.Handle(), p.DefaultStream().Handle()
	retired, closed, ended := make(chan bool), make(chan bool), make(chan bool)
	times := 0
	dev.synced = func(on uintptr) {
		if on != handle {
			return
		}
		if times++; times != 2 {
			return
		}
		// Close has waited for its streams, and once more for what it met: the work is enqueued now.
		dev.synced = func(on uintptr) {
			require.Equal(t, std, on)
			dev.synced = func(uintptr) {}
			retired <- true // but it has not been waited for
			<-closed
		}
		go func() {
			defer close(ended)
			use.End()
		}()
		<-retired
	}
	var live *alloc.LiveError
	require.ErrorAs(t, p.Close(), &live)
	close(closed)
	<-ended
	s.End(b.Arg())
	b.Free()
	require.Zero(t, hd.Used())
}
