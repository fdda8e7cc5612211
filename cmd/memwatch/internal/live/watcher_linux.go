//go:build linux && (amd64 || arm64)

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/device"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/mapping"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// Options say what is watched. The zero Options watches every process.
type Options struct {
	PIDs      []int    // only these
	Libraries []string // files to probe besides those that are found
	Ring      int      // bytes of the ring; 0: as many as the programs take
	NoStacks  bool
	Copies    bpf.Copies    // of stacks
	Single    bool          // use single probes
	Scan      time.Duration // between two looks for new processes; 0: 1 s
	Tables    time.Duration // between two looks at tables; 0: 500 ms
	Fresh     bool          // the processes asked for have not run yet
	Settled   func()        // called once by Run, when the processes and libraries that were there are known
	NoPython  bool          // do not look for frames of Python
	NoBlocks  bool          // do not probe allocators on top of drivers
	NoProbes  bool          // read tables alone, which takes no rights on one's own processes
}

// A Library is a file whose functions are probed.
type Library struct {
	Name   string // of its table
	Path   string // as it was found; another process may call it otherwise
	Probes int    // entries and returns
	Fast   int    // functions whose probe is cheap
	Slow   int
	Absent int           // functions of the table that it does not export
	Took   time.Duration // to attach all probes, once the file was read
	Err    error

	since int64 // nanoseconds since boot: what a process called later was seen; never if it is not probed
}

// A Watcher watches processes. It is used by one goroutine, that of Run, but for what says otherwise. That
// goroutine empties the ring and does nothing that takes long: mappings are searched and libraries probed by
// one of their own (scan_linux.go) when the kernel tells of them (hear_linux.go) and in turn, tables read by
// another (tables_linux.go), and names looked up by the resolver's.
type Watcher struct {
	opts      Options
	session   *bpf.Session // nil with NoProbes
	resolver  *resolver
	unwinder  *unwinder
	images    probes.Cache
	mu        sync.Mutex          // libraries, order, missed and noDevices, which others look at
	libraries map[string]*Library // by identity of the file
	order     []string
	missed    []string
	// when the scanner's latest look at all mappings began; nanoseconds since boot
	scanned  int64
	sizes    *sizes            // the scanner's
	using    map[int]bool      // processes that have a library or a table; the scanner's
	listener *mapping.Listener // nil: the kernel does not tell who maps something
	deaf     error             // why
	news     chan news         // what it tells
	hearing  <-chan news       // the same, nil once it tells nothing more; the scanner's
	// processes that have become another program since all were looked at; the scanner's
	begun     []int
	looks     chan chan struct{}     // each asks for one more look, and is closed when Run has heard of it
	nudges    chan struct{}          // there is something to hear; without probes
	sights    chan sight             // what the scanner saw
	tabled    chan struct{}          // there is a table that was not read yet
	names     chan named             // what programs of Python are called
	naming    atomic.Int32           // goroutines that find it out
	arguments func(pid int) []string // reads a command line
	told      chan []heap.Event      // what the tables of one process say
	over      chan struct{}          // closed when Run has ended
	processes map[uint32]*process
	latest    int64        // when the latest report that was taken was made; nanoseconds of Clock
	attached  atomic.Int64 // when the latest library was probed, or the watcher made; nanoseconds since boot
	events    []heap.Event
	sink      func(*heap.Event)
	devices   func() (device.Source, error) // opens who tells what devices hold
	source    atomic.Pointer[device.Source] // who tells it, nil until it is open
	answers   chan []device.Device
	nested    bool            // drivers may call processes by other numbers
	users     map[userOf]bool // of devices, in the latest answer
	noDevices string          // why devices are not known
	pids      func() []int    // all that there are
	self      int             // memwatch's own
	ready     chan struct{}   // closed when Run has looked at the processes asked for
}

// process is what the watcher knows of a process.
type process struct {
	start  uint64 // clock ticks since boot
	books  bpf.Ledger
	gone   int64  // since when it is not there, nanoseconds of Clock; 0: it is
	joined bool   // it may have called a library before it was probed
	python search // for it
}

// ErrLibrary is in the chain of errors about a library that was asked for.
var ErrLibrary = errors.New("library")

