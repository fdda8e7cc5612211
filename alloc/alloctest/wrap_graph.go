package alloctest

import (
	"errors"

	"github.com/lastuse/lastuse/alloc"
)

// Graphs, on an Order. What a stream is given while it is captured is no work yet: the checker notes which
// bytes it touches, and takes each launch for work on all of them. What comes before what inside of a graph
// it does not judge: to the pool, the memory of a graph is one owner's.

var _ alloc.Grapher = (*Order)(nil)

// A taking is what a capture has been given.
type taking struct {
	known   map[[2]uintptr]bool
	ranges  [][2]uintptr
	members []*thread
}

// A launching is an executable.
type launching struct {
	taking *taking
	last   clock // of the stream of the latest launch, behind that
}

func (t *taking) add(lo, hi uintptr) {
	if r := [2]uintptr{lo, hi}; !t.known[r] {
		t.known[r] = true
		t.ranges = append(t.ranges, r)
	}
}

// takes notes that s belongs to a capture. o.mu is held.
func (o *Order) takes(s uintptr, t *taking) {
	th := o.streams.get(s)
	th.taking = t
	t.members = append(t.members, th)
}

// BeginCapture is like alloc.Grapher.BeginCapture: errors.ErrUnsupported if the device behind o makes no
// graphs.
func (o *Order) BeginCapture(s uintptr) error {
	if o.grapher == nil {
		return errors.ErrUnsupported
	}
	err := o.grapher.BeginCapture(s)
	if err == nil {
		o.mu.Lock()
		o.takes(s, &taking{known: make(map[[2]uintptr]bool)})
		o.mu.Unlock()
	}
	return err
}

// JoinCapture is like alloc.Grapher.JoinCapture.
func (o *Order) JoinCapture(origin, s, e uintptr) error {
	err := o.grapher.JoinCapture(origin, s, e)
	if err == nil {
		o.mu.Lock()
		if t := o.streams.get(origin).taking; t != nil {
			o.takes(s, t)
		}
		o.mu.Unlock()
	}
	return err
}

// EndCapture is like alloc.Grapher.EndCapture.
func (o *Order) EndCapture(origin uintptr) (uintptr, error) {
	g, err := o.grapher.EndCapture(origin)
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.streams.get(origin).taking
	if t == nil {
		return g, err
	}
	for _, th := range t.members {
		th.taking = nil
	}
	if err == nil {
		o.graphs[g] = t
	}
	return g, err
}

// DestroyGraph is like alloc.Grapher.DestroyGraph.
func (o *Order) DestroyGraph(g uintptr) error {
	o.mu.Lock()
	delete(o.graphs, g)
	o.mu.Unlock()
	return o.grapher.DestroyGraph(g)
}

// Instantiate is like alloc.Grapher.Instantiate.
func (o *Order) Instantiate(g uintptr) (uintptr, error) {
	x, err := o.grapher.Instantiate(g)
	if err == nil {
		o.mu.Lock()
		o.execs[x] = &launching{taking: o.graphs[g]}
		o.mu.Unlock()
	}
	return x, err
}

// UpdateExec is like alloc.Grapher.UpdateExec.
func (o *Order) UpdateExec(x, g uintptr) (bool, error) {
	same, err := o.grapher.UpdateExec(x, g)
	if same && err == nil {
		o.mu.Lock()
		o.execs[x].taking = o.graphs[g]
		o.mu.Unlock()
	}
	return same, err
}

// LaunchExec is work on all that the graph touches, behind the launch before.
func (o *Order) LaunchExec(x, s uintptr) error {
	o.mu.Lock()
	l, t := o.execs[x], o.streams.get(s)
	var deeds []*deed
	if l != nil {
		t.clock.join(l.last)
		for _, r := range l.taking.ranges {
			d := newDeed("launch of a graph", t, r[0], r[1])
			o.begin(d)
			deeds = append(deeds, d)
		}
	}
	o.mu.Unlock()
	err := o.grapher.LaunchExec(x, s)
	o.mu.Lock()
	defer o.mu.Unlock()
	var n uint64
	if err == nil && l != nil {
		n = t.next()
		l.last = t.clock.copy()
	}
	for _, d := range deeds {
		o.end(d, n)
	}
	return err
}

// DestroyExec is like alloc.Grapher.DestroyExec.
func (o *Order) DestroyExec(x uintptr) error {
	o.mu.Lock()
	delete(o.execs, x)
	o.mu.Unlock()
	return o.grapher.DestroyExec(x)
}
