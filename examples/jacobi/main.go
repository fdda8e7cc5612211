// Jacobi solves a linear system by Jacobi's method, as NVIDIA's sample jacobiCudaGraphs does; here the
// matrix is sparse, of float32, and the one of conjugate. Each step reads one vector and writes another,
// which change places, and it is given to the device in three ways: call by call; by a graph that is updated
// to the next step (cudaGraphExecUpdate); and by two graphs in turn, one for either direction, where the
// sample sets the parameters of a graph's node (cudaGraphExecKernelNodeSetParams). A kernel in CUDA C makes
// the step, cuBLAS tells how much of the right-hand side was left. Without a GPU Go functions do the same on
// this machine's memory.
//
//	go run ./examples/jacobi [-n rows] [-host] [-lib libcublas.so.13] [-nvrtc libnvrtc.so.13]
//
// Package plain is the solver as it was written, without any Free; package rewritten is what lastuse -fix
// makes of it (testdata/fix.diff), and what runs. What it works with is the package linear of conjugate.
package main

//go:generate go run ../llm/rewrite.go

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/examples/conjugate/linear"
	"github.com/lastuse/lastuse/examples/jacobi/rewritten"
)

const mostSteps = 10_000

// goal is the length that may be left of a right-hand side of n ones.
func goal(n int) float32 { return float32(1e-5 * math.Sqrt(float64(n))) }

var ways = []struct {
	name string
	way  rewritten.Way
}{{"call by call", rewritten.Launched}, {"a graph, updated", rewritten.Updated}, {"two graphs in turn", rewritten.Swapped}}

func main() { linear.Main("jacobi", solved) }

// solved solves a system in each of the ways.
func solved(w io.Writer, s *alloc.Stream, k *linear.Kernels, system linear.System) error {
	for _, x := range ways {
		n, begin := len(system.Right), time.Now()
		solution, steps, err := rewritten.Solve(s, k, x.way, system, goal(n), mostSteps)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d rows, %d steps, %v, largest error of a row: %.1e\n", x.name, n, steps,
			time.Since(begin).Round(time.Microsecond), system.Error(solution))
	}
	return nil
}
