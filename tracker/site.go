package tracker

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/internal/probe"
)

// A SiteID names a call site of one Tracker. The zero SiteID names none: the
// allocation was not sampled.
type SiteID uint32

// otherSites is the site of samples that came when all places were taken.
const otherSites SiteID = 1

// maxDepth is how many frames of a stack are kept.
const maxDepth = 64

// A site is a call stack that allocated from one account. Its counters are in rec. When the
// account goes the site stays, owned by none, until another account allocates from
// the same stack and takes it over.
type site struct {
	id    SiteID
	hash  uint64
	key   []uintptr               // what stackKey made of the stack; never written again
	pcs   []uintptr               // the stack as runtime.Callers returns it; never written again
	owner atomic.Pointer[account] // nil: of an account that is gone, or otherSites
	rec   *probe.Site
	next  *site // in its bucket; never written again

	// Parts, see part.go.
	parts atomic.Pointer[site] // the site's parts, linked by after; added under sites.mu
	after *site                // of a part; never written again
	main  *site                // of a part: the site; else nil
	home  uint32               // of a part: number of its writer, plus one; else 0
}

const (
	siteBuckets = 1024
	siteChunk   = 128
)

// sites finds a site by its stack and by its number, without a lock. Sites are
// only added, under mu.
type sites struct {
	limit   int
	lost    atomic.Uint64 // samples counted under otherSites
	buckets atomic.Pointer[[siteBuckets]atomic.Pointer[site]]
	chunks  atomic.Pointer[[]*[siteChunk]*site] // by number - 1
	count   atomic.Int64

	mu    sync.Mutex
	text  int // bytes of the table's text in use; protected by mu
	parts int // sites that are parts; protected by mu
}

// Site takes the caller's stack as the call site of an allocation of size bytes
// that [Shard.Sample] has chosen, and adds to it what the allocation stands for.
// With skip 0 the stack begins at Site's caller. Give the result and the same size to
// [Tracker.Unsite] when the allocation is freed. Site needs no lock and may be called
// from any goroutine.
func (t *Tracker) Site(skip int, s *Shard, size int64) SiteID {
	var key [maxDepth]uintptr
	st := t.table.siteFor(s.account.account, stackKey(key[:]), skip+1)
	t.table.addTo(st.rec, s.rate, size)
	runtime.KeepAlive(s)
	return st.id
}

// lastStep is how much older than it was the latest allocation of a site may be said to be. A
// store for each would cost more than all else.
const lastStep = int64(time.Millisecond)

// addTo adds one allocation to a site's record.
func (t *table) addTo(r *probe.Site, rate, size int64) {
	t.touch(r)
	t.count(r, rate, size)
}

// touch says that the latest allocation of a site was now.
func (t *table) touch(r *probe.Site) {
	if now := t.now(); now-atomic.LoadInt64(&r.Last) > lastStep {
		atomic.StoreInt64(&r.Last, now)
	}
}

// count adds what one allocation of size bytes stands for.
func (t *table) count(r *probe.Site, rate, size int64) {
	objects, bytes := t.weigh(rate, size)
	atomic.AddUint64(&r.Samples, 1)
	atomic.AddUint64(&r.AllocObjects, objects)
	atomic.AddUint64(&r.AllocBytes, bytes)
}

// now returns the time in nanoseconds since 1970. It asks the monotonic clock alone, which
// is half the price of time.Now.
func (t *table) now() int64 { return t.head.Start + int64(time.Since(t.start)) }

// Unsite takes back from site id what [Tracker.Site] added for an allocation of size
// bytes: it has been freed, by the collector if late is true. For the zero SiteID it does
// nothing.
func (t *Tracker) Unsite(id SiteID, size int64, late bool) { t.takeFrom(id, t.rate, size, late) }

