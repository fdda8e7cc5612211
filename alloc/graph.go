package alloc

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/lastuse/lastuse/internal/lockrank"
)

// A Graph is work that has been captured ([Stream.Capture]), to be launched as one piece as often as one
// likes. All methods may be called from any goroutine. Close a graph that is no longer used; one that is
// dropped is closed when the collector has found it.
type Graph struct {
	run *execution
	net runtime.Cleanup
}

// An execution is what a Graph has, and what its net gives back: it does not lead to the Graph.
type execution struct {
	core   *core
	stream *Stream // origin of the captures
	memory *graphMemory

	mu       lockrank.Mutex[rankGraph] // held over calls that enqueue, never over ones that wait
	exec     uintptr
	names    names
	used     uint64  // bits of the timelines that exec was launched on
	launched uint64  // and since the latest Update
	last     *Stream // on which exec was launched last
	after    uintptr // event behind the launches of an executable that exec has replaced, or 0
	updating bool
	closed   bool
}

var errNoGraph = errors.New("no graph: nil, or not made by Capture")

// Capture runs f and captures what it enqueues on s, instead of running it: copies within the device, fills,
// launches, transfers of page-locked memory, and copies from Go memory as it is now. The result is a graph
// that runs all of it, in the order of its streams, each time it is launched.
//
// Other streams take part by Wait for a captured one, and must be waited for in turn, on s, before f returns.
// What a captured stream waits for must be captured too: for other work Wait before Capture. All that has to
// happen now fails with [ErrCapturing] and leaves the capture as it is: Sync, copies to Go memory, Close. The
// default stream cannot be captured. Nothing else is held up, and f may use other streams as ever; but the
// pool gives no memory back to the device meanwhile if that may wait for all of it.
//
// Make in f returns memory of the graph's own, which comes in whole granules, counts as live with the site of
// Capture, and stays where it is until Close. Free in f gives it to later Makes in f. A buffer that is not
// freed when f returns is the caller's: each launch may write it, and its memory is used again only when it
// has been freed and the graph has been closed or updated. If f or its capture fails, what f has made is
// freed.
//
// The graph keeps the memory of every other buffer that f names. Such a buffer may be freed: then the memory
// is pending until Close or Update, and the graph cannot be launched any more, unless the Free came before f
// had returned. What f frees itself is the graph's alone, and launches go on using it. The caller sees to it
// that what a launch reads has been written before in the order of streams: the graph runs on whatever stream
// it is launched on, not on s.
//
// Other goroutines may use s and the streams that join it while f runs. Nobody else may be using such a
// stream when it becomes a part of the capture.
//
// If f panics or ends its goroutine the capture is ended and forgotten, and the panic goes on. Errors: that
// of f; [ErrCapturing] if s is captured already; [ErrClosed]; errors.ErrUnsupported of a device that makes no
// graphs ([Grapher]).
//
//lastuse:effect result 0 owned on success, result 0 views arg f, arg f borrowed, recv borrowed
func (s *Stream) Capture(f func() error) (*Graph, error) {
	const op = "capture"
	if s.none() {
		return nil, fmt.Errorf("alloc: %s: %w", op, errNoStream)
	}
	c := s.core
	if !c.estate.enter() {
		return nil, fmt.Errorf("alloc: %s: %w", op, errPoolClosed)
	}
	defer c.leave()
	switch {
	case f == nil:
		return nil, fmt.Errorf("alloc: %s: no function", op)
	case c.grapher == nil:
		return nil, fmt.Errorf("alloc: %s: %s makes no graphs: call the function instead: %w", op, c.dev.Name(),
			errors.ErrUnsupported)
	}
	c.reap()
	x := &execution{core: c, stream: s, memory: newGraphMemory(s)}
	defer func() {
		if x.exec == 0 {
			x.memory.close()
		}
	}()
	k, err := s.captureInto(x.memory, op, f)
	if err != nil {
		return nil, err
	}
	exec, err := c.instantiate(k)
	if err != nil {
		k.forget()
		return nil, fmt.Errorf("alloc: %s: %w", op, err)
	}
	x.exec, x.names = exec, k.names
	k.keep()
	g := &Graph{run: x}
	g.net = runtime.AddCleanup(g, func(x *execution) { go x.close() }, x) // which calls the device
	return g, nil
}

