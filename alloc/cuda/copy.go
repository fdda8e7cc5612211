package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// Copies between Go memory and the device. A small one is one chunk of the stage, filled or emptied by the
// caller. A large one is cut into pieces, and a few goroutines copy them between Go memory and chunks,
// beside each other and beside the transfers: one processor copies memory at a fraction of what the device
// can take, and the pages of memory that is written for the first time cost more than the copying.
//
// Into the device, each goroutine fills a chunk and enqueues its transfer, piece after piece; the copy is
// over for the caller when the last piece is in a chunk. Out of it, the caller first enqueues as many
// transfers as there are chunks and, if the stream is busy, waits for the first; then each goroutine waits
// for the oldest transfer, empties its chunk and enqueues the next piece into it. Only the caller waits for a
// stream that does not come along: the others end, and are started again when it moves.
//
// Whatever fails, nobody starts another piece then, the chunks go back to the stage, those in flight with
// their events, and the caller gets the first error when all goroutines have ended. None outlives its copy.

const (
	pieceLeast  = 256 << 10 // bytes; below it two goroutines take longer than one
	copiersMost = 8         // goroutines of one copy
	aheadMost   = 2 * copiersMost
)

// A job is one large copy under way.
type job struct {
	b    *base
	s    uintptr
	in   bool
	host []byte
	dev  uintptr

	piece  int64 // bytes
	pieces int
	wg     sync.WaitGroup
	run    func() // work, as a value made once: starting it allocates nothing

	mu      sync.Mutex
	next    int // the piece to begin with next
	helpers int // goroutines beside the caller's
	err     error

	// Pieces of a copy out in flight, the oldest first: a ring.
	ahead [aheadMost]transit
	first int
	count int

	after *job // in stage.jobs
}

// A transit is a piece on its way into a chunk.
type transit struct {
	c     *chunk
	piece int
}

// CopyIn copies Go memory to the device. It returns when src may be changed.
func (b *base) CopyIn(s uintptr, dst alloc.Ptr, src unsafe.Pointer, n int64) error {
	if locked := b.locked(src, n); locked != nil {
		return b.direct(s, locked, func() error { return b.ctx.MemcpyHtoD(uintptr(dst), uintptr(src), n, s) })
	}
	if n > smallChunk {
		return b.copyLarge(s, true, unsafe.Slice((*byte)(src), n), uintptr(dst))
	}
	c, err := b.stage.take(b, s, small, true)
	if err != nil {
		return err
	}
	copy(c.bytes(n), unsafe.Slice((*byte)(src), n))
	return b.fly(c, s, uintptr(dst), n)
}

// fly enqueues the transfer of a chunk that is filled, and puts the chunk back.
func (b *base) fly(c *chunk, s uintptr, dst uintptr, n int64) error {
	if err := b.ctx.MemcpyHtoD(dst, c.p, n, s); err != nil {
		b.stage.put(c, free)
		return b.work(err)
	}
	f, err := b.stage.sent(b, c, s)
	b.stage.put(c, f)
	return err
}

// CopyOut copies device memory to Go memory and returns when it is there.
func (b *base) CopyOut(s uintptr, dst unsafe.Pointer, src alloc.Ptr, n int64) error {
	if locked := b.locked(dst, n); locked != nil {
		return b.direct(s, locked, func() error { return b.ctx.MemcpyDtoH(uintptr(dst), uintptr(src), n, s) })
	}
	if n > smallChunk {
		return b.copyLarge(s, false, unsafe.Slice((*byte)(dst), n), uintptr(src))
	}
	c, err := b.stage.take(b, s, small, true)
	if err != nil {
		return err
	}
	if f, err := b.fetch(c, s, uintptr(src), n); err != nil {
		b.stage.put(c, f)
		return err
	}
	if err := b.ctx.EventSynchronize(c.event); err != nil {
		b.stage.put(c, flying)
		return b.work(err)
	}
	copy(unsafe.Slice((*byte)(dst), n), c.bytes(n))
	b.stage.put(c, free)
	return nil
}

