package books

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/probe"
)

// A Sample is what a sampled allocation remembers: its site, and the rate at which it was chosen,
// from which what it stands for can be computed again when it is freed. The zero Sample is that
// of an allocation which was not sampled.
type Sample uint32

// The lower bits of a Sample are the site's number. The others are by how many powers of two the books'
// rate was stretched, plus one.
const siteBits = 24

func newSample(stretch uint8) Sample { return Sample(stretch+1) << siteBits }

// Site returns the number of the sample's site, which is 0 before [Shard.Site] has set it.
func (m Sample) Site() uint32 { return uint32(m) & (1<<siteBits - 1) }

// rate returns the mean distance between samples of which m was one, in books whose rate is base.
func (m Sample) rate(base int64) int64 { return base << (m>>siteBits - 1) }

// Due reports whether the allocation that Alloc has just counted is a sample: then Sample returns one.
func (s *Shard) Due() bool { return int64(s.rec.MadeBytes) > s.rec.Next }

// Sample returns a sample, and draws the distance to the next one, if the allocation that Alloc has just
// counted is to be one; else it returns 0. The caller then takes the site with [Shard.Site].
func (s *Shard) Sample() Sample {
	if !s.Due() {
		return 0
	}
	return s.draw()
}

// draw returns a sample and draws the distance to the next one.
//
// What is known when a distance is drawn decides on its mean, and how long it will be does not
// depend on that, so the estimates are unbiased at whatever means. It is the rate, or more for a shard that
// has made so much lately that it would take more than one sample in an [Interval].
func (s *Shard) draw() Sample {
	b, rate := s.account.books, s.account.rate
	m := newSample(s.stretch)
	if b.interval > 0 && rate > 1 {
		now, made := b.clock(), s.rec.MadeBytes
		past := max(1, now-s.at)
		if past > Burst*b.interval {
			s.burst = 0
		}
		if s.burst < Burst {
			s.burst++
			s.stretch = 0
		} else {
			s.stretch = stretch(rate, float64(made-s.bytes)/float64(past)*float64(b.interval))
		}
		s.at, s.bytes = now, made
	}
	s.rec.Next = int64(s.rec.MadeBytes) + distance(rate<<s.stretch)
	return m
}

// mostBytes bounds the mean distance between samples.
const mostBytes = 1 << 46

// stretch returns the least k for which rate times 2^k is at least want bytes, or the one with which
// that is not above mostBytes.
func stretch(rate int64, want float64) uint8 {
	times := int64(min(want, mostBytes/2)) / rate
	return uint8(bits.Len64(uint64(times)))
}

// distance returns how many bytes to let pass before the next sample at a rate of
// one sample for rate bytes: exponentially distributed, so that a byte's chance does
// not depend on the bytes before it.
func distance(rate int64) int64 {
	switch {
	case rate < 0:
		return math.MaxInt64
	case rate <= 1:
		return -1 // below zero whatever the size: every allocation is a sample
	}
	return int64(rand.ExpFloat64() * float64(rate))
}

// Site takes the caller's stack as the call site of an allocation of size bytes that m was drawn for,
// and adds to it what the allocation stands for. Give the result and the same size to
// [Shard.Unsite] when the allocation is freed. Site needs no lock and may be called from any goroutine.
func (s *Shard) Site(m Sample, size int64) Sample {
	b := s.account.books
	st := b.here(s.account.account)
	b.made(st, m.rate(s.account.rate), size)
	runtime.KeepAlive(s)
	return m | Sample(st.number)
}

// Unsite takes back from the site of m what [Shard.Site] added for an allocation of size bytes: it has
// been freed, by the collector if late is true. s is any shard of the same account. For the zero
// Sample it does nothing. It needs no lock and may be called from any goroutine.
func (s *Shard) Unsite(m Sample, size int64, late bool) {
	if m != 0 {
		s.unsite(m, size, late)
	}
}

func (s *Shard) unsite(m Sample, size int64, late bool) {
	s.account.books.freed(m.Site(), m.rate(s.account.rate), size, late)
	runtime.KeepAlive(s)
}

// lastStep is how many nanoseconds older than it was the latest allocation of a site may be said to be: a
// store for each would have the goroutines that allocate there wait for each other once more.
const lastStep = 1e6

// made adds to a site what one allocation of size bytes stands for, which was sampled at a rate.
func (b *Books) made(st *site, rate, size int64) {
	r := st.rec
	objects, bytes := weigh(rate, size)
	if now := b.clock(); now-atomic.LoadInt64(&r.Last) > lastStep {
		atomic.StoreInt64(&r.Last, now)
	}
	atomic.AddUint64(&r.Samples, 1)
	atomic.AddUint64(&r.AllocObjects, objects)
	atomic.AddUint64(&r.AllocBytes, bytes)
}

// freed takes back what made has added.
func (b *Books) freed(number uint32, rate, size int64, late bool) {
	st := b.sites.get(number)
	if st == nil {
		return
	}
	r := st.rec
	objects, bytes := weigh(rate, size)
	if late {
		atomic.AddUint64(&r.LateObjects, objects)
		atomic.AddUint64(&r.LateBytes, bytes)
	}
	atomic.AddUint64(&r.FreeObjects, objects)
	atomic.AddUint64(&r.FreeBytes, bytes)
	runtime.KeepAlive(b)
}

// weigh returns what one sampled allocation of size bytes stands for: 1/p objects, in
// units of 1/[probe.ObjectUnit], and size/p bytes, where p is its chance of having
// been sampled. weigh(1, 300) is 1024, 300; weigh(1024, 1024) is 1620, 1620, as
// every 1.58th such allocation is sampled.
func weigh(rate, size int64) (objects, bytes uint64) {
	if rate <= 1 || size <= 0 {
		return probe.ObjectUnit, uint64(max(size, 0))
	}
	p := -math.Expm1(-float64(size) / float64(rate))
	return uint64(probe.ObjectUnit/p + 0.5), uint64(float64(size)/p + 0.5)
}
