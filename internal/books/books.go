package books

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/probe"
)

// Options are the choices of Books.
type Options struct {
	// Rate is the mean number of bytes between two samples. 1 takes every allocation, a negative rate
	// none. 0 means DefaultRate, where a shard does not allocate so fast that it took more
	// than one sample in an Interval: there the distances grow.
	Rate int64
	// MaxSites bounds the number of call stacks, OtherSites included. 0 means DefaultMaxSites.
	MaxSites int
	// NoTable keeps the books on the Go heap.
	NoTable bool
	// History is how many of the last events are kept.
	History int
}

const (
	DefaultRate     = 512 << 10
	DefaultMaxSites = 8192

	// Interval is how often a shard takes a sample at most, on average, at the default rate. A sample with
	// all that belongs to it costs 200 to 400 ns, which is a thirtieth of it.
	Interval = 10 * time.Microsecond
	// Burst is how many a shard may take at once that took none for as many Intervals.
	Burst = 256
)

// How large a table is. Its pages cost memory only once they are used.
const (
	tableAccounts = 256
	tableShards   = 8192
	tableText     = 4 << 20 // bytes
)

// Books are where the records are: in a mapping that can be read from outside
// while it has room, on the Go heap otherwise. They own the mapping.
type Books struct {
	head *probe.Header // in the mapping, or on the heap

	// Views of the mapping's regions; empty if there is no mapping.
	accounts []probe.Account
	shards   []probe.Shard
	places   []probe.Site
	text     []byte

	rate     int64
	interval int64        // nanoseconds; 0 for a rate that never grows
	clock    func() int64 // nanoseconds since 1970, never falling
	sites    sites
	history  *history // nil if none is kept

	mu       lockrank.Mutex[rankBooks]
	open     []*account   // protected by mu
	past     probe.Totals // of accounts that are gone; protected by mu
	pastPeak uint64       // bytes; bound of live bytes up to when the last account went; protected by mu
	outside  uint32       // shards that found no room so far; protected by mu

	freeShards, freeAccounts []int // records to be used again; protected by mu
}

// New returns empty books.
func New(o Options) *Books { return newBooks(o, mapTable) }

// newBooks is New with mapMemory, which makes the mapping.
func newBooks(o Options, mapMemory func(size int64) (mapping, error)) *Books {
	b := &Books{head: new(probe.Header), rate: o.Rate}
	if o.Rate == 0 {
		b.rate, b.interval = DefaultRate, int64(Interval)
	}
	if o.MaxSites <= 0 {
		o.MaxSites = DefaultMaxSites
	}
	o.MaxSites = min(o.MaxSites, probe.MaxSites)
	b.sites.limit = o.MaxSites
	if !o.NoTable {
		plan := probe.Plan{Accounts: tableAccounts, Shards: tableShards, Sites: o.MaxSites, Text: tableText}
		b.share(plan.Place(), mapMemory)
	}
	b.sites.all.Store(new([]*site))
	b.addSite(&site{}, otherStack) // gets the number OtherSites
	if o.History > 0 {
		b.history = &history{ring: make([]event, o.History)}
	}
	h, start := b.head, time.Now()
	h.Start, h.Rate = start.UnixNano(), b.rate
	// The monotonic clock alone, which is half the price of time.Now.
	b.clock = func() int64 { return start.UnixNano() + int64(time.Since(start)) }
	alloc, free := probe.Markers()
	h.AllocMarker, h.FreeMarker = uint64(alloc), uint64(free)
	// The first word makes it a table, so it is written last.
	atomic.StoreUint64(&h.Magic, probe.Magic)
	return b
}

