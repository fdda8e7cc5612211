package main

import (
	_ "embed"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

//go:embed blur.ptx
var ptx []byte

type view = alloc.View[float32]

// kernels enqueue one step each on planes of size by size pixels: PTX, or where that is nil Go functions,
// which compute the same in the same order.
type kernels struct{ ptxBox, ptxMix *cuda.Kernel }

// loadPTX makes the kernels of the embedded PTX.
func loadPTX(p *alloc.Pool) (k kernels, err error) {
	m, err := cuda.LoadModule(p, ptx)
	if err != nil {
		return kernels{}, err
	}
	if k.ptxBox, err = m.Kernel("box"); err == nil {
		k.ptxMix, err = m.Kernel("mix")
	}
	if err != nil {
		m.Unload()
	}
	return k, err
}

// goFunctions makes the kernels of Go functions.
func goFunctions(*alloc.Pool) (kernels, error) { return kernels{}, nil }

func word(x int) alloc.Arg { return alloc.Scalar(int32(x)) }

var block = cuda.Dim{X: 256}

func grid(n int) cuda.Dim { return cuda.Dim{X: (n + 255) / 256} }

// box makes each pixel the mean of those up to r steps of (dx, dy) away.
func (k kernels) box(s *alloc.Stream, dst, src view, size, dx, dy, r int) error {
	if k.ptxBox != nil {
		return k.ptxBox.Launch(s, grid(dst.Len()), block, 0,
			dst.Arg(), src.Arg(), word(size), word(size), word(dx), word(dy), word(r))
	}
	return host.Launch(s, func(a host.Args) {
		box(host.Slice[float32](a, 0), host.Slice[float32](a, 1), size, dx, dy, r)
	}, dst.Arg(), src.Arg())
}

// mix makes dst a + t*(b-a).
func (k kernels) mix(s *alloc.Stream, dst, a, b view, t float32) error {
	if k.ptxMix != nil {
		return k.ptxMix.Launch(s, grid(dst.Len()), block, 0,
			dst.Arg(), a.Arg(), b.Arg(), alloc.Scalar(t), word(dst.Len()))
	}
	return host.Launch(s, func(args host.Args) {
		mix(host.Slice[float32](args, 0), host.Slice[float32](args, 1), host.Slice[float32](args, 2), t)
	}, dst.Arg(), a.Arg(), b.Arg())
}

func box(dst, src []float32, size, dx, dy, r int) {
	for i := range dst {
		x, y := i%size, i/size
		var sum float32
		for k := -r; k <= r; k++ {
			xx := min(max(x+k*dx, 0), size-1)
			yy := min(max(y+k*dy, 0), size-1)
			sum += src[yy*size+xx]
		}
		dst[i] = sum / float32(2*r+1)
	}
}

func mix(dst, a, b []float32, t float32) {
	for i := range dst {
		dst[i] = a[i] + t*(b[i]-a[i])
	}
}
