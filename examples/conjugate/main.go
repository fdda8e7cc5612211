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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/conjugate/linear"
	"github.com/lastuse/lastuse/examples/conjugate/rewritten"
)

const (
	tolerance = 1e-5 // of the residual's length
	mostSteps = 10_000
)

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
		fmt.Fprintln(os.Stderr, "conjugate:", err)
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

// on solves a system of n rows on a device.
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
	begin := time.Now()
	x, steps, err := rewritten.Solve(s, k, system, tolerance, mostSteps)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d rows, %d elements: %d steps, %v\n", n, len(system.Values), steps,
		time.Since(begin).Round(time.Microsecond))
	fmt.Fprintf(w, "largest error of a row: %.1e\n", system.Error(x))
	st := pool.Stats()
	fmt.Fprintf(w, "live at the end: %d bytes, at most: %d\n", st.Live, st.PeakLive)
	return nil
}
