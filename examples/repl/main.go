// Repl takes kernels from a terminal, one after the other, runs each on a buffer of numbers and shows what
// the buffer holds then. The device's memory stays as it is, however many kernels come.
//
//	go run ./examples/repl              what is typed, or comes through a pipe; "help" says what may
//	go run ./examples/repl -steps 1000  kernels made up here, and what memory they take
//
// A kernel is CUDA C, which NVRTC compiles:
//
//	> x = i * i;
//	> __device__ unsigned twice(unsigned v) { return 2 * v; }
//	> __global__ void both(unsigned *p, unsigned n) { if (threadIdx.x < n) p[threadIdx.x] += twice(3); }
//	> run both
//
// or one of "set 5", "add 7" and "mul 3", which are PTX on a GPU and a Go function without one.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

func main() {
	steps := flag.Int("steps", 0, "kernels to make up; 0 reads them from standard input")
	onHost := flag.Bool("host", false, "do not use a GPU")
	nvrtc := flag.String("nvrtc", "", "file of NVRTC, if the system's loader does not find it")
	flag.Parse()
	r := &repl{out: os.Stdout, nvrtc: *nvrtc}
	in := io.Reader(os.Stdin)
	if *steps > 0 {
		in, r.every = madeUp(*steps), *steps/8
	} else if at, err := os.Stdin.Stat(); err == nil && at.Mode()&os.ModeCharDevice != 0 {
		r.prompt = "> "
	}
	if err := r.run(in, *onHost); err != nil {
		fmt.Fprintln(os.Stderr, "repl:", err)
		os.Exit(1)
	}
}

// madeUp returns n kernels, no two alike.
func madeUp(n int) io.Reader {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, [...]string{"set", "add", "mul"}[i%3], 1+i)
	}
	return strings.NewReader(b.String())
}

// run opens a GPU, or else this machine's memory as a device, and reads kernels until there are no more.
func (r *repl) run(in io.Reader, onHost bool) error {
	dev, lacks, done, err := open(onHost)
	if err != nil {
		return err
	}
	defer done()
	if r.lacks = lacks; lacks != nil {
		fmt.Fprintln(r.out, "no CUDA C here:", lacks)
	}
	return r.loop(dev, in)
}

// open returns a device. Without a GPU lacks says why, and what would be needed.
func open(onHost bool) (dev alloc.Device, lacks error, done func() error, err error) {
	if onHost {
		lacks = fmt.Errorf("-host")
	} else if gpu, err := cuda.Open(0); err == nil {
		return gpu, nil, gpu.Close, nil
	} else {
		lacks = err
	}
	memory, err := host.Open(host.Options{Capacity: 1 << 30})
	return memory, lacks, func() error { return nil }, err
}
