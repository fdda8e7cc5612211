package books

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
)

// A Shard holds the counters of one writer at a time. Its methods must be called under the lock
// that it was made with, but for Site, Unsite and Record; the lock's holder keeps the Shard reachable
// until they return, as unlocking does.
type Shard struct {
	shardFields
	_ [lines - unsafe.Sizeof(shardFields{})]byte // no shard writes to what another reads
}

const lines = 128 // bytes, of two cache lines: processors fetch them in pairs

type shardFields struct {
	rec     *probe.Shard // in the table, or on the heap; never nil
	account *Account     // keeps the account and the table alive
	seq     uintptr      // sequence number 0 of the shard

	// The sampler's.
	stretch uint8  // the distance to the next sample was drawn with the rate times 2^stretch
	burst   uint16 // samples since it was last calm, up to Burst
	at      int64  // when the latest sample was, in nanoseconds since 1970
	bytes   uint64 // what had been made then
}

// Alloc counts an allocation of size bytes.
//
// Whoever reads the counters in this process takes the lock. Readers outside of it take them
// as the package probe says.
func (s *Shard) Alloc(size int64) {
	r := s.rec
	r.MadeObjects++
	made := r.MadeBytes + uint64(size)
	r.MadeBytes = made
	if live := made - r.FreedBytes; live > r.Peak {
		atomic.StoreUint64(&r.Peak, live) // seldom; read without the lock
	}
	r.End++
}

// Free counts that size bytes were freed by a call of Free.
func (s *Shard) Free(size int64) {
	r := s.rec
	r.FreedObjects++
	r.FreedBytes += uint64(size)
	r.End++
}

// Late counts that size bytes were freed because the collector found their owner
// dead.
func (s *Shard) Late(size int64) {
	r := s.rec
	r.FreedObjects++
	r.FreedBytes += uint64(size)
	r.LateObjects++
	r.LateBytes += uint64(size)
	r.End++
}

// Repeat counts a call of Free on what was free already.
func (s *Shard) Repeat() { s.rec.Repeated++ }

// Pend adds delta bytes, which may be negative, to what is freed but not yet idle.
func (s *Shard) Pend(delta int64) { s.rec.Pending += uint64(delta) }

// Unpend takes size bytes from what is pending.
func (s *Shard) Unpend(size int64) { s.Pend(-size) }

// Seq returns the sequence number of the shard's latest operation, for the
// markers in internal/probe.
func (s *Shard) Seq() uintptr { return s.seq | probe.Seq(0, s.rec.End) }

// Account returns the account that s is part of.
func (s *Shard) Account() *Account { return s.account }

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
		s.account.books.freed(m.Site(), m.rate(s.account.rate), size, late)
	}
	runtime.KeepAlive(s)
}

// totals returns the counters of a shard. The caller holds its lock.
func totals(r *probe.Shard) probe.Totals {
	return probe.Totals{
		MadeObjects: r.MadeObjects, MadeBytes: r.MadeBytes, FreedObjects: r.FreedObjects, FreedBytes: r.FreedBytes,
		LateObjects: r.LateObjects, LateBytes: r.LateBytes, Repeated: r.Repeated,
	}
}
