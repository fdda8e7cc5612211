package alloc_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// A poisoned device stops in the Fill that poisons freed memory, and counts the streams that are destroyed
// meanwhile.
type poisoned struct {
	*host.Device
	stopped   atomic.Pointer[func()]
	destroyed atomic.Int64
}

func (d *poisoned) Unwrap() alloc.Device { return d.Device }

func (d *poisoned) Fill(s uintptr, p alloc.Ptr, pattern uint32, width int, n int64) error {
	if f := d.stopped.Load(); f != nil && pattern == 0xdb {
		(*f)()
	}
	return d.Device.Fill(s, p, pattern, width, n)
}

func (d *poisoned) DestroyStream(s uintptr) error {
	d.destroyed.Add(1)
	return d.Device.DestroyStream(s)
}

// A Free of Check mode enqueues work on the stream of its buffer, and may run beside the stream's Close, as
// the collector's frees do: Close waits for it, and for its work.
func TestCloseBesidePoison(t *testing.T) {
	hd, err := host.Open(host.Options{Capacity: 16 << 20, Granularity: 64 << 10})
	require.NoError(t, err)
	dev := &poisoned{Device: hd}
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{Check: true})
	require.NoError(t, err)
	s := newStream(t, p)
	b := mustMake[byte](t, s, 1000)
	closed := make(chan error)
	f := func() {
		go func() { closed <- s.Close() }()
		// Long enough for a Close that does not wait. One that does has all the time it wants.
		for range 100 {
			if dev.destroyed.Load() > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		assert.Zero(t, dev.destroyed.Load(), "the stream is destroyed while work is enqueued on it")
	}
	dev.stopped.Store(&f)
	b.Free()
	require.NoError(t, <-closed)
	dev.stopped.Store(nil)
	assert.EqualValues(t, 1, dev.destroyed.Load())
	sound(t, p)
	require.NoError(t, p.Close())
}
