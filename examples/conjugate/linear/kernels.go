package linear

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

//go:embed kernels.cu
var source string

// Kernels are what a device computes with.
type Kernels struct {
	gpu    *cuda.Device // nil: Go functions
	blas   *library
	module *cuda.Module
	multiply,
	relax,
	divide *cuda.Kernel
}

// Options are what a GPU needs.
type Options struct {
	GPU   *cuda.Device // the pool's device, or nil if that is this machine's memory
	BLAS  []string     // files of cuBLAS, to be tried in turn; nil means what the loader finds
	NVRTC string       // file of NVRTC; "" means what the loader finds
}

// Open returns the kernels for a pool's device. Close must follow.
//
//lastuse:effect result 0 owned on success
func Open(p *alloc.Pool, o Options) (*Kernels, error) {
	k := &Kernels{gpu: o.GPU}
	if o.GPU == nil {
		return k, nil
	}
	var err error
	if k.blas, err = openLibrary(o.GPU, o.BLAS); err != nil {
		return nil, fmt.Errorf("cuBLAS, which comes with the CUDA toolkit, is wanted: -lib names its file: %w", err)
	}
	if k.module, err = cuda.Compile(p, source, cuda.CompileOptions{Name: "kernels.cu", Library: o.NVRTC}); err != nil {
		k.blas.close()
		if errors.Is(err, cuda.ErrUnavailable) {
			err = fmt.Errorf("NVRTC, which comes with the CUDA toolkit, is wanted: -nvrtc names its file: %w", err)
		}
		return nil, err
	}
	for _, x := range []struct {
		to   **cuda.Kernel
		name string
	}{{&k.multiply, "multiply"}, {&k.relax, "relax"}, {&k.divide, "divide"}} {
		if *x.to, err = k.module.Kernel(x.name); err != nil {
			k.Close()
			return nil, err
		}
	}
	return k, nil
}

// Close gives the module and cuBLAS back. What was enqueued still runs.
//
//lastuse:effect recv freed
func (k *Kernels) Close() {
	if k.gpu == nil {
		return
	}
	_ = k.module.Unload()
	k.blas.close()
}

// Multiply enqueues y = m*x.
func (k *Kernels) Multiply(s *alloc.Stream, y alloc.Buffer[float32], m Matrix, x alloc.Buffer[float32]) error {
	if k.gpu == nil {
		return host.Launch(s, multiplied, y.Arg(), m.starts.Arg(), m.columns.Arg(), m.values.Arg(), x.Arg())
	}
	return k.multiply.Launch(s, blocks(m), cuda.Dim{X: threads}, 0, y.Arg(), m.starts.Arg(), m.columns.Arg(),
		m.values.Arg(), x.Arg(), alloc.Scalar(int32(m.Rows())))
}

// Relax enqueues one step of Jacobi's method for m*x = right: y is x with each element made to fit its own
// row, while the others are as x has them; left = right - m*x.
func (k *Kernels) Relax(s *alloc.Stream, y, left alloc.Buffer[float32], m Matrix, right, x alloc.Buffer[float32]) error {
	if k.gpu == nil {
		return host.Launch(s, relaxed, y.Arg(), left.Arg(), m.starts.Arg(), m.columns.Arg(), m.values.Arg(), right.Arg(),
			x.Arg())
	}
	return k.relax.Launch(s, blocks(m), cuda.Dim{X: threads}, 0, y.Arg(), left.Arg(), m.starts.Arg(), m.columns.Arg(),
		m.values.Arg(), right.Arg(), x.Arg(), alloc.Scalar(int32(m.Rows())))
}

// threads are those of a block that works on rows.
const threads = 256

// blocks returns how many blocks there are for a thread to each row.
func blocks(m Matrix) cuda.Dim { return cuda.Dim{X: (m.Rows() + threads - 1) / threads} }

// Divide enqueues q = a/b and negative = -a/b for single numbers; 0/0 is 0.
func (k *Kernels) Divide(s *alloc.Stream, q, negative, a, b alloc.Buffer[float32]) error {
	if k.gpu == nil {
		return host.Launch(s, divided, q.Arg(), negative.Arg(), a.Arg(), b.Arg())
	}
	one := cuda.Dim{X: 1}
	return k.divide.Launch(s, one, one, 0, q.Arg(), negative.Arg(), a.Arg(), b.Arg())
}

// workBytes is what a sum may need beside the vectors.
const workBytes = 4 << 20

// Dot enqueues to = x·y.
func (k *Kernels) Dot(s *alloc.Stream, to, x, y alloc.Buffer[float32]) error {
	if k.gpu == nil {
		return host.Launch(s, dotted, to.Arg(), x.Arg(), y.Arg())
	}
	work, err := alloc.Make[byte](s, workBytes)
	if err != nil {
		return err
	}
	defer work.Free()
	return k.gpu.Do(func() error { return k.blas.dot(s, work, to, x, y) })
}

// Add enqueues y += a*x for a number a.
func (k *Kernels) Add(s *alloc.Stream, y, a, x alloc.Buffer[float32]) error {
	if k.gpu == nil {
		return host.Launch(s, added, y.Arg(), a.Arg(), x.Arg())
	}
	return k.gpu.Do(func() error { return k.blas.add(s, y, a, x) })
}

// Scale enqueues x *= a for a number a.
func (k *Kernels) Scale(s *alloc.Stream, x, a alloc.Buffer[float32]) error {
	if k.gpu == nil {
		return host.Launch(s, scaled, x.Arg(), a.Arg())
	}
	return k.gpu.Do(func() error { return k.blas.scale(s, x, a) })
}

// The work as Go functions, with the arguments in the same order.

func numbers(a host.Args, i int) []float32 { return host.Slice[float32](a, i) }

func multiplied(a host.Args) {
	y, starts, columns := numbers(a, 0), host.Slice[int32](a, 1), host.Slice[int32](a, 2)
	values, x := numbers(a, 3), numbers(a, 4)
	for i := range y {
		y[i] = 0
		for j := starts[i]; j < starts[i+1]; j++ {
			y[i] += values[j] * x[columns[j]]
		}
	}
}

func relaxed(a host.Args) {
	y, left, starts, columns := numbers(a, 0), numbers(a, 1), host.Slice[int32](a, 2), host.Slice[int32](a, 3)
	values, right, x := numbers(a, 4), numbers(a, 5), numbers(a, 6)
	for i := range y {
		sum, own := right[i], float32(0)
		for j := starts[i]; j < starts[i+1]; j++ {
			sum -= values[j] * x[columns[j]]
			if int(columns[j]) == i {
				own = values[j]
			}
		}
		y[i], left[i] = x[i]+sum/own, sum
	}
}

func divided(a host.Args) {
	q := float32(0)
	if y := numbers(a, 3)[0]; y != 0 {
		q = numbers(a, 2)[0] / y
	}
	numbers(a, 0)[0], numbers(a, 1)[0] = q, -q
}

func dotted(a host.Args) {
	sum, y := 0.0, numbers(a, 2)
	for i, x := range numbers(a, 1) {
		sum += float64(x) * float64(y[i])
	}
	numbers(a, 0)[0] = float32(sum)
}

func added(a host.Args) {
	y, f := numbers(a, 0), numbers(a, 1)[0]
	for i, x := range numbers(a, 2) {
		y[i] += f * x
	}
}

func scaled(a host.Args) {
	x, f := numbers(a, 0), numbers(a, 1)[0]
	for i := range x {
		x[i] *= f
	}
}