// fetch enqueues a transfer into a chunk.
func (b *base) fetch(c *chunk, s uintptr, src uintptr, n int64) (fate, error) {
	if err := b.ctx.MemcpyDtoH(c.p, src, n, s); err != nil {
		return free, b.work(err)
	}
	return b.stage.sent(b, c, s)
}

// locked returns the page-locked memory that a copy of n bytes at host is to use directly, or nil.
func (b *base) locked(host unsafe.Pointer, n int64) *lockedSpan {
	if n < directLeast {
		return nil
	}
	return b.pinned.use(uintptr(host), n)
}

// direct enqueues a copy of page-locked memory and waits for it, by an event of a chunk.
func (b *base) direct(s uintptr, locked *lockedSpan, enqueue func() error) error {
	defer locked.copies.Done()
	c, err := b.stage.take(b, s, small, true)
	if err != nil {
		return err
	}
	if err := enqueue(); err != nil {
		b.stage.put(c, free)
		return b.work(err)
	}
	f, err := b.stage.sent(b, c, s)
	if err == nil {
		if err = b.ctx.EventSynchronize(c.event); err == nil {
			f = free
		} else {
			_ = b.ctx.StreamSynchronize(s) // the memory may be in use still
			err = b.work(err)
		}
	}
	b.stage.put(c, f)
	return err
}

// copyLarge copies between Go memory and the device in pieces.
func (b *base) copyLarge(s uintptr, in bool, host []byte, dev uintptr) error {
	j := b.stage.job()
	n := int64(len(host))
	j.b, j.s, j.in, j.host, j.dev = b, s, in, host, dev
	j.piece = min(max((n/aheadMost+pageMask)&^pageMask, pieceLeast), largeChunk)
	j.pieces = int((n + j.piece - 1) / j.piece)
	var err error
	if in {
		j.help()
		j.fill(true)
	} else if err = j.prefetch(); err == nil {
		j.help()
		j.empty()
	}
	j.wg.Wait()
	if err == nil {
		err = j.err
	}
	b.stage.putJob(j)
	return err
}

const pageMask = 4<<10 - 1

// job returns a job that nobody uses.
func (g *stage) job() *job {
	g.mu.Lock()
	j := g.jobs
	if j != nil {
		g.jobs, j.after = j.after, nil
	}
	g.mu.Unlock()
	if j == nil {
		j = new(job)
		j.run = j.work
	}
	return j
}

func (g *stage) putJob(j *job) {
	j.host, j.err, j.next, j.first, j.count = nil, nil, 0, 0, 0
	g.mu.Lock()
	j.after, g.jobs = g.jobs, j
	g.mu.Unlock()
}

// help starts goroutines for what is left of the copy, as many as there are processors for.
func (j *job) help() {
	g := &j.b.stage
	j.mu.Lock()
	left := j.pieces - j.next
	if !j.in {
		left += j.count
	}
	want := min(left-1, copiersMost-1-j.helpers)
	if want > 0 {
		most := runtime.GOMAXPROCS(0) - 1
		g.mu.Lock()
		want = min(want, most-g.copiers)
		if want > 0 {
			g.copiers += want
		}
		g.mu.Unlock()
	}
	if want > 0 {
		j.helpers += want
	}
	j.mu.Unlock()
	for range want {
		j.wg.Add(1)
		go j.run()
	}
}

// work is what a goroutine beside the caller's does.
func (j *job) work() {
	if j.in {
		j.fill(false)
	} else {
		j.empty()
	}
	g := &j.b.stage
	g.mu.Lock()
	g.copiers--
	g.mu.Unlock()
	j.mu.Lock()
	j.helpers--
	j.mu.Unlock()
	j.wg.Done()
}

// helped reports whether there are goroutines beside the caller's.
func (j *job) helped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.helpers > 0
}

