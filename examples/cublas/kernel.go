package main

import (
	_ "embed"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

//go:embed kernel.cu
var source string

// tile is kernel.cu's TILE.
const tile = 16

// Ours is our kernel, loaded.
type ours struct {
	module *cuda.Module
	kernel *cuda.Kernel
}

// compile compiles kernel.cu for the pool's device.
func compile(p *alloc.Pool, nvrtc string) (*ours, error) {
	m, err := cuda.Compile(p, source, cuda.CompileOptions{Name: "kernel.cu", Library: nvrtc})
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel("multiply")
	if err != nil {
		_ = m.Unload()
		return nil, err
	}
	return &ours{m, k}, nil
}

func (o *ours) unload() { _ = o.module.Unload() }

// multiply enqueues c = a*b on s.
func (o *ours) multiply(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
	blocks := (n + tile - 1) / tile
	return o.kernel.Launch(s, cuda.Dim{X: blocks, Y: blocks}, cuda.Dim{X: tile, Y: tile}, 0,
		c.Arg(), a.Arg(), b.Arg(), alloc.Scalar(int32(n)))
}

// onHostMemory enqueues the multiplication by Go code, which runs where the stream runs, with the memory that
// it is handed there.
func onHostMemory(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
	return host.Launch(s, func(args host.Args) {
		product(host.Slice[float32](args, 0), host.Slice[float32](args, 1), host.Slice[float32](args, 2),
			int(host.Value[int64](args, 3)))
	}, c.Arg(), a.Arg(), b.Arg(), alloc.Scalar(int64(n)))
}

// product is c = a*b in this machine's memory.
func product(c, a, b []float32, n int) {
	clear(c)
	for i := range n {
		row := c[i*n : (i+1)*n]
		for k := range n {
			x := a[i*n+k]
			for j, y := range b[k*n : (k+1)*n] {
				row[j] += x * y
			}
		}
	}
}
