package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
)

// elements is how many numbers the kernels work on.
const elements = 1024

// A repl is one session: a buffer, and the CUDA C that has been entered.
type repl struct {
	out    io.Writer
	prompt string // on a terminal
	nvrtc  string // file of the compiler, or ""
	lacks  error  // why there is no GPU, or nil
	every  int    // say what memory is taken after so many kernels, instead of each result; 0: each result

	pool    *alloc.Pool
	s       *alloc.Stream
	b       alloc.Buffer[uint32]
	numbers []uint32          // what b holds
	before  string            // declarations, which stand before every kernel
	kernels map[string]kernel // by name, as they were entered last
	loads   int
}

// A kernel stays loaded until another of its name comes.
type kernel struct {
	module *cuda.Module
	*cuda.Kernel
}

// loop runs what in holds on dev.
func (r *repl) loop(dev alloc.Device, in io.Reader) (err error) {
	fmt.Fprintln(r.out, "device:", dev.Name())
	if r.pool, err = alloc.NewPool(dev, alloc.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.pool.Close()) }()
	if r.s, err = r.pool.NewStream(); err != nil {
		return err
	}
	if r.b, err = alloc.Make[uint32](r.s, elements); err != nil {
		return err
	}
	defer r.b.Free()
	if err := r.b.Fill(r.s, 0); err != nil {
		return err
	}
	r.numbers, r.kernels = make([]uint32, elements), map[string]kernel{}
	defer func() {
		for _, k := range r.kernels {
			err = errors.Join(err, k.module.Unload())
		}
	}()
	units := newUnits(in, func(more bool) {
		if fmt.Fprint(r.out, r.prompt); more {
			fmt.Fprint(r.out, r.prompt)
		}
	})
	for u, ok := units.next(); ok; u, ok = units.next() {
		if u.text == "quit" {
			return nil
		}
		err := r.do(u)
		if errors.Is(err, cuda.ErrBroken) {
			return fmt.Errorf("%w: start again", err) // nothing works until the process ends
		}
		if err != nil {
			fmt.Fprintln(r.out, "error:", err)
		}
	}
	return units.err()
}

// do does what a unit says.
func (r *repl) do(u unit) error {
	word, rest, _ := strings.Cut(u.text, " ")
	switch {
	case u.text == "help":
		fmt.Fprintln(r.out, help)
		return nil
	case u.text == "memory":
		return r.memory()
	case u.text == "kernels":
		fmt.Fprintln(r.out, "kernels:", strings.Join(slices.Sorted(maps.Keys(r.kernels)), " "))
		return nil
	case word == "run":
		k, ok := r.kernels[strings.TrimSpace(rest)]
		if !ok {
			return fmt.Errorf("no kernel %q has been entered", strings.TrimSpace(rest))
		}
		return r.ran(u, r.launch(k.Kernel))
	case word == "set" || word == "add" || word == "mul":
		l, err := parse(u.text)
		if err != nil {
			return err
		}
		return r.short(u, l)
	case r.lacks != nil:
		return fmt.Errorf("CUDA C needs a GPU and NVRTC, which comes with the CUDA toolkit; here set, add and "+
			"mul do: %w", r.lacks)
	}
	return r.cudaC(u)
}

const help = `x = x * 3 + i;    CUDA C for each number x, whose index is i of n
__global__ …      a kernel of (unsigned *p, unsigned n), which is run and kept: "run NAME" runs it again
__device__ …      also #define, struct, template, …: declarations for all that comes
set 5  add 7  mul 3
memory  kernels  help  quit`

// ran shows what the buffer holds after a kernel that was enqueued, unless failed says that it was not.
func (r *repl) ran(u unit, failed error) error {
	if failed != nil {
		return failed
	}
	if err := r.b.CopyTo(r.s, r.numbers); err != nil {
		return err
	}
	r.loads++
	if r.every > 0 {
		if r.loads == 1 || r.loads == 10 || r.loads%r.every == 0 {
			return r.memory()
		}
		return nil
	}
	fmt.Fprintf(r.out, "%s: %s …\n", u.title(), strings.Trim(fmt.Sprint(r.numbers[:8]), "[]"))
	return nil
}

// memory says what memory is taken.
func (r *repl) memory() error {
	free, total, err := r.pool.Device().MemInfo()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.out, "%5d kernels, %s of device memory used (%d bytes), %s live in the books\n",
		r.loads, humanize.IBytes(uint64(total-free)), total-free,
		humanize.IBytes(uint64(r.pool.Tracker().Bytes())))
	return err
}

// launch enqueues a kernel on all numbers.
func (r *repl) launch(k *cuda.Kernel) error {
	err := k.Launch(r.s, cuda.Dim{X: (elements + 255) / 256}, cuda.Dim{X: 256}, 0, r.b.Arg(),
		alloc.Scalar(uint32(elements)))
	if errors.Is(err, cuda.ErrArguments) {
		err = fmt.Errorf("%w: kernels take (unsigned *p, unsigned n) here", err)
	}
	return err
}
