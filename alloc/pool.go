package alloc

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/custody"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/tracker"
)

// Options are the choices of a [Pool]. The zero Options is good.
type Options struct {
	// Limit is the most bytes that the pool reserves from its device. 0 means
	// as many as the device gives. Where the device maps, memory comes in whole granules
	// (Mapper.Granularity), unless the limit has fewer than 16 of them.
	Limit int64

	// Keep is how many idle bytes survive a [Stream.Sync]; what is above goes back to the
	// device then. 0 keeps everything until [Pool.Trim] or until it is needed
	// elsewhere.
	Keep int64

	// Segment is the least number of bytes asked from a device that does not map,
	// and four times the most by which a segment of one that does grows beyond what is needed.
	// 0 means 32 MiB.
	Segment int64

	// Check makes the pool find errors in the program, at the price of time and
	// memory: see the package comment.
	Check bool

	// Quarantine is how many freed bytes Check mode holds back from reuse in the
	// whole pool, so that late writes are found. 0 means 64 MiB.
	Quarantine int64

	// Apart gives each buffer an allocation of the device's to itself, for tools that know allocations and
	// no pools, such as compute-sanitizer: they see what is read before it is written, and work on freed or
	// next to live buffers. It goes back when work with it is known to have run, which each Make looks for;
	// so a Make and a Free cost what the device's calls do. The memory of graphs stays as it is.
	Apart bool

	// Tracker keeps the books. Several pools may share one. Nil means that the pool
	// makes its own, with the default sampling rate; in Check mode with every
	// allocation's site.
	Tracker *tracker.Tracker

	// Pacing says when foreign memory makes the Go collector run.
	Pacing finalize.Options

	// CollectWait is how long the last but one rung of the ladder waits for the
	// cleanups of a collection. 0 means one second.
	CollectWait time.Duration

	// Growth says how much idle memory may stay with the pool to save calls of the device.
	Growth Growth

	// Trace gets a line for each Make and Free, for package bench/trace to read and
	// replay. It is written to by Makes and by Close, whose error says if that
	// failed; it may be slow, but must not call the pool. With a trace every Make and
	// Free costs about a quarter of a microsecond more. Adopted memory is not in it.
	Trace io.Writer
}

// A Pool hands out memory of one device. All its methods may be called at any time from
// any goroutine. Close it when it is no longer used; a pool that is dropped
// gives its memory back as well, once the collector has found it.
type Pool struct {
	core *core
	std  *Stream // the default stream
}

// leastGranules is how many granules the budget must have for a pool to map. With fewer,
// rounding to granules would keep too much of a small limit out of reach: with 16 it is
// a sixteenth at most.
const leastGranules = 16

// A core is the pool without its public face. Everything inside refers to the core, and
// never to the Pool, so that the collector can find a dropped Pool.
type core struct {
	dev      Device
	mapper   Mapper   // nil if the device does not map
	capturer Capturer // nil if the device does not capture
	timer    Timer    // nil if the device does not time
	grapher  Grapher  // nil if the device makes no graphs
	estate   *estate
	checker  *checker         // nil outside Check mode
	custody  custody.Observer // nil but under a device that checks the pool
	options  Options
	books    *tracker.Tracker
	account  *books.Account
	pacer    *finalize.Pacer
	granule  int64 // bytes; 0 if the device does not map
	// recording says that the books keep a history.
	recording bool
	trace     *trace // nil without one
	total     int64  // bytes that the device has
	free      int64  // bytes that it had left when the pool was made
	careful   bool   // a Free must look closer: Check mode, a history, a trace or an observer
	closed    atomic.Bool

	_ [64]byte // every Free reads what is above, and what is below is written now and then

	budget    atomic.Int64 // bytes; what pacing takes for the whole
	budgetAge atomic.Int64 // when it was read, in nanoseconds since 1970

	arena  arena
	owners owners
	types  sync.Map                // element types that are no plain numbers but known to be good
	heaps  atomic.Pointer[[]*heap] // of open and closed streams; the slice is never written again

	pinned atomic.Pointer[pinnedHeap] // nil before the first MakePinned

	claimed atomic.Int64 // bytes reserved, or about to be; never above Limit
	calls   atomic.Int64 // of the device, other than copies, fills and launches
	rungs   [numRungs]atomic.Int64
	waits   atomic.Int64 // waits inserted between streams for the sake of memory

	// moving is held, by readers, by whoever has memory in his hands that is in no list: what he gets from
	// the device, moves, gives back, or takes from one heap to another. No code of the program's runs under
	// it, and only in a closed pool is a stream waited for. Check holds it as the writer and so meets the
	// pool at a stop.
	moving lockrank.RWMutex[rankMoving]

	mu      lockrank.Mutex[rankCore] // guards what follows and changes of heaps; taken before a heap's
	spare   []*heap                  // of closed streams
	streams map[*Stream]struct{}

	graphs graphs
}