// New loads the programs and attaches to what is there. The caller closes the Watcher.
func New(o Options) (*Watcher, error) {
	if o.Scan <= 0 {
		o.Scan = time.Second
	}
	if o.Tables <= 0 {
		o.Tables = 500 * time.Millisecond
	}
	if err := procfs.CheckNamespace(); err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	var s *bpf.Session
	if !o.NoProbes {
		var err error
		if s, err = bpf.Open(bpf.Options{Ring: o.Ring, NoStacks: o.NoStacks, Copies: o.Copies, NoPython: o.NoPython, Single: o.Single, Only: len(o.PIDs) > 0}); err != nil {
			return nil, err
		}
	}
	w := &Watcher{
		opts: o, session: s, resolver: newResolver(o.Copies != bpf.NoCopies), unwinder: newUnwinder(func() bool { return s.Crowded() }),
		libraries: make(map[string]*Library), processes: make(map[uint32]*process), ready: make(chan struct{}),
		nested: procfs.Nested(), nudges: make(chan struct{}, 1), sizes: newSizes(), using: make(map[int]bool),
		looks: make(chan chan struct{}), over: make(chan struct{}), news: make(chan news),
		pids: allPIDs, self: os.Getpid(), sights: make(chan sight, 1024), tabled: make(chan struct{}, 1), told: make(chan []heap.Event, 64), names: make(chan named, mostNaming), arguments: arguments, devices: device.Open, answers: make(chan []device.Device, 1),
	}
	w.sink = func(*heap.Event) {}
	w.listener, w.deaf = mapping.Open()
	if s != nil && !o.NoPython && !o.NoStacks {
		w.resolver.python = w.foundPython
	}
	w.attached.Store(procfs.SinceBoot())
	for _, pid := range o.PIDs {
		if _, err := procfs.StartTime(pid); err != nil {
			w.Close()
			return nil, fmt.Errorf("live: process %d: %w", pid, err)
		}
		if s == nil {
			continue
		}
		if err := s.Watch(uint32(pid), bpf.Target{}); err != nil {
			w.Close()
			return nil, err
		}
	}
	if s != nil {
		if err := w.places(); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Libraries returns what is probed, and what could not be. It may be called by any
// goroutine.
func (w *Watcher) Libraries() []Library {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Library
	for _, id := range w.order {
		all = append(all, *w.libraries[id])
	}
	return all
}

// Session returns the programs in the kernel, nil with NoProbes.
func (w *Watcher) Session() *bpf.Session { return w.session }

// Hits returns how often each probe was hit, by its ID.
func (w *Watcher) Hits() ([]uint64, error) {
	if w.session == nil {
		return nil, nil
	}
	return w.session.Hits()
}

// Close detaches the probes.
func (w *Watcher) Close() error {
	w.resolver.close()
	w.unwinder.close()
	if w.listener != nil {
		w.listener.Close()
	}
	if w.session == nil {
		return nil
	}
	return w.session.Close()
}

// Run hands events to sink until ctx is done, or until all processes asked for have
// ended. Sink runs in this goroutine. idle, if not nil, is called between events, about
// ten times a second or more often, unless the ring is never empty.
func (w *Watcher) Run(ctx context.Context, sink func(*heap.Event), idle func()) error {
	w.sink = sink
	var r bpf.Report
	for _, pid := range w.opts.PIDs {
		start, _ := procfs.StartTime(pid) // one that is gone is missed below
		w.introduce(pid, start, Clock(), false)
	}
	if w.opts.Fresh { // where its goroutines are is known before its first call
		w.resolver.finish(w.sink)
		w.scanned = procfs.SinceBoot() // it has mapped nothing yet
	}
	defer close(w.over)
	close(w.ready)
	ctx, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	helpers.Go(func() { w.scanInTurn(ctx) })
	helpers.Go(func() { w.listenInTurn(ctx) })
	helpers.Go(func() { w.readInTurn(ctx) })
	go w.askInTurn(ctx) // it is not waited for: a driver that hangs may never answer
	next, latest := time.Now(), time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		if !now.Before(next) {
			w.bury()
			w.audit()
			w.searchPython(now)
			next = now.Add(w.opts.Scan)
		}
		w.hear()
		patience := wait
		if now.Sub(latest) > lull {
			patience = longWait
		}
		ok, err := w.read(ctx, &r, patience)
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if errors.Is(err, bpf.ErrReport) {
			continue
		}
		if err != nil {
			return err
		}
		w.resolver.collect(w.sink)
		if ok {
			latest = now
			w.take(&r)
			continue
		}
		if idle != nil {
			idle()
		}
		if len(w.opts.PIDs) > 0 && w.waiting() == 0 && !w.anyRunning() {
			break
		}
	}
	w.hear()
	w.drain(&r)
	w.audit()
	for pid := range w.processes {
		if _, err := procfs.StartTime(int(pid)); err != nil {
			w.ended(pid, w.processes[pid].start, Clock())
		}
	}
	w.resolver.finish(w.sink)
	return nil
}

// hear takes what the other goroutines have seen, without waiting.
func (w *Watcher) hear() {
	for {
		select {
		case seen := <-w.sights:
			w.saw(seen)
		case all := <-w.answers:
			w.answered(all)
		case n := <-w.names:
			if p := w.processes[n.pid]; p != nil && p.start == n.start {
				w.sink(&heap.Event{Op: heap.Named, PID: n.pid, Time: Clock(), Text: n.name})
			}
		case events := <-w.told:
			if w.processes[events[0].PID] == nil {
				continue // it has ended since, and what it said last is told with its end
			}
			for i := range events {
				w.sink(&events[i])
			}
		default:
			return
		}
	}
}

// saw takes what the scanner has seen of a process, or that it has seen all.
func (w *Watcher) saw(s sight) {
	if s.all {
		if w.opts.Settled != nil {
			w.resolver.opening.Wait() // files that take rights
			w.opts.Settled()
			w.opts.Settled = nil
		}
		if s.looked != nil {
			close(s.looked)
		}
		return
	}
	p := w.processes[uint32(s.pid)]
	if p == nil {
		if start, err := procfs.StartTime(s.pid); err != nil || start != s.start {
			return // it has ended since
		}
		p = w.introduce(s.pid, s.start, Clock(), s.joined)
	}
	if p.start == s.start && s.joined && !p.joined {
		w.present(p, s.pid, Clock(), true)
	}
	if s.tables {
		select {
		case w.tabled <- struct{}{}:
		default:
		}
	}
}

// How long a report is waited for before something else is looked at: reports wake nobody until there are
// many. After a while without any they are not expected soon, and a machine that does nothing is left alone.
const (
	wait     = 20 * time.Millisecond
	longWait = 100 * time.Millisecond
	lull     = time.Second
)

// read waits a while for the next report, or until there is something to hear. Without probes it only waits.
func (w *Watcher) read(ctx context.Context, r *bpf.Report, patience time.Duration) (bool, error) {
	if w.session != nil {
		w.session.Patience(patience)
		return w.session.Read(r)
	}
	select {
	case <-time.After(patience):
	case <-w.nudges:
	case <-ctx.Done():
	}
	return false, nil
}

// nudge tells Run that there is something to hear. It may be called by any goroutine.
func (w *Watcher) nudge() {
	if w.session != nil {
		w.session.Interrupt()
		return
	}
	select {
	case w.nudges <- struct{}{}:
	default:
	}
}

func (w *Watcher) waiting() int {
	if w.session == nil {
		return 0
	}
	return w.session.Waiting()
}

// Ready is closed when Run has seen the processes asked for as they are: a program
// that was stopped until then may go on. Run may be called once.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// drain takes what is left in the ring, for no longer than a second.
func (w *Watcher) drain(r *bpf.Report) {
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if w.session == nil {
			return
		}
		ok, err := w.session.Read(r)
		if err != nil || !ok && w.session.Waiting() == 0 {
			return
		}
		if ok {
			w.take(r)
		}
	}
}

