package finalize

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const gib = 1 << 30

// settled returns a pacer that has already looked at the runtime's cycle counter, so
// that a collection of the test binary's own does not come between.
func settled(o Options) *Pacer {
	p := NewPacer(o)
	p.cycles = cyclesNow()
	return p
}

// ask decides after making sure that the runtime's own collections are not the
// reason.
func ask(p *Pacer, in Pressure) Decision {
	p.cycles = cyclesNow()
	return p.Decide(in)
}

func TestDecide(t *testing.T) {
	full := Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 8 * gib}
	for _, tt := range []struct {
		name    string
		options Options
		in      Pressure
		want    Decision
	}{
		{"little is live", Options{}, Pressure{Live: 7 * gib, Budget: 10 * gib, Made: 7 * gib}, Calm},
		{"more than three quarters", Options{}, full, Pressing},
		{"growth counts", Options{}, Pressure{Live: 7 * gib, Grow: gib, Budget: 10 * gib, Made: 7 * gib}, Pressing},
		{"off", Options{Off: true}, full, Calm},
		{"no budget is known", Options{}, Pressure{Live: 8 * gib, Made: 8 * gib}, Calm},
		{"another share", Options{Share: 0.9}, full, Calm},
		{"explicit frees keep up", Options{}, Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 100 * gib, Freed: 96 * gib}, KeepingUp},
		{"they do not quite", Options{}, Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 100 * gib, Freed: 92 * gib}, Pressing},
		{"keeping up may be made impossible", Options{KeepUp: 2}, Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 100 * gib, Freed: 96 * gib}, Pressing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := settled(tt.options)
			require.Equal(t, tt.want, ask(p, tt.in))
			require.Equal(t, tt.want >= Pressing, tt.want.Collect())
		})
	}
}

// TestFruitless: after a collection that found nothing, memory must be made
// before the next, and more each time; one that found much resets that.
func TestFruitless(t *testing.T) {
	p := settled(Options{GCShare: 1})
	in := Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 8 * gib}
	require.Equal(t, Pressing, ask(p, in))
	p.Collect(Pressing, time.Second)
	require.Equal(t, Fruitless, ask(p, in), "nothing came back and nothing was made")
	in.Made += in.Budget / 16
	p.last = time.Now().Add(-time.Hour) // time is not the reason here
	require.Equal(t, Pressing, ask(p, in))
	p.Collect(Pressing, time.Second)
	p.last = time.Now().Add(-time.Hour)
	in.Made += in.Budget / 16
	require.Equal(t, Fruitless, ask(p, in), "twice as much is wanted now")
	in.Made += in.Budget / 16
	require.Equal(t, Pressing, ask(p, in))
	p.Collect(Pressing, time.Second)
	p.last = time.Now().Add(-time.Hour)
	in.Late += in.Live / 2
	require.Equal(t, Pressing, ask(p, in), "the last one was worth it")
}

func TestCostly(t *testing.T) {
	p := settled(Options{})
	in := Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 8 * gib}
	require.Equal(t, Pressing, ask(p, in))
	p.Collect(Pressing, time.Second)
	p.took, p.last = 100*time.Millisecond, time.Now().Add(-time.Second)
	in.Late += in.Live // it was fruitful
	require.Equal(t, Costly, ask(p, in), "10 % of a second, 5 % are allowed")
	in.Live = 91 * in.Budget / 100
	p.last = time.Now().Add(-1100 * time.Millisecond)
	require.Equal(t, Pressing, ask(p, in), "10 % are allowed when it is urgent")
}

func TestTheRuntimesOwnCollectionsCount(t *testing.T) {
	p := settled(Options{})
	in := Pressure{Live: 8 * gib, Budget: 10 * gib, Made: 8 * gib}
	Collect(time.Second) // as if the runtime had run one
	require.Equal(t, Collected, p.Decide(in))
	require.Equal(t, Pressing, ask(p, in))
}

// TestCollectIsShared: goroutines that ask together share collections instead
// of queueing up for one each.
func TestCollectIsShared(t *testing.T) {
	p := NewPacer(Options{})
	const n = 16
	var ready, wg sync.WaitGroup
	ready.Add(n)
	start := make(chan struct{})
	for range n {
		wg.Go(func() {
			ready.Done()
			<-start
			p.Collect(Exhausted, time.Second)
		})
	}
	ready.Wait()
	close(start)
	wg.Wait()
	require.Less(t, p.runs, uint64(n), "each of %d goroutines ran a collection of its own", n)
	require.GreaterOrEqual(t, p.runs, uint64(1))
	require.EqualValues(t, n, p.Stats().Exhausted)
}

func TestStatsAddUp(t *testing.T) {
	p := settled(Options{})
	ask(p, Pressure{Live: 1, Budget: 10})
	ask(p, Pressure{Live: 8, Budget: 10, Made: 8})
	p.Collect(Pressing, time.Second)
	p.Collect(Exhausted, time.Second)
	s := p.Stats()
	require.EqualValues(t, 3, s.Asked)
	require.Equal(t, s.Asked, s.Calm+s.KeepingUp+s.Costly+s.Fruitless+s.Collected+s.Pressing+s.Exhausted)
	require.Positive(t, s.Time)
	require.Contains(t, s.String(), "asked 3 times: calm 1")
	for d := range numDecisions {
		require.NotEmpty(t, d.String())
	}
}
