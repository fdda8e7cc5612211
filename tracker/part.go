package tracker

import (
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/probe"
)

// A stack from which many goroutines allocate would be a place where they all meet: its record. A
// shard that has seen a stack many times in a row gets a record of its own for it, a part of the site,
// which is written under the lock of the shard's owner with plain stores. A part's number stands for
// the site wherever a SiteID is taken. What was counted in a part and is freed without that lock is
// taken from the site's own record: only the sums mean anything.

// partsShare is which part of all places for sites may be parts.
const partsShare = 2

// whole returns the site that st is or is a part of.
func (st *site) whole() *site {
	if st.main != nil {
		return st.main
	}
	return st
}

// all yields the site and its parts.
func (st *site) all(yield func(*site) bool) {
	if !yield(st) {
		return
	}
	for p := st.parts.Load(); p != nil; p = p.after {
		if !yield(p) {
			return
		}
	}
}

// partHits is after how many samples in a row a stack gets a part.
const partHits = 16

// part returns the part of st that shard number index writes to, or st itself if there is none.
func (st *site) part(index uint32) *site {
	st = st.whole()
	for p := st.parts.Load(); p != nil; p = p.after {
		if p.home == index+1 {
			p.adopt(st)
			return p
		}
	}
	return st
}

// addPart returns the part of st that shard number index writes to, making it if there is room;
// else st itself. The caller has the lock of the shard's owner, so nobody else makes that one.
func (t *table) addPart(st *site, index uint32) *site {
	if p := st.part(index); p != st {
		return p
	}
	s := &t.sites
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts >= s.limit/partsShare || int(s.count.Load()) >= s.limit {
		return st
	}
	p := &site{hash: st.hash, pcs: st.pcs, main: st, home: index + 1, after: st.parts.Load()}
	t.addSite(p, "")
	p.adopt(st)
	st.parts.Store(p)
	s.parts++
	return p
}

// adopt makes p, a part of st, the account's that has st now: shards and accounts come and go.
func (p *site) adopt(st *site) {
	if a := st.owner.Load(); p.owner.Load() != a {
		p.owner.Store(a)
		atomic.StoreUint64(&p.rec.Account, atomic.LoadUint64(&st.rec.Account))
	}
}

// weigh is table.weigh, which it asks only if the size is not the one before. The caller has the
// lock of the shard's owner.
func (s *Shard) weigh(size int64) (objects, bytes uint64) {
	w := &s.weight
	if w.size != size || w.objects == 0 {
		w.size = size
		w.objects, w.bytes = s.account.tracker.table.weigh(s.rate, size)
	}
	return w.objects, w.bytes
}

// countPart adds one allocation to the record of a part. The caller has the lock of its writer.
func countPart(r *probe.Site, objects, bytes uint64) {
	store(&r.Samples, r.Samples+1)
	store(&r.AllocObjects, r.AllocObjects+objects)
	store(&r.AllocBytes, r.AllocBytes+bytes)
}

// Unsite does what [Tracker.Unsite] does if id is a site that s keeps figures of its own of, and
// reports whether it is: then that is all there is to do. Like SiteAgain it wants the owner's lock,
// and costs a fraction.
func (s *Shard) Unsite(id SiteID, size int64, late bool) bool {
	t := s.account.tracker.table
	st := t.sites.get(id)
	if st == nil || st.home != s.index+1 {
		return false
	}
	r := st.rec
	objects, bytes := s.weigh(size)
	if late {
		store(&r.LateObjects, r.LateObjects+objects)
		store(&r.LateBytes, r.LateBytes+bytes)
	}
	store(&r.FreeObjects, r.FreeObjects+objects)
	store(&r.FreeBytes, r.FreeBytes+bytes)
	return true
}
