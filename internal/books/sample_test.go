package books

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSamplingIsUnbiased allocates very different sizes at one site each and compares
// the estimates with the truth. The tolerance is five standard deviations.
func TestSamplingIsUnbiased(t *testing.T) {
	const rate = 4096
	for _, size := range []int64{16, 100, 1000, 4096, 5000, 20000, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			b := New(Options{Rate: rate})
			s := newShard(t, b)
			n := int64(200_000)
			for range n {
				sampled(s, size)
			}
			site := b.Sites()[0]
			p := -math.Expm1(-float64(size) / rate) // chance of one allocation
			deviation := math.Sqrt((1 - p) / (p * float64(n)))
			tolerance := 5*deviation + 1e-3 // weights are whole numbers
			require.InEpsilon(t, n, site.AllocObjects, tolerance)
			require.InEpsilon(t, n*size, site.AllocBytes, tolerance)
			require.InEpsilon(t, float64(n)*p, site.Samples, 5*math.Sqrt((1-p)/(p*float64(n)))+1e-3)
		})
	}
}

// at makes the clock of b one that a test moves on.
func at(b *Books) *time.Duration {
	now := new(time.Duration)
	b.clock = func() int64 { return int64(*now) }
	return now
}

// TestBusyShardsSampleSeldom allocates as fast as a warm pool does: whatever the size, a stack is taken once
// in an interval, and not more often when size and speed change.
func TestBusyShardsSampleSeldom(t *testing.T) {
	for _, size := range []int64{64 << 10, 1 << 20, 16 << 20, 1 << 30, 100 << 30} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			b := New(Options{})
			now := at(b)
			s := newShard(t, b)
			samples, n := 0, 400_000
			for range n {
				*now += 60 * time.Nanosecond
				if m := sampled(s, size); m != 0 {
					samples++
				}
			}
			every := Interval
			if at := 60 * time.Nanosecond * DefaultRate / time.Duration(size); at > every {
				every = at
			}
			want := float64(time.Duration(n) * 60 * time.Nanosecond / every)
			// The rate is the next power of two: half as many samples at least.
			require.Less(t, float64(samples), want+6*math.Sqrt(want)+Burst+20)
			require.Greater(t, float64(samples), want/2-6*math.Sqrt(want/2)-20)
		})
	}
}

// TestCalmShardsSampleAtTheRate allocates a thousand times a second, after a storm: from the first sample
// on large buffers all have their site.
func TestCalmShardsSampleAtTheRate(t *testing.T) {
	b := New(Options{})
	now := at(b)
	s := newShard(t, b)
	const size = 32 << 20 // 64 times the rate: it is a sample for certain
	for range 100_000 {
		*now += 60 * time.Nanosecond
		sampled(s, size)
	}
	require.Greater(t, s.stretch, uint8(10))
	missed := 0
	for range 10_000 {
		*now += time.Millisecond
		if sampled(s, size) == 0 {
			missed++
		}
	}
	require.Less(t, missed, 10_000/4)
	require.Zero(t, s.stretch)
	for range 1000 {
		*now += time.Millisecond
		require.NotZero(t, sampled(s, size))
	}
}

// TestChangingRatesAreUnbiased allocates sizes that differ at speeds that differ. The tolerance is six
// standard deviations, as they follow from each allocation's own chance.
func TestChangingRatesAreUnbiased(t *testing.T) {
	b := New(Options{})
	now := at(b)
	s := newShard(t, b)
	rng := rand.New(rand.NewPCG(5, 6))
	var objects, bytes, objectsVar, bytesVar float64
	var live []Sample
	var sizes []int64
	stretches := map[uint8]bool{}
	for i := range 300_000 {
		size := int64(1) << (8 + rng.IntN(20))
		step := time.Duration(60)
		if i/10_000%3 == 0 {
			step = 20 * time.Microsecond
		}
		*now += step
		p := -math.Expm1(-float64(size) / float64(b.rate<<s.stretch))
		objects, objectsVar = objects+1, objectsVar+(1-p)/p
		bytes, bytesVar = bytes+float64(size), bytesVar+float64(size)*float64(size)*(1-p)/p
		if m := sampled(s, size); m != 0 {
			live, sizes = append(live, m), append(sizes, size)
			stretches[uint8(m>>siteBits)] = true
		}
	}
	require.Greater(t, len(stretches), 3)
	site := b.Sites()[0]
	require.InDelta(t, objects, site.AllocObjects, 6*math.Sqrt(objectsVar))
	require.InDelta(t, bytes, site.AllocBytes, 6*math.Sqrt(bytesVar))
	for i, m := range live {
		s.Unsite(m, sizes[i], false)
	}
	site = b.Sites()[0]
	require.Zero(t, site.LiveBytes, "each takes back what it has added, whatever the rate is now")
	require.Zero(t, site.LiveObjects)
}

