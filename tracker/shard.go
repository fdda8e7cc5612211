package tracker

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
)

// A Shard holds the counters of one writer at a time. All its methods but Seq and
// Stats must be called under the lock of whoever owns it, usually a stream, and that
// owner must keep the Shard reachable until they return, as unlocking does. Anybody may read
// the counters at any time.
type Shard struct {
	rec  *probe.Shard // in the table, or on the heap; never nil
	rate int64        // bytes
	seq  uintptr      // sequence number 0 of the shard

	index uint32 // number of the shard

	account *Account // keeps the account and the table alive

	last *lastSite  // nil before the first Remember
	rand *rand.Rand // the sampler's

	weight weight // of the latest sample's size

	_ [40]byte // fills two cache lines: no shard writes to what another reads
}

// Alloc counts an allocation of size bytes.
func (s *Shard) Alloc(size int64) {
	r := s.rec
	store(&r.MadeObjects, r.MadeObjects+1)
	made := r.MadeBytes + uint64(size)
	store(&r.MadeBytes, made)
	if live := made - r.FreedBytes; live > r.Peak {
		store(&r.Peak, live)
	}
	store(&r.End, r.End+1)
}

// Free counts that size bytes were freed by a call of Free.
func (s *Shard) Free(size int64) {
	r := s.rec
	store(&r.FreedObjects, r.FreedObjects+1)
	store(&r.FreedBytes, r.FreedBytes+uint64(size))
	store(&r.End, r.End+1)
}

// Late counts that size bytes were freed because the collector found their owner
// dead.
func (s *Shard) Late(size int64) {
	r := s.rec
	store(&r.FreedObjects, r.FreedObjects+1)
	store(&r.FreedBytes, r.FreedBytes+uint64(size))
	store(&r.LateObjects, r.LateObjects+1)
	store(&r.LateBytes, r.LateBytes+uint64(size))
	store(&r.End, r.End+1)
}

// Repeat counts a call of Free on what was free already.
func (s *Shard) Repeat() { store(&s.rec.Repeated, s.rec.Repeated+1) }

// Pend adds delta bytes, which may be negative, to what is freed but not yet idle.
func (s *Shard) Pend(delta int64) { store(&s.rec.Pending, s.rec.Pending+uint64(delta)) }

// Unpend takes size bytes from what is pending.
func (s *Shard) Unpend(size int64) { s.Pend(-size) }

// Due reports whether the allocation that Alloc has just counted is a sample: then Sample says so too.
func (s *Shard) Due() bool { return int64(s.rec.MadeBytes) > s.rec.Next }

// Sample reports whether the allocation of size bytes that Alloc has just counted is a sample, and
// if so draws the distance to the next one. The caller then takes its site with [Tracker.Site], which
// needs no lock.
func (s *Shard) Sample(size int64) bool { return s.Due() && s.next(size) }

// certain is how many times the sampler's rate an allocation must be to be a sample in any case:
// the chance that it is none would be 10^-14.
const certain = 32

// next draws the distance to the next sample, after an allocation of size bytes has used up the
// last one. It returns true.
//
//go:noinline
func (s *Shard) next(size int64) bool {
	if size/certain >= s.rate {
		// What was left before it is as good: a distance does not know what came before.
		s.rec.Next += size
		return true
	}
	if s.rand == nil {
		// Of its own, and a plain one: the runtime's costs as much as all else in here.
		r := new(sampler)
		r.source.Seed(rand.Uint64(), rand.Uint64())
		s.rand = rand.New(&r.source)
	}
	s.rec.Next = int64(s.rec.MadeBytes) + distance(s.rate, s.rand.ExpFloat64)
	return true
}

// Seq returns the sequence number of the shard's latest operation, for the
// markers in internal/probe.
func (s *Shard) Seq() uintptr { return s.seq | probe.Seq(0, s.rec.End) }

// Tracker returns the books that s is part of.
func (s *Shard) Tracker() *Tracker { return s.account.tracker }

// Account returns the account that s is part of.
func (s *Shard) Account() *Account { return s.account }

// A sampler is the source of a shard's random numbers. It is written to with each sample and as large as
// two cache lines, so that no two shards' are in one.
type sampler struct {
	source rand.PCG
	_      [128 - unsafe.Sizeof(rand.PCG{})]byte
}

// distance returns how many bytes to let pass before the next sample at a rate of
// one sample for rate bytes: exponentially distributed, so that a byte's chance does
// not depend on the bytes before it.
func distance(rate int64, exp func() float64) int64 {
	switch {
	case rate < 0:
		return math.MaxInt64
	case rate <= 1:
		return -1 // below zero whatever the size: every allocation is a sample
	}
	return int64(exp() * float64(rate))
}

// load returns the shard's counters as of one instant, by the protocol of
// internal/probe, and its pending bytes. If the writer never lets it, the last look is returned.
func load(r *probe.Shard) (t probe.Totals, pending uint64) {
	for try := range 1024 {
		end := atomic.LoadUint64(&r.End)
		t.MadeBytes = atomic.LoadUint64(&r.MadeBytes)
		t.FreedBytes = atomic.LoadUint64(&r.FreedBytes)
		pending = atomic.LoadUint64(&r.Pending)
		t.LateObjects = atomic.LoadUint64(&r.LateObjects)
		t.LateBytes = atomic.LoadUint64(&r.LateBytes)
		t.Repeated = atomic.LoadUint64(&r.Repeated)
		t.MadeObjects = atomic.LoadUint64(&r.MadeObjects)
		t.FreedObjects = atomic.LoadUint64(&r.FreedObjects)
		if end == t.MadeObjects+t.FreedObjects {
			break
		}
		if try%16 == 15 {
			runtime.Gosched() // the writer may be waiting for this processor
		}
	}
	return t, pending
}
