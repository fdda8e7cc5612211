// Cblas multiplies two matrices with a C library that knows nothing of lastuse: cuBLAS on a GPU, where both are there, else
// a C function on this machine's memory (a Go function, where the program was built without cgo). It shows what foreign
// code needs: the stream's handle, the buffers' addresses, and that the buffers are alive until the work is enqueued.
//
//	go run ./examples/cblas [-n rows] [-host] [-lib libcublas.so.13]
//
// Neither CUDA nor cuBLAS is needed to build: the library is opened at run time.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// libraries are the names that cuBLAS goes by, the newest first.
var libraries = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so"}

func main() {
	n := flag.Int("n", 256, "rows and columns")
	onHost := flag.Bool("host", false, "do not use a GPU")
	lib := flag.String("lib", "", "file of cuBLAS, if the system's loader does not find it")
	flag.Parse()
	names := libraries
	if *lib != "" {
		names = []string{*lib}
	}
	if err := run(os.Stdout, *n, *onHost, names); err != nil {
		fmt.Fprintln(os.Stderr, "cblas:", err)
		os.Exit(1)
	}
}

// A multiply enqueues c = a*b for square matrices of n rows, row by row in memory.
type multiply func(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error

func run(w io.Writer, n int, onHost bool, names []string) error {
	if !onHost {
		gpu, lib, err := openGPU(names)
		if err == nil {
			defer gpu.Close()
			defer lib.close()
			return compute(w, gpu, lib.multiply, n)
		}
		fmt.Fprintln(w, "not on a GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return compute(w, dev, onHostMemory, n)
}

// openGPU opens the first GPU and cuBLAS. The error says what is missing.
func openGPU(names []string) (*cuda.Device, *library, error) {
	gpu, err := cuda.Open(0)
	if err != nil {
		return nil, nil, err
	}
	var missing []error
	for _, name := range names {
		lib, err := openLibrary(name)
		if err == nil {
			return gpu, lib, nil
		}
		missing = append(missing, err)
	}
	_ = gpu.Close()
	return nil, nil, errors.Join(missing...)
}

// onHostMemory enqueues the multiplication by C code that runs where the stream runs, with the memory it is handed there.
func onHostMemory(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
	return host.Launch(s, func(args host.Args) {
		rows := int(host.Value[int64](args, 3))
		product(host.Slice[float32](args, 0), host.Slice[float32](args, 1), host.Slice[float32](args, 2), rows)
	}, c.Arg(), a.Arg(), b.Arg(), alloc.Scalar(int64(n)))
}

func compute(w io.Writer, dev alloc.Device, apply multiply, n int) (err error) {
	fmt.Fprintln(w, "device:", dev.Name())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := pool.Close(); err == nil {
			err = cerr
		}
	}()
	s, err := pool.NewStream()
	if err != nil {
		return err
	}
	x, y := make([]float32, n*n), make([]float32, n*n)
	for i := range x {
		x[i], y[i] = float32(i%7)-3, float32(i%5)-2
	}
	z, err := multiplied(s, apply, x, y, n)
	if err != nil {
		return err
	}
	if err := check(z, x, y, n); err != nil {
		return err
	}
	fmt.Fprintf(w, "c = a*b for %d by %d elements by %s: right\n", n, n, via(dev))
	fmt.Fprintln(w, "live at the end:", pool.Stats().Live, "bytes")
	return nil
}

// multiplied returns x*y. The factors are freed as soon as the multiplication is enqueued.
func multiplied(s *alloc.Stream, apply multiply, x, y []float32, n int) ([]float32, error) {
	a, err := alloc.Make[float32](s, len(x))
	if err != nil {
		return nil, err
	}
	defer a.Free()
	b, err := alloc.Make[float32](s, len(y))
	if err != nil {
		return nil, err
	}
	defer b.Free()
	if err := errors.Join(a.CopyFrom(s, x), b.CopyFrom(s, y)); err != nil {
		return nil, err
	}
	c, err := alloc.Make[float32](s, n*n)
	if err != nil {
		return nil, err
	}
	defer c.Free()
	if err := apply(s, c, a, b, n); err != nil {
		return nil, err
	}
	a.Free()
	b.Free()
	z := make([]float32, n*n)
	return z, c.CopyTo(s, z)
}

// check recomputes some elements of z = x*y.
func check(z, x, y []float32, n int) error {
	for at := 0; at < n*n; at += 1 + n*n/1000 {
		i, j := at/n, at%n
		want := 0.0
		for k := range n {
			want += float64(x[i*n+k]) * float64(y[k*n+j])
		}
		// Products of small whole numbers; a library may sum them up at less precision than it stores.
		if got := float64(z[at]); math.Abs(got-want) > 1e-3*float64(n) {
			return fmt.Errorf("row %d, column %d is %v, want %v", i, j, got, want)
		}
	}
	return nil
}

func via(dev alloc.Device) string {
	if _, ok := dev.(*cuda.Device); ok {
		return "cuBLAS"
	}
	return language
}
