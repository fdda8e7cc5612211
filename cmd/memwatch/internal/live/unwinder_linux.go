//go:build linux && (amd64 || arm64)

package live

import (
	"slices"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/unwind"
)

// An unwinder finds the frames of copied stacks, and decides which stacks have to be copied. It is of the
// goroutine that empties the ring, which must not wait for files: rows that are not known are looked up by a
// goroutine of their own, and if the answer takes long the walk ends there.
type unwinder struct {
	rows     map[rowAt]*unwind.Row // nil: there is none
	pointed  map[uint64][]uint64   // stacks as frame pointers tell them, by their numbers
	judged   map[uint64]bool       // of these, what the programs were told
	named    map[uint64]bool       // stacks that were handed to be named
	jobs     chan func()
	done     chan struct{}
	busy     bool // a job was not done in time, and is not yet
	timer    *time.Timer
	patience time.Duration
	frames   []uint64
	crowded  func() bool // whether the ring fills, and nothing must be waited for
}

// A rowAt is an address of a file.
type rowAt struct {
	table *unwind.Table
	addr  uint64
}

// Bounds on what an unwinder keeps: what is full starts anew.
const (
	maxRows       = 32 << 10
	maxPointed    = 8 << 10
	maxNamed      = 32 << 10
	maxUnwound    = 192   // frames
	maxLookups    = 5_000 // of a process in a second: programs call from fewer addresses, all told
	mostByPointer = 48    // frames that the programs in the kernel take
)

// How long the walk of a stack waits for what is not known yet, and how long it is between two looks at the
// mappings of a process for code that is not in them.
const (
	patience  = 250 * time.Millisecond
	rereading = 100 * time.Millisecond
)

func newUnwinder(crowded func() bool) *unwinder {
	u := &unwinder{
		rows: make(map[rowAt]*unwind.Row), pointed: make(map[uint64][]uint64), judged: make(map[uint64]bool), named: make(map[uint64]bool),
		jobs: make(chan func(), 1), done: make(chan struct{}, 1), timer: time.NewTimer(patience), patience: patience,
		frames: make([]uint64, 0, maxUnwound), crowded: crowded,
	}
	go func() {
		for do := range u.jobs {
			do()
			u.done <- struct{}{}
		}
	}()
	return u
}

// close ends the goroutine. It is the last call.
func (u *unwinder) close() { close(u.jobs) }

// await has a job done and reports whether it was, in time.
func (u *unwinder) await(do func()) bool {
	if u.busy {
		select {
		case <-u.done:
			u.busy = false
		default:
			return false
		}
	}
	if u.crowded() {
		return false
	}
	u.jobs <- do // there is room: none is under way
	u.timer.Reset(u.patience)
	select {
	case <-u.done:
		return true
	case <-u.timer.C:
		u.busy = true
		return false
	}
}

// A lookup is what one walk looks up.
type lookup struct {
	*unwinder
	p        *watched
	answered bool // all that was asked
}

// row returns what holds at an address of the process, nil if nothing is known.
func (l *lookup) row(pc uint64) *unwind.Row {
	table, addr, known := l.p.symbols.Table(pc)
	if !known { // a library was loaded since, or it is code that a program made
		if !l.p.reread(l.unwinder) {
			l.answered = false
			return nil
		}
		table, addr, _ = l.p.symbols.Table(pc)
	}
	if table == nil {
		return nil
	}
	at := rowAt{table, addr}
	r, ok := l.rows[at]
	if ok {
		return r
	}
	var found *unwind.Row
	if !l.p.allows() || !l.await(func() { found, _ = table.Row(addr) }) { // an error of the file stays
		l.answered = false
		return nil
	}
	put(l.rows, maxRows, at, found)
	return found
}

// put keeps a value in a map that is bounded.
func put[K comparable, V any](m map[K]V, bound int, k K, v V) {
	if len(m) >= bound {
		clear(m)
	}
	m[k] = v
}

// A watched is the mappings of a process, which are looked at when it is seen first.
type watched struct {
	opened  chan struct{} // closed when symbols is there
	waited  bool          // for that
	symbols *symbols.Process
	read    time.Time // when its mappings were read again
	since   time.Time // when lookups began to be counted
	lookups int       // since then
	python  pythonOf
}

// reread has the mappings of a process read again, unless they were lately.
func (p *watched) reread(u *unwinder) bool {
	if time.Since(p.read) < rereading {
		return false
	}
	if !u.await(func() { _ = p.symbols.Refresh() }) { // when the process is gone, what was known stays
		return false
	}
	p.read = time.Now()
	return true
}

// allows reports whether one more address may be looked up for a process.
func (p *watched) allows() bool {
	if time.Since(p.since) > time.Second {
		p.since, p.lookups = time.Now(), 0
	}
	p.lookups++
	return p.lookups <= maxLookups
}

