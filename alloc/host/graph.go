package host

import (
	"fmt"
	"slices"
	"sync"

	"github.com/lastuse/lastuse/alloc"
)

// Graphs. A stream that is being captured hands its operations to a recording, in the order in which they are
// enqueued, which is one in which they may run: whatever waits was enqueued behind what it waits for. So a
// program is a list, and a launch runs all of it on one stream.

// A recording is a capture under way.
type recording struct {
	mu      sync.Mutex
	ops     []op
	members []*taker // the first is that of the stream it began with
	over    bool
}

// A taker is a stream's part in a recording. Its numbers are under the recording's lock: points are counted
// when events are recorded, and knows says up to which point the work of each member comes before its own.
type taker struct {
	rec    *recording
	stream *stream
	index  int
	count  int
	work   int // count when it was given work last; -1: never
	knows  []int
}

// A place is where an event was recorded in a capture.
type place struct {
	taker *taker
	count int
	knows []int
}

// A program is a graph: what a recording has come to. It is never written again.
type program struct{ ops []op }

// An executable runs a program, one launch after the other.
type executable struct {
	mu   sync.Mutex
	prog *program
	last *mark // of the latest launch; nil before the first
}

// add takes an operation, unless the recording is over.
func (t *taker) add(o op) bool {
	t.rec.mu.Lock()
	defer t.rec.mu.Unlock()
	if t.rec.over {
		return false
	}
	t.work = t.count
	t.rec.ops = append(t.rec.ops, o)
	return true
}

// point returns what t has been given so far, and begins a new point.
func (t *taker) point() *place {
	t.rec.mu.Lock()
	defer t.rec.mu.Unlock()
	t.count++
	return &place{taker: t, count: t.count, knows: slices.Clone(t.knows)}
}

// learn notes that what t is given from now on comes behind p. The recording's lock is held.
func (t *taker) learn(p *place) {
	for len(t.knows) < len(t.rec.members) {
		t.knows = append(t.knows, 0)
	}
	for i, n := range p.knows {
		t.knows[i] = max(t.knows[i], n)
	}
	t.knows[p.taker.index] = max(t.knows[p.taker.index], p.count)
}

// waitFor makes what t is given from now on come behind an event of d that was recorded in the same capture.
func (t *taker) waitFor(d *Device, h uintptr) error {
	p, err := d.placeOf(h)
	if err != nil {
		return err
	}
	if p == nil || p.taker.rec != t.rec {
		return fmt.Errorf("host: wait: event %d is not of the capture: %w", h, alloc.ErrCapturing)
	}
	t.rec.mu.Lock()
	defer t.rec.mu.Unlock()
	t.learn(p)
	return nil
}

// joined reports whether the first member waits for all that the others were given.
func (r *recording) joined() bool {
	first := r.members[0]
	for _, t := range r.members[1:] {
		if t.work >= 0 && (t.index >= len(first.knows) || first.knows[t.index] <= t.work) {
			return false
		}
	}
	return true
}

// takes returns a stream for an operation that a capture can take.
func (d *Device) takes(h uintptr) (*stream, error) {
	s, err := d.on(h)
	if err != nil && s != nil && s.taker.Load() != nil {
		return s, nil
	}
	return s, err
}

// BeginCapture begins to record what a stream is given.
func (d *Device) BeginCapture(h uintptr) error {
	s, err := d.on(h)
	switch {
	case err != nil:
		return err
	case s == d.std:
		return fmt.Errorf("host: begin capture: the default stream cannot be captured")
	}
	r := new(recording)
	r.members = []*taker{{rec: r, stream: s, work: -1}}
	if !s.taker.CompareAndSwap(nil, r.members[0]) {
		return fmt.Errorf("host: begin capture: %w", alloc.ErrCapturing)
	}
	return nil
}

