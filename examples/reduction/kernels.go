package main

import (
	_ "embed"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

//go:embed reduce.cu
var source string

// blocks is how many parts a piece of the numbers is added up in, and threads how many threads do that.
const blocks, threads = 64, 256

// Kernels enqueue the two steps of a sum.
type kernels struct {
	reduce func(s *alloc.Stream, parts alloc.View[float64], numbers alloc.Buffer[float32]) error
	finish func(s *alloc.Stream, sum, parts alloc.Buffer[float64]) error
}

// compiled makes kernels of the CUDA C. They keep their module loaded.
func compiled(p *alloc.Pool, nvrtc string) (kernels, error) {
	m, err := cuda.Compile(p, source, cuda.CompileOptions{Name: "reduce.cu", Library: nvrtc})
	if err != nil {
		return kernels{}, err
	}
	reduce, err := m.Kernel("reduce")
	if err != nil {
		_ = m.Unload()
		return kernels{}, err
	}
	finish, err := m.Kernel("finish")
	if err != nil {
		_ = m.Unload()
		return kernels{}, err
	}
	block := cuda.Dim{X: threads}
	return kernels{
		func(s *alloc.Stream, parts alloc.View[float64], numbers alloc.Buffer[float32]) error {
			return reduce.Launch(s, cuda.Dim{X: blocks}, block, 0, parts.Arg(), numbers.Arg(), alloc.Scalar(int32(numbers.Len())))
		},
		func(s *alloc.Stream, sum, parts alloc.Buffer[float64]) error {
			return finish.Launch(s, cuda.Dim{X: 1}, block, 0, sum.Arg(), parts.Arg(), alloc.Scalar(int32(parts.Len())))
		},
	}, nil
}

// onHost are Go functions that do the same.
var onHost = kernels{
	func(s *alloc.Stream, parts alloc.View[float64], numbers alloc.Buffer[float32]) error {
		return host.Launch(s, func(a host.Args) {
			parts, numbers := host.Slice[float64](a, 0), host.Slice[float32](a, 1)
			clear(parts)
			for i, x := range numbers {
				parts[i/threads%len(parts)] += float64(x)
			}
		}, parts.Arg(), numbers.Arg())
	},
	func(s *alloc.Stream, sum, parts alloc.Buffer[float64]) error {
		return host.Launch(s, func(a host.Args) {
			sum := host.Slice[float64](a, 0)
			sum[0] = 0
			for _, x := range host.Slice[float64](a, 1) {
				sum[0] += x
			}
		}, sum.Arg(), parts.Arg())
	},
}
