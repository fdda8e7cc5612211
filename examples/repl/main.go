// Repl reads kernels one by one, loads each onto the device, runs it and unloads it again, and shows that device memory
// stays as it is. A line is one kernel that changes every element of a buffer: "mul 3", "add 5" or "set 7".
//
//	go run ./examples/repl [-steps n] [-host]        n kernels made up here
//	echo 'set 5' | go run ./examples/repl -steps 0   kernels from standard input
//
// On a GPU each line becomes PTX, which the driver compiles; else a Go function.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

func main() {
	steps := flag.Int("steps", 1000, "kernels to make up; 0 reads them from standard input")
	onHost := flag.Bool("host", false, "do not use a GPU")
	flag.Parse()
	lines := io.Reader(os.Stdin)
	if *steps > 0 {
		lines = madeUp(*steps)
	}
	if err := run(os.Stdout, lines, *onHost); err != nil {
		fmt.Fprintln(os.Stderr, "repl:", err)
		os.Exit(1)
	}
}

// madeUp returns n kernels, no two alike, that leave small numbers behind.
func madeUp(n int) io.Reader {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, [...]string{"set", "add", "mul"}[i%3], 1+i)
	}
	return strings.NewReader(b.String())
}

// A line is what was read: every element x becomes x*mul + add.
type line struct{ mul, add uint32 }

func parse(text string) (line, error) {
	var op string
	var v uint32
	if n, err := fmt.Sscan(text, &op, &v); n != 2 {
		return line{}, fmt.Errorf("%q: %w", text, err)
	}
	switch op {
	case "set":
		return line{0, v}, nil
	case "add":
		return line{1, v}, nil
	case "mul":
		return line{v, 0}, nil
	}
	return line{}, fmt.Errorf("%q: want set, add or mul and a number", text)
}

func run(w io.Writer, lines io.Reader, onHost bool) error {
	if !onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			return loop(w, gpu, runPTX, lines)
		}
		fmt.Fprintln(w, "no GPU:", err)
	}
	dev, err := host.Open(host.Options{Capacity: 1 << 30})
	if err != nil {
		return err
	}
	return loop(w, dev, runGo, lines)
}

// A runner runs one kernel on a buffer and leaves nothing of it behind.
type runner func(s *alloc.Stream, l line, b alloc.Buffer[uint32]) error

// loop runs kernel after kernel on a buffer, checks each, and shows memory now and then.
func loop(w io.Writer, dev alloc.Device, kernel runner, lines io.Reader) (err error) {
	fmt.Fprintln(w, "device:", dev.Name())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	s, err := pool.NewStream()
	if err != nil {
		return err
	}
	b, err := alloc.Make[uint32](s, 1024)
	if err != nil {
		return err
	}
	defer b.Free()
	if err := b.Fill(s, 0); err != nil {
		return err
	}
	want := uint32(0)
	got := make([]uint32, b.Len())
	start, n := time.Now(), 0
	for sc := bufio.NewScanner(lines); sc.Scan(); {
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		l, err := parse(sc.Text())
		if err != nil {
			return err
		}
		if err := kernel(s, l, b); err != nil {
			return err
		}
		if err := b.CopyTo(s, got); err != nil {
			return err
		}
		want = want*l.mul + l.add
		if got[0] != want || got[len(got)-1] != want {
			return fmt.Errorf("after %q: elements are %d, want %d", sc.Text(), got[0], want)
		}
		if n++; n == 1 || n == 10 || n == 100 || n%250 == 0 {
			free, total, err := dev.MemInfo()
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%5d kernels, the last %-8s = %-10d %8s of device memory used, %s live in the books, %v a kernel\n", n, sc.Text(), want,
				humanize.IBytes(uint64(total-free)), humanize.IBytes(uint64(pool.Tracker().Bytes())), (time.Since(start) / time.Duration(n)).Round(time.Microsecond))
		}
	}
	return nil
}

// ptx is a kernel that makes each of n elements x*mul + add. Every module has one of the same name.
const ptx = `.version 6.5
.target sm_50
.address_size 64
.visible .entry step(.param .u64 p, .param .u32 n)
{
	.reg .pred %%p<2>;
	.reg .b32 %%r<8>;
	.reg .b64 %%rd<5>;
	ld.param.u64 %%rd1, [p];
	ld.param.u32 %%r1, [n];
	mov.u32 %%r2, %%ctaid.x;
	mov.u32 %%r3, %%ntid.x;
	mov.u32 %%r4, %%tid.x;
	mad.lo.u32 %%r5, %%r2, %%r3, %%r4;
	setp.ge.u32 %%p1, %%r5, %%r1;
	@%%p1 bra DONE;
	cvta.to.global.u64 %%rd2, %%rd1;
	mul.wide.u32 %%rd3, %%r5, 4;
	add.u64 %%rd4, %%rd2, %%rd3;
	ld.global.u32 %%r6, [%%rd4];
	mul.lo.u32 %%r7, %%r6, %d;
	add.u32 %%r7, %%r7, %d;
	st.global.u32 [%%rd4], %%r7;
DONE:
	ret;
}
`

func runPTX(s *alloc.Stream, l line, b alloc.Buffer[uint32]) error {
	m, err := cuda.LoadModule(s.Pool(), fmt.Appendf(nil, ptx, l.mul, l.add))
	if err != nil {
		return err
	}
	k, err := m.Kernel("step")
	if err == nil {
		n := b.Len()
		err = k.Launch(s, cuda.Dim{X: (n + 255) / 256}, cuda.Dim{X: 256}, 0, b.Arg(), alloc.Scalar(uint32(n)))
	}
	return errors.Join(err, m.Unload())
}

func runGo(s *alloc.Stream, l line, b alloc.Buffer[uint32]) error {
	return host.Launch(s, func(a host.Args) {
		for i, x := range host.Slice[uint32](a, 0) {
			host.Slice[uint32](a, 0)[i] = x*l.mul + l.add
		}
	}, b.Arg())
}