// NewPool returns a pool that takes its memory from dev. It reserves nothing yet. The
// device must outlive the pool.
func NewPool(dev Device, o Options) (*Pool, error) {
	if dev == nil {
		return nil, errors.New("alloc: new pool: no device")
	}
	for _, x := range []struct {
		name  string
		bytes int64
	}{{"Limit", o.Limit}, {"Keep", o.Keep}, {"Segment", o.Segment}, {"Quarantine", o.Quarantine}} {
		if x.bytes < 0 {
			return nil, fmt.Errorf("alloc: new pool: option %s is %d bytes: %w", x.name, x.bytes, ErrSize)
		}
	}
	if o.Growth < Balanced || o.Growth > Fast {
		return nil, fmt.Errorf("alloc: new pool: option Growth is %d: want Balanced, Tight or Fast: %w",
			o.Growth, ErrOption)
	}
	if o.Apart && (o.Check || o.Trace != nil) {
		return nil, fmt.Errorf("alloc: new pool: option Apart goes with neither Check nor Trace: %w", ErrOption)
	}
	free, total, err := dev.MemInfo()
	if err != nil {
		return nil, fmt.Errorf("alloc: new pool on %s: %w", dev.Name(), err)
	}
	if o.Segment == 0 {
		o.Segment = 32 << 20
	}
	o.Segment = roundLarge(min(o.Segment, maxSize))
	if o.Quarantine == 0 {
		o.Quarantine = 64 << 20
	}
	if o.CollectWait == 0 {
		o.CollectWait = time.Second
	}
	if o.Tracker == nil {
		t := tracker.Options{}
		if o.Check {
			t.Rate = 1 // every site: who looks for an error wants its line, not a sample
		}
		o.Tracker = tracker.New(t)
	}
	account := books.Of(o.Tracker).NewAccount(dev.Name())
	c := &core{
		dev:     dev,
		options: o,
		books:   o.Tracker,
		account: account,
		total:   total,
		free:    free,
		streams: make(map[*Stream]struct{}),
		estate:  newEstate(dev, account),
	}
	c.recording = o.Tracker.Recording()
	if o.Trace != nil {
		c.trace = newTrace(o.Trace, dev.Name())
	}
	c.custody = observer(dev)
	c.estate.custody = c.custody
	c.careful = o.Check || o.Apart || c.recording || c.trace != nil || c.custody != nil
	c.arena.core = c
	c.heaps.Store(new([]*heap))
	c.budget.Store(free)
	c.budgetAge.Store(time.Now().UnixNano())
	c.pacer = finalize.NewPacer(o.Pacing)
	budget := total
	if o.Limit > 0 {
		budget = min(budget, o.Limit)
	}
	if m, ok := dev.(Mapper); ok && m.Granularity() > 0 && budget/m.Granularity() >= leastGranules {
		c.mapper, c.estate.mapper, c.granule = m, m, m.Granularity()
	}
	c.capturer, _ = dev.(Capturer)
	c.timer, _ = dev.(Timer)
	c.grapher, _ = dev.(Grapher)
	c.estate.grapher = c.grapher
	if o.Check {
		h, err := dev.NewStream()
		if err != nil {
			return nil, fmt.Errorf("alloc: new pool: %w", err)
		}
		c.checker = &checker{stream: h, out: make(map[*block]struct{})}
		c.estate.streams[h] = true
	}
	p := &Pool{core: c}
	p.std, _ = c.openStream(p, dev.DefaultStream(), false) // nobody can have closed p
	account.SetMap(mapOf(p))
	runtime.AddCleanup(p, func(e *estate) {
		// Giving back waits and calls the device: not on the collector's goroutine.
		go e.drop()
	}, c.estate)
	return p, nil
}

// none reports whether there is no pool at all: p is nil, or NewPool has not made it.
func (p *Pool) none() bool { return p == nil || p.core == nil }

// Device returns the device that p takes its memory from.
//
//lastuse:effect recv borrowed
func (p *Pool) Device() Device { return p.core.dev }

// Tracker returns the books that p is kept in.
//
//lastuse:effect recv borrowed
func (p *Pool) Tracker() *tracker.Tracker { return p.core.books }

// DefaultStream returns the stream that the device always has.
//
//lastuse:effect recv borrowed
func (p *Pool) DefaultStream() *Stream { return p.std }

// NewStream makes a stream. It may block for as long as the device takes.
//
//lastuse:effect recv borrowed
func (p *Pool) NewStream() (*Stream, error) {
	return p.addStream("new stream", false, func(dev Device) (uintptr, error) { return dev.NewStream() })
}

