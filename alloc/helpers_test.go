package alloc_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/gomemory"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/tier"
	"github.com/lastuse/lastuse/tracker"
)

// checking says that the pools of tests run under the order checker. It is constant while tests run.
var checking bool

// TestMain runs all tests twice: with the order checker around every device, and as a program runs its pools,
// whose warm Makes and Frees take shorter ways. Benchmarks and fuzzing have one turn, fuzzing with the
// checker.
func TestMain(m *testing.M) {
	flag.Parse()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	benching := flag.Lookup("test.bench").Value.String() != ""
	code := 0
	if !fuzzing {
		code = m.Run()
	}
	if checking = true; code == 0 && !benching {
		code = m.Run()
	}
	os.Exit(code)
}

// half returns the first of a series of cases, and how far it is to the next: each turn takes every second.
// With -tags long each takes all.
func half() (first, step int64) {
	switch {
	case tier.Long:
		return 1, 1
	case checking:
		return 2, 2
	}
	return 1, 2
}

// ordered puts the order checker around dev, in the turn of it. A finding fails tb.
func ordered(tb testing.TB, dev alloc.Device) alloc.Device {
	if !checking {
		return dev
	}
	return alloctest.Ordered(tb, dev)
}

// orderedFaulty is ordered for tests in which waits fail: a program whose Wait has failed uses its buffers
// out of order and hears of it too late.
func orderedFaulty(tb testing.TB, dev alloc.Device) alloc.Device {
	if !checking {
		return dev
	}
	fail := alloctest.Fail(tb)
	return alloctest.NewOrder(dev, func(f *alloctest.Finding) {
		if !f.Program {
			fail(f)
		}
	})
}

// allocatesNothing runs f often, which allocates no Go memory. What the order checker and the checks of lock
// ranks keep is not counted.
func allocatesNothing(t *testing.T, f func(), what ...any) {
	t.Helper()
	if checking || lockrank.On {
		const module = "github.com/lastuse/lastuse/"
		assert.Empty(t, gomemory.Stacks(100, f, module+"alloc/alloctest", module+"internal/lockrank"), what...)
		return
	}
	assert.Zero(t, testing.AllocsPerRun(100, f), what...)
}

// hostDevice returns the device behind p.
func hostDevice(p *alloc.Pool) *host.Device {
	dev := p.Device()
	for {
		if d, ok := dev.(*host.Device); ok {
			return d
		}
		dev = dev.(interface{ Unwrap() alloc.Device }).Unwrap()
	}
}

// noSites returns books without call sites, for tests of errors that would name one now and then.
func noSites() *tracker.Tracker { return tracker.New(tracker.Options{Rate: -1}) }

func newPool(tb testing.TB, ho host.Options, o alloc.Options) *alloc.Pool {
	tb.Helper()
	dev, err := host.Open(ho)
	require.NoError(tb, err)
	p, err := alloc.NewPool(ordered(tb, dev), o)
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
