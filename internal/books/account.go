package books

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/lastuse/lastuse/internal/probe"
)

// An Account is one holder of foreign memory. Its name says which device and what
// kind of memory, as in "cuda:0" or "cuda:0 pinned": statistics are by account.
type Account struct {
	books   *Books
	account *account
	rate    int64 // of its samples: the books', but for memory made by somebody else
}

// An account is the record behind an [Account]. It outlives the handle: it goes
// when handle and shards have all been collected.
type account struct {
	name   string
	rec    *probe.Account
	index  int      // in the table, or -1
	shards []*shard // protected by Books.mu
	refs   int      // handles that can still be reached; protected by Books.mu

	segments func() []Segment // may be nil; protected by Books.mu
}

// A shard is the record behind a [Shard].
type shard struct {
	rec    *probe.Shard
	index  int                 // in the table, or -1
	number uint32              // no other has it
	at     int                 // in account.shards; protected by Books.mu
	lock   sync.Locker         // of the writer
	handle weak.Pointer[Shard] // nil when it has been collected; written once

	// When the handle has been collected rec may be another's.
	folded bool         // protected by lock
	last   probe.Totals // what was counted then; protected by lock
}

// NewAccount opens an account. It is closed when it and all its shards have been
// collected; what was live in it then counts as freed late.
func (b *Books) NewAccount(name string) *Account { return b.newAccount(name, 0) }

// NewForeign opens an account for memory made by somebody else: nothing is reserved for it, and
// every allocation is a sample unless the books' rate is negative.
func (b *Books) NewForeign(name string) *Account { return b.newAccount(name, probe.FlagForeign) }

func (b *Books) newAccount(name string, flags uint32) *Account {
	a := &Account{books: b, account: b.addAccount(name, flags), rate: b.rate}
	if flags&probe.FlagForeign != 0 {
		a.rate = min(a.rate, 1)
	}
	runtime.AddCleanup(a, slot.release, slot{books: b, account: a.account})
	return a
}

// NewShard returns counters for one more writer, who writes under lock. Readers take it too, so it is held
// for a short time only, and whoever holds it calls no method that says it takes the locks of shards.
//
// The books keep the lock for longer than the Shard: it must be no part of what leads to the Shard, which
// would never be collected then.
func (a *Account) NewShard(lock sync.Locker) *Shard {
	b := a.books
	s := new(Shard)
	r := b.addShard(a.account, &shard{lock: lock, handle: weak.Make(s)})
	r.rec.Next = distance(a.rate)
	s.rec, s.account, s.seq, s.at = r.rec, a, probe.Seq(r.number, 0), b.clock()
	runtime.AddCleanup(s, slot.release, slot{books: b, account: a.account, shard: r})
	return s
}

// AddReserved adds delta bytes, which may be negative, to what the account has got
// from its device. It may be called at any time from any goroutine.
func (a *Account) AddReserved(delta int64) {
	r := a.account.rec
	now := atomic.AddUint64(&r.Reserved, uint64(delta))
	raise(&r.ReservedPeak, now)
	runtime.KeepAlive(a)
}

// RaisePeak says that live bytes have been as many as this. An account in which somebody says so has an
// exact peak.
func (a *Account) RaisePeak(live uint64) {
	raise(&a.account.rec.ExactPeak, live)
	runtime.KeepAlive(a)
}

// raise stores v in *p if it is the larger one.
func raise(p *uint64, v uint64) {
	for {
		old := atomic.LoadUint64(p)
		if v <= old || atomic.CompareAndSwapUint64(p, old, v) {
			return
		}
	}
}

// Close says that nothing will be allocated in the account any more. What is live
// may still be freed.
func (a *Account) Close() {
	atomic.StoreUint32(&a.account.rec.State, probe.StateClosed)
	runtime.KeepAlive(a)
}

// A Segment is one range that a pool got from its device.
type Segment struct {
	Base   uint64  // address
	Size   int64   // bytes
	Blocks []Block // in the order of their addresses
}

// A Block is a part of a segment.
type Block struct {
	Offset int64  // bytes from the segment's base
	Size   int64  // bytes
	State  string // live, pending or idle
}