// JoinCapture makes a stream a part of a capture, behind an event that was recorded in it.
func (d *Device) JoinCapture(origin, h, e uintptr) error {
	s, err := d.on(h)
	if err != nil {
		return err
	}
	p, err := d.placeOf(e)
	first := d.streams.get(origin)
	if err != nil || p == nil || s == d.std || first == nil || first.taker.Load() != p.taker.rec.members[0] {
		return fmt.Errorf("host: join capture: event %d was not recorded in it: %w", e, alloc.ErrCapturing)
	}
	r := p.taker.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &taker{rec: r, stream: s, index: len(r.members), work: -1}
	if r.over || !s.taker.CompareAndSwap(nil, t) {
		return fmt.Errorf("host: join capture: %w", alloc.ErrCapturing)
	}
	r.members = append(r.members, t)
	t.learn(p)
	return nil
}

// placeOf returns where an event was recorded in a capture, or nil.
func (d *Device) placeOf(h uintptr) (*place, error) {
	e := d.events.get(h)
	if e == nil {
		return nil, fmt.Errorf("%w: %d", errNoEvent, h)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.place, nil
}

// EndCapture ends a capture.
func (d *Device) EndCapture(origin uintptr) (uintptr, error) {
	s := d.streams.get(origin)
	if s == nil {
		return 0, fmt.Errorf("%w: %d", errNoStream, origin)
	}
	t := s.taker.Load()
	if t == nil || t.index != 0 {
		return 0, fmt.Errorf("host: end capture: none began with stream %d", origin)
	}
	r := t.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, m := range r.members {
		m.stream.taker.Store(nil)
	}
	if !r.joined() {
		return 0, fmt.Errorf("host: end capture: a stream that joined has work that the first does not wait for")
	}
	return d.graphs.add(&program{r.ops}), nil
}

// DestroyGraph gives a graph up.
func (d *Device) DestroyGraph(g uintptr) error {
	if d.graphs.remove(g) == nil {
		return fmt.Errorf("host: no such graph: %d", g)
	}
	return nil
}

// Instantiate makes an executable of a graph.
func (d *Device) Instantiate(g uintptr) (uintptr, error) {
	p := d.graphs.get(g)
	if p == nil {
		return 0, fmt.Errorf("host: no such graph: %d", g)
	}
	return d.execs.add(&executable{prog: p}), nil
}

// UpdateExec gives an executable another program, if that has as many operations of the same kinds.
func (d *Device) UpdateExec(exec, g uintptr) (bool, error) {
	x, p := d.execs.get(exec), d.graphs.get(g)
	if x == nil || p == nil {
		return false, fmt.Errorf("host: no such executable or graph: %d, %d", exec, g)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	same := slices.EqualFunc(x.prog.ops, p.ops, func(a, b op) bool { return a.kind == b.kind })
	if same {
		x.prog = p
	}
	return same, nil
}

// LaunchExec enqueues a launch behind the one before.
func (d *Device) LaunchExec(exec, h uintptr) error {
	s, err := d.on(h)
	if err != nil {
		return err
	}
	x := d.execs.get(exec)
	if x == nil {
		return fmt.Errorf("host: no such executable: %d", exec)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	m := d.marks.new(2)
	switch last := x.last; {
	case last == nil:
	case last.done():
		last.drop()
	default:
		s.enqueue(d, op{kind: opWait, mark: last})
	}
	s.enqueue(d, op{kind: opProgram, prog: x.prog})
	s.enqueue(d, op{kind: opRecord, mark: m})
	x.last = m
	return nil
}

// DestroyExec gives an executable up.
func (d *Device) DestroyExec(exec uintptr) error {
	x := d.execs.remove(exec)
	if x == nil {
		return fmt.Errorf("host: no such executable: %d", exec)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last != nil {
		x.last.drop()
	}
	return nil
}

// run runs all operations from the one with number next on, which it counts up before each, as a function may
// end the goroutine. They stay: functions keep their arguments.
func (p *program) run(d *Device, next *int64) {
	for int(*next) < len(p.ops) {
		o := &p.ops[*next]
		*next++
		if o.kind == opCall {
			o.fn(Args{o.args.params})
		} else {
			o.execute(d)
		}
	}
}
