package cuda_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
)

// These examples need a GPU, so they are compiled and not run where tests run.

const source = `
__device__ float bias[2];

extern "C" __global__ void scale(float *y, const float *x, float by, unsigned n) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = by * x[i] + bias[0];
}`

// open returns a pool on the first GPU and a module on it.
func open() (*cuda.Device, *alloc.Pool, *cuda.Module) {
	dev, err := cuda.Open(0)
	if err != nil {
		log.Fatal(err)
	}
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := cuda.Compile(pool, source, cuda.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return dev, pool, m
}

// A program asks for the GPU when it starts, and says why there is none.
func ExampleDevice() {
	dev, err := cuda.Open(0)
	if errors.Is(err, cuda.ErrUnavailable) {
		fmt.Println("no GPU:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	fmt.Println(dev.Name())
}

// A library that wants the device's context on its thread is called in Do.
func ExampleDevice_Do() {
	dev, _, _ := open()
	err := dev.Do(func() error {
		return nil // cublasSgemm, cudnnConvolutionForward, ncclAllReduce …
	})
	fmt.Println(err)
}

func ExampleKernel() {
	_, pool, m := open()
	defer m.Unload()
	k, err := m.Kernel("scale")
	if err != nil {
		log.Fatal(err)
	}
	s := pool.DefaultStream()
	x, err := alloc.Make[float32](s, 1000)
	if err != nil {
		log.Fatal(err)
	}
	y, err := alloc.Make[float32](s, 1000)
	if err != nil {
		log.Fatal(err)
	}
	err = k.Launch(s, cuda.Dim{X: 4}, cuda.Dim{X: 256}, 0,
		y.Arg(), x.Arg(), alloc.Scalar(float32(2)), alloc.Scalar(uint32(1000)))
	x.Free() // at once: the launch is before it
	y.Free()
	fmt.Println(err)
}

// A launch has blocks and threads in up to three dimensions; what is 0 counts as 1.
func ExampleDim() {
	fmt.Println(cuda.Dim{X: 4, Y: 2})
}

// A module is loaded once and unloaded when its kernels are needed no more; its memory is tracked.
func ExampleModule() {
	_, _, m := open()
	fmt.Println(m.Bytes() > 0)
	fmt.Println(m.Unload())
}

// Headers and options are the compiler's own; Names are kernels of templates.
func ExampleCompileOptions() {
	cubin, err := cuda.CompileCubin("sm_90", `#include "by.h"
template <class T> __global__ void scale(T *x) { *x *= BY; }`, cuda.CompileOptions{
		Headers: map[string]string{"by.h": "#define BY 2"},
		Options: []string{"--use_fast_math"},
		Names:   []string{"scale<float>"},
	})
	fmt.Println(len(cubin) > 0, err)
}

// A variable of the module is set in stream order.
func ExampleGlobal() {
	_, pool, m := open()
	bias, err := cuda.GlobalOf[float32](m, "bias")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bias.CopyFrom(pool.DefaultStream(), []float32{1, 2}))
}

func ExampleAttributes() {
	_, _, m := open()
	k, err := m.Kernel("scale")
	if err != nil {
		log.Fatal(err)
	}
	a, err := k.Attributes()
	fmt.Println(a.Registers, a.Threads, err)
}

// Devices says what there is, without opening any.
func ExampleInfo() {
	all, err := cuda.Devices()
	for _, d := range all {
		fmt.Printf("%+v\n", d)
	}
	fmt.Println(err)
}

func ExampleLimits() {
	dev, _, _ := open()
	l := dev.Info().Limits
	fmt.Println(l.Multiprocessors, l.Block, l.Shared)
}

// With SyncLaunches the error of a kernel comes from its own launch.
func ExampleOptions() {
	dev, err := cuda.OpenWith(0, cuda.Options{SyncLaunches: true})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
}

// A device without mapping takes its segments from the driver's ordinary allocator.
func ExamplePlain() {
	dev, _, _ := open()
	pool, err := alloc.NewPool(dev.Plain(), alloc.Options{Segment: 256 << 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pool.Close())
}

// Profilers show the stretch with its name and the line of Go.
func ExampleRange() {
	defer cuda.StartRange("attention").End()
}

// An error has what the driver said, and the compiler's log where there is one.
func ExampleError() {
	_, pool, _ := open()
	_, err := cuda.Compile(pool, "no CUDA C", cuda.CompileOptions{})
	var e *cuda.Error
	if errors.As(err, &e) {
		fmt.Println(e.Log)
	}
}

// A child process gets the memory itself, not a copy. There it is
// cuda.Import[float32](s, os.NewFile(3, "memory"), 256).
func ExampleExported() {
	_, pool, _ := open()
	s := pool.DefaultStream()
	x, err := cuda.MakeExported[float32](s, 256)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Free()
	if err := x.Fill(s, 1); err != nil {
		log.Fatal(err)
	}
	f, err := x.File(s) // waits for the Fill
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	child := exec.Command("./child")
	child.ExtraFiles = []*os.File{f}
	fmt.Println(child.Run())
}

// The host writes a table in place, and the kernel reads it there.
func ExampleManaged() {
	_, pool, m := open()
	s := pool.DefaultStream()
	scale, err := m.Kernel("scale")
	if err != nil {
		log.Fatal(err)
	}
	x, err := cuda.MakeManaged[float32](s, 256)
	if err != nil {
		log.Fatal(err)
	}
	table, err := x.Slice(s)
	if err != nil {
		log.Fatal(err)
	}
	table[0] = 42
	err = scale.Launch(s, cuda.Dim{X: 1}, cuda.Dim{X: 256}, 0, x.Arg(), x.Arg(), alloc.Scalar(float32(2)),
		alloc.Scalar(uint32(256)))
	x.Free()
	fmt.Println(err)
}
