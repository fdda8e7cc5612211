package heap

import (
	"cmp"
	"slices"
	"time"
)

// What is live tells nothing of what was: a process keeps the latest of its allocations that have ended.
// Those that nobody could see in a picture of them are left out, so that a program that allocates without a
// pause does not push the others out.

const (
	maxLives  = 4096                   // that have ended, for a process
	shortLife = 100 * time.Millisecond // is left out
	smallBits = 10                     // and so is less than the process's peak shifted by that
)

// A life is an allocation that has ended; of no size if that was undone.
type life struct {
	key          siteKey
	addr         uint64
	linear       bool
	size         int64
	began, ended int64
}

// lives are the latest of a process, in a ring.
type lives struct {
	all   []life
	next  int   // the oldest, once the ring is full
	since int64 // of what ended later nothing was forgotten
}

func (l *lives) add(x life) {
	if len(l.all) < maxLives {
		l.all = append(l.all, x)
		return
	}
	l.since = l.all[l.next].ended
	l.all[l.next] = x
	l.next = (l.next + 1) % maxLives
}

// least is the least size that is shown.
func (p *process) least() int64 { return max(p.peak>>smallBits, 1) }

// lived keeps an allocation that ends now.
func (p *process) lived(a *allocation) {
	if a.size >= p.least() && p.h.now-a.at >= int64(shortLife) {
		p.lives.add(life{a.site.key, a.key.addr, a.key.space == Linear, a.size, a.at, p.h.now})
	}
}

// livesOn undoes lived.
func (p *process) livesOn(a *allocation) {
	for i := range p.lives.all {
		if l := &p.lives.all[i]; l.addr == a.key.addr && l.began == a.at && l.key == a.site.key {
			l.size = 0
		}
	}
}

// A Timeline is what a process allocated in a time, and when it ended.
type Timeline struct {
	Time  int64  // now; nanoseconds, of the events' clock
	Since int64  // what ended before that may be missing
	Least int64  // bytes: what is smaller is left out, as is what has lived for less than a tenth of a second
	Left  int    // what found no room besides
	Sites []Site // no more than their class and frames
	Lives []Life // in the order in which they began
}

// A Life is one allocation.
type Life struct {
	Site       int    // of Sites
	Addr, Size uint64 // bytes
	Linear     bool   // Addr is an address
	Begin, End int64  // End is 0 while it lives
}

// Timeline returns the allocations of a process that lived at or after a time, the largest ones for the
// longest time if they are more than most. It returns nil if there is no such process. A process that only
// its table tells of has none.
func (h *Heap) Timeline(pid uint32, start uint64, from int64, most int) *Timeline {
	p := h.procs[pid]
	if p == nil || p.start != start {
		i := slices.IndexFunc(h.exited, func(q *process) bool { return q.pid == pid && q.start == start })
		if i < 0 {
			return nil
		}
		p = h.exited[i]
	}
	var all []life
	for _, l := range p.lives.all {
		if l.size >= p.least() && l.ended >= from {
			all = append(all, l)
		}
	}
	for _, s := range p.sites {
		if !s.key.class.Own() || !s.holds(p.least()) {
			continue
		}
		for a := s.first; a != nil; a = a.next {
			if a.size >= p.least() {
				all = append(all, life{s.key, a.key.addr, a.key.space == Linear, a.size, a.at, 0})
			}
		}
	}
	t := &Timeline{Time: h.now, Since: p.lives.since, Least: p.least()}
	if len(all) > most {
		slices.SortFunc(all, func(a, b life) int {
			return cmp.Or(-cmp.Compare(a.area(from, h.now), b.area(from, h.now)), a.compare(b))
		})
		t.Left = len(all) - most
		all = all[:most]
	}
	slices.SortFunc(all, life.compare)
	names, at := p.nameSites(), make(map[siteKey]int)
	for _, l := range all {
		i, ok := at[l.key]
		if !ok {
			i = len(t.Sites)
			at[l.key] = i
			t.Sites = append(t.Sites, Site{Stack: l.key.stack, Class: l.key.class.String(), Frames: p.stacks[l.key.stack], Named: names[l.key]})
		}
		t.Lives = append(t.Lives, Life{Site: i, Addr: l.addr, Linear: l.linear, Size: uint64(l.size), Begin: l.began, End: l.ended})
	}
	return t
}

// area is how much an allocation covers of a picture that begins at from.
func (l *life) area(from, now int64) float64 {
	end := l.ended
	if end == 0 {
		end = now
	}
	return float64(l.size) * float64(end-max(l.began, from)+1)
}

// compare orders lives by their beginning, and all of them in one way.
func (l life) compare(m life) int {
	return cmp.Or(cmp.Compare(l.began, m.began), cmp.Compare(l.addr, m.addr), cmp.Compare(l.ended, m.ended),
		cmp.Compare(l.key.class, m.key.class), cmp.Compare(l.key.stack, m.key.stack))
}

// holds reports whether a site may have an allocation of that size or more.
func (s *site) holds(size int64) bool {
	for _, n := range s.sizes[sizeClass(size):] {
		if n > 0 {
			return true
		}
	}
	return false
}