// share moves b, which is still empty, into a shared mapping laid out as h says. If none
// can be made b stays as it is.
func (b *Books) share(h probe.Header, mapMemory func(int64) (mapping, error)) {
	m, err := mapMemory(int64(h.Size))
	if err != nil {
		return // there is no view from outside, and nothing else is missing
	}
	h.Magic = 0
	base := m.base
	b.head = (*probe.Header)(base)
	*b.head = h
	b.accounts = region[probe.Account](base, h.Accounts)
	b.shards = region[probe.Shard](base, h.Shards)
	b.places = region[probe.Site](base, h.Sites)
	b.text = region[byte](base, h.Text)
	runtime.AddCleanup(b, mapping.release, m)
}

// region returns the records of g as a slice over the mapping.
func region[T any](base unsafe.Pointer, g probe.Region) []T {
	return unsafe.Slice((*T)(unsafe.Add(base, g.Offset)), g.Cap)
}

// A Handle leads from what a user holds to its books. He can do nothing with it.
type Handle struct{ books *Books }

// Handle returns a handle of b.
func (b *Books) Handle() Handle { return Handle{b} }

// Of returns the books of a tracker.
func Of(tracker interface{ Books() Handle }) *Books { return tracker.Books().books }

// Rate returns the mean number of bytes between samples, where nobody allocates so fast that it grows.
func (b *Books) Rate() int64 { return b.rate }

// Totals are the totals of all accounts.
type Totals struct {
	Stats            // of all together, past ones included
	Accounts []Stats // of those that are open
	Lost     int64   // samples counted under OtherSites for want of room
}

// Totals returns the totals now. It takes the locks of all shards, one after the other: the totals
// are exact if nobody allocates meanwhile.
func (b *Books) Totals() Totals {
	b.mu.Lock()
	open := make([]gathered, len(b.open))
	for i, a := range b.open {
		open[i] = a.gather()
	}
	all := gathered{Totals: b.past, shown: Stats{Peak: int64(b.peak())}}
	b.mu.Unlock()
	t := Totals{Lost: int64(b.sites.lost.Load())}
	for i := range open {
		g := &open[i]
		g.add(false)
		// Of the same moment as theirs, lest accounts that are gone seem to have made the difference.
		add(&all.Totals, g.Totals)
		all.shown.Pending += g.shown.Pending
		all.shown.Reserved += g.shown.Reserved
		t.Accounts = append(t.Accounts, g.stats())
	}
	t.Stats = all.stats()
	runtime.KeepAlive(b)
	return t
}

// vacant returns the number of a record of g that nobody uses, or -1 if all n are in use.
func vacant(free *[]int, g *probe.Region, n int) int {
	if k := len(*free); k > 0 {
		index := (*free)[k-1]
		*free = (*free)[:k-1]
		return index
	}
	if g.Used < uint64(n) {
		return int(g.Used)
	}
	atomic.AddUint64(&g.Lost, 1)
	return -1
}

// occupy says that the record with a number is in use. It is called within change.
func occupy(g *probe.Region, index int) {
	if uint64(index) == g.Used {
		atomic.AddUint64(&g.Used, 1)
	}
}

// addAccount makes a record for a new account.
func (b *Books) addAccount(name string, flags uint32) *account {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &b.head.Accounts
	index := vacant(&b.freeAccounts, g, len(b.accounts))
	a := &account{name: name, index: index, rec: new(probe.Account), refs: 1}
	if a.index >= 0 {
		a.rec = &b.accounts[a.index]
	}
	b.change(func() {
		*a.rec = probe.Account{State: probe.StateOpen, Flags: flags}
		a.rec.NameLength = uint32(copy(a.rec.Name[:], name))
		occupy(g, a.index)
	})
	b.open = append(b.open, a)
	return a
}

// addShard gives s, a new shard of a, its record.
func (b *Books) addShard(a *account, s *shard) *shard {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &b.head.Shards
	free, n := &b.freeShards, len(b.shards)
	if a.index < 0 { // readers could not tell whose it is
		free, n = new([]int), 0
	}
	s.rec, s.index, s.at = new(probe.Shard), vacant(free, g, n), len(a.shards)
	if s.index >= 0 {
		s.rec, s.number = &b.shards[s.index], uint32(s.index)
	} else {
		s.number = uint32(len(b.shards)) + b.outside
		b.outside++
	}
	b.change(func() {
		*s.rec = probe.Shard{State: probe.StateOpen, Account: uint32(max(a.index, 0))}
		occupy(g, s.index)
	})
	a.shards = append(a.shards, s)
	a.refs++
	return s
}

