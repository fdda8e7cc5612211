package alloctest

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// grapher returns the device as a Grapher, or skips the test.
func (s *suite) grapher() alloc.Grapher {
	g, ok := s.dev.(alloc.Grapher)
	if !ok {
		s.Skip("the device makes no graphs")
	}
	h := s.stream()
	if err := g.BeginCapture(h); errors.Is(err, errors.ErrUnsupported) {
		s.Skip("the device makes no graphs")
	} else {
		s.ok(err)
	}
	graph, err := g.EndCapture(h)
	s.ok(err)
	s.ok(g.DestroyGraph(graph))
	return g
}

// captured returns the graph of what f enqueues on h.
func (s *suite) captured(g alloc.Grapher, h uintptr, f func()) uintptr {
	s.Helper()
	s.ok(g.BeginCapture(h))
	f()
	graph, err := g.EndCapture(h)
	s.ok(err)
	return graph
}

// instance returns an executable of a graph, which it destroys.
func (s *suite) instance(g alloc.Grapher, graph uintptr) uintptr {
	s.Helper()
	x, err := g.Instantiate(graph)
	s.ok(err)
	s.ok(g.DestroyGraph(graph))
	return x
}

func (s *suite) graphs() {
	g := s.grapher()
	h, u := s.stream(), s.stream()
	p := s.alloc(4096)
	s.ok(s.dev.Fill(h, p, 0, 1, 4096))
	x := s.instance(g, s.captured(g, h, func() {
		s.ok(s.dev.Fill(h, p, 1, 1, 512))
		s.ok(s.dev.Copy(h, p+512, p, 512))
	}))
	s.same(s.get(h, p, 1024), repeated(0, 1024), "work that was captured, before a launch")
	for _, on := range []uintptr{h, u, h} {
		s.ok(g.LaunchExec(x, on))
		s.same(s.get(on, p, 1024), repeated(1, 1024), "a launch")
		s.ok(s.dev.Fill(on, p, 7, 1, 1024))
		s.ok(s.dev.Sync(on))
	}
	same, err := g.UpdateExec(x, s.captured(g, h, func() {
		s.ok(s.dev.Fill(h, p, 2, 1, 512))
		s.ok(s.dev.Copy(h, p+512, p, 512))
	}))
	s.ok(err)
	if same {
		s.ok(g.LaunchExec(x, u))
		s.same(s.get(u, p, 1024), repeated(2, 1024), "a launch behind an update")
	}
	other := s.captured(g, h, func() { s.ok(s.dev.Fill(h, p, 3, 1, 1024)) })
	if same, err := g.UpdateExec(x, other); err != nil || same {
		s.Errorf("update to a graph with less work: %v, %v", same, err)
	}
	s.ok(s.dev.Fill(u, p, 7, 1, 1024))
	s.ok(g.LaunchExec(x, u))
	if got := s.get(u, p, 1); got[0] != 2 && got[0] != 1 {
		s.Errorf("an update that was not made has left %d", got[0])
	}
	y := s.instance(g, other)
	s.ok(g.LaunchExec(y, u))
	s.same(s.get(u, p, 1024), repeated(3, 1024), "another executable")
	s.ok(g.DestroyExec(x))
	s.ok(g.DestroyExec(y))
}

