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

// A tentative free has been called and may still fail.
type tentative struct {
	a         *allocation
	freers    int  // threads that freed it and were not told that they failed
	confirmed bool // it is gone for good
}

// What a thread's latest call took away, until it is known to have succeeded.
type taken struct {
	op      Op
	key     key
	t       *tentative // nil: nothing was known at key
	a       *allocation
	how     How
	unmaps  []mapping
	waiting bool // the call may still fail
}

type thread struct {
	ctx    []uint64 // current contexts, the current one last
	latest taken
}

// A stamped value knows when it was set. Handles are given out again at once, so that
// the return of the call that ended one can come after the return of the call that
// made the next of the same number.
type stamped[T any] struct {
	v  T
	at int64
}

// A primary context is retained and released by device.
type primary struct {
	ctx  uint64
	refs int
}

// maxSize is more than any address space holds. A larger size is nonsense.
const maxSize = 1 << 47

// maxThreads bounds the threads remembered for one process.
const maxThreads = 64 << 10

// atExit is what was live when the process ended.
type atExit struct{ bytes, objects int64 }

type process struct {
	h       *Heap
	pid     uint32
	start   uint64
	name    string
	joined  bool // it ran before it was watched
	exited  bool
	first   int64
	last    int64
	ended   int64
	events  uint64
	history ring
	rates   ring // bytes asked for so far

	table      map[key]*allocation
	tentatives map[key]*tentative
	handles    map[uint64]*allocation
	maps       []mapping // by address
	threads    map[uint32]*thread
	primaries  map[int32]*primary
	devices    map[uint64]stamped[int32] // of contexts
	pools      map[uint64]stamped[Class]
	capturing  map[uint64]bool // streams
	sites      map[siteKey]*site
	stacks     map[uint64][]Frame

	classes    [NumClasses]Tally
	onDevice   map[int32]int64 // own live bytes
	hows       [numHows]Freed
	live       int64 // own bytes
	peak       int64
	peakAt     int64
	atExit     int64 // own bytes when it ended
	heldAtExit [NumClasses]atExit
	mapped     int64

	fails   map[int32]uint64 // by code
	oom     *OutOfMemory
	lost    map[string]uint64
	unknown Unknown
	undone  uint64
	dropped uint64 // allocations, sites and stacks without room
	kernel  KernelTotals
	place   Place
	used    int64 // bytes that the driver counts; 0: unknown

	told     bool  // its buffers are what it says of them
	tabled   bool  // it has said something of them
	toldLate Freed // of all of them
}

func newProcess(h *Heap, pid uint32, now int64) *process {
	p := &process{h: h, pid: pid, first: now, last: now, sites: make(map[siteKey]*site)}
	p.forget()
	return p
}

// forget drops what only a running program has. Sites and sums stay.
func (p *process) forget() {
	p.table = make(map[key]*allocation)
	p.tentatives = make(map[key]*tentative)
	p.handles = make(map[uint64]*allocation)
	p.maps = nil
	p.mapped = 0
	p.threads = make(map[uint32]*thread)
	p.primaries = make(map[int32]*primary)
	p.devices = make(map[uint64]stamped[int32])
	p.pools = make(map[uint64]stamped[Class])
	p.capturing = make(map[uint64]bool)
	if p.onDevice == nil {
		p.onDevice = make(map[int32]int64)
		p.fails = make(map[int32]uint64)
		p.lost = make(map[string]uint64)
	}
	if p.stacks == nil {
		p.stacks = make(map[uint64][]Frame)
	}
}

// apply takes an event of the running process.
func (p *process) apply(e *Event) {
	switch e.Op { // what no thread did
	case Start:
		p.name, p.start, p.joined = e.Text, e.Size, e.Aux == 1
		return
	case Lost:
		if len(p.lost) < 16 || p.lost[e.Text] != 0 {
			p.lost[e.Text] += e.Size
		} else {
			p.lost[""] += e.Size
		}
		return
	case Used:
		if e.Size <= maxSize {
			p.used = int64(e.Size)
		}
		return
	case Placed:
		p.place = parsePlace(e.Text)
		return
	case Totals:
		p.kernel = KernelTotals{Bytes: e.Size, Allocations: e.Addr, Frees: e.Aux, Walked: e.Pool, Unwalked: e.Stream}
		return
	case Stack:
		p.define(e.Stack, e.Frames)
		return
	case Told:
		p.tell(e)
		return
	}
	if p.told && (e.Space == Buffers || e.Class == Buffer) {
		return
	}
	t := p.thread(e.TID)
	if e.Op == Undo {
		p.undo(t, e)
		return
	}
	p.settle(t)
	switch e.Op {
	case Alloc:
		p.alloc(t, e)
	case Free, Drop:
		p.free(t, e)
	case Fail:
		p.fail(e)
	case Ref:
		if a := p.table[key{e.Space, e.Addr}]; a != nil {
			a.refs++
		}
	case Create:
		p.create(t, e)
	case Retain:
		p.retain(e)
	case Release:
		p.release(t, e)
	case Map:
		p.mapIn(e)
	case Unmap:
		p.unmap(t, e)
	case PoolCreate:
		put(p, p.pools, e.Addr, stamped[Class]{e.Class, e.Time})
	case PoolDestroy:
		if p.pools[e.Addr].at <= e.Begin {
			delete(p.pools, e.Addr)
		}
	case CaptureBegin:
		put(p, p.capturing, e.Addr, true)
	case CaptureEnd:
		delete(p.capturing, e.Addr)
	default:
		p.context(t, e)
	}
}

// thread returns what is known of a thread. If there are too many threads, those
// that have ended among them cannot be told from others, and all are forgotten:
// their current contexts become unknown.
func (p *process) thread(tid uint32) *thread {
	t := p.threads[tid]
	if t == nil {
		if len(p.threads) >= maxThreads {
			clear(p.threads)
			clear(p.tentatives)
			p.dropped++
		}
		t = new(thread)
		p.threads[tid] = t
	}
	return t
}

// settle notes that the thread's latest call has returned without an error.
func (p *process) settle(t *thread) {
	if !t.latest.waiting {
		return
	}
	if w := t.latest.t; w != nil {
		w.confirmed = true
		if p.tentatives[t.latest.key] == w {
			delete(p.tentatives, t.latest.key)
		}
	}
	t.latest = taken{}
}

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
	p.live -= a.size
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

// end ends everything, in the order of addresses so that histories are the same
// each time.
func (p *process) end(how How) {
	for _, t := range p.threads {
		p.settle(t)
	}
	p.atExit = p.live
	for c := range p.classes {
		p.heldAtExit[c] = atExit{p.classes[c].Live, p.classes[c].Objects}
	}
	for _, s := range p.sites {
		s.AtExitBytes, s.AtExitObjects = s.Live, s.Objects
	}
	p.endWhere(how, func(*allocation) bool { return true })
	for _, a := range p.physical() {
		p.remove(a, how)
	}
	p.endTold()
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

// maxHandles bounds each of the small tables of a process: contexts, pools, streams
// under capture.
const maxHandles = 64 << 10

// put sets m[k] unless m is full.
func put[K comparable, V any](p *process, m map[K]V, k K, v V) {
	if _, ok := m[k]; !ok && len(m) >= maxHandles {
		p.dropped++
		return
	}
	m[k] = v
}

// define keeps the frames of a stack. A stack may be defined again.
func (p *process) define(id uint64, frames []Frame) {
	if _, ok := p.stacks[id]; !ok && len(p.stacks) >= p.h.opts.Stacks {
		p.dropped++
		return
	}
	p.stacks[id] = frames
}
