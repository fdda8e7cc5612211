package model

import (
	_ "embed"
	"fmt"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
)

//go:embed kernels.cu
var source string

//go:embed instructions.h
var instructions string

// A gpu is what Kernels are on a GPU.
type gpu struct {
	module  *cuda.Module
	kernels [numKernels]*cuda.Kernel
	blas    *library
}

func openGPU(p *alloc.Pool, c Config, o Options) (*gpu, error) {
	blas, err := openLibrary(o.GPU, o.BLAS)
	if err != nil {
		return nil, fmt.Errorf("cuBLAS, which comes with the CUDA toolkit, is wanted: -blas names its file: %w", err)
	}
	module, err := cuda.Compile(p, source, cuda.CompileOptions{Name: "kernels.cu", Options: sizes(c), Library: o.NVRTC,
		Headers: map[string]string{"instructions.h": instructions}})
	if err != nil {
		blas.close()
		return nil, err
	}
	g := &gpu{module: module, blas: blas}
	for i, name := range names {
		if g.kernels[i], err = module.Kernel(name); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

// sizes are the compiler's options that make the sizes constants.
func sizes(c Config) []string {
	options := []string{"--std=c++17"}
	for _, d := range []struct {
		name string
		n    int
	}{{"WIDTH", c.Width}, {"HEADS", c.Heads}, {"KV_HEADS", c.KVHeads}, {"HEAD", c.Head()}, {"HIDDEN", c.Hidden},
		{"VOCAB", c.Vocab}, {"CONTEXT", c.Context}, {"BLOCK", BlockLen}} {
		options = append(options, fmt.Sprintf("-D%s=%d", d.name, d.n))
	}
	return options
}

func (g *gpu) close() {
	_ = g.module.Unload()
	g.blas.close()
}

// multiply has cuBLAS multiply.
func (g *gpu) multiply(s *alloc.Stream, y alloc.Buffer[Half], w alloc.View[Half], x alloc.Buffer[Half],
	work alloc.Buffer[byte], rows int, adding bool) error {
	return g.blas.multiply(s, y.All(), w, x.All(), work.All(), rows, adding)
}

// multiplyLogits is multiply with results of 32 bits.
func (g *gpu) multiplyLogits(s *alloc.Stream, y alloc.Buffer[float32], w alloc.View[Half], x alloc.Buffer[Half],
	work alloc.Buffer[byte], rows int) error {
	return g.blas.multiplyLogits(s, y.All(), w, x.All(), work.All(), rows)
}