// instantiate makes an executable of k's graph.
func (c *core) instantiate(k *capture) (uintptr, error) {
	c.calls.Add(1)
	exec, err := c.grapher.Instantiate(k.graph)
	if err != nil {
		return 0, err
	}
	e := c.estate
	e.mu.Lock()
	e.execs[exec] = struct{}{}
	e.mu.Unlock()
	return exec, nil
}

// Launch enqueues the graph on t, a stream of its pool: its work runs after what t has been given so far, and
// what t is given next after the graph. Launches of one graph run one after the other, on whatever streams.
// The error is [ErrFreed] if a buffer that the graph names has been freed, with its site if that is known;
// [ErrClosed]; [ErrForeign] for a stream of another pool; [ErrCapturing] if t is being captured.
//
//lastuse:effect recv borrowed, arg t borrowed
func (g *Graph) Launch(t *Stream) error {
	if g == nil || g.run == nil {
		return fmt.Errorf("alloc: launch graph: %w", errNoGraph)
	}
	err := g.run.launch(t)
	runtime.KeepAlive(g)
	return err
}

func (x *execution) launch(t *Stream) error {
	const op = "launch graph"
	if err := t.ready(); err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	c := x.core
	switch {
	case t.core != c:
		return fmt.Errorf("alloc: %s: stream %w: launch on one of the graph's pool", op, ErrForeign)
	case t.member() != nil:
		return fmt.Errorf("alloc: %s: %w", op, errInCapture)
	case !c.estate.enter():
		return fmt.Errorf("alloc: %s: %w", op, errPoolClosed)
	}
	defer c.leave()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return fmt.Errorf("alloc: %s: %w", op, errGraphClosed)
	}
	if err := x.names.check(op); err != nil {
		return err
	}
	line := &t.heap.line
	if x.launched&line.bit == 0 {
		x.names.usedOn(t.heap)
		x.memory.usedOn(line.bit)
		x.used |= line.bit
		x.launched |= line.bit
	}
	if x.after != 0 {
		c.calls.Add(1)
		if err := c.dev.Wait(line.handle, x.after); err != nil {
			return fmt.Errorf("alloc: %s: %w", op, err)
		}
	}
	if err := c.grapher.LaunchExec(x.exec, line.handle); err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	if x.after != 0 { // the next launch runs behind this one
		c.estate.putEvent(x.after)
		x.after = 0
	}
	x.last = t
	return nil
}

// Update captures f anew, on the stream of Capture, and makes later launches run that: by the device's update
// if it can, else by a new executable, whose launches run behind those of the old one. The graph's memory is
// used again, but for buffers that have left the former function and are not freed or still in use. If the
// error is not nil the graph is as it was, and may be launched. It may be launched while f runs, too.
//
//lastuse:effect recv borrowed, arg f escapes
func (g *Graph) Update(f func() error) error {
	if g == nil || g.run == nil {
		return fmt.Errorf("alloc: update graph: %w", errNoGraph)
	}
	err := g.run.update(f)
	runtime.KeepAlive(g)
	return err
}

