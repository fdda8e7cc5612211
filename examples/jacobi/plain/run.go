// Package plain solves linear systems by Jacobi's method, in three ways, and frees nothing.
package plain

import (
	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/examples/conjugate/linear"
)

// A Way is how the steps get to the device.
type Way int

const (
	Launched Way = iota // call by call
	Updated             // by a graph that is updated between steps
	Swapped             // by two graphs in turn
)

// Solve returns x with m*x = right, and the number of steps that it took: one more than make the length of
// what is left of the right-hand side at most tolerance, as a step tells what was left before it, and at most
// so many.
func Solve(s *alloc.Stream, k *linear.Kernels, way Way, system linear.System, tolerance float32, most int) ([]float32,
	int, error) {
	m, err := linear.Load(s, system)
	if err != nil {
		return nil, 0, err
	}
	n := len(system.Right)
	right, err := alloc.Make[float32](s, n)
	if err != nil {
		return nil, 0, err
	}
	if err := right.CopyFrom(s, system.Right); err != nil {
		return nil, 0, err
	}
	x, err := alloc.Make[float32](s, n)
	if err != nil {
		return nil, 0, err
	}
	if err := x.Fill(s, 0); err != nil {
		return nil, 0, err
	}
	y, err := alloc.Make[float32](s, n)
	if err != nil {
		return nil, 0, err
	}
	left, err := alloc.MakePinned[float32](s.Pool(), 1)
	if err != nil {
		return nil, 0, err
	}
	var steps int
	switch way {
	case Launched:
		steps, err = launched(s, k, m, right, x, y, left, tolerance, most)
	case Updated:
		steps, err = updated(s, k, m, right, x, y, left, tolerance, most)
	case Swapped:
		steps, err = swapped(s, k, m, right, x, y, left, tolerance, most)
	}
	if err != nil {
		return nil, 0, err
	}
	result := make([]float32, n)
	if steps%2 == 0 {
		err = x.CopyTo(s, result)
	} else {
		err = y.CopyTo(s, result)
	}
	return result, steps, err
}

// launched enqueues each step by itself, from x to y and back.
func launched(s *alloc.Stream, k *linear.Kernels, m linear.Matrix, right, x, y alloc.Buffer[float32],
	left alloc.Pinned[float32], tolerance float32, most int) (int, error) {
	for steps := range most {
		if err := step(s, k, m, right, x, y, left); err != nil {
			return 0, err
		}
		if done, err := near(s, left, tolerance); done || err != nil {
			return steps + 1, err
		}
		x, y = y, x
	}
	return most, nil
}

// updated captures each step, and updates one graph to it: what stands in its nodes is replaced, the memory
// that it has is used again. The graph does not outlive the call, which lastuse does not take for granted of
// one that is updated: it is told that nothing is kept.
//
//lastuse:effect args borrowed
func updated(s *alloc.Stream, k *linear.Kernels, m linear.Matrix, right, x, y alloc.Buffer[float32],
	left alloc.Pinned[float32], tolerance float32, most int) (int, error) {
	g, err := s.Capture(func() error { return step(s, k, m, right, x, y, left) })
	if err != nil {
		return 0, err
	}
	for steps := range most {
		if err := g.Launch(s); err != nil {
			return 0, err
		}
		if done, err := near(s, left, tolerance); done || err != nil {
			return steps + 1, err
		}
		x, y = y, x
		if err := g.Update(func() error { return step(s, k, m, right, x, y, left) }); err != nil {
			return 0, err
		}
	}
	return most, nil
}

// swapped captures a step from x to y and one back, and launches them in turn.
func swapped(s *alloc.Stream, k *linear.Kernels, m linear.Matrix, right, x, y alloc.Buffer[float32],
	left alloc.Pinned[float32], tolerance float32, most int) (int, error) {
	there, err := s.Capture(func() error { return step(s, k, m, right, x, y, left) })
	if err != nil {
		return 0, err
	}
	back, err := s.Capture(func() error { return step(s, k, m, right, y, x, left) })
	if err != nil {
		return 0, err
	}
	for steps := range most {
		g := there
		if steps%2 == 1 {
			g = back
		}
		if err := g.Launch(s); err != nil {
			return 0, err
		}
		if done, err := near(s, left, tolerance); done || err != nil {
			return steps + 1, err
		}
	}
	return most, nil
}

// step enqueues a step from x to y, and what tells left the square of the length of what was left before it.
func step(s *alloc.Stream, k *linear.Kernels, m linear.Matrix, right, x, y alloc.Buffer[float32],
	left alloc.Pinned[float32]) error {
	r, err := alloc.Make[float32](s, x.Len())
	if err != nil {
		return err
	}
	if err := k.Relax(s, y, r, m, right, x); err != nil {
		return err
	}
	rr, err := alloc.Make[float32](s, 1)
	if err != nil {
		return err
	}
	if err := k.Dot(s, rr, r, r); err != nil {
		return err
	}
	return alloc.Download(s, left, rr)
}

// near waits for a step, and reports whether it came near enough.
func near(s *alloc.Stream, left alloc.Pinned[float32], tolerance float32) (bool, error) {
	if err := s.Sync(); err != nil {
		return false, err
	}
	return left.Slice()[0] <= tolerance*tolerance, nil
}
