// Cublas multiplies two matrices by cuBLAS, and by a kernel of its own in CUDA C, and compares what comes of
// it and how long it takes. It shows what a library of CUDA's needs: the device's context (Do), the stream's
// handle, the buffers' addresses, a workspace, and that the buffers live until the work is enqueued.
//
//	go run ./examples/cublas [-n rows] [-host] [-lib libcublas.so.13] [-nvrtc libnvrtc.so.13]
//
// Neither CUDA nor cuBLAS is needed to build: both libraries are opened at run time. What is missing is said;
// without a GPU a Go function multiplies on this machine's memory.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// libraries are the names that cuBLAS goes by, the newest first.
var libraries = []string{"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so", "libcublas.so"}

func main() {
	n := flag.Int("n", 1024, "rows and columns")
	onHost := flag.Bool("host", false, "do not use a GPU")
	lib := flag.String("lib", "", "file of cuBLAS, if the system's loader does not find it")
	nvrtc := flag.String("nvrtc", "", "file of NVRTC, likewise")
	flag.Parse()
	names := libraries
	if *lib != "" {
		names = []string{*lib}
	}
	if err := run(os.Stdout, *n, *onHost, names, *nvrtc); err != nil {
		fmt.Fprintln(os.Stderr, "cublas:", err)
		os.Exit(1)
	}
}

// A method enqueues c = a*b for square matrices of n rows, row by row in memory.
type method struct {
	name  string
	apply func(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error
}

// maxRows is how many rows a matrix may have, whose elements cuBLAS and we count by int32.
const maxRows = 46_340

func run(w io.Writer, n int, onHost bool, names []string, nvrtc string) error {
	if n < 1 || n > maxRows {
		return fmt.Errorf("matrices of %d rows: want at least 1, and at most %d", n, maxRows)
	}
	if !onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			return onGPU(w, gpu, n, names, nvrtc)
		}
		fmt.Fprintln(w, "not on a GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return withPool(w, dev, func(p *alloc.Pool) error {
		return compare(w, p, n, []method{{"a Go function", onHostMemory}})
	})
}

// onGPU compares cuBLAS and our kernel, as far as there is what they need.
func onGPU(w io.Writer, gpu *cuda.Device, n int, names []string, nvrtc string) error {
	return withPool(w, gpu, func(p *alloc.Pool) error {
		var methods []method
		lib, err := openLibrary(gpu, names)
		if err == nil {
			defer lib.close()
			methods = append(methods, method{"cuBLAS " + lib.version(), lib.multiply})
		} else {
			fmt.Fprintln(w, "without cuBLAS, which comes with the CUDA toolkit; -lib names its file:", err)
		}
		ours, err := compile(p, nvrtc)
		if err == nil {
			defer ours.unload()
			methods = append(methods, method{"our kernel", ours.multiply})
		} else {
			fmt.Fprintln(w, "without our kernel:", err)
		}
		return compare(w, p, n, methods)
	})
}

// withPool calls f with a pool on dev, and says what is live at the end.
func withPool(w io.Writer, dev alloc.Device, f func(p *alloc.Pool) error) error {
	fmt.Fprintln(w, "device:", dev.Name())
	p, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	if err := f(p); err != nil {
		_ = p.Close()
		return err
	}
	fmt.Fprintln(w, "live at the end:", p.Stats().Live, "bytes")
	return p.Close()
}

// compare multiplies the same matrices by all methods.
func compare(w io.Writer, p *alloc.Pool, n int, methods []method) error {
	s, err := p.NewStream()
	if err != nil {
		return err
	}
	x, y := make([]float32, n*n), make([]float32, n*n)
	for i := range x {
		x[i], y[i] = float32(i%7)-3, float32(i%5)-2
	}
	var first []float32
	for _, m := range methods {
		z, d, err := multiplied(s, m, x, y, n)
		if err != nil {
			return err
		}
		if err := check(z, x, y, n); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(w, "c = a*b for %d by %d elements by %s: right, %v, %.3g TFLOP/s\n", n, n, m.name,
			d.Round(time.Microsecond/10), 2*math.Pow(float64(n), 3)/d.Seconds()/1e12)
		if first == nil {
			first = z
			continue
		}
		most := 0.0
		for i := range z {
			most = max(most, math.Abs(float64(z[i]-first[i])))
		}
		fmt.Fprintf(w, "largest difference to %s: %v\n", methods[0].name, most)
	}
	return nil
}

// repeats is how often a multiplication is timed.
const repeats = 10

// multiplied returns x*y and how long one multiplication took the device. The factors are freed as soon as
// the last multiplication is enqueued.
func multiplied(s *alloc.Stream, m method, x, y []float32, n int) ([]float32, time.Duration, error) {
	a, err := alloc.Make[float32](s, len(x))
	if err != nil {
		return nil, 0, err
	}
	defer a.Free()
	b, err := alloc.Make[float32](s, len(y))
	if err != nil {
		return nil, 0, err
	}
	defer b.Free()
	if err := a.CopyFrom(s, x); err != nil {
		return nil, 0, err
	}
	if err := b.CopyFrom(s, y); err != nil {
		return nil, 0, err
	}
	c, err := alloc.Make[float32](s, n*n)
	if err != nil {
		return nil, 0, err
	}
	defer c.Free()
	var start alloc.Event
	for i := range 1 + repeats {
		if i == 1 { // the first one is there to be warm
			start = s.RecordTimed()
		}
		if err := m.apply(s, c, a, b, n); err != nil {
			return nil, 0, err
		}
	}
	end := s.RecordTimed()
	a.Free()
	b.Free()
	z := make([]float32, n*n)
	if err := c.CopyTo(s, z); err != nil {
		return nil, 0, err
	}
	d, err := end.Sub(start)
	return z, d / repeats, err
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
