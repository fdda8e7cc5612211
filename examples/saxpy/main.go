// Saxpy is the smallest program on a device: two buffers, one kernel, one copy back. It runs on a GPU if
// there is one, with the kernel as PTX, and else on this machine's memory, with the kernel as a Go function.
//
//	go run ./examples/saxpy [-n elements] [-host]
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

//go:embed saxpy.ptx
var ptx []byte

func main() {
	n := flag.Int("n", 1<<20, "elements")
	onHost := flag.Bool("host", false, "do not use a GPU")
	flag.Parse()
	if err := run(os.Stdout, *n, *onHost); err != nil {
		fmt.Fprintln(os.Stderr, "saxpy:", err)
		os.Exit(1)
	}
}

// A saxpy enqueues y += a*x on a stream.
type saxpy func(s *alloc.Stream, y, x alloc.Buffer[float32], a float32) error

func run(w io.Writer, n int, onHost bool) error {
	if !onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			return compute(w, gpu, loadPTX, n)
		}
		fmt.Fprintln(w, "no GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return compute(w, dev, goFunction, n)
}

// loadPTX makes a saxpy of the embedded PTX. The kernel keeps its module loaded; what is never unloaded goes
// with the device.
func loadPTX(p *alloc.Pool) (saxpy, error) {
	m, err := cuda.LoadModule(p, ptx)
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel("saxpy")
	if err != nil {
		m.Unload()
		return nil, err
	}
	return func(s *alloc.Stream, y, x alloc.Buffer[float32], a float32) error {
		n := y.Len()
		return k.Launch(s, cuda.Dim{X: (n + 255) / 256}, cuda.Dim{X: 256}, 0, y.Arg(), x.Arg(), alloc.Scalar(a), alloc.Scalar(uint32(n)))
	}, nil
}

// goFunction makes a saxpy of a Go function that runs on the stream, as a kernel does.
func goFunction(*alloc.Pool) (saxpy, error) {
	kernel := func(args host.Args) {
		y, x, a := host.Slice[float32](args, 0), host.Slice[float32](args, 1), host.Value[float32](args, 2)
		for i := range y {
			y[i] += a * x[i]
		}
	}
	return func(s *alloc.Stream, y, x alloc.Buffer[float32], a float32) error {
		return host.Launch(s, kernel, y.Arg(), x.Arg(), alloc.Scalar(a))
	}, nil
}

func compute(w io.Writer, dev alloc.Device, load func(*alloc.Pool) (saxpy, error), n int) (err error) {
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
	apply, err := load(pool)
	if err != nil {
		return err
	}
	in := make([]float32, n)
	for i := range in {
		in[i] = float32(i % 1000)
	}

	x, err := alloc.Make[float32](s, n)
	if err != nil {
		return err
	}
	defer x.Free()
	y, err := alloc.Make[float32](s, n)
	if err != nil {
		return err
	}
	defer y.Free()
	if err := x.CopyFrom(s, in); err != nil {
		return err
	}
	if err := y.Fill(s, 1); err != nil {
		return err
	}
	if err := apply(s, y, x, 2); err != nil {
		return err
	}
	x.Free() // the launch is enqueued; the memory is used again only behind it

	out := make([]float32, n)
	if err := y.CopyTo(s, out); err != nil {
		return err
	}
	y.Free()
	for i, got := range out {
		if want := 1 + 2*in[i]; got != want {
			return fmt.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
	fmt.Fprintf(w, "y = 2x + 1 for %d elements: right\n", n)
	return nil
}
