package alloc

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/tracker"
)

// What is live, block by block: for the errors that say so and for Check mode.

// eachLive stops the pool and calls f with every live block, adopted memory included.
func (c *core) eachLive(f func(*block)) {
	c.stopped(func() { c.walkLive(f) })
}

// stopped calls f while nothing moves: it holds the locks of all heaps, as nobody else does, so that it may
// wait for each of them, and that of the arena. f calls no device.
func (c *core) stopped(f func()) {
	c.mu.Lock() // no heap comes
	defer c.mu.Unlock()
	for _, hp := range c.allHeaps() {
		hp.mu.Lock()
		defer hp.mu.Unlock()
	}
	c.arena.mu.Lock()
	defer c.arena.mu.Unlock()
	f()
}

// walkLive is eachLive in a stopped pool.
func (c *core) walkLive(f func(*block)) {
	// Every live block has a header, and every header an entry.
	chunks := c.owners.chunks.Load()
	if chunks == nil {
		return
	}
	for _, chunk := range *chunks {
		for i := range chunk {
			if b := chunk[i].Load(); b != nil && b.state == stateLive {
				f(b)
			}
		}
	}
}

// A liveBlock is what liveSites has to know of a block.
type liveBlock struct {
	site uint32 // 0: unknown
	made Stack  // in Check mode
	size int64
}

// liveSites returns up to n sites with what is live of each, the largest first. The figures are
// exact; what has no known site is in unknown. In Check mode everything has one: what the tracker
// has not sampled is grouped by the stack that the block keeps, as sites without a number.
func (c *core) liveSites(n int) (sites []tracker.Site, unknown Unknown) {
	var all []liveBlock
	c.eachLive(func(b *block) {
		l := liveBlock{site: b.site.Site(), size: b.size}
		if b.checked != nil {
			l.made = b.checked.made
		}
		all = append(all, l)
	})
	// The pool goes on while they are named.
	at := make(map[any]int) // by number, or by stack as text
	for _, l := range all {
		var key any = l.site
		switch {
		case l.site != 0:
		case l.made != nil:
			key = fmt.Sprint([]uintptr(l.made))
		default:
			unknown.Buffers++
			unknown.Bytes += l.size
			continue
		}
		i, known := at[key]
		if !known {
			i = len(sites)
			at[key] = i
			s := tracker.Site{Account: c.dev.Name(), Frames: l.made.frames()}
			if l.site != 0 {
				s = c.books.SiteOf(tracker.SiteID(l.site))
			}
			s.LiveObjects, s.LiveBytes = 0, 0
			sites = append(sites, s)
		}
		sites[i].LiveObjects++
		sites[i].LiveBytes += l.size
	}
	slices.SortFunc(sites, func(a, b tracker.Site) int {
		return cmp.Or(cmp.Compare(b.LiveBytes, a.LiveBytes), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.String(), b.String()))
	})
	return sites[:min(n, len(sites))], unknown
}

// liveError describes what is live in a closed pool.
func (c *core) liveError(st books.Stats) error {
	e := &LiveError{Buffers: st.LiveObjects, Bytes: st.Live}
	e.Sites, e.Unknown = c.liveSites(8)
	return e
}

// A watched block is live, and stays whole while its red zones are looked at: its Free puts it
// into quarantine, which it does not leave.
type watched struct {
	block *block
	heap  *heap
	stamp stamp // of the work that filled the red zones
}

// checkLive looks at the red zones of live buffers. It does not wait: red zones that may not be
// filled yet are left out.
func (c *core) checkLive() error {
	var all []watched
	c.eachLive(func(b *block) {
		if k := b.checked; k != nil && k.fenced && !k.torn {
			k.watchers++
			all = append(all, watched{b, b.heap(), k.filled})
		}
	})
	var errs []error
	for _, w := range all {
		b, k := w.block, w.block.checked
		var err error
		if w.stamp.look() {
			err = c.examineZones(b)
		}
		w.heap.mu.Lock()
		k.watchers--
		if err != nil && !k.torn {
			k.torn = true // said once
			errs = append(errs, err)
		}
		w.heap.mu.Unlock()
	}
	return errors.Join(errs...)
}

// zone is a part of a checked block that nobody may write.
type zone struct {
	what     string
	off, len int64
	want     byte
}

// zones returns the red zones of b.
func (k *checked) zones() []zone {
	return []zone{
		{"write before the buffer", 0, k.front, redByte},
		{"write behind the buffer", k.front + k.size, k.back, redByte},
	}
}

// examineZones looks at the red zones of a live block that is watched.
func (c *core) examineZones(b *block) error {
	k := b.checked
	if z, at := c.torn(b, k.zones()); at >= 0 {
		return &CorruptionError{What: z.what, Offset: z.off + at - k.front, Size: k.size, Made: k.made,
			Live: true}
	}
	return nil
}

// torn returns the first of some zones that has been written, and where, or -1.
func (c *core) torn(b *block, zones []zone) (zone, int64) {
	for _, z := range zones {
		if at := c.differs(b.ptr+Ptr(z.off), z.len, z.want); at >= 0 {
			return z, at
		}
	}
	return zone{}, -1
}

// unwatched waits until nobody looks at k's block. hp.mu is held, and given up meanwhile.
func (hp *heap) unwatched(k *checked) {
	for k.watchers > 0 {
		hp.mu.Unlock()
		runtime.Gosched()
		hp.mu.Lock()
	}
}
