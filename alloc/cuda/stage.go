package cuda

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/books"
)

// The stage carries copies between Go memory and the device through page-locked chunks, because the driver
// may never keep a Go pointer.
//
//	chunk   page-locked memory with an event; in somebody's hands, in flight on a stream, or idle
//	queue   what a stream has in flight, the oldest first, and how many chunks it has in all
//	stage   the idle chunks, and the queues by stream
//
// A chunk in flight is free again when its event is done. Who wants one takes an idle one, else the oldest
// in flight on his stream if that is done, else a new one as long as the stream and the device have fewer
// than they may, else what is done on other streams. Only then he waits, and for his own stream alone: a
// stream that is held up holds up nobody else, as each may always have a few chunks. No driver is called
// under the lock.
//
// Chunks come in two sizes, so that many small copies in flight do not each hold a large chunk. copy.go
// says how a copy uses them. They stand in the books as "<device> staging".

const (
	smallChunk = 64 << 10 // bytes
	largeChunk = 512 << 10
	// directLeast is the size in bytes from which page-locked memory is copied without the stage. It is
	// then used until the transfer has run, so the caller waits; below, copying twice is faster than
	// waiting.
	directLeast = 256 << 10
)

// A chunkKind says how many chunks of a size there may be.
type chunkKind struct {
	size   int64 // bytes
	least  int   // chunks that each stream may have, whatever others have
	stream int   // chunks of a stream, at most
	device int   // chunks of all streams from which on a stream gets no more than least
}

const (
	small = iota
	large
	numKinds
)

var chunkKinds = [numKinds]chunkKind{
	small: {smallChunk, 4, 64, 256}, // 4 MiB of a stream, 16 MiB of the device
	large: {largeChunk, 4, 32, 128}, // 16 MiB of a stream, 64 MiB of the device
}

type stage struct {
	mu     sync.Mutex
	idle   [numKinds]*chunk
	made   [numKinds]int
	queues map[uintptr]*queue
	lost   *chunk // those that the device may still use, nobody knows for how long

	jobs    *job // idle ones
	copiers int  // goroutines that help with copies now

	booked  sync.Once
	account atomic.Pointer[books.Account] // of all chunks; nil before the first
}

// count notes that the chunks have got n bytes more. The account has books of its own, as a device outlives
// its pools and serves several.
func (g *stage) count(b *base, n int64) {
	g.booked.Do(func() {
		g.account.Store(books.New(books.Options{MaxSites: 1}).NewAccount(b.name + " staging"))
	})
	g.account.Load().AddReserved(n)
}

// Staged returns how many bytes of page-locked memory the device has for copies from and to Go memory.
func (b *base) Staged() int64 {
	if a := b.stage.account.Load(); a != nil {
		return a.Stats().Reserved
	}
	return 0
}

type queue struct {
	flying [numKinds]fifo
	held   [numKinds]int // in flight and in hands
}

// A fifo is a list of chunks, the oldest first.
type fifo struct{ first, last *chunk }

func (f *fifo) push(c *chunk) {
	if c.next = nil; f.first == nil {
		f.first = c
	} else {
		f.last.next = c
	}
	f.last = c
}

func (f *fifo) pushFront(c *chunk) {
	if c.next = f.first; c.next == nil {
		f.last = c
	}
	f.first = c
}

func (f *fifo) pop() *chunk {
	c := f.first
	if c != nil {
		f.first, c.next = c.next, nil
	}
	return c
}

type chunk struct {
	next  *chunk
	queue *queue // of the stream that has it, or had it last
	p     uintptr
	event uintptr
	kind  int
}

func (c *chunk) size() int64 { return chunkKinds[c.kind].size }

func (c *chunk) bytes(n int64) []byte { return unsafe.Slice((*byte)(hostPointer(c.p)), n) }

// queue returns the queue of a stream. g.mu is held.
func (g *stage) queue(s uintptr) *queue {
	q := g.queues[s]
	if q == nil {
		if g.queues == nil {
			g.queues = make(map[uintptr]*queue)
		}
		q = new(queue)
		g.queues[s] = q
	}
	return q
}

// take returns a chunk that nothing uses, for work on s. With patient it may wait for the oldest one in
// flight on s; else it returns nil instead.
func (g *stage) take(b *base, s uintptr, kind int, patient bool) (*chunk, error) {
	k := &chunkKinds[kind]
	g.mu.Lock()
	q := g.queue(s)
	for wait := false; ; {
		if c := g.idle[kind]; c != nil {
			g.idle[kind], c.next, c.queue = c.next, nil, q
			q.held[kind]++
			g.mu.Unlock()
			return c, nil
		}
		oldest := q.flying[kind].pop()
		if oldest != nil {
			g.mu.Unlock()
			done, err := b.over(oldest, wait)
			if done {
				return oldest, nil
			}
			g.mu.Lock()
			q.flying[kind].pushFront(oldest)
			if err != nil {
				g.mu.Unlock()
				return nil, err
			}
		}
		// Where others have all that the stream may have in their hands, it gets one more.
		var lack error // of memory for a new one
		held := q.held[kind]
		if held < k.least || oldest == nil || held < k.stream && g.made[kind] < k.device {
			q.held[kind]++
			g.made[kind]++
			g.mu.Unlock()
			c, err := newChunk(b, kind)
			if err == nil {
				c.queue = q
				return c, nil
			}
			g.mu.Lock()
			q.held[kind]--
			g.made[kind]--
			if lack = err; !errors.Is(err, alloc.ErrOutOfMemory) {
				g.mu.Unlock()
				return nil, err
			}
		}
		if !wait || oldest == nil {
			g.reclaim(b, kind)
		}
		switch {
		case g.idle[kind] != nil:
			continue
		case oldest == nil && lack != nil:
			g.mu.Unlock()
			return nil, lack
		case !patient:
			g.mu.Unlock()
			return nil, nil
		}
		wait = true
	}
}

