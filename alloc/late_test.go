package alloc_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// Buffers that the collector has found dead are live in the books until somebody has drained them. One
// who is stopped in the middle of that must not make others fail, whose collections find nothing more.
func TestStoppedDrain(t *testing.T) {
	const limit, each = 16 << 20, 1 << 20
	for range 3 {
		p := newPool(t, host.Options{}, alloc.Options{Limit: limit})
		s := p.DefaultStream()
		for range limit / each {
			mustMake[byte](t, s, each)
		}
		for alloc.LateLen(p) < limit/each {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		stopped, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			alloc.DrainLate(p, func() {
				close(stopped)
				time.Sleep(50 * time.Millisecond)
			})
		}()
		<-stopped
		b, err := alloc.Make[byte](s, each)
		require.NoError(t, err)
		b.Free()
		<-done
		sound(t, p)
		require.NoError(t, p.Close())
	}
}
