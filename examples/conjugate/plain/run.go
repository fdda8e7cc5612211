// Package plain solves linear systems by conjugate gradients, and frees nothing.
package plain

import (
	"errors"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/examples/conjugate/linear"
)

// Solve returns x with m*x = right, and the number of steps that it took: as many as make the square of the
// residual smaller than tolerance*tolerance, and at most so many. The matrix comes by a stream of its own,
// meanwhile s prepares the vectors.
func Solve(s *alloc.Stream, k *linear.Kernels, system linear.System, tolerance float32, most int) ([]float32, int,
	error) {
	t, err := s.Pool().NewStream()
	if err != nil {
		return nil, 0, err
	}
	defer t.Close()
	m, err := linear.Load(t, system)
	if err != nil {
		return nil, 0, err
	}
	n := len(system.Right)
	x, err := alloc.Make[float32](s, n)
	if err != nil {
		return nil, 0, err
	}
	r, err := alloc.Make[float32](s, n)
	if err != nil {
		return nil, 0, err
	}
	p, err := alloc.Make[float32](s, n)
	if err != nil {
		return nil, 0, err
	}
	rr, err := alloc.Make[float32](s, 1)
	if err != nil {
		return nil, 0, err
	}
	one, err := alloc.Make[float32](s, 1)
	if err != nil {
		return nil, 0, err
	}
	left, err := alloc.MakePinned[float32](s.Pool(), 1)
	if err != nil {
		return nil, 0, err
	}
	// The first guess is 0: what is left of the right-hand side is all of it, and the first direction too.
	err = errors.Join(x.Fill(s, 0), r.CopyFrom(s, system.Right), alloc.Copy(s, p, r), k.Dot(s, rr, r, r), one.Fill(s, 1))
	if err != nil {
		return nil, 0, err
	}
	s.Wait(t)
	steps, err := descend(s, t, k, m, x, r, p, rr, one, left, tolerance, most)
	if err != nil {
		return nil, 0, err
	}
	result := make([]float32, n)
	if err := x.CopyTo(s, result); err != nil {
		return nil, 0, err
	}
	return result, steps, nil
}

// descend launches steps, captured once, until they have led far enough down.
func descend(s, t *alloc.Stream, k *linear.Kernels, m linear.Matrix, x, r, p, rr, one alloc.Buffer[float32],
	left alloc.Pinned[float32], tolerance float32, most int) (int, error) {
	g, err := s.Capture(func() error { return step(s, t, k, m, x, r, p, rr, one, left) })
	if err != nil {
		return 0, err
	}
	for steps := range most {
		if err := g.Launch(s); err != nil {
			return 0, err
		}
		if err := s.Sync(); err != nil {
			return 0, err
		}
		if left.Slice()[0] <= tolerance*tolerance {
			return steps + 1, nil
		}
	}
	return most, nil
}

// step goes from x in the direction p to the lowest point, and chooses the next direction: r is what is left
// of the right-hand side then, rr the square of its length, which left has too. What x becomes is computed on
// t, beside what decides on the direction.
func step(s, t *alloc.Stream, k *linear.Kernels, m linear.Matrix, x, r, p, rr, one alloc.Buffer[float32],
	left alloc.Pinned[float32]) error {
	mp, err := alloc.Make[float32](s, p.Len())
	if err != nil {
		return err
	}
	if err := k.Multiply(s, mp, m, p); err != nil {
		return err
	}
	pmp, err := alloc.Make[float32](s, 1)
	if err != nil {
		return err
	}
	if err := k.Dot(s, pmp, p, mp); err != nil {
		return err
	}
	far, err := alloc.Make[float32](s, 1)
	if err != nil {
		return err
	}
	back, err := alloc.Make[float32](s, 1)
	if err != nil {
		return err
	}
	if err := k.Divide(s, far, back, rr, pmp); err != nil {
		return err
	}
	t.Wait(s)
	if err := k.Add(t, x, far, p); err != nil {
		return err
	}
	if err := k.Add(s, r, back, mp); err != nil {
		return err
	}
	before, err := alloc.Make[float32](s, 1)
	if err != nil {
		return err
	}
	if err := errors.Join(alloc.Copy(s, before, rr), k.Dot(s, rr, r, r)); err != nil {
		return err
	}
	if err := alloc.Download(s, left, rr); err != nil {
		return err
	}
	turn, err := alloc.Make[float32](s, 1)
	if err != nil {
		return err
	}
	if err := k.Divide(s, turn, back, rr, before); err != nil {
		return err
	}
	s.Wait(t) // which still reads p
	return errors.Join(k.Scale(s, p, turn), k.Add(s, p, one, r))
}