// anyRunning reports whether one of the processes asked for still runs.
func (w *Watcher) anyRunning() bool {
	return slices.ContainsFunc(w.opts.PIDs, func(pid int) bool {
		_, err := procfs.StartTime(pid)
		return err == nil
	})
}

// ticksOf returns a start time of the probes in clock ticks, as /proc tells it.
func ticksOf(start uint64) uint64 { return start / uint64(time.Second/procfs.Ticks) }

// take turns a report into events.
func (w *Watcher) take(r *bpf.Report) {
	pid, start := r.Raw.PID, ticksOf(r.Raw.Start)
	w.latest = max(w.latest, r.Raw.Time)
	// whose number it was has ended, and its report was lost
	if p := w.processes[pid]; p != nil && start > p.start {
		w.ended(pid, p.start, r.Raw.Time)
	} else if p != nil && start < p.start {
		return // a process of before, which was never introduced
	}
	if w.processes[pid] == nil && r.Kind != bpf.Exit {
		w.introduce(int(pid), start, r.Raw.Time, !w.opts.Fresh && int64(r.Raw.Start) < w.attached.Load())
	}
	switch r.Kind {
	case bpf.Call:
		var frames []uint64
		if r.Copy != nil {
			frames = w.unwind(r)
		}
		if !w.merge(r, frames) && frames != nil {
			w.name(r, frames, none)
		}
		w.events = probes.Translate(w.events[:0], &r.Raw)
		for i := range w.events {
			w.sink(&w.events[i])
		}
	case bpf.Stack:
		w.unwinder.point(r)
		w.resolver.stack(pid, r.Raw.Time, r.Raw.Stack, r.Frames)
	case bpf.Code:
		w.code(r)
	case bpf.Python:
		w.chain(r)
	case bpf.Exec:
		w.session.ForgetPython(pid)
		w.processes[pid].python = search{}
		e := heap.Event{Op: heap.Exec, PID: pid, TID: r.Raw.TID, Time: r.Raw.Time, Text: comm(int(pid))}
		w.sink(&e)
		w.title(int(pid), w.processes[pid].start, e.Text)
		w.resolver.see(pid)
		w.target(int(pid))
	case bpf.Exit:
		w.ended(pid, start, r.Raw.Time)
	}
}