// open reports whether the mappings are there, for which it may wait a while.
func (u *unwinder) open(p *watched) bool {
	select {
	case <-p.opened:
	default:
		if p.waited || u.crowded() {
			return false
		}
		p.waited = true
		u.timer.Reset(u.patience)
		select {
		case <-p.opened:
		case <-u.timer.C:
			return false
		}
	}
	return p.symbols != nil
}

// walk walks a copied stack. Answered reports whether all was known that there is to know.
func (u *unwinder) walk(p *watched, c *bpf.Copy) (w unwind.Walked, answered bool) {
	g := unwind.Registers{PC: c.PC}
	g.Set(unwind.RSP, c.SP)
	g.Set(unwind.RBP, c.BP)
	g.Set(unwind.RBX, c.BX)
	g.Set(unwind.R12, c.R12)
	g.Set(unwind.R13, c.R13)
	g.Set(unwind.R14, c.R14)
	g.Set(unwind.R15, c.R15)
	l := &lookup{unwinder: u, p: p, answered: true}
	w = unwind.Walk(u.frames[:0], g, &unwind.Copy{Base: c.SP, Bytes: c.Bytes}, l.row)
	if n := len(w.Frames) - 1; n > 0 && w.Frames[n] == c.Trampoline {
		w.Frames = w.Frames[:n] // who called is hidden by a probe of the return
	}
	return w, l.answered
}

// startFrames is how many frames of a C library may be beyond one that called a program's own: those that
// start it, or a thread. They say nothing of who called.
const startFrames = 2

// byPointers reports whether frame pointers find all of a stack, and will of every stack for which they find
// the same frames: each of its functions keeps one, and what the walk found besides is how programs start.
// What has no tables, and what is behind the end of a copy, is left to them too.
func byPointers(pointers []uint64, w *unwind.Walked) bool {
	n := len(pointers)
	more := len(w.Frames) - n
	if more < 0 {
		return (w.End == unwind.Unknown || w.End == unwind.Cut) && w.Pointers >= len(w.Frames)-1 && begins(pointers, w.Frames)
	}
	return w.Pointers >= n-1 && begins(w.Frames, pointers) &&
		(more == 0 || n == mostByPointer || more <= startFrames && w.End == unwind.Whole)
}

// begins reports whether frames begin with those of the inner part.
func begins(frames, inner []uint64) bool {
	return len(frames) >= len(inner) && slices.Equal(frames[:len(inner)], inner)
}

// better reports whether frames found by frame pointers say more of a stack than the walk, which came to its
// end among them.
func better(pointers []uint64, w *unwind.Walked) bool {
	return w.Pointers >= len(w.Frames)-1 && begins(pointers, w.Frames)
}

// unwind finds the frames of a call's stack, which was copied, and gives the report its number. It returns
// nil where what frame pointers tell is as good.
func (w *Watcher) unwind(r *bpf.Report) []uint64 {
	p, u, c := w.resolver.watched[r.Raw.PID], w.unwinder, r.Copy
	if p == nil || !u.open(p) {
		return nil
	}
	walked, answered := u.walk(p, c)
	pointers := u.pointed[r.Raw.Stack]
	if pointers == nil {
		pointers = walked.Frames[:1]
	}
	if answered && w.opts.Copies == bpf.NeededCopies {
		good := byPointers(pointers, &walked)
		if known, ok := u.judged[r.Raw.Stack]; !ok || known != good {
			w.judge(r, &walked, good)
		}
		if good {
			return nil
		}
	}
	if better(pointers, &walked) {
		return nil
	}
	r.Raw.Stack = bpf.StackID(c.Salt, walked.Frames)
	return walked.Frames
}

// judge tells the programs what is to be done with stacks like this one: it is copied again if they do not
// hear of it. Where one is not told by frame pointers, they are not followed from the frame on that has none.
func (w *Watcher) judge(r *bpf.Report, walked *unwind.Walked, good bool) {
	put(w.unwinder.judged, maxPointed, r.Raw.Stack, good)
	_ = w.session.Judge(r.Raw.Stack, good)
	if !good && walked.Pointers < len(walked.Frames)-1 {
		_ = w.session.Frameless(r.Copy.Salt, walked.Frames[walked.Pointers])
	}
}

// point notes what frame pointers tell of a stack that the programs have seen for the first time, or again
// after they forgot it.
func (u *unwinder) point(r *bpf.Report) {
	if !r.Walked {
		put(u.pointed, maxPointed, r.Raw.Stack, slices.Clone(r.Frames))
		delete(u.judged, r.Raw.Stack)
	}
}

// name has the frames of a report's stack named that were not before, and outward of them rest.
func (w *Watcher) name(r *bpf.Report, frames []uint64, rest func() []heap.Frame) {
	if id := r.Raw.Stack; !w.unwinder.named[id] {
		put(w.unwinder.named, maxNamed, id, true)
		w.resolver.stack(r.Raw.PID, r.Raw.Time, id, frames, rest()...)
	}
}

// none are the frames of a stack that is C alone.
func none() []heap.Frame { return nil }
