package tracker

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/probe"
)

// Options are the choices of a Tracker. The zero Options is good.
type Options struct {
	// Rate is the mean number of bytes between two allocations whose call stacks are
	// taken. 0 means DefaultRate. At 1 every allocation is taken and the figures of sites are
	// exact; a negative rate takes none.
	Rate int64

	// MaxSites bounds the number of different call stacks that are kept. What
	// comes after is counted under one site called "other sites", and
	// Stats.SitesLost says for how many samples that was so. 0 means DefaultMaxSites.
	MaxSites int

	// NoTable keeps the books on the Go heap, where no other program sees them.
	NoTable bool

	// History is how many of the last events are kept with their stacks. 0 keeps
	// none. With a history every allocation and every free takes its stack, which costs
	// about as much as Rate 1.
	History int

	// HistoryFile is where the report and the history are saved when memory runs
	// out. It may be empty, and means nothing without History.
	HistoryFile string
}

const (
	// DefaultRate is one sampled allocation for 512 KiB, as in Go's heap profile.
	DefaultRate = 512 << 10
	// DefaultMaxSites is how many call stacks a tracker keeps.
	DefaultMaxSites = 8192
)

// A Tracker keeps the books of the foreign heap. All its methods may be called at any time
// from any goroutine.
type Tracker struct {
	table *table
	rate  int64

	history *history // nil if none is kept

	foreignOnce sync.Once
	foreign     atomic.Pointer[foreign] // nil until memory made by somebody else is told of
}

// New returns empty books.
func New(o Options) *Tracker { return newTracker(o, mapTable) }

func newTracker(o Options, mapMemory func(size int64) (mapping, error)) *Tracker {
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.MaxSites <= 0 {
		o.MaxSites = DefaultMaxSites
	}
	o.MaxSites = min(o.MaxSites, probe.MaxSites)
	t := &Tracker{table: newTable(o, mapMemory), rate: o.Rate}
	if o.History > 0 {
		t.history = &history{file: o.HistoryFile, ring: make([]entry, o.History)}
	}
	return t
}

// Rate returns the mean number of bytes between samples: 1 if every allocation
// is one, negative if none is.
func (t *Tracker) Rate() int64 { return t.rate }

// Bytes returns how many bytes of foreign memory are live now.
func (t *Tracker) Bytes() int64 {
	b := t.table
	b.mu.Lock()
	defer b.mu.Unlock()
	var live int64
	for _, a := range b.open {
		sum, _ := a.totals()
		live += int64(sum.MadeBytes - sum.FreedBytes)
	}
	return live
}

// An Account is one holder of foreign memory. Its name says which device and what
// kind of memory, as in "cuda:0" or "cuda:0 pinned": statistics are by account.
type Account struct {
	tracker *Tracker
	account *account
}

// NewAccount opens an account. It is closed when it and all its shards have been
// collected; what was live in it then counts as freed late.
func (t *Tracker) NewAccount(name string) *Account { return t.newAccount(name, 0) }

func (t *Tracker) newAccount(name string, flags uint32) *Account {
	a := &Account{tracker: t, account: t.table.addAccount(name, flags)}
	runtime.AddCleanup(a, slot.release, slot{table: t.table, account: a.account})
	return a
}

// NewShard returns counters for one more writer.
func (a *Account) NewShard() *Shard {
	t := a.tracker.table
	r := t.addShard(a.account)
	s := &Shard{rec: r.rec, rate: a.tracker.rate, seq: probe.Seq(r.index, 0), index: r.index, account: a}
	runtime.AddCleanup(s, slot.release, slot{table: t, account: a.account, shard: r})
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

// Close says that nothing will be allocated in the account any more. What is live
// may still be freed.
func (a *Account) Close() {
	atomic.StoreUint32(&a.account.rec.State, probe.StateClosed)
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