// introduce tells the sink of a process, which started at that tick since boot, before its first event.
// Joined says that it may have called a library before it was probed.
func (w *Watcher) introduce(pid int, start uint64, now int64, joined bool) *process {
	p := &process{start: start}
	w.processes[uint32(pid)] = p
	w.resolver.see(uint32(pid))
	w.target(pid)
	w.present(p, pid, now, joined)
	w.resolver.place(uint32(pid), now)
	return p
}

// present tells the sink what a process is.
func (w *Watcher) present(p *process, pid int, now int64, joined bool) {
	e := heap.Event{Op: heap.Start, PID: uint32(pid), Time: now, Text: "?", Size: p.start}
	if start, err := procfs.StartTime(pid); err == nil && start == p.start { // else the name is another's
		e.Text = comm(pid)
		w.title(pid, p.start, e.Text)
	}
	if p.joined = joined; joined {
		e.Aux = 1
	}
	w.sink(&e)
}

// target tells the probes where a Go program keeps its goroutines, and of another that it is none.
func (w *Watcher) target(pid int) {
	if w.session == nil {
		return
	}
	w.resolver.target(uint32(pid), func(t bpf.Target) {
		_ = w.session.Watch(uint32(pid), t) // or goroutines' stacks are lost where C loses them
	})
}

// audit compares the kernel's books with what was handed out.
func (w *Watcher) audit() {
	if w.session == nil {
		return
	}
	all, err := w.session.Ledgers()
	if err != nil {
		return
	}
	now := Clock()
	for pid, l := range all {
		w.auditOne(pid, l, now)
	}
}

func (w *Watcher) auditOne(pid uint32, l bpf.Ledger, now int64) {
	p := w.processes[pid]
	if p == nil || l.Hits == 0 || l == p.books || ticksOf(l.Start) != p.start {
		return
	}
	for _, lost := range []struct {
		where    string
		now, was uint64
	}{{"ring", l.LostRing, p.books.LostRing}, {"calls", l.LostCalls, p.books.LostCalls}} {
		if n := lost.now - lost.was; n > 0 {
			w.sink(&heap.Event{Op: heap.Lost, PID: pid, Time: now, Size: n, Text: lost.where})
		}
	}
	w.sink(&heap.Event{Op: heap.Totals, PID: pid, Time: now, Size: l.Bytes, Addr: l.Allocs, Aux: l.Frees, Pool: l.Walks + l.Copies, Stream: l.Unwalked + l.Uncopied})
	p.books = l
}
