package heap

import "slices"

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
	low     troughs
	rates   ring // bytes asked for so far
	lives   lives

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
	names      map[siteKey]int // nil: to be chosen anew
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
	used    map[int32]int64 // bytes that the driver counts, by device; none: unknown
	notes   []string        // what is not shown, of which nothing is missing but names

	told     bool // its buffers are what it says of them
	tabled   bool // it has said something of them
	toldHows [numHows]Freed
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
	case Named:
		p.name = e.Text
		return
	case Lost:
		if len(p.lost) < 16 || p.lost[e.Text] != 0 {
			p.lost[e.Text] += e.Size
		} else {
			p.lost[""] += e.Size
		}
		return
	case Used:
		p.useOn(e)
		return
	case Placed:
		p.place = parsePlace(e.Text)
		return
	case Noted:
		if len(p.notes) < maxNotes && !slices.Contains(p.notes, e.Text) {
			p.notes = append(p.notes, e.Text)
		}
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

// blank reports whether a process is known never to have had anything: once it has ended there is nothing to
// tell of it, unless somebody has asked for it.
func (p *process) blank() bool {
	return !p.joined && len(p.sites) == 0 && !p.tabled && len(p.fails)+len(p.lost) == 0 && p.dropped == 0 && p.unknown == (Unknown{}) &&
		p.kernel == (KernelTotals{})
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

// maxHandles bounds each of the small tables of a process: contexts, pools, streams
// under capture.
const maxHandles = 64 << 10

// maxNotes bounds what is noted of one process.
const maxNotes = 8

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
	p.names = nil
}
