package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// captures are those of this package's callers that are under way on one device. Nothing waits for the whole
// device meanwhile: what has to is put off.
type captures struct {
	mu    sync.Mutex
	open  map[uintptr][]uintptr // by the stream with which each began, the streams in it
	later []func()
}

// BeginCapture begins a capture in relaxed mode: calls of other threads, and of this one on other streams, go
// on as ever.
func (b *base) BeginCapture(s uintptr) error {
	if s <= cudadrv.PerThreadStream {
		return fmt.Errorf("cuda: begin capture: the default stream cannot be captured: %w", ErrStream)
	}
	if on, err := b.Capturing(s); err != nil || on {
		return errors.Join(err, fmt.Errorf("cuda: begin capture: end the other one first: %w", alloc.ErrCapturing))
	}
	cs := &b.captures
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if err := b.ctx.StreamBeginCapture(s, cudadrv.CaptureRelaxed); err != nil {
		return b.work(err)
	}
	if err := b.ctx.CaptureOwn(s, true); err != nil {
		_, failed := b.ctx.StreamEndCapture(s)
		return errors.Join(b.work(err), failed)
	}
	if cs.open == nil {
		cs.open = make(map[uintptr][]uintptr)
	}
	cs.open[s] = []uintptr{s}
	return nil
}

// JoinCapture makes s a part of a capture, behind e.
func (b *base) JoinCapture(origin, s, e uintptr) error {
	cs := &b.captures
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open[origin] == nil {
		return fmt.Errorf("cuda: join capture: none began with stream %#x: %w", origin, ErrStream)
	}
	if err := b.ctx.StreamWaitEvent(s, e); err != nil { // which draws s in
		return b.work(err)
	}
	if err := b.ctx.CaptureOwn(s, true); err != nil {
		return b.work(err)
	}
	cs.open[origin] = append(cs.open[origin], s)
	return nil
}

// EndCapture ends a capture and does what was put off, if it was the last one.
func (b *base) EndCapture(origin uintptr) (uintptr, error) {
	cs := &b.captures
	cs.mu.Lock()
	graph, err := b.ctx.StreamEndCapture(origin)
	if err != nil { // should it go on after that, nothing on the stream would ever run again
		if g, again := b.ctx.StreamEndCapture(origin); again == nil {
			_ = b.ctx.GraphDestroy(g)
		}
	}
	for _, s := range cs.open[origin] {
		_ = b.ctx.CaptureOwn(s, false)
	}
	delete(cs.open, origin)
	var later []func()
	if len(cs.open) == 0 {
		later, cs.later = cs.later, nil
	}
	cs.mu.Unlock()
	for _, f := range later {
		f()
	}
	if err != nil {
		return 0, b.work(err)
	}
	return graph, nil
}

// deviceWide runs f, which waits for the whole device, now or when the last capture that is under way has
// ended.
func (b *base) deviceWide(f func() error) error {
	cs := &b.captures
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.open) > 0 {
		cs.later = append(cs.later, func() { _ = b.deviceWide(f) })
		return nil
	}
	return f() // and nobody begins a capture meanwhile
}

// DestroyGraph gives a graph back.
func (b *base) DestroyGraph(graph uintptr) error {
	if err := b.ctx.GraphDestroy(graph); err != nil {
		return b.give(err)
	}
	return nil
}

// Instantiate makes an executable of a graph.
func (b *base) Instantiate(graph uintptr) (uintptr, error) {
	exec, err := b.ctx.GraphInstantiate(graph)
	if err != nil {
		return 0, b.work(err)
	}
	return exec, nil
}

// UpdateExec updates an executable if the driver can.
func (b *base) UpdateExec(exec, graph uintptr) (bool, error) {
	same, err := b.ctx.GraphExecUpdate(exec, graph)
	if err != nil {
		return false, b.work(err)
	}
	return same, nil
}

// LaunchExec enqueues an executable. The driver sees to it that its launches run one after the other.
func (b *base) LaunchExec(exec, s uintptr) error {
	if err := b.ctx.GraphLaunch(exec, s); err != nil {
		return b.work(err)
	}
	return nil
}

// DestroyExec gives an executable back.
func (b *base) DestroyExec(exec uintptr) error {
	if err := b.ctx.GraphExecDestroy(exec); err != nil {
		return b.give(err)
	}
	return nil
}

// keep keeps a module loaded for a graph that is to launch a kernel of it, until the result is called.
func (l *loaded) keep() func() {
	l.mu.Lock()
	l.graphs++
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		l.graphs--
		last := l.graphs == 0 && l.dead
		l.mu.Unlock()
		if last {
			// It waits for the device, and a graph's Close does not.
			go func() { _ = l.b.deviceWide(l.finish) }()
		}
	}
}

var _, _ alloc.Grapher = (*Device)(nil), Plain{}
