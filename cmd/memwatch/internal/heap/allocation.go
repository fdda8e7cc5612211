package heap

import (
	"cmp"
	"slices"
)

// How an allocation ended.
type How uint8

const (
	Explicit How = iota // by a call
	Late                // by the collector, since nobody called Free
	Context             // with its context or by a reset
	Exited              // with its process
	Replaced            // its address was given out again: the free was not seen
	numHows
)

// A key names an allocation of a process.
type key struct {
	space Space
	addr  uint64
}

// An allocation is memory that is alive, or was a moment ago.
type allocation struct {
	key        key
	size       int64 // bytes
	class      Class
	owner      Owner
	gone       bool
	device     int32
	ctx        uint64
	at         int64 // when its call returned
	site       *site
	prev, next *allocation // of the same site, by at

	refs  int      // Objects and Handles
	maps  int      // Handles: mappings
	names []uint64 // Handles: all that name it
}

// A mapping is a part of the address space that physical memory backs.
type mapping struct {
	addr, size uint64
	of         *allocation // nil: made before the process was watched
}

func (m mapping) end() uint64 { return m.addr + m.size }

// maxSize is more than any address space holds. A larger size is nonsense.
const maxSize = 1 << 47

// alloc adds memory. An allocation at an address that is in use shows that a free
// was not seen; at an address that is being freed, that the free succeeded.
func (p *process) alloc(t *thread, e *Event) {
	class := e.Class
	if e.Pool != 0 && class == Pool {
		if c, ok := p.pools[e.Pool]; ok {
			class = c.v
		}
	}
	if e.Stream != 0 && p.capturing[e.Stream] {
		class = Graph
	}
	k := key{e.Space, e.Addr}
	if w := p.tentatives[k]; w != nil {
		w.confirmed = true
		delete(p.tentatives, k)
	}
	if old := p.table[k]; old != nil {
		p.remove(old, Replaced)
	}
	if a := p.add(t, e, k, class); a != nil {
		p.table[k] = a
		a.refs = 1
	}
}

// add makes an allocation and counts it. It returns nil if there is no room, or if
// the size cannot be true.
func (p *process) add(t *thread, e *Event, k key, class Class) *allocation {
	size := int64(e.Size)
	if e.Size > maxSize || p.h.live >= p.h.opts.Allocations {
		p.dropped++
		return nil
	}
	a := &allocation{key: k, size: size, class: class, owner: e.Owner, device: e.Device, ctx: e.Ctx, at: e.Time}
	if a.ctx == 0 && len(t.ctx) > 0 {
		a.ctx = t.ctx[len(t.ctx)-1]
	}
	if a.device == NoDevice {
		if d, ok := p.devices[a.ctx]; ok {
			a.device = d.v
		}
	}
	if a.site = p.site(e.Stack, class); a.site == nil {
		p.dropped++
		return nil
	}
	p.count(a)
	a.site.allocated(a)
	c := &p.classes[class]
	c.AllocBytes += e.Size
	c.AllocObjects++
	return a
}

// count adds a to what is live.
func (p *process) count(a *allocation) {
	p.h.live++
	a.gone = false
	p.classes[a.class].grow(a.size, 1)
	a.site.link(a)
	if !a.class.Own() {
		return
	}
	p.live += a.size
	p.onDevice[a.device] += a.size
	if p.live > p.peak {
		p.peak, p.peakAt = p.live, p.h.now
	}
}

// remove ends an allocation. What names it has been taken care of, save its place
// in the table.
func (p *process) remove(a *allocation, how How) {
	if p.table[a.key] == a {
		delete(p.table, a.key)
	}
	p.h.live--
	a.gone = true
	c := &p.classes[a.class]
	c.grow(-a.size, -1)
	c.FreedBytes += uint64(a.size)
	c.FreedObjects++
	a.site.freed(a, how, p.h.now)
	p.hows[how].Bytes += uint64(a.size)
	p.hows[how].Objects++
	if !a.class.Own() {
		return
	}
	p.lived(a)
	p.live -= a.size
	p.low.fell(p.live)
	if p.onDevice[a.device] -= a.size; p.onDevice[a.device] == 0 {
		delete(p.onDevice, a.device)
	}
}

// restore undoes remove.
func (p *process) restore(a *allocation, how How) {
	c := &p.classes[a.class]
	c.FreedBytes -= uint64(a.size)
	c.FreedObjects--
	a.site.unfreed(a, how)
	p.hows[how].Bytes -= uint64(a.size)
	p.hows[how].Objects--
	p.livesOn(a)
	p.count(a)
}

// free takes memory away on the entry of a call. On a stream under capture it makes
// a node of a graph and frees nothing.
func (p *process) free(t *thread, e *Event) {
	if e.Stream != 0 && p.capturing[e.Stream] {
		return
	}
	k := key{e.Space, e.Addr}
	how := Explicit
	if e.Class == Buffer && e.Code == 1 {
		how = Late
	}
	t.latest = taken{op: e.Op, key: k, how: how, waiting: true}
	a := p.table[k]
	if a == nil {
		if w := p.tentatives[k]; w != nil { // another thread frees it too
			w.freers++
			t.latest.t = w
			return
		}
		if e.Addr != 0 { // freeing nothing is allowed, and is nothing
			p.unknown.Frees++
		} else {
			t.latest.waiting = false
		}
		return
	}
	if e.Op == Drop {
		if a.refs--; a.refs > 0 {
			t.latest.a = a
			return
		}
	}
	p.remove(a, how)
	w := &tentative{a: a, freers: 1}
	p.tentatives[k] = w
	t.latest.t = w
}

// undo gives back what this thread's latest call took, since it failed.
func (p *process) undo(t *thread, e *Event) {
	l := t.latest
	t.latest = taken{}
	if !l.waiting || l.key.addr != e.Addr {
		return
	}
	p.undone++
	switch {
	case l.op == Unmap:
		for _, m := range l.unmaps {
			p.remap(m)
		}
	case l.op == Release:
		p.unrelease(l)
	case l.a != nil: // a Drop that was not the last
		l.a.refs++
	case l.t == nil:
		p.unknown.Frees--
	default:
		if l.t.freers--; l.t.freers > 0 || l.t.confirmed {
			return
		}
		delete(p.tentatives, l.key)
		if p.table[l.key] == nil {
			p.table[l.key] = l.t.a
			l.t.a.refs = max(l.t.a.refs, 1)
			p.restore(l.t.a, l.how)
		}
	}
}

// fail counts an allocation that failed. Running out of memory keeps a picture of
// what was live.
func (p *process) fail(e *Event) {
	if _, ok := p.fails[e.Code]; ok || len(p.fails) < 64 {
		p.fails[e.Code]++
	}
	if e.Aux == 1 {
		p.oom = &OutOfMemory{Time: e.Time, Function: e.Text, Asked: e.Size, Live: p.live, Sites: p.rows(Query{Top: 10})}
	}
}

// endWhere ends the allocations of the table for which which is true. What a free
// on its way has taken is gone too, whether or not that free fails for it.
func (p *process) endWhere(how How, which func(*allocation) bool) {
	for k, w := range p.tentatives {
		if which(w.a) {
			w.confirmed = true
			delete(p.tentatives, k)
		}
	}
	var all []*allocation
	for _, a := range p.table {
		if which(a) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *allocation) int {
		return cmp.Or(cmp.Compare(a.key.space, b.key.space), cmp.Compare(a.key.addr, b.key.addr))
	})
	for _, a := range all {
		p.remove(a, how)
	}
}
