// Conjugate solves a sparse linear system by conjugate gradients: the program of NVIDIA's samples
// conjugateGradientCudaGraphs, ported. Each step is one launch of a graph, in which cuBLAS and two kernels in
// CUDA C work on two streams, with scalars that stay on the device; the host looks at one number between
// steps. Without a GPU Go functions do the same on this machine's memory.
//
//	go run ./examples/conjugate [-n rows] [-host] [-lib libcublas.so.13] [-nvrtc libnvrtc.so.13]
//
// Package plain is the solver as it was written, without any Free; package rewritten is what lastuse -fix
// makes of it (testdata/fix.diff), and what runs.
package main

//go:generate go run ../llm/rewrite.go

import (
	"fmt"
	"io"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/examples/conjugate/linear"
	"github.com/lastuse/lastuse/examples/conjugate/rewritten"
)

const (
	tolerance = 1e-5 // of the residual's length
	mostSteps = 10_000
)

func main() { linear.Main("conjugate", solved) }

// solved solves a system by package rewritten.
func solved(w io.Writer, s *alloc.Stream, k *linear.Kernels, system linear.System) error {
	begin := time.Now()
	x, steps, err := rewritten.Solve(s, k, system, tolerance, mostSteps)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d rows, %d elements: %d steps, %v\n", len(x), len(system.Values), steps,
		time.Since(begin).Round(time.Microsecond))
	fmt.Fprintf(w, "largest error of a row: %.1e\n", system.Error(x))
	return nil
}