// over reports whether c's transfer has run, or waits until it has.
func (b *base) over(c *chunk, wait bool) (done bool, err error) {
	if wait {
		err = b.ctx.EventSynchronize(c.event)
		done = err == nil
	} else {
		done, err = b.ctx.EventQuery(c.event)
	}
	if err != nil {
		return false, b.work(err)
	}
	return done, nil
}

// reclaim makes the oldest chunks of other streams idle that are done. g.mu is held, but not while the
// driver is asked.
func (g *stage) reclaim(b *base, kind int) {
	var asked [16]uintptr // streams
	n := 0
	for s, q := range g.queues {
		if n == len(asked) {
			break
		}
		if q.flying[kind].first != nil {
			asked[n] = s
			n++
		}
	}
	for _, s := range asked[:n] {
		q := g.queues[s]
		if q == nil {
			continue
		}
		c := q.flying[kind].pop()
		if c == nil {
			continue
		}
		g.mu.Unlock()
		done, _ := b.over(c, false) // what is wrong its stream says
		g.mu.Lock()
		if !done {
			q.flying[kind].pushFront(c)
			continue
		}
		q.held[kind]--
		c.next, g.idle[kind] = g.idle[kind], c
	}
}

func newChunk(b *base, kind int) (*chunk, error) {
	c := &chunk{kind: kind}
	var err error
	if c.event, err = b.ctx.EventCreate(); err != nil {
		return nil, b.work(err)
	}
	if c.p, err = b.ctx.MemHostAlloc(c.size()); err != nil {
		_ = b.ctx.EventDestroy(c.event)
		return nil, b.work(err)
	}
	b.stage.count(b, c.size())
	return c, nil
}

// What becomes of a chunk that is put back.
type fate int

const (
	free   fate = iota // nothing uses it
	flying             // its event stands for the work that does
	lost               // work may use it that no event stands for
)

// put takes a chunk back.
func (g *stage) put(c *chunk, f fate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := c.queue
	switch f {
	case flying:
		q.flying[c.kind].push(c)
		return
	case free:
		c.next, g.idle[c.kind] = g.idle[c.kind], c
	case lost:
		g.made[c.kind]--
		c.next, g.lost = g.lost, c
	}
	q.held[c.kind]--
}

// sent records the event behind a transfer that was enqueued. If that fails it waits for the stream, so
// that the chunk is free either way, unless that fails too.
func (g *stage) sent(b *base, c *chunk, s uintptr) (fate, error) {
	_, err := b.ctx.EventRecord(c.event, s)
	if err == nil {
		return flying, nil
	}
	if b.ctx.StreamSynchronize(s) != nil {
		return lost, b.work(err)
	}
	return free, b.work(err)
}

// leave takes back what a stream had in flight that is destroyed: its work has run, or never will.
func (g *stage) leave(s uintptr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[s]
	if q == nil {
		return
	}
	rest := 0
	for kind := range q.flying {
		for c := q.flying[kind].pop(); c != nil; c = q.flying[kind].pop() {
			q.held[kind]--
			c.next, g.idle[kind] = g.idle[kind], c
		}
		rest += q.held[kind]
	}
	if rest == 0 {
		delete(g.queues, s)
	}
}

// close gives all chunks back. Chunks in flight are waited for.
func (g *stage) close(b *base) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var first error
	drop := func(list *chunk) {
		for c := list; c != nil; c = c.next {
			g.count(b, -c.size())
			for _, err := range []error{
				b.ctx.EventSynchronize(c.event), b.ctx.EventDestroy(c.event), b.ctx.MemFreeHost(c.p),
			} {
				if err = b.give(err); err != nil && first == nil {
					first = err
				}
			}
		}
	}
	for _, q := range g.queues {
		for kind := range q.flying {
			drop(q.flying[kind].first)
		}
	}
	if g.lost != nil {
		_ = b.ctx.Synchronize() // what is wrong the next call says
		drop(g.lost)
	}
	for kind := range g.idle {
		drop(g.idle[kind])
	}
	g.queues, g.lost, g.idle, g.made, g.jobs = nil, nil, [numKinds]*chunk{}, [numKinds]int{}, nil
	return first
}
