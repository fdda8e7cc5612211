package tracker

import "runtime"

// againDepth is the most return addresses of a stack that a shard remembers.
const againDepth = 32

// lastTicks is so few ticks that they are no more than lastStep on any processor.
const lastTicks = uint64(lastStep)

// lastSite is the stack of a shard's latest sample: programs allocate from one place many
// times in a row.
type lastSite struct {
	site  *site  // what SiteAgain counts in: the site, or the shard's part of it
	hits  int    // in a row while that was the site
	ticks uint64 // when the clock was last asked for it
	n     int
	key   [againDepth]uintptr
}

// SiteAgain returns the site of an allocation of size bytes that [Shard.Sample] has chosen if its
// stack is the one of the last [Shard.Remember], and counts it as [Tracker.Site] does; else it
// returns 0 and counts nothing. The stack begins skip calls above SiteAgain's caller.
// It costs a quarter of what Site does and, like Sample, wants the owner's lock.
//
//go:noinline
func (s *Shard) SiteAgain(skip int, size int64) SiteID {
	l := s.last
	if l == nil || !samePCs(&l.key[0], l.n, skip+1) {
		return 0
	}
	t := s.account.tracker.table
	if now := ticks(); now-l.ticks >= lastTicks || now == 0 {
		l.ticks = now
		t.touch(l.site.rec)
	}
	if l.site.home != 0 {
		objects, bytes := s.weigh(size)
		countPart(l.site.rec, objects, bytes)
		return l.site.id
	}
	t.count(l.site.rec, s.rate, size)
	if l.hits++; l.hits == partHits {
		l.site, l.hits = t.addPart(l.site, s.index), 0
	}
	return l.site.whole().id
}

// Remember takes the caller's stack, from skip calls above Remember's caller on, as that of site
// id, for [Shard.SiteAgain]. It wants the owner's lock.
//
//go:noinline
func (s *Shard) Remember(skip int, id SiteID) {
	if id <= otherSites {
		return // what finds no room is counted one by one
	}
	if s.last == nil {
		s.last = new(lastSite)
	}
	l := s.last
	l.n, l.ticks, l.hits = 0, 0, 0
	var key [againDepth + 4]uintptr
	n := returnPCs(&key[0], len(key)) - skip - 1
	if n <= 0 || n > againDepth || n+skip+1 == len(key) {
		return
	}
	l.n = copy(l.key[:n], key[skip+1:])
	l.site = s.account.tracker.table.sites.get(id).part(s.index)
	runtime.KeepAlive(s)
}
