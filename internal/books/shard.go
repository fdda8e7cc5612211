package books

import (
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

// totals returns the counters of a shard. The caller holds its lock.
func totals(r *probe.Shard) probe.Totals {
	return probe.Totals{
		MadeObjects: r.MadeObjects, MadeBytes: r.MadeBytes,
		FreedObjects: r.FreedObjects, FreedBytes: r.FreedBytes,
		LateObjects: r.LateObjects, LateBytes: r.LateBytes, Repeated: r.Repeated,
	}
}
