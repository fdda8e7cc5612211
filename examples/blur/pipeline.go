package main

import "github.com/lastuse/lastuse/alloc"

// steps is how many times a kernel runs on a plane.
const steps = 7

// glow replaces a plane of size by size pixels by its mix with a soft copy of itself.
func glow(s *alloc.Stream, k kernels, plane []float32, size, radius int) error {
	sharp, err := alloc.Make[float32](s, len(plane))
	if err != nil {
		return err
	}
	if err := sharp.CopyFrom(s, plane); err != nil {
		sharp.Free()
		return err
	}
	soft, err := blur(s, k, sharp.All(), size, radius)
	if err != nil {
		sharp.Free()
		return err
	}
	softer, err := blur(s, k, soft.All(), size, radius)
	soft.Free()
	if err != nil {
		sharp.Free()
		return err
	}
	softest, err := blur(s, k, softer.All(), size, radius)
	softer.Free()
	if err != nil {
		sharp.Free()
		return err
	}
	out, err := alloc.Make[float32](s, len(plane))
	if err != nil {
		softest.Free()
		sharp.Free()
		return err
	}
	err = k.mix(s, out.All(), sharp.All(), softest.All(), 0.75)
	softest.Free()
	sharp.Free()
	if err != nil {
		out.Free()
		return err
	}
	err = out.CopyTo(s, plane)
	out.Free()
	return err
}

// blur returns the box blur of a plane, first along its rows, then along its columns.
func blur(s *alloc.Stream, k kernels, in alloc.View[float32], size, radius int) (alloc.Buffer[float32], error) {
	rows, err := alloc.Make[float32](s, in.Len())
	if err != nil {
		return alloc.Buffer[float32]{}, err
	}
	if err := k.box(s, rows.All(), in, size, 1, 0, radius); err != nil {
		rows.Free()
		return alloc.Buffer[float32]{}, err
	}
	columns, err := alloc.Make[float32](s, in.Len())
	if err != nil {
		rows.Free()
		return alloc.Buffer[float32]{}, err
	}
	err = k.box(s, columns.All(), rows.All(), size, 0, 1, radius)
	rows.Free()
	if err != nil {
		columns.Free()
		return alloc.Buffer[float32]{}, err
	}
	return columns, nil
}
