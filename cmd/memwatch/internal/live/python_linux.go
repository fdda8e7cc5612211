//go:build linux && (amd64 || arm64)

package live

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/python"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
)

// A pythonOf is what is known of a process's Python. It is of the goroutine that empties the ring, but for
// what the resolver finds.
type pythonOf struct {
	found  atomic.Pointer[symbols.Python] // nil: not yet
	codes  map[uint64]*python.Code        // by what stands for the code object
	bytes  int                            // of codes
	chains map[uint64]chain               // by the number of the stack
}

// A chain is Python's frames of a stack, innermost first.
type chain struct {
	frames []bpf.PythonFrame
	cut    bool // there are more
}

// Bounds on what is kept of a process's Python.
const (
	maxChains     = 32 << 10
	maxCodes      = 64 << 10
	maxCodesBytes = 64 << 20
)

// look tells of the CPython of a process once it is mapped.
func (r *resolver) look(pid uint32) {
	p, at := r.procs[pid], r.pythons[pid]
	if r.python == nil || p == nil || at.found.Load() != nil {
		return
	}
	if in := p.Python(); in != nil {
		at.found.Store(in)
		r.python(pid, in)
	}
}

// foundPython has the frames of a process read from now on, or notes why they are not. The resolver calls it.
func (w *Watcher) foundPython(pid uint32, in *symbols.Python) {
	reason := in.Reason
	if reason == "" {
		if err := w.session.WatchPython(pid, in.Runtime+in.Bias, &in.Layout); err != nil {
			reason = err.Error()
		}
	}
	if reason != "" {
		why := fmt.Sprintf("frames of Python %s are left out: %s", in.Version, reason)
		w.resolver.hand(heap.Event{Op: heap.Noted, PID: pid, Time: Clock(), Text: why})
	}
}

// A search is the looks for the CPython of a process that has just begun, which maps its libraries any
// moment, or becomes another program without a call that the probes would report.
type search struct {
	next time.Time
	gap  time.Duration // between the latest two
}

// How long after a process was seen first a CPython is looked for in what it maps, and how soon.
const (
	firstSearch = 10 * time.Millisecond
	lastSearch  = 5 * time.Second
)

// searchPython looks again at what young processes have mapped.
func (w *Watcher) searchPython(now time.Time) {
	if w.resolver.python == nil {
		return
	}
	for pid, p := range w.processes {
		at := w.resolver.watched[pid]
		if p.python.gap > lastSearch || at == nil || at.python.found.Load() != nil || now.Before(p.python.next) {
			continue
		}
		p.python.gap = max(2*p.python.gap, firstSearch)
		p.python.next = now.Add(p.python.gap)
		w.resolver.do(func() {
			if s := w.resolver.procs[pid]; s != nil {
				_ = s.Refresh() // it may be gone
				w.resolver.look(pid)
			}
		})
	}
}

// code keeps what a code object says of itself.
func (w *Watcher) code(r *bpf.Report) {
	at, in := w.pythonOf(r.Raw.PID)
	if in == nil || len(at.codes) >= maxCodes {
		return
	}
	if at.codes == nil {
		at.codes = make(map[uint64]*python.Code)
	}
	c, table := r.Code, r.Code.Table
	if at.bytes > maxCodesBytes {
		table = nil // its lines are not known
	}
	code := python.NewCode(&in.Layout, &c.File, &c.Name, c.FirstLine, slices.Clone(table))
	if old := at.codes[c.ID]; old != nil {
		at.bytes -= old.Size()
	}
	at.bytes += code.Size()
	at.codes[c.ID] = code
}

// chain keeps a stack of Python's frames.
func (w *Watcher) chain(r *bpf.Report) {
	at, _ := w.pythonOf(r.Raw.PID)
	if at == nil {
		return
	}
	if at.chains == nil {
		at.chains = make(map[uint64]chain)
	}
	put(at.chains, maxChains, r.Python, chain{slices.Clone(r.Lines), r.Cut})
}

func (w *Watcher) pythonOf(pid uint32) (*pythonOf, *symbols.Python) {
	p := w.resolver.watched[pid]
	if p == nil {
		return nil, nil
	}
	return &p.python, p.python.found.Load()
}

// merge puts Python's frames in the place of those of its interpreter, and of all that is beyond these, and
// gives the report the number of that stack. Native are the frames that a walk of the copied stack found, nil
// if frame pointers were followed. It reports whether there are such frames.
func (w *Watcher) merge(r *bpf.Report, native []uint64) bool {
	if r.Python == 0 {
		return false
	}
	at, in := w.pythonOf(r.Raw.PID)
	if in == nil {
		return false
	}
	frames, ok := at.chains[r.Python]
	if !ok {
		return false
	}
	if native == nil {
		native = w.unwinder.pointed[r.Raw.Stack]
	}
	p := w.resolver.watched[r.Raw.PID].symbols // it is open: there is something found
	for i, pc := range native {
		if i > 0 && !p.Known(pc) || slices.ContainsFunc(in.Code, func(m symbols.Mapping) bool { return pc >= m.Start && pc <= m.End }) {
			native = native[:i] // what is no code came of a function without a frame pointer
			break
		}
	}
	r.Raw.Stack = bpf.StackID(r.Python, native)
	w.name(r, native, func() []heap.Frame { return at.frames(frames, in.Version) })
	return true
}

// frames names Python's frames.
func (at *pythonOf) frames(c chain, version string) []heap.Frame {
	module := heap.PythonModule + version
	all := make([]heap.Frame, 0, len(c.frames)+1)
	for _, f := range c.frames {
		frame := heap.Frame{Func: "?", Module: module}
		if code := at.codes[f.Code]; code != nil && code.Name != "" {
			frame.Func, frame.File, frame.Line = code.Name, code.File, code.Line(f.At)
		}
		all = append(all, frame)
	}
	if c.cut {
		all = append(all, heap.Frame{Func: "…", Module: module})
	}
	return all
}