// StreamOptions are the choices of [Pool.NewStreamWith]. The zero StreamOptions makes what NewStream makes.
type StreamOptions struct {
	// Priority says how urgent the stream's work is beside that of other streams; lower is more urgent, 0 is
	// usual. It is brought into the device's range. A device without priorities takes no notice.
	Priority int
}

// NewStreamWith is [Pool.NewStream] with choices.
//
//lastuse:effect recv borrowed
func (p *Pool) NewStreamWith(o StreamOptions) (*Stream, error) {
	return p.addStream("new stream", false, func(dev Device) (uintptr, error) {
		d, ok := dev.(Prioritizer)
		if !ok || o.Priority == 0 {
			return dev.NewStream()
		}
		least, most, err := d.Priorities()
		if err != nil {
			return 0, err
		}
		return d.NewPriorityStream(max(most, min(o.Priority, least)))
	})
}

// WrapStream lets a stream made by somebody else, with the device's handle h, take part in p. Close the
// result before the stream is destroyed; Close does not destroy it. If the pool is closed first, with buffers
// that are live, the stream must outlive them: the last Free waits for its work.
//
// A stream that p has already, made or wrapped by it and not closed, is an error: two Streams would keep two
// accounts of one order. Only the device's default stream, which other libraries name too, may be wrapped
// beside [Pool.DefaultStream]. Errors: [ErrClosed]; errors.ErrUnsupported of a device that cannot do so; and
// what the device has against h.
//
//lastuse:effect recv borrowed
func (p *Pool) WrapStream(h uintptr) (*Stream, error) {
	return p.addStream("wrap stream", true, func(dev Device) (uintptr, error) {
		a, ok := dev.(StreamAdopter)
		if !ok {
			return 0, fmt.Errorf("%s: %w", dev.Name(), errors.ErrUnsupported)
		}
		return h, a.AdoptStream(h)
	})
}

// addStream opens the stream whose handle get returns.
func (p *Pool) addStream(op string, wrapped bool, get func(Device) (uintptr, error)) (*Stream, error) {
	if p.none() {
		return nil, fmt.Errorf("alloc: %s: %w", op, errNoPool)
	}
	c := p.core
	if !c.estate.enter() {
		return nil, fmt.Errorf("alloc: %s: %w", op, errPoolClosed)
	}
	defer c.leave()
	c.calls.Add(1)
	h, err := get(c.dev)
	if err != nil {
		return nil, fmt.Errorf("alloc: %s: %w", op, err)
	}
	s, err := c.openStream(p, h, wrapped)
	if err != nil {
		if !wrapped {
			_ = c.dev.DestroyStream(h)
		}
		return nil, fmt.Errorf("alloc: %s: %w", op, err)
	}
	return s, nil
}

// openStream gives the stream with handle h a heap: one that a closed stream left behind if there is one. The
// caller is inside, or makes the pool.
func (c *core) openStream(p *Pool, h uintptr, wrapped bool) (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() { // Close, which is to close all streams, has seen them all under c.mu or will
		return nil, errPoolClosed
	}
	if p.std != nil && !c.estate.addStream(h, wrapped) { // the device's default stream is nobody's to give up
		return nil, fmt.Errorf("the pool has a stream with handle %#x already: use that one", h)
	}
	var hp *heap
	if n := len(c.spare); n > 0 {
		hp = c.spare[n-1]
		c.spare = c.spare[:n-1]
	} else {
		old := c.allHeaps()
		mu := &new(struct {
			lockrank.Mutex[rankHeap]
			_ [120]byte // no two heaps' share a cache line
		}).Mutex
		hp = &heap{core: c, mu: mu, shard: c.account.NewShard(mu)}
		hp.line.core, hp.line.heap = c, hp
		hp.line.index, hp.line.bit = len(old), 1<<(len(old)%numBits)
		all := append(slices.Clone(old), hp)
		c.heaps.Store(&all)
	}
	hp.line.begin(h, wrapped)
	s := &Stream{pool: p, core: c, heap: hp, late: &c.estate.late, wrapped: wrapped}
	if c.careful {
		s.careful.Or(carefulPool)
	}
	if wrapped && c.capturer != nil {
		s.careful.Or(carefulExposed)
	}
	c.streams[s] = struct{}{}
	return s, nil
}

// allHeaps returns the heaps of all streams.
func (c *core) allHeaps() []*heap { return *c.heaps.Load() }

// event returns an idle event.
func (c *core) event() (uintptr, error) {
	if e, ok := c.estate.takeEvent(); ok {
		return e, nil
	}
	c.calls.Add(1)
	e, err := c.dev.NewEvent()
	if err == nil {
		c.estate.addEvent(e)
	}
	return e, err
}
