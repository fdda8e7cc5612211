// Jacobi solves a sparse linear system by Jacobi's method: the program of NVIDIA's sample jacobiCudaGraphs,
// ported. Each step reads one vector and writes another, which change places, and it is given to the device
// in three ways: call by call; by a graph that is updated to the next step (cudaGraphExecUpdate); and by two
// graphs in turn, one for either direction, where the sample sets the parameters of a graph's node
// (cudaGraphExecKernelNodeSetParams). A kernel in CUDA C makes the step, cuBLAS tells how much of the
// right-hand side was left. Without a GPU Go functions do the same on this machine's memory.
//
//	go run ./examples/jacobi [-n rows] [-host] [-lib libcublas.so.13] [-nvrtc libnvrtc.so.13]
//
// Package plain is the solver as it was written, without any Free; package rewritten is what lastuse -fix
// makes of it (testdata/fix.diff), and what runs. What it works with is the package linear of conjugate.
package main

//go:generate go run ../llm/rewrite.go

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
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

func main() {
	n := flag.Int("n", 1<<20, "rows")
	onHost := flag.Bool("host", false, "do not use a GPU")
	lib := flag.String("lib", "", "file of cuBLAS, if the system's loader does not find it")
	nvrtc := flag.String("nvrtc", "", "file of NVRTC, likewise")
	flag.Parse()
	o := linear.Options{NVRTC: *nvrtc}
	if *lib != "" {
		o.BLAS = []string{*lib}
	}
	if err := run(os.Stdout, *n, *onHost, o); err != nil {
		fmt.Fprintln(os.Stderr, "jacobi:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, n int, onHost bool, o linear.Options) error {
	if n < 1 {
		return fmt.Errorf("%d rows: want at least 1", n)
	}
	if !onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			o.GPU = gpu
			return on(w, gpu, n, o)
		}
		fmt.Fprintln(w, "not on a GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return on(w, dev, n, o)
}

// on solves a system of n rows on a device, in each of the ways.
func on(w io.Writer, dev alloc.Device, n int, o linear.Options) (err error) {
	fmt.Fprintln(w, "device:", dev.Name())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	k, err := linear.Open(pool, o)
	if err != nil {
		return err
	}
	defer k.Close()
	s, err := pool.NewStream()
	if err != nil {
		return err
	}
	system := linear.Tridiagonal(n, 1)
	for _, x := range ways {
		begin := time.Now()
		solution, steps, err := rewritten.Solve(s, k, x.way, system, goal(n), mostSteps)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d rows, %d steps, %v, largest error of a row: %.1e\n", x.name, n, steps,
			time.Since(begin).Round(time.Microsecond), system.Error(solution))
	}
	st := pool.Stats()
	fmt.Fprintf(w, "live at the end: %d bytes, at most: %d\n", st.Live, st.PeakLive)
	return nil
}
