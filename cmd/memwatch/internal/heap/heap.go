package heap

import "time"

// Options bounds what a Heap keeps. What does not fit is counted, and the numbers
// of its process become inexact. Zero fields mean the defaults.
type Options struct {
	Allocations int           // live at once, all processes; 4 Mi
	Sites       int           // per process; 16 Ki
	Stacks      int           // per process; 64 Ki
	Processes   int           // running; 4 Ki
	Exited      int           // kept after their exit; 64
	Blank       bool          // keep after their exit those too that never had anything
	Interval    time.Duration // between two samples of history; 1 s
}

// HistoryLength is how many samples of history are kept.
const HistoryLength = 60

// A Heap is the live foreign heap of all processes that events told of. It is not
// safe for use by several goroutines.
type Heap struct {
	opts   Options
	procs  map[uint32]*process
	gpus   map[int32]*gpu
	exited []*process // oldest first

	now    int64 // time of the latest event
	next   int64 // when history is next sampled
	live   int   // allocations of all processes
	events uint64
	lost   uint64 // of no known process, and of all others too
	early  uint64 // events of processes that did not fit
	bad    uint64 // events that no program can cause: wrong op, class or space
}

// New returns an empty Heap.
func New(o Options) *Heap {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	def(&o.Allocations, 4<<20)
	def(&o.Sites, 16<<10)
	def(&o.Stacks, 64<<10)
	def(&o.Processes, 4<<10)
	def(&o.Exited, 64)
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	return &Heap{opts: o, procs: make(map[uint32]*process), gpus: make(map[int32]*gpu)}
}

// Apply takes the next event. e may be used again afterwards; its Frames are kept.
func (h *Heap) Apply(e *Event) {
	h.events++
	if !e.Op.Valid() || e.Class >= NumClasses || e.Space >= numSpaces || e.Owner >= numOwners {
		h.bad++
		return
	}
	h.Advance(e.Time)
	if e.Op == Lost {
		h.lost += e.Size
	}
	if e.Op == GPU {
		h.gpu(e)
		return
	}
	p := h.process(e)
	if p == nil {
		return
	}
	p.last = max(p.last, e.Time)
	p.events++
	switch e.Op {
	case Exit:
		p.end(Exited)
		h.retire(p)
	case Exec:
		p.end(Exited)
		p.forget()
		p.notes = nil
		if e.Text != "" {
			p.name = e.Text
		}
	default:
		p.apply(e)
	}
}

// process returns the process that e is about, which a Start makes and any other
// event makes if need be. It returns nil if e is about none, or if there is no room.
func (h *Heap) process(e *Event) *process {
	p := h.procs[e.PID]
	if e.PID == 0 || p == nil && e.Op == Exit {
		return nil
	}
	if e.Op == Exit && e.Size != 0 && p.start != 0 && p.start != e.Size {
		return nil // it has ended before, and its number is in use again
	}
	if e.Op == Start && p != nil && p.start != e.Size {
		if p.start == 0 { // it was seen before it was introduced
			p.start = e.Size
		} else {
			p.end(Exited)
			h.retire(p)
			p = nil
		}
	}
	if p == nil {
		if len(h.procs) >= h.opts.Processes {
			h.early++
			return nil
		}
		p = newProcess(h, e.PID, e.Time)
		h.procs[e.PID] = p
	}
	return p
}

// retire moves p to the processes that have exited.
func (h *Heap) retire(p *process) {
	p.exited = true
	p.ended = h.now
	p.forget()
	delete(h.procs, p.pid)
	if p.blank() && !h.opts.Blank {
		return
	}
	h.exited = append(h.exited, p)
	if len(h.exited) > h.opts.Exited {
		h.exited = append(h.exited[:0], h.exited[1:]...)
	}
}

// Advance tells the time, in the clock of the events: history is sampled although
// nothing happens. An earlier time than the latest one changes nothing.
func (h *Heap) Advance(now int64) {
	h.now = max(h.now, now)
	step := int64(h.opts.Interval)
	if h.next == 0 {
		h.next = h.now + step
	}
	if h.now < h.next {
		return
	}
	missed := (h.now-h.next)/step + 1
	h.next += missed * step
	for range min(missed, HistoryLength) {
		for _, p := range h.procs {
			p.sample()
		}
		for _, g := range h.gpus {
			g.history.push(g.used)
		}
	}
}

// Now returns the time of the latest event.
func (h *Heap) Now() int64 { return h.now }