// begin returns the number of the next piece, and false if there is none or the copy has failed.
func (j *job) begin() (int, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || j.next == j.pieces {
		return 0, false
	}
	j.next++
	return j.next - 1, true
}

// fail keeps the first error.
func (j *job) fail(err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	j.mu.Unlock()
}

// part returns the Go memory of a piece, and where it is on the device.
func (j *job) part(piece int) ([]byte, uintptr) {
	at := int64(piece) * j.piece
	return j.host[at:min(at+j.piece, int64(len(j.host)))], j.dev + uintptr(at)
}

// fill copies pieces into chunks and enqueues their transfers. The caller's goroutine waits for chunks; the
// others end instead.
func (j *job) fill(caller bool) {
	for {
		helped := caller && j.helped() // before: who has had the only chunk may have ended since
		c, err := j.b.stage.take(j.b, j.s, large, false)
		if c == nil && err == nil && caller {
			if c, err = j.b.stage.take(j.b, j.s, large, true); err == nil {
				j.help()
			}
		}
		switch {
		case errors.Is(err, alloc.ErrOutOfMemory) && helped:
			j.wg.Wait() // then there are chunks: theirs
			continue
		case errors.Is(err, alloc.ErrOutOfMemory) && !caller, c == nil && err == nil:
			return
		case err != nil:
			j.fail(err)
			return
		}
		i, ok := j.begin()
		if !ok {
			j.b.stage.put(c, free)
			return
		}
		from, dst := j.part(i)
		copy(c.bytes(int64(len(from))), from)
		if err := j.b.fly(c, j.s, dst, int64(len(from))); err != nil {
			j.fail(err)
			return
		}
	}
}

// prefetch enqueues the first transfers out. Unless the stream has nothing else to do, it waits for the first
// of them, so that no other goroutine does before they move. One chunk is enough to go on with.
func (j *job) prefetch() error {
	idle, err := j.b.ctx.StreamQuery(j.s)
	idle = idle && err == nil // what is wrong the transfers meet
	for j.count < min(aheadMost, j.pieces) {
		c, err := j.b.stage.take(j.b, j.s, large, j.count == 0)
		if err != nil && j.count == 0 {
			return err
		}
		if c == nil || !j.fetch(c) {
			break
		}
	}
	if j.count > 0 && !idle {
		// Its error is for who empties it.
		_ = j.b.ctx.EventSynchronize(j.ahead[j.first].c.event)
	}
	return nil
}

// fetch enqueues the transfer of the next piece into c, and reports false if there is none: then c is back
// on the stage.
func (j *job) fetch(c *chunk) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || j.next == j.pieces {
		j.b.stage.put(c, free)
		return false
	}
	to, src := j.part(j.next)
	// Under the lock, so that the ring has the pieces in the order in which the device comes to them.
	if f, err := j.b.fetch(c, j.s, src, int64(len(to))); err != nil {
		j.b.stage.put(c, f)
		j.err = err
		return false
	}
	j.ahead[(j.first+j.count)%aheadMost] = transit{c, j.next}
	j.next++
	j.count++
	return true
}

// oldest takes the oldest piece in flight.
func (j *job) oldest() (t transit, failed, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.count == 0 {
		return t, false, false
	}
	t = j.ahead[j.first]
	j.ahead[j.first] = transit{}
	j.first = (j.first + 1) % aheadMost
	j.count--
	return t, j.err != nil, true
}

// empty waits for pieces, copies them to Go memory and enqueues the next ones into their chunks.
func (j *job) empty() {
	for {
		t, failed, ok := j.oldest()
		if !ok {
			return
		}
		if failed {
			j.b.stage.put(t.c, flying)
			continue
		}
		if err := j.b.ctx.EventSynchronize(t.c.event); err != nil {
			j.b.stage.put(t.c, flying)
			j.fail(j.b.work(err))
			continue
		}
		to, _ := j.part(t.piece)
		copy(to, t.c.bytes(int64(len(to))))
		j.fetch(t.c)
	}
}
