package books

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/probe"
)

// OtherSites is the site of samples that came when all places were taken.
const OtherSites = 1

// A site is a user's call stack that allocated from one account. Its counters are in rec. When the
// account goes the site stays, owned by none, until another account allocates from
// the same stack and takes it over.
type site struct {
	number uint32
	hash   uint64
	pcs    []uintptr               // the stack as runtime.Callers returns it; never written again
	owner  atomic.Pointer[account] // nil: of an account that is gone, or OtherSites
	rec    *probe.Site
}

// An entry leads from a stack to its site. A site has an entry for its own stack, and one for
// each way through our own code by which its allocations have come, as the quick walk sees it.
type entry struct {
	hash uint64
	key  []uintptr // never written again
	site *site
	next *entry // in its bucket; never written again
}

// sites finds a site by a stack and by its number, without a lock. Entries and sites are
// only added, under mu.
type sites struct {
	limit   int
	lost    atomic.Uint64 // samples counted under OtherSites
	buckets [1024]atomic.Pointer[entry]
	all     atomic.Pointer[[]*site] // by number - 1

	mu   lockrank.Mutex[rankSites]
	text int // bytes of the table's text in use; protected by mu
}

// here returns the site of the caller's stack in account a, making it if there is room.
func (b *Books) here(a *account) *site {
	var room [maxDepth + ownDepth]uintptr
	key := Walk(room[:])
	h := hashOf(key)
	if st := b.sites.find(a, h, key); st != nil {
		return st
	}
	return b.addStack(a, h, key)
}

// addStack is here for a stack that is not known by its key.
func (b *Books) addStack(a *account, hash uint64, key []uintptr) *site {
	s := &b.sites
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.find(a, hash, key); st != nil {
		return st
	}
	if len(*s.all.Load()) >= s.limit {
		if st := s.find(nil, hash, key); st != nil {
			return st.adopted(a)
		}
		s.lost.Add(1)
		atomic.AddUint64(&b.head.Sites.Lost, 1)
		return s.get(OtherSites)
	}
	var room [maxDepth + ownDepth]uintptr
	pcs := users(callers(room[:]))
	own := hashOf(pcs)
	st := s.find(a, own, pcs)
	if st == nil {
		if st = s.find(nil, own, pcs); st != nil {
			st.adopted(a)
		} else {
			st = &site{hash: own, pcs: slices.Clone(pcs)}
			st.owner.Store(a)
			b.addSite(st, stackText(st.pcs))
			atomic.StoreUint64(&st.rec.Account, a.place())
			s.add(own, st.pcs, st)
		}
	}
	if !slices.Equal(key, pcs) && s.find(a, hash, key) == nil {
		s.add(hash, slices.Clone(key), st)
	}
	return st
}

// adopted gives a site whose account is gone to another. The caller holds sites.mu.
func (st *site) adopted(by *account) *site {
	st.owner.Store(by)
	atomic.StoreUint64(&st.rec.Account, by.place())
	return st
}

// add adds an entry. The caller holds mu.
func (s *sites) add(hash uint64, key []uintptr, st *site) {
	bucket := &s.buckets[hash%uint64(len(s.buckets))]
	bucket.Store(&entry{hash: hash, key: key, site: st, next: bucket.Load()})
}

// find returns the site of a stack and an owner, or nil.
func (s *sites) find(owner *account, hash uint64, key []uintptr) *site {
	for e := s.buckets[hash%uint64(len(s.buckets))].Load(); e != nil; e = e.next {
		if e.hash == hash && e.site.owner.Load() == owner && slices.Equal(e.key, key) {
			return e.site
		}
	}
	return nil
}

// addSite gives st a number and a record. The caller holds sites.mu.
func (b *Books) addSite(st *site, text string) {
	s := &b.sites
	all := *s.all.Load()
	n := len(all)
	st.number = uint32(n + 1)
	if n < len(b.places) {
		st.rec = &b.places[n]
		st.rec.Hash = st.hash
		if room := b.text[s.text:]; len(text) <= len(room) {
			copy(room, text)
			st.rec.TextOffset, st.rec.TextLength = uint64(s.text), uint64(len(text))
			s.text += len(text)
			atomic.StoreUint64(&b.head.Text.Used, uint64(s.text))
		} else {
			atomic.AddUint64(&b.head.Text.Lost, 1)
		}
		atomic.StoreUint64(&b.head.Sites.Used, uint64(n+1))
	} else {
		st.rec = &probe.Site{Hash: st.hash}
	}
	all = append(all, st) // behind what readers have
	s.all.Store(&all)
}

// get returns the site with a number, or nil.
func (s *sites) get(number uint32) *site {
	if all := *s.all.Load(); number-1 < uint32(len(all)) { // 0 wraps to the largest number
		return all[number-1]
	}
	return nil
}

// orphan takes the sites of an account that is gone from it. What is live there has gone
// with the account, so it was freed late. The caller holds Books.mu.
func (s *sites) orphan(a *account) {
	for _, st := range *s.all.Load() {
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
	Number  uint32
	Account string    // "" if the account is gone, and for OtherSites
	PCs     []uintptr // as runtime.Callers returns them; not to be written

	AllocObjects, AllocBytes int64
	LiveObjects, LiveBytes   int64
	LateObjects, LateBytes   int64
	Samples                  int64     // allocations behind these figures
	Last                     time.Time // the latest sampled allocation
}

// SiteOf returns the site with a number, or the zero Site.
func (b *Books) SiteOf(number uint32) (s Site) {
	if st := b.sites.get(number); st != nil {
		s = st.export()
	}
	runtime.KeepAlive(b)
	return s
}

// Sites returns all sites that ever allocated.
func (b *Books) Sites() (all []Site) {
	for _, st := range *b.sites.all.Load() {
		if atomic.LoadUint64(&st.rec.AllocObjects) > 0 {
			all = append(all, st.export())
		}
	}
	runtime.KeepAlive(b)
	return all
}

// export returns the site as others see it. Frees are read before allocations, so that live
// figures are never negative.
func (st *site) export() Site {
	r := st.rec
	late, lateBytes := atomic.LoadUint64(&r.LateObjects), atomic.LoadUint64(&r.LateBytes)
	freed, freedBytes := atomic.LoadUint64(&r.FreeObjects), atomic.LoadUint64(&r.FreeBytes)
	made, madeBytes := atomic.LoadUint64(&r.AllocObjects), atomic.LoadUint64(&r.AllocBytes)
	name := ""
	if a := st.owner.Load(); a != nil {
		name = a.name
	}
	return Site{
		Number: st.number, Account: name, PCs: st.pcs,
		AllocObjects: whole(made), AllocBytes: int64(madeBytes),
		LiveObjects: whole(made - freed), LiveBytes: int64(madeBytes - freedBytes),
		LateObjects: whole(late), LateBytes: int64(lateBytes),
		Samples: int64(atomic.LoadUint64(&r.Samples)),
		Last:    time.Unix(0, atomic.LoadInt64(&r.Last)),
	}
}

// whole returns objects in units of 1/[probe.ObjectUnit] as a whole number.
func whole(n uint64) int64 { return int64((n + probe.ObjectUnit/2) / probe.ObjectUnit) }
