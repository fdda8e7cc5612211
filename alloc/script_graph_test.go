package alloc_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/alloc"
)

// What a script does with graphs. What a capture has written itself is compared inside, each time the graph
// runs; what it leaves behind, in buffers of others and in those that have left it, is compared as ever.

// A scriptGraph is a graph and what a launch of it does.
type scriptGraph struct {
	*alloc.Graph
	origin *alloc.Stream
	writes []scriptWrite
}

// A scriptWrite fills a buffer.
type scriptWrite struct {
	buffer *scriptBuffer
	fill   byte
	on     *alloc.Stream // in a capture: behind which all that was done with it comes
}

// scriptGraphs bounds how many graphs there are.
const scriptGraphs = 3

var errScript = errors.New("the script gives up")

// capturing is a capture under way.
type capturing struct {
	*script
	s, u   *alloc.Stream // u has joined if it is not nil
	writes []scriptWrite
	inner  []scriptWrite // live buffers of the capture
	err    error
}

// function returns the function of a capture on s: a few steps of its own.
func (m *script) function(s *alloc.Stream, writes *[]scriptWrite) func() error {
	u, steps, leave, fail := m.stream(), 1+m.next()%12, m.next(), m.next()%8 == 0
	if u == s || u == m.streams[0] {
		u = nil
	}
	return func() error {
		k := &capturing{script: m, s: s}
		if u != nil && steps%2 == 0 {
			u.Wait(s)
			k.u = u
		}
		for range steps {
			k.step(u)
		}
		if k.u != nil {
			s.Wait(k.u)
		}
		for i, x := range k.inner {
			if k.err == nil && i < int(leave%3) {
				k.compareIn(s, &x)
				x.buffer.inner = true
				m.buffers = append(m.buffers, x.buffer)
				m.live += int64(x.buffer.Len())
				k.writes = append(k.writes, x)
			} else {
				x.buffer.Free()
			}
		}
		if *writes = k.writes; fail {
			k.err = errors.Join(k.err, errScript)
		}
		if k.err != nil { // what has left is gone with the capture
			for _, x := range k.writes {
				if x.buffer.inner && !x.buffer.gone {
					m.forget(x.buffer)
				}
			}
		}
		return k.err
	}
}

// on returns one of the streams of the capture.
func (k *capturing) on(how byte) *alloc.Stream {
	if k.u != nil && how%2 == 1 {
		return k.u
	}
	return k.s
}

// step is one step of a capture. The streams wait for one another at random, which makes some memory free for
// the other, and before they use what the other has used.
func (k *capturing) step(u *alloc.Stream) {
	how := k.next()
	t := k.on(how >> 4)
	switch how % 8 {
	case 0, 1, 2:
		size := k.size()
		b, err := alloc.Make[byte](t, size)
		if err != nil {
			if !errors.Is(err, alloc.ErrOutOfMemory) {
				k.fail(err)
			}
			k.err = err
			return
		}
		k.script.inside++
		x := scriptWrite{&scriptBuffer{Buffer: b}, how | 1, t}
		k.fail(b.Fill(t, x.fill))
		k.compareIn(t, &x)
		k.inner = append(k.inner, x)
	case 3, 4:
		if n := len(k.inner); n > 0 {
			i := int(how>>3) % n
			k.compareIn(t, &k.inner[i])
			k.inner[i].buffer.Free()
			k.inner = append(k.inner[:i:i], k.inner[i+1:]...)
		}
	case 5:
		if u != nil && k.u == nil {
			u.Wait(k.s)
			k.u = u
		}
	case 6:
		if k.u != nil {
			k.s.Wait(k.u)
			k.u.Wait(k.s)
		}
	case 7:
		if b := k.pick(); b != nil && !b.inner && len(k.writes) < 2 {
			for _, w := range k.writes {
				if w.buffer == b {
					return
				}
			}
			x := scriptWrite{b, how | 1, t}
			k.fail(b.Fill(t, x.fill))
			k.compareIn(t, &x)
			k.writes = append(k.writes, x)
		}
	}
}

