package alloctest

import (
	"errors"

	"github.com/lastuse/lastuse/alloc"
)

// Graphs, on a Faulty.

var _ alloc.Grapher = (*Faulty)(nil)

// grapher returns the device behind f, which makes graphs, unless the call of a method is to fail on cue.
func (f *Faulty) grapher(method string) (alloc.Grapher, error) {
	d, ok := f.Device.(alloc.Grapher)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return d, f.fail(method, 0)
}

// BeginCapture is like alloc.Grapher.BeginCapture, and fails on cue.
func (f *Faulty) BeginCapture(s uintptr) error {
	d, err := f.grapher("BeginCapture")
	if err != nil {
		return err
	}
	return d.BeginCapture(s)
}

// JoinCapture is like alloc.Grapher.JoinCapture, and fails on cue.
func (f *Faulty) JoinCapture(origin, s, e uintptr) error {
	d, err := f.grapher("JoinCapture")
	if err != nil {
		return err
	}
	return d.JoinCapture(origin, s, e)
}

// EndCapture is like alloc.Grapher.EndCapture. If it fails on cue the capture is over, and there is no graph.
func (f *Faulty) EndCapture(origin uintptr) (uintptr, error) {
	d, cue := f.grapher("EndCapture")
	if d == nil {
		return 0, cue
	}
	g, err := d.EndCapture(origin)
	if err == nil && cue != nil {
		return 0, errors.Join(cue, d.DestroyGraph(g))
	}
	return g, err
}

// DestroyGraph is like alloc.Grapher.DestroyGraph, and fails on cue.
func (f *Faulty) DestroyGraph(g uintptr) error {
	d, err := f.grapher("DestroyGraph")
	if err != nil {
		return err
	}
	return d.DestroyGraph(g)
}

// Instantiate is like alloc.Grapher.Instantiate, and fails on cue.
func (f *Faulty) Instantiate(g uintptr) (uintptr, error) {
	d, err := f.grapher("Instantiate")
	if err != nil {
		return 0, err
	}
	return d.Instantiate(g)
}

// UpdateExec is like alloc.Grapher.UpdateExec, and fails on cue.
func (f *Faulty) UpdateExec(x, g uintptr) (bool, error) {
	d, err := f.grapher("UpdateExec")
	if err != nil {
		return false, err
	}
	return d.UpdateExec(x, g)
}

// LaunchExec is like alloc.Grapher.LaunchExec, and fails on cue.
func (f *Faulty) LaunchExec(x, s uintptr) error {
	d, err := f.grapher("LaunchExec")
	if err != nil {
		return err
	}
	return d.LaunchExec(x, s)
}

// DestroyExec is like alloc.Grapher.DestroyExec, and fails on cue.
func (f *Faulty) DestroyExec(x uintptr) error {
	d, err := f.grapher("DestroyExec")
	if err != nil {
		return err
	}
	return d.DestroyExec(x)
}