// TestAskedRatesDoNotGrow has a rate that somebody has asked for.
func TestAskedRatesDoNotGrow(t *testing.T) {
	for _, rate := range []int64{1, DefaultRate} {
		b := New(Options{Rate: rate})
		at(b) // stands still
		s := newShard(t, b)
		for range 1000 {
			require.NotZero(t, sampled(s, 64*DefaultRate))
		}
	}
}

// TestSampledSitesReturnToZero frees everything at a low rate: nothing is left over
// from rounding.
func TestSampledSitesReturnToZero(t *testing.T) {
	b := New(Options{Rate: 1000})
	s := newShard(t, b)
	rng := rand.New(rand.NewPCG(3, 3))
	all, sizes := []Sample{}, []int64{}
	for range 10_000 {
		size := rng.Int64N(5000)
		if m := sampled(s, size); m != 0 {
			all, sizes = append(all, m), append(sizes, size)
		}
	}
	require.NotEmpty(t, all)
	for i, m := range all {
		s.Unsite(m, sizes[i], false)
	}
	site := b.Sites()[0]
	require.Zero(t, site.LiveBytes)
	require.Zero(t, site.LiveObjects)
}

func TestWeigh(t *testing.T) {
	for _, c := range []struct {
		rate, size     int64
		objects, bytes uint64
	}{
		{1, 300, 1024, 300},
		{1024, 1024, 1620, 1620},
		{1024, 1 << 40, 1024, 1 << 40}, // certain to be sampled
		{1, 0, 1024, 0},
	} {
		objects, bytes := weigh(c.rate, c.size)
		require.Equal(t, []uint64{c.objects, c.bytes}, []uint64{objects, bytes}, "%+v", c)
	}
}

func TestStretch(t *testing.T) {
	for _, c := range []struct {
		rate int64
		want float64
		k    uint8
	}{
		{DefaultRate, 0, 0}, {DefaultRate, DefaultRate / 2, 0}, {DefaultRate, 3 * DefaultRate, 2},
		{DefaultRate, 1e30, 27}, {3, math.Inf(1), 44},
	} {
		k := stretch(c.rate, c.want)
		require.Equal(t, c.k, k, "%+v", c)
		require.LessOrEqual(t, c.rate<<k, int64(2*mostBytes))
		m := newSample(k)
		require.NotZero(t, m)
		require.Zero(t, m.Site())
		require.Equal(t, c.rate<<k, m.rate(c.rate))
	}
}

func TestNegativeRateTakesNothing(t *testing.T) {
	s := newShard(t, New(Options{Rate: -1}))
	for range 1000 {
		require.Zero(t, sampled(s, 1<<40))
	}
}

// Due says what Sample will say, and may be asked any number of times: Make asks before it decides
// which way to go.
func TestDueIsSample(t *testing.T) {
	for _, rate := range []int64{-1, 1, 1000} {
		s := newShard(t, New(Options{Rate: rate}))
		samples := 0
		for i := range int64(10_000) {
			s.Alloc(1 + i%997)
			due := s.Due()
			require.Equal(t, due, s.Due())
			require.Equal(t, due, s.Sample() != 0, "rate %d", rate)
			if due {
				samples++
			}
		}
		switch rate {
		case -1:
			require.Zero(t, samples)
		case 1:
			require.Equal(t, 10_000, samples)
		default:
			require.Greater(t, samples, 1000) // about 3,700
			require.Less(t, samples, 9000)
		}
	}
}

// TestBurst begins in a hurry, as programs do that load a model: what comes first has its site, and so has
// what comes first after a pause.
func TestBurst(t *testing.T) {
	b := New(Options{})
	now := at(b)
	s := newShard(t, b)
	for range 3 {
		for range Burst {
			*now += 60 * time.Nanosecond
			require.NotZero(t, sampled(s, 64*DefaultRate))
		}
		samples := 0
		for range 1000 { // six intervals
			*now += 60 * time.Nanosecond
			if sampled(s, 64*DefaultRate) != 0 {
				samples++
			}
		}
		require.Less(t, samples, 50)
		for s.burst == Burst { // what was drawn in the storm is still to come
			*now += (Burst + 1) * Interval
			sampled(s, 64*DefaultRate)
		}
		*now += (Burst + 1) * Interval
	}
}
