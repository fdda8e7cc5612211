package alloc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/finalize"
)

func newPool(tb testing.TB, ho host.Options, o alloc.Options) *alloc.Pool {
	tb.Helper()
	dev, err := host.Open(ho)
	require.NoError(tb, err)
	p, err := alloc.NewPool(dev, o)
	require.NoError(tb, err)
	return p
}

func newStream(tb testing.TB, p *alloc.Pool) *alloc.Stream {
	tb.Helper()
	s, err := p.NewStream()
	require.NoError(tb, err)
	return s
}

// mustMake makes a buffer or ends the test.
func mustMake[T any](tb testing.TB, s *alloc.Stream, n int) alloc.Buffer[T] {
	tb.Helper()
	b, err := alloc.Make[T](s, n)
	require.NoError(tb, err)
	return b
}

// sound checks the pool's books.
func sound(tb testing.TB, p *alloc.Pool) alloc.Stats {
	tb.Helper()
	require.NoError(tb, p.Check())
	st := p.Stats()
	require.Equal(tb, st.Reserved, st.Live+st.Pending+st.Idle)
	return st
}

// gate blocks a stream until it is opened.
type gate chan struct{}

func block(tb testing.TB, s *alloc.Stream) gate {
	tb.Helper()
	g := make(gate)
	require.NoError(tb, host.Launch(s, func(host.Args) { <-g }))
	return g
}

func (g gate) open() { close(g) }

// collectUntil collects until done reports true. It gives up after so many collections, not after a while,
// which a busy machine may need for a few.
func collectUntil(tb testing.TB, done func() bool) {
	tb.Helper()
	for i := 0; !done(); i++ {
		require.Less(tb, i, 2000, "the collector does not bring it")
		finalize.Collect(time.Minute)
		time.Sleep(time.Millisecond) // for the goroutines that cleanups start
	}
}