func (t *Tracker) takeFrom(id SiteID, rate, size int64, late bool) {
	st := t.table.sites.get(id)
	if st == nil {
		return
	}
	st = st.whole() // only its writer touches a part
	objects, bytes := t.table.weigh(rate, size)
	if late {
		atomic.AddUint64(&st.rec.LateObjects, objects)
		atomic.AddUint64(&st.rec.LateBytes, bytes)
	}
	atomic.AddUint64(&st.rec.FreeObjects, objects)
	atomic.AddUint64(&st.rec.FreeBytes, bytes)
	runtime.KeepAlive(t)
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

// weights remembers what some sizes weigh: allocators hand out few different ones.
type weights [64]atomic.Pointer[weight]

type weight struct {
	rate, size     int64
	objects, bytes uint64
}

// weigh returns the same as the function weigh.
func (t *table) weigh(rate, size int64) (objects, bytes uint64) {
	if rate <= 1 {
		return weigh(rate, size)
	}
	place := &t.weights[uint64(size)*0x9e3779b97f4a7c15>>58]
	if w := place.Load(); w != nil && w.size == size && w.rate == rate {
		return w.objects, w.bytes
	}
	w := &weight{rate: rate, size: size}
	w.objects, w.bytes = weigh(rate, size)
	place.Store(w)
	return w.objects, w.bytes
}

// siteFor returns the site of a stack in account a, making it if there is room. key tells the
// stack from others; if it is a new one its calls are named, without the innermost skip of those
// that lead to siteFor.
func (t *table) siteFor(a *account, key []uintptr, skip int) *site {
	h := hashOf(key)
	s := &t.sites
	if b := s.buckets.Load(); b != nil {
		if st := b[h%siteBuckets].Load().find(a, h, key); st != nil {
			return st
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets.Load()
	if b == nil {
		b = new([siteBuckets]atomic.Pointer[site])
		t.addSite(&site{}, otherStack) // gets the number otherSites
		s.buckets.Store(b)
	}
	bucket := &b[h%siteBuckets]
	head := bucket.Load()
	if st := head.find(a, h, key); st != nil {
		return st
	}
	if st := head.find(nil, h, key); st != nil {
		st.owner.Store(a)
		atomic.StoreUint64(&st.rec.Account, a.place())
		return st
	}
	if int(s.count.Load()) >= s.limit {
		s.lost.Add(1)
		atomic.AddUint64(&t.head.Sites.Lost, 1)
		return s.get(otherSites)
	}
	st := &site{hash: h, key: make([]uintptr, len(key)), next: head}
	copy(st.key, key) // not slices.Clone, which would make every caller's stack escape
	var pcs [maxDepth]uintptr
	st.pcs = slices.Clone(pcs[:runtime.Callers(skip+2, pcs[:])])
	st.owner.Store(a)
	t.addSite(st, stackText(st.pcs))
	atomic.StoreUint64(&st.rec.Account, a.place())
	bucket.Store(st)
	return st
}

// addSite gives st a number and a record. The caller holds sites.mu.
func (t *table) addSite(st *site, text string) {
	s := &t.sites
	n := int(s.count.Load())
	st.id = SiteID(n + 1)
	if n < len(t.places) {
		st.rec = &t.places[n]
		st.rec.Hash = st.hash
		if m := st.main; m != nil {
			st.rec.Main, st.rec.TextOffset, st.rec.TextLength = uint64(m.id), m.rec.TextOffset, m.rec.TextLength
		} else if room := t.text[s.text:]; len(text) <= len(room) {
			copy(room, text)
			st.rec.TextOffset, st.rec.TextLength = uint64(s.text), uint64(len(text))
			s.text += len(text)
			atomic.StoreUint64(&t.head.Text.Used, uint64(s.text))
		} else {
			atomic.AddUint64(&t.head.Text.Lost, 1)
		}
		atomic.StoreUint64(&t.head.Sites.Used, uint64(n+1))
	} else {
		st.rec = &probe.Site{Hash: st.hash}
	}
	var chunks []*[siteChunk]*site
	if p := s.chunks.Load(); p != nil {
		chunks = *p
	}
	if n%siteChunk == 0 {
		chunks = append(slices.Clip(chunks), new([siteChunk]*site))
		s.chunks.Store(&chunks)
	}
	chunks[n/siteChunk][n%siteChunk] = st
	s.count.Store(int64(n + 1)) // after this a reader may look at chunks
}

// find returns the site of a stack and an owner in the chain that begins at st, or nil.
func (st *site) find(owner *account, hash uint64, key []uintptr) *site {
	for ; st != nil; st = st.next {
		if st.hash == hash && st.owner.Load() == owner && slices.Equal(st.key, key) {
			return st
		}
	}
	return nil
}

// orphan takes the sites of an account that is gone from it. What is live there has gone
// with the account, so it was freed late. The caller holds table.mu.
func (s *sites) orphan(a *account) {
	for id := SiteID(1); int64(id) <= s.count.Load(); id++ {
		st := s.get(id)
		if st.owner.Load() != a {
			continue
		}
		r := st.rec
		objects := atomic.LoadUint64(&r.AllocObjects) - atomic.LoadUint64(&r.FreeObjects)
		bytes := atomic.LoadUint64(&r.AllocBytes) - atomic.LoadUint64(&r.FreeBytes)
		atomic.AddUint64(&r.LateObjects, objects)
		atomic.AddUint64(&r.LateBytes, bytes)
		atomic.AddUint64(&r.FreeObjects, objects)
		atomic.AddUint64(&r.FreeBytes, bytes)
		atomic.StoreUint64(&r.Account, 0)
		st.owner.Store(nil)
	}
}

// place returns the index of a's record plus one, or 0 if it is not in the table.
func (a *account) place() uint64 { return uint64(a.index + 1) }

// get returns the site with a number, or nil.
func (s *sites) get(id SiteID) *site {
	if id == 0 || int64(id) > s.count.Load() {
		return nil
	}
	return (*s.chunks.Load())[(id-1)/siteChunk][(id-1)%siteChunk]
}

// hashOf returns a hash of a stack's key. Two lanes, as each waits for its multiplication.
func hashOf(key []uintptr) uint64 {
	const k = 0x9e3779b97f4a7c15
	a, b := uint64(len(key)), uint64(k)
	for ; len(key) > 1; key = key[2:] {
		a = (a ^ uint64(key[0])) * k
		b = (b ^ uint64(key[1])) * k
	}
	if len(key) > 0 {
		a = (a ^ uint64(key[0])) * k
	}
	a ^= b >> 31
	a *= k
	return a ^ a>>32
}

// A Site is a call stack that allocated foreign memory, with what the sampled
// allocations stand for: bytes, and objects rounded to whole ones. Freed includes late.
type Site struct {
	ID      SiteID  `json:"id"`
	Account string  `json:"account"` // "" if the account is gone, and for "other sites"
	Frames  []Frame `json:"frames"`  // innermost first; empty for "other sites" and what has no known stack

	AllocObjects int64     `json:"alloc_objects"`
	AllocBytes   int64     `json:"alloc_bytes"`
	LiveObjects  int64     `json:"live_objects"`
	LiveBytes    int64     `json:"live_bytes"`
	LateObjects  int64     `json:"late_objects"` // freed by the collector
	LateBytes    int64     `json:"late_bytes"`
	Samples      int64     `json:"samples"` // allocations behind these figures
	Last         time.Time `json:"last"`    // the latest sampled allocation
}

// String returns the site's innermost call as "file:line".
func (s Site) String() string {
	switch {
	case len(s.Frames) > 0:
		return s.Frames[0].String()
	case s.ID == otherSites:
		return "other sites"
	}
	return "unknown"
}

// SiteOf returns the site with a number. For the zero SiteID it returns the zero Site.
func (t *Tracker) SiteOf(id SiteID) Site {
	defer runtime.KeepAlive(t)
	if st := t.table.sites.get(id); st != nil {
		return st.whole().export()
	}
	return Site{}
}

// Sites returns all sites that ever allocated, the one with the most live bytes first.
func (t *Tracker) Sites() []Site {
	defer runtime.KeepAlive(t)
	var all []Site
	sites := &t.table.sites
	for id := SiteID(1); int64(id) <= sites.count.Load(); id++ {
		if st := sites.get(id); st.main == nil && atomic.LoadUint64(&st.rec.AllocObjects) > 0 {
			all = append(all, st.export())
		}
	}
	slices.SortStableFunc(all, func(a, b Site) int {
		switch {
		case a.LiveBytes != b.LiveBytes:
			return sign(b.LiveBytes - a.LiveBytes)
		case a.AllocBytes != b.AllocBytes:
			return sign(b.AllocBytes - a.AllocBytes)
		}
		return int(a.ID) - int(b.ID)
	})
	return all
}

// sign returns -1, 0 or 1 as x is negative, zero or positive.
func sign(x int64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// export returns the site as its users see it, its parts included. Frees are read before
// allocations, so that live figures are never negative.
func (st *site) export() Site {
	var late, lateBytes, freed, freedBytes, made, madeBytes, samples uint64
	var last int64
	for p := range st.all {
		r := p.rec
		late, lateBytes = late+atomic.LoadUint64(&r.LateObjects), lateBytes+atomic.LoadUint64(&r.LateBytes)
		freed, freedBytes = freed+atomic.LoadUint64(&r.FreeObjects), freedBytes+atomic.LoadUint64(&r.FreeBytes)
	}
	for p := range st.all {
		r := p.rec
		made, madeBytes = made+atomic.LoadUint64(&r.AllocObjects), madeBytes+atomic.LoadUint64(&r.AllocBytes)
		samples += atomic.LoadUint64(&r.Samples)
		last = max(last, atomic.LoadInt64(&r.Last))
	}
	name := ""
	if a := st.owner.Load(); a != nil {
		name = a.name
	}
	return Site{
		ID: st.id, Account: name, Frames: frames(st.pcs),
		AllocObjects: whole(made), AllocBytes: int64(madeBytes),
		LiveObjects: whole(made - freed), LiveBytes: int64(madeBytes - freedBytes),
		LateObjects: whole(late), LateBytes: int64(lateBytes),
		Samples: int64(samples),
		Last:    time.Unix(0, last),
	}
}

// whole returns objects in units of 1/[probe.ObjectUnit] as a whole number.
func whole(n uint64) int64 { return int64((n + probe.ObjectUnit/2) / probe.ObjectUnit) }
