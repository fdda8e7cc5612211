package tracker

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
)

// How large a table is. Its pages cost memory only once they are used.
const (
	tableAccounts = 256
	tableShards   = 8192
	tableText     = 4 << 20 // bytes
)

// A table is where the records are: in a mapping that can be read from outside
// while it has room, on the Go heap otherwise. It owns the mapping.
type table struct {
	head *probe.Header // in the mapping, or on the heap

	// Views of the mapping's regions; empty if there is no mapping.
	accounts []probe.Account
	shards   []probe.Shard
	places   []probe.Site
	text     []byte

	sites   sites
	weights weights
	start   time.Time // when head.Start was

	mu        sync.Mutex
	open      []*account   // protected by mu
	past      probe.Totals // of accounts that are gone; protected by mu
	pastPeak  uint64       // bytes; bound of live bytes up to when the last account went; protected by mu
	freeSlots []uint32     // shard slots to be used again; protected by mu
	freeRooms []int        // account slots to be used again; protected by mu
	next      uint32       // number of the next new shard; protected by mu
}

// An account is the record behind an [Account]. It outlives the handle: it goes
// when handle and shards have all been collected.
type account struct {
	name   string
	rec    *probe.Account
	index  int      // in the table, or -1
	shards []*shard // protected by table.mu
	refs   int      // handles that can still be reached; protected by table.mu

	segments func() []Segment // may be nil; protected by table.mu
}

// A shard is the record behind a [Shard].
type shard struct {
	rec   *probe.Shard
	index uint32 // its number; inside the table if that has so many
	at    int    // in account.shards; protected by table.mu
}

// newTable returns an empty table. mapMemory makes its mapping.
func newTable(o Options, mapMemory func(size int64) (mapping, error)) *table {
	t := &table{head: new(probe.Header)}
	t.sites.limit = o.MaxSites
	if !o.NoTable {
		plan := probe.Plan{Accounts: tableAccounts, Shards: tableShards, Sites: o.MaxSites, Text: tableText}
		t.share(plan.Place(), mapMemory)
	}
	h := t.head
	t.start = time.Now()
	h.Start, h.Rate = t.start.UnixNano(), o.Rate
	alloc, free := probe.Markers()
	h.AllocMarker, h.FreeMarker = uint64(alloc), uint64(free)
	// The first word makes it a table, so it is written last.
	atomic.StoreUint64(&h.Magic, probe.Magic)
	return t
}

// share moves t, which is still empty, into a shared mapping laid out as h says. If none
// can be made t stays as it is.
func (t *table) share(h probe.Header, mapMemory func(int64) (mapping, error)) {
	m, err := mapMemory(int64(h.Size))
	if err != nil {
		return // there is no view from outside, and nothing else is missing
	}
	h.Magic = 0
	base := m.base
	t.head = (*probe.Header)(base)
	*t.head = h
	t.accounts = region[probe.Account](base, h.Accounts)
	t.shards = region[probe.Shard](base, h.Shards)
	t.places = region[probe.Site](base, h.Sites)
	t.text = region[byte](base, h.Text)
	runtime.AddCleanup(t, mapping.release, m)
}

// region returns the records of g as a slice over the mapping.
func region[T any](base unsafe.Pointer, g probe.Region) []T {
	return unsafe.Slice((*T)(unsafe.Add(base, g.Offset)), g.Cap)
}

// addAccount makes a record for a new account.
func (t *table) addAccount(name string, flags uint32) *account {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &account{name: name, index: -1, refs: 1}
	g := &t.head.Accounts
	switch used := g.Used; {
	case len(t.freeRooms) > 0:
		a.index = t.freeRooms[len(t.freeRooms)-1]
		t.freeRooms = t.freeRooms[:len(t.freeRooms)-1]
	case used < uint64(len(t.accounts)):
		a.index = int(used)
	}
	if a.index < 0 {
		a.rec = new(probe.Account)
		atomic.AddUint64(&g.Lost, 1)
	} else {
		a.rec = &t.accounts[a.index]
	}
	t.change(func() {
		*a.rec = probe.Account{State: probe.StateOpen, Flags: flags, NameLength: uint32(min(len(name), probe.NameSize))}
		copy(a.rec.Name[:], name)
		if a.index >= 0 && uint64(a.index) == g.Used {
			atomic.AddUint64(&g.Used, 1)
		}
	})
	t.open = append(t.open, a)
	return a
}