func (x *execution) update(f func() error) error {
	const op = "update graph"
	c := x.core
	if f == nil {
		return fmt.Errorf("alloc: %s: no function", op)
	}
	if !c.estate.enter() {
		return fmt.Errorf("alloc: %s: %w", op, errPoolClosed)
	}
	defer c.leave()
	x.mu.Lock()
	closed, updating := x.closed, x.updating
	x.updating = true
	x.mu.Unlock()
	switch {
	case closed:
		return fmt.Errorf("alloc: %s: %w", op, errGraphClosed)
	case updating:
		return fmt.Errorf("alloc: %s: another Update is under way: Update behind it: %w", op, ErrCapturing)
	}
	c.reap()
	x.memory.retain() // until this is over, should the graph be closed
	defer func() {
		x.memory.close()
		x.mu.Lock()
		x.updating = false
		x.mu.Unlock()
	}()
	k, err := x.stream.captureInto(x.memory, op, f)
	if err != nil {
		return err
	}
	if err := x.replace(k); err != nil {
		k.forget()
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	return nil
}

// replace makes later launches run what k has captured.
func (x *execution) replace(k *capture) error {
	c := x.core
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return errGraphClosed
	}
	c.calls.Add(1)
	same, err := c.grapher.UpdateExec(x.exec, k.graph)
	old, exec, after := uintptr(0), x.exec, x.after
	if err == nil && !same {
		if after, err = x.behind(); err == nil {
			old = x.exec
			exec, err = c.instantiate(k)
		}
	}
	if err != nil {
		if after != x.after {
			c.estate.putEvent(after)
		}
		x.mu.Unlock()
		return err
	}
	if after != x.after && x.after != 0 {
		c.estate.putEvent(x.after) // nothing was launched since
	}
	named, used := x.names, x.used
	x.exec, x.names, x.launched, x.after = exec, k.names, 0, after
	if old != 0 {
		x.used, x.last = 0, nil
	}
	x.mu.Unlock()
	k.keep()
	named.letGo(c, used)
	if old != 0 {
		c.retire(old, used)
	}
	return nil
}

// behind returns an event behind all launches so far, or 0 if they have run. x.mu is held.
func (x *execution) behind() (uintptr, error) {
	if x.last == nil {
		return x.after, nil
	}
	e, _, err := x.last.heap.line.behind()
	if err != nil {
		return 0, fmt.Errorf("the stream of the latest launch: %w", err)
	}
	return e, nil
}

// Close gives the graph up. It does not wait: what has been launched still runs, and the graph's memory, and
// that of freed buffers which it names, is pending until then. Buffers that have left f stay good. Closing
// again does nothing.
//
//lastuse:effect recv freed repeatable
func (g *Graph) Close() {
	if g == nil || g.run == nil {
		return
	}
	g.net.Stop()
	g.run.close()
	runtime.KeepAlive(g)
}

func (x *execution) close() {
	c := x.core
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return
	}
	x.closed = true
	named, after := x.names, x.after
	x.names, x.after, x.last = names{}, 0, nil
	x.mu.Unlock()
	if after != 0 {
		c.estate.putEvent(after)
	}
	named.letGo(c, x.used)
	if c.estate.enter() { // else the executable has gone back with the pool
		c.retire(x.exec, x.used)
		_ = c.leave()
	}
	x.memory.close()
}

// retire gives an executable back that was launched on the timelines in mask, as soon as its launches have
// run.
func (c *core) retire(exec uintptr, mask uint64) {
	g := &c.graphs
	g.mu.Lock()
	g.retired = append(g.retired, retired{exec, c.stamps(nil, mask)})
	g.mu.Unlock()
	c.reap()
}

// reap gives retired executables back whose launches have run. It does not wait. The caller is inside.
func (c *core) reap() {
	g := &c.graphs
	g.mu.Lock()
	all := g.retired
	g.retired = nil
	g.mu.Unlock()
	for _, r := range all {
		over := true
		for _, n := range r.needs {
			over = n.look() && over
		}
		if !over {
			g.mu.Lock()
			g.retired = append(g.retired, r)
			g.mu.Unlock()
			continue
		}
		if take(c.estate, &c.estate.execs, r.exec) {
			c.calls.Add(1)
			_ = c.grapher.DestroyExec(r.exec)
		}
	}
}