// compareIn enqueues a comparison, whenever the graph runs.
func (k *capturing) compareIn(s *alloc.Stream, x *scriptWrite) {
	if x.on != s {
		s.Wait(x.on)
		x.on = s
	}
	n, m, fill := x.buffer.Len(), k.script, x.fill
	k.fail(m.late.Launch(s, func(p []alloc.Param) { m.compare("in a graph", rawBytes(p[0].Ptr, n), fill) },
		x.buffer.Arg()))
}

// someGraph does one thing with graphs.
func (m *script) someGraph() {
	switch m.next() % 8 {
	case 0, 1:
		m.graph()
	case 6:
		m.updateGraph()
	case 7:
		m.closeGraph()
	default:
		m.launchGraph()
	}
}

// graph captures a graph.
func (m *script) graph() {
	s := m.stream()
	if s == m.streams[0] || len(m.graphs) == scriptGraphs {
		return
	}
	g := &scriptGraph{origin: s}
	var err error
	g.Graph, err = s.Capture(m.function(s, &g.writes))
	if m.refusedGraph("Capture", err) {
		return
	}
	m.graphs = append(m.graphs, g)
}

// refusedGraph notes an error that should not be, and reports whether there is one.
func (m *script) refusedGraph(what string, err error) bool {
	if err != nil && !errors.Is(err, errScript) && !errors.Is(err, alloc.ErrOutOfMemory) &&
		!errors.Is(err, alloc.ErrClosed) { // the stream of the capture may be
		m.fail(fmt.Errorf("%s: %w", what, err))
	}
	return err != nil
}

func (m *script) pickGraph() *scriptGraph {
	if len(m.graphs) == 0 {
		return nil
	}
	return m.graphs[int(m.next())%len(m.graphs)]
}

func (m *script) launchGraph() {
	if g := m.pickGraph(); g != nil {
		m.launch(g, m.stream(), m.next())
	}
}

// launch launches a graph behind all that use what it writes, or have used it before they freed it: a graph
// writes its memory at each launch, whether what has left it is freed or not.
func (m *script) launch(g *scriptGraph, t *alloc.Stream, how byte) {
	gone := false
	for _, w := range g.writes {
		if gone = gone || w.buffer.gone && !w.buffer.inner; !w.buffer.gone || w.buffer.inner {
			m.toWrite(t, w.buffer, how)
		}
	}
	for range 1 + how%2 {
		if err := g.Launch(t); err != nil {
			if !gone || !errors.Is(err, alloc.ErrFreed) {
				m.fail(fmt.Errorf("launch of a graph: %w", err))
			}
			return
		}
	}
	for _, w := range g.writes {
		if !w.buffer.gone || w.buffer.inner {
			m.wrote(t, w.buffer, w.fill, how>>4)
		}
	}
}

func (m *script) updateGraph() {
	g := m.pickGraph()
	if g == nil {
		return
	}
	m.uncapture() // or nobody could say what a launch there must wait for
	var writes []scriptWrite
	if !m.refusedGraph("Update", g.Update(m.function(g.origin, &writes))) {
		g.writes = writes
	}
}

// closeGraph closes a graph; at times right behind a launch, before or after what it names is freed, for
// which there are takers at once.
func (m *script) closeGraph() {
	g := m.pickGraph()
	if g == nil {
		return
	}
	t, how := m.stream(), m.next()
	if how%4 != 0 {
		m.launch(g, t, how)
	}
	if how%4 != 1 {
		g.Close()
	}
	for _, w := range g.writes {
		if b := w.buffer; how%4 != 0 && !b.gone && !b.inner {
			s, n := b.home, b.Len()
			b.Free()
			if m.forget(b); slices.Contains(m.streams, s) {
				m.makeOn(m.uncaptured(s), n, how|1)
			}
		}
	}
	g.Close()
	m.graphs = slices.DeleteFunc(m.graphs, func(x *scriptGraph) bool { return x == g })
}