// graphOrder checks that launches of one executable run one after the other, and streams of a capture as they
// wait for each other.
func (s *suite) graphOrder() {
	g := s.grapher()
	h, u := s.stream(), s.stream()
	p := s.alloc(4096)
	e, back := s.event(), s.event()
	x := s.instance(g, s.captured(g, h, func() {
		s.ok(s.dev.Fill(h, p, 1, 1, 1024))
		s.ok(s.dev.Record(e, h))
		s.ok(g.JoinCapture(h, u, e))
		s.ok(s.dev.Copy(u, p+1024, p, 1024))
		s.ok(s.dev.Record(back, u))
		s.ok(s.dev.Wait(h, back))
		s.ok(s.dev.Fill(h, p, 2, 1, 1024))
	}))
	for range 20 {
		s.ok(g.LaunchExec(x, u))
		s.same(s.get(u, p+1024, 1024), repeated(1, 1024), "a stream that joined")
		s.same(s.get(u, p, 1024), repeated(2, 1024), "the stream that waited for it")
		s.ok(s.dev.Fill(u, p, 0, 1, 2048))
		s.ok(s.dev.Sync(u))
	}
	if hold, is := s.holder(); is {
		release, err := hold.Hold(h)
		s.ok(err)
		s.ok(g.LaunchExec(x, h))
		s.ok(g.LaunchExec(x, u))
		s.ok(s.dev.Record(e, u))
		if done, err := s.dev.Query(e); done || err != nil {
			s.Errorf("a launch behind one that is held back: %v, %v", done, err)
		}
		release()
		s.ok(s.dev.Sync(u))
	}
	s.ok(s.dev.Sync(h))
	s.ok(g.DestroyExec(x))

	s.ok(g.BeginCapture(h))
	s.ok(s.dev.Record(e, h))
	s.ok(g.JoinCapture(h, u, e))
	s.ok(s.dev.Fill(u, p, 9, 1, 1024))
	if _, err := g.EndCapture(h); err == nil {
		s.Error("work of a stream that joined is not waited for, and that is no error")
	}
	s.ok(s.dev.Fill(u, p, 5, 1, 1024)) // both are streams as ever
	s.ok(s.dev.Sync(u))
	s.ok(s.dev.Sync(h))
	s.same(s.get(h, p, 1024), repeated(5, 1024), "behind a capture that failed")
}

// captureRefuses checks that what a capture cannot take fails and leaves it as it is.
func (s *suite) captureRefuses() {
	g := s.grapher()
	h, u := s.stream(), s.stream()
	p := s.alloc(4096)
	e, outside := s.event(), s.event()
	data := make([]byte, 512)
	at := unsafe.Pointer(&data[0])
	s.ok(s.dev.Record(outside, u))
	if err := g.BeginCapture(s.dev.DefaultStream()); err == nil {
		s.Error("the default stream can be captured")
	}
	x := s.instance(g, s.captured(g, h, func() {
		s.ok(s.dev.Fill(h, p, 1, 1, 512))
		s.ok(s.dev.Record(e, h))
		for name, err := range map[string]error{
			"CopyIn":       s.dev.CopyIn(h, p, at, 512),
			"CopyOut":      s.dev.CopyOut(h, at, p, 512),
			"Sync":         s.dev.Sync(h),
			"SyncEvent":    s.dev.SyncEvent(e),
			"BeginCapture": g.BeginCapture(h),
		} {
			if !errors.Is(err, alloc.ErrCapturing) {
				s.Errorf("%s in a capture: %v, want ErrCapturing", name, err)
			}
		}
		if _, err := s.dev.Query(e); !errors.Is(err, alloc.ErrCapturing) {
			s.Errorf("Query of an event of a capture: %v, want ErrCapturing", err)
		}
		if c, ok := s.dev.(alloc.Capturer); ok {
			if on, err := c.Capturing(h); err != nil || !on {
				s.Errorf("Capturing in a capture: %v, %v", on, err)
			}
		}
		// Life goes on elsewhere.
		s.put(u, p+1024, repeated(4, 512))
		s.same(s.get(u, p+1024, 512), repeated(4, 512), "another stream")
		s.ok(s.dev.SyncEvent(outside))
		q, err := s.dev.Alloc(mib)
		s.ok(err)
		s.ok(s.dev.Free(q, mib))
	}))
	s.ok(s.dev.Record(e, h))
	s.ok(s.dev.SyncEvent(e))
	s.ok(g.LaunchExec(x, h))
	s.same(s.get(h, p, 512), repeated(1, 512), "a graph whose capture has refused much")
	var err error
	launch := func() { err = errors.Join(err, g.LaunchExec(x, h)) }
	for range 100 {
		launch()
	}
	s.ok(s.dev.Sync(h))
	s.allocatesNothing("LaunchExec", launch)
	s.ok(err)
	s.ok(s.dev.Sync(h))
	s.ok(g.DestroyExec(x))
	runtime.KeepAlive(data)
}
