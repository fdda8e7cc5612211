//go:build linux && (amd64 || arm64)

package live

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
)

// A resolver names stacks in a goroutine of its own. Jobs of one process are done in
// order.
type resolver struct {
	jobs    chan func()
	done    chan heap.Event
	over    chan struct{} // closed when the goroutine has ended
	waiting atomic.Int64  // jobs not done
	cache   symbols.Cache
	procs   map[uint32]*symbols.Process // the goroutine's
	opening sync.WaitGroup              // processes that are being looked at
	watched map[uint32]*watched         // the same for the watcher's goroutine, which must not wait for names
	shelf   shelf
	offsets func(goVersion string) (symbols.Offsets, bool)
	pythons map[uint32]*pythonOf // the goroutine's
	// is told of the CPython of a process when it is found; nil: it is not looked for
	python func(pid uint32, in *symbols.Python)
}

// maxJobs bounds the queue. A stack for which there is no room stays without names.
const maxJobs = 16 << 10

// newResolver returns a resolver. Unwind says that it keeps what stacks are unwound by.
func newResolver(unwind bool) *resolver {
	r := &resolver{
		jobs: make(chan func(), maxJobs), done: make(chan heap.Event, maxJobs), over: make(chan struct{}),
		procs: make(map[uint32]*symbols.Process), shelf: shelf{books: make(map[uint32][]book)}, offsets: symbols.GoOffsets,
		cache: symbols.Cache{Tables: unwind}, watched: make(map[uint32]*watched), pythons: make(map[uint32]*pythonOf),
	}
	go func() {
		defer close(r.over)
		for do := range r.jobs {
			do()
			r.waiting.Add(-1)
		}
	}()
	return r
}

func (r *resolver) do(job func()) bool {
	r.waiting.Add(1)
	select {
	case r.jobs <- job:
		return true
	default:
		r.waiting.Add(-1)
		return false
	}
}

// see looks at the mappings of a process, at once, while it is there, and in a goroutine of its own. The
// symbols are read when they are needed.
func (r *resolver) see(pid uint32) {
	seen := make(chan *symbols.Process, 1)
	at := &watched{opened: make(chan struct{})}
	r.watched[pid] = at
	r.opening.Go(func() {
		defer close(seen)
		defer close(at.opened)
		if p, err := symbols.OpenProcess(int(pid), &r.cache); err == nil {
			at.symbols = p
			seen <- p
		}
	})
	job := func() {
		if p := <-seen; p != nil {
			if old := r.procs[pid]; old != nil {
				old.Close()
			}
			r.procs[pid], r.pythons[pid] = p, &at.python
			r.look(pid)
		}
	}
	if !r.do(job) {
		go func() {
			if p := <-seen; p != nil {
				p.Close()
			}
		}()
	}
}

// place finds where a process runs.
func (r *resolver) place(pid uint32, now int64) {
	r.do(func() {
		if at := heap.Place(procfs.ReadPlace(int(pid), podLogs)); at != (heap.Place{}) {
			r.hand(heap.Event{Op: heap.Placed, PID: pid, Time: now, Text: at.String()})
		}
	})
}

// exit hands out the end of a process when all its stacks are named, and forgets it.
func (r *resolver) exit(e heap.Event) {
	delete(r.watched, e.PID)
	job := func() {
		if p := r.procs[e.PID]; p != nil {
			p.Close()
			delete(r.procs, e.PID)
			delete(r.pythons, e.PID)
		}
		r.tell(e.PID, e.Time)
		r.shelf.drop(e.PID)
		r.hand(e)
	}
	if !r.do(job) {
		r.waiting.Add(1)
		r.jobs <- job // the end of a process must not be lost
	}
}

// hand gives an event to the watcher.
func (r *resolver) hand(e heap.Event) {
	select {
	case r.done <- e:
	case <-time.After(time.Second): // nobody collects
	}
}

// target finds where a Go program keeps its goroutines and tells use. For a program
// of another language, or of a Go version that is not known, it tells what it can.
func (r *resolver) target(pid uint32, use func(bpf.Target)) {
	r.do(func() {
		p := r.procs[pid]
		if p == nil {
			return
		}
		info, bias := p.Go()
		if info == nil {
			use(bpf.Target{Other: true})
			return
		}
		t := bpf.Target{Text: info.Text + bias, TextEnd: info.TextEnd + bias, TLS: info.TLS}
		if o, ok := r.offsets(info.Version); ok && info.TLSKnown {
			t.Known = true
			t.Offsets = bpf.Offsets{M: o.M, GoID: o.GoID, SyscallPC: o.SyscallPC, SyscallBP: o.SyscallBP, CurG: o.CurG}
		}
		use(t)
	})
}

// stack names the frames of a stack: of pcs, and outward of them rest.
func (r *resolver) stack(pid uint32, now int64, id uint64, pcs []uint64, rest ...heap.Frame) {
	e := heap.Event{Op: heap.Stack, PID: pid, Time: now, Stack: id}
	pcs = append([]uint64(nil), pcs...)
	if r.do(func() {
		p := r.procs[pid]
		for _, pc := range pcs {
			if p != nil && !p.Known(pc) {
				_ = p.Refresh() // a library was loaded since; or the process is gone
				break
			}
		}
		if p != nil {
			r.look(pid)
			e.Frames = append(p.Frames(pcs, false), rest...)
		} else {
			e.Frames = append(bare(pcs), rest...)
		}
		r.hand(e)
	}) {
		return
	}
	e.Frames = append(bare(pcs), rest...)
	select {
	case r.done <- e:
	default:
	}
}

// bare returns frames without names.
func bare(pcs []uint64) []heap.Frame {
	frames := make([]heap.Frame, len(pcs))
	for i, pc := range pcs {
		frames[i].PC = pc
	}
	return frames
}

// collect hands named stacks to sink without waiting.
func (r *resolver) collect(sink func(*heap.Event)) {
	for {
		select {
		case e := <-r.done:
			sink(&e)
		default:
			return
		}
	}
}

// finish waits for all jobs, for no longer than ten seconds, and hands out the rest.
func (r *resolver) finish(sink func(*heap.Event)) {
	for end := time.Now().Add(10 * time.Second); r.waiting.Load() > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		r.collect(sink)
	}
	r.collect(sink)
}

// close ends the goroutine. It is the last call.
func (r *resolver) close() {
	close(r.jobs)
	select {
	case <-r.over:
	case <-time.After(5 * time.Second): // a process's files do not answer
	}
}