// SetMap tells the account how to list its segments for reports. The books keep
// f for as long as the account is open, so f must not keep its pool from being collected:
// it holds a weak.Pointer to it. f is called without any lock of the books. A nil f takes
// the map away.
func (a *Account) SetMap(f func() []Segment) {
	b := a.books
	b.mu.Lock()
	defer b.mu.Unlock()
	a.account.segments = f
}

// Segments calls yield with each account's name and segments.
func (b *Books) Segments(yield func(account string, all []Segment)) {
	b.mu.Lock()
	var names []string
	var maps []func() []Segment
	for _, a := range b.open {
		if a.segments != nil {
			names, maps = append(names, a.name), append(maps, a.segments)
		}
	}
	b.mu.Unlock()
	for i, f := range maps {
		yield(names[i], f())
	}
}

// Stats are the totals of an account. Sizes are bytes, counts are buffers.
type Stats struct {
	Name         string
	Foreign      bool // made by somebody else: nothing is reserved for it
	Closed       bool
	Live         int64
	Pending      int64 // freed, but work on some stream may still use it
	Reserved     int64
	ReservedPeak int64
	Peak         int64 // an upper bound, exact for one shard and for foreign memory
	Total        int64 // ever allocated
	LiveObjects  int64
	Made         int64
	Freed        int64 // by a call of Free
	Late         int64 // by the collector
	LateBytes    int64
	Repeated     int64 // calls of Free on what was free already
}

// Stats returns the account's totals. It takes the locks of its shards, one after the other: the
// totals are of one instant if nobody allocates meanwhile.
func (a *Account) Stats() Stats { return a.stats(false) }

// StatsLocked is Stats for a caller who holds the locks of all shards that can be reached.
func (a *Account) StatsLocked() Stats { return a.stats(true) }

func (a *Account) stats(locked bool) Stats {
	b := a.books
	b.mu.Lock()
	g := a.account.gather()
	b.mu.Unlock()
	g.add(locked)
	runtime.KeepAlive(a) // else its record may be another's by now
	return g.stats()
}

// gathered are an account's totals while they are added up. What Books.mu protects is taken first. The
// counters of shards are added without it, since those who hold a shard's lock take it.
type gathered struct {
	probe.Totals
	shown  Stats // but for what follows from the totals
	shards []*shard
}

// gather begins to add up. The caller holds Books.mu.
func (a *account) gather() gathered {
	r := a.rec
	return gathered{
		Totals: r.Past,
		shown: Stats{
			Name:         a.name,
			Foreign:      r.Flags&probe.FlagForeign != 0,
			Closed:       atomic.LoadUint32(&r.State) == probe.StateClosed,
			Reserved:     int64(atomic.LoadUint64(&r.Reserved)),
			ReservedPeak: int64(atomic.LoadUint64(&r.ReservedPeak)),
			Peak:         int64(a.peak()),
		},
		shards: slices.Clone(a.shards),
	}
}

// add adds the counters of the shards. If locked is true the caller holds the locks of those that can be
// reached.
func (g *gathered) add(locked bool) {
	for _, s := range g.shards {
		held := locked && s.handle.Value() != nil
		if !held {
			s.lock.Lock()
		}
		t := s.last
		if !s.folded {
			t = totals(s.rec)
			g.shown.Pending += int64(s.rec.Pending)
		}
		if !held {
			s.lock.Unlock()
		}
		add(&g.Totals, t)
	}
}

// stats returns the sums as they are shown.
func (g *gathered) stats() Stats {
	s := g.shown
	s.Live, s.LiveObjects = int64(g.MadeBytes-g.FreedBytes), int64(g.MadeObjects-g.FreedObjects)
	s.Total, s.Made = int64(g.MadeBytes), int64(g.MadeObjects)
	s.Freed, s.Late = int64(g.FreedObjects-g.LateObjects), int64(g.LateObjects)
	s.LateBytes, s.Repeated = int64(g.LateBytes), int64(g.Repeated)
	s.Peak = max(s.Peak, s.Live)
	return s
}