// A slot says what a collected handle leaves behind.
type slot struct {
	books   *Books
	account *account
	shard   *shard // nil: the account's handle
}

// release takes over the counters of a handle that nobody can write through any
// more. It runs as a cleanup.
func (s slot) release() {
	b, a := s.books, s.account
	if s.shard != nil {
		s.shard.end()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.shard != nil {
		b.change(func() { a.fold(s.shard) })
		if s.shard.index >= 0 {
			b.freeShards = append(b.freeShards, s.shard.index)
		}
	}
	if a.refs--; a.refs == 0 {
		b.change(func() { b.remove(a) })
	}
}

// end takes the counters out of the record of a shard whose writer is gone, for readers that may still come
// by.
func (s *shard) end() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.last, s.folded = totals(s.rec), true
}

// fold adds the counters of one of a's shards, which has ended, to a's own and empties the record.
// The bound on a's peak is taken before: while a shard was there, live
// bytes never exceeded the sum of what is left of past shards and the peaks of present ones.
// The caller holds mu.
func (a *account) fold(s *shard) {
	atomic.StoreUint64(&a.rec.PeakPast, a.peak())
	add(&a.rec.Past, s.last)
	*s.rec = probe.Shard{}
	last := a.shards[len(a.shards)-1]
	a.shards[s.at], last.at = last, s.at
	a.shards[len(a.shards)-1] = nil
	a.shards = a.shards[:len(a.shards)-1]
}

// remove takes a, all of whose handles are gone, out of the books. What was live in it
// has gone with its owner, so it was freed late. The caller holds mu.
func (b *Books) remove(a *account) {
	b.pastPeak = b.peak()
	past := &a.rec.Past
	past.LateObjects += past.MadeObjects - past.FreedObjects
	past.LateBytes += past.MadeBytes - past.FreedBytes
	past.FreedObjects, past.FreedBytes = past.MadeObjects, past.MadeBytes
	b.sites.orphan(a)
	add(&b.past, *past)
	b.open = slices.DeleteFunc(b.open, func(o *account) bool { return o == a })
	*a.rec = probe.Account{}
	if a.index >= 0 {
		b.freeAccounts = append(b.freeAccounts, a.index)
	}
}

// change brackets a change of structure for readers outside. The caller holds mu.
func (b *Books) change(f func()) {
	atomic.AddUint64(&b.head.ChangeBegin, 1)
	f()
	atomic.AddUint64(&b.head.ChangeEnd, 1)
}

// peak returns a number of bytes that a's live bytes have never exceeded. The
// caller holds Books.mu.
func (a *account) peak() uint64 {
	if exact := atomic.LoadUint64(&a.rec.ExactPeak); exact != 0 {
		return exact
	}
	bound := a.rec.Past.MadeBytes - a.rec.Past.FreedBytes
	for _, s := range a.shards {
		bound += atomic.LoadUint64(&s.rec.Peak)
	}
	return max(bound, a.rec.PeakPast)
}

// peak returns a bound on the live bytes of all accounts together. The caller holds mu.
func (b *Books) peak() uint64 {
	var bound uint64
	for _, a := range b.open {
		bound += a.peak()
	}
	return max(bound, b.pastPeak)
}

// add adds t to *sum.
func add(sum *probe.Totals, t probe.Totals) {
	sum.MadeObjects += t.MadeObjects
	sum.MadeBytes += t.MadeBytes
	sum.FreedObjects += t.FreedObjects
	sum.FreedBytes += t.FreedBytes
	sum.LateObjects += t.LateObjects
	sum.LateBytes += t.LateBytes
	sum.Repeated += t.Repeated
}