// addShard makes a record for a new shard of a.
func (t *table) addShard(a *account) *shard {
	t.mu.Lock()
	defer t.mu.Unlock()
	var index uint32
	var rec *probe.Shard
	g := &t.head.Shards
	switch used := g.Used; {
	case a.index < 0: // readers could not tell whose it is
		index = t.outside()
	case len(t.freeSlots) > 0:
		index = t.freeSlots[len(t.freeSlots)-1]
		t.freeSlots = t.freeSlots[:len(t.freeSlots)-1]
	case used < uint64(len(t.shards)):
		index = uint32(used)
	default:
		index = t.outside()
	}
	inside := uint64(index) < uint64(len(t.shards))
	if inside {
		rec = &t.shards[index]
	} else {
		rec = new(probe.Shard)
		atomic.AddUint64(&g.Lost, 1)
	}
	t.change(func() {
		*rec = probe.Shard{State: probe.StateOpen, Account: uint32(max(a.index, 0)), Next: distance(t.head.Rate, rand.ExpFloat64)}
		if inside && uint64(index) == g.Used {
			atomic.AddUint64(&g.Used, 1)
		}
	})
	s := &shard{rec: rec, index: index, at: len(a.shards)}
	a.shards = append(a.shards, s)
	a.refs++
	return s
}

// outside returns the number of a shard that is not in the table.
func (t *table) outside() uint32 {
	t.next++
	return uint32(len(t.shards)) + t.next - 1
}

// A slot says what a collected handle leaves behind.
type slot struct {
	table   *table
	account *account
	shard   *shard // nil: the account's handle
}

// release takes over the counters of a handle that nobody can write through any
// more. It runs as a cleanup.
func (s slot) release() {
	t, a := s.table, s.account
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.shard != nil {
		t.change(func() { a.fold(s.shard) })
		if uint64(s.shard.index) < uint64(len(t.shards)) {
			t.freeSlots = append(t.freeSlots, s.shard.index)
		}
	}
	if a.refs--; a.refs == 0 {
		t.change(func() { t.remove(a) })
	}
}

// fold adds the counters of one of a's shards to a's own and empties the record.
// The bound on a's peak is taken before: while a shard was there, live
// bytes never exceeded the sum of what is left of past shards and the peaks of present ones.
func (a *account) fold(s *shard) {
	store(&a.rec.PeakPast, a.peak())
	add(&a.rec.Past, totalsOf(s.rec))
	last := a.shards[len(a.shards)-1]
	a.shards[s.at], last.at = last, s.at
	a.shards[len(a.shards)-1] = nil
	a.shards = a.shards[:len(a.shards)-1]
	*s.rec = probe.Shard{}
}

// remove takes a, all of whose handles are gone, out of the books. What was live in it
// has gone with its owner, so it was freed late.
func (t *table) remove(a *account) {
	t.pastPeak = t.peak()
	past := &a.rec.Past
	past.LateObjects += past.MadeObjects - past.FreedObjects
	past.LateBytes += past.MadeBytes - past.FreedBytes
	past.FreedObjects, past.FreedBytes = past.MadeObjects, past.MadeBytes
	t.sites.orphan(a)
	add(&t.past, *past)
	for i, o := range t.open {
		if o == a {
			t.open = append(t.open[:i], t.open[i+1:]...)
			break
		}
	}
	*a.rec = probe.Account{}
	if a.index >= 0 {
		t.freeRooms = append(t.freeRooms, a.index)
	}
}

// change brackets a change of structure for readers outside. The caller holds mu.
func (t *table) change(f func()) {
	atomic.AddUint64(&t.head.ChangeBegin, 1)
	f()
	atomic.AddUint64(&t.head.ChangeEnd, 1)
}

// totals returns the sum of a's shards, present and past, and the bytes pending. The caller
// holds table.mu.
func (a *account) totals() (sum probe.Totals, pending int64) {
	sum = a.rec.Past
	for _, s := range a.shards {
		t, p := load(s.rec)
		add(&sum, t)
		pending += int64(p)
	}
	return sum, pending
}

// peak returns a number of bytes that a's live bytes have never exceeded. The
// caller holds table.mu.
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
func (t *table) peak() uint64 {
	var bound uint64
	for _, a := range t.open {
		bound += a.peak()
	}
	return max(bound, t.pastPeak)
}

// totalsOf returns the counters of a shard that nobody writes to.
func totalsOf(r *probe.Shard) probe.Totals {
	t, _ := load(r)
	return t
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
