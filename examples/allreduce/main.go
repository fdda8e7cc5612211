// Allreduce adds up numbers that lie on several GPUs, so that each has the total: what data-parallel training
// does with its gradients. NCCL does the work on streams of our pools, one on each GPU. The program checks
// the total and says how long a sum took.
//
//	go run ./examples/allreduce [-n elements] [-gpus count] [-host] [-lib libnccl.so.2]
//
// Neither CUDA nor NCCL is needed to build: NCCL is opened at run time. What is missing is said; with fewer
// than two GPUs two devices in this machine's memory add up by a Go function.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// libraries are the names that NCCL goes by.
var libraries = []string{"libnccl.so.2", "libnccl.so"}

func main() {
	n := flag.Int("n", 1<<20, "numbers on each device")
	gpus := flag.Int("gpus", 0, "how many GPUs; 0 is all, if there are two")
	onHost := flag.Bool("host", false, "use no GPU")
	lib := flag.String("lib", "", "file of NCCL, if the system's loader does not find it")
	flag.Parse()
	names := libraries
	if *lib != "" {
		names = []string{*lib}
	}
	if err := run(os.Stdout, *n, *gpus, *onHost, names); err != nil {
		fmt.Fprintln(os.Stderr, "allreduce:", err)
		os.Exit(1)
	}
}

// A rank is one of the devices, with a pool and a stream.
type rank struct {
	gpu  *cuda.Device // nil: the host's memory
	pool *alloc.Pool
	s    *alloc.Stream
}

func run(w io.Writer, n, gpus int, onHost bool, names []string) error {
	if !onHost {
		count, err := enough(gpus)
		if err == nil {
			return onGPUs(w, n, count, names)
		}
		fmt.Fprintln(w, "not on GPUs:", err)
	}
	var devs []alloc.Device
	for range 2 {
		dev, err := host.Open(host.Options{})
		if err != nil {
			return err
		}
		devs = append(devs, dev)
	}
	return withRanks(devs, func(ranks []rank) error {
		return report(w, ranks, n, "a Go function", onHostMemory)
	})
}

// enough returns how many GPUs to use, or why none.
func enough(want int) (int, error) {
	all, err := cuda.Devices()
	switch {
	case err != nil:
		return 0, err
	case want > len(all):
		return 0, fmt.Errorf("there are %d, not %d", len(all), want)
	case want == 0 && len(all) < 2:
		return 0, errors.New("a sum over GPUs wants two, and there is one: -gpus 1 uses that alone")
	case want == 0:
		want = len(all)
	}
	return want, nil
}

func onGPUs(w io.Writer, n, count int, names []string) error {
	var devs []alloc.Device
	for i := range count {
		gpu, err := cuda.Open(i)
		if err != nil {
			return err
		}
		defer gpu.Close()
		devs = append(devs, gpu)
	}
	return withRanks(devs, func(ranks []rank) error {
		lib, err := openLibrary(ranks, names)
		if err != nil {
			return fmt.Errorf("NCCL, a package of its own beside the CUDA toolkit, is wanted: -lib names its file: "+
				"%w", err)
		}
		defer lib.close()
		return report(w, ranks, n, "NCCL "+lib.version(), lib.sum)
	})
}

// withRanks calls f with a pool and a stream on each device.
func withRanks(devs []alloc.Device, f func(ranks []rank) error) (err error) {
	var ranks []rank
	for _, dev := range devs {
		p, e := alloc.NewPool(dev, alloc.Options{})
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, p.Close()) }() // says what is still live
		s, e := p.NewStream()
		if e != nil {
			return e
		}
		gpu, _ := dev.(*cuda.Device)
		ranks = append(ranks, rank{gpu, p, s})
	}
	return f(ranks)
}

// A part is what one device has: its own numbers, and room for everybody's total.
type part struct {
	s           *alloc.Stream
	mine, total alloc.Buffer[float32]
}

func (p part) free() {
	p.mine.Free()
	p.total.Free()
}

// An adder enqueues the sum of all parts' numbers, element by element, into the total of each.
type adder func(parts []part) error

// repeats is how often a sum is timed.
const repeats = 10

// report adds up and says how long that took and how many bytes went over each link.
func report(w io.Writer, ranks []rank, n int, how string, add adder) error {
	for _, r := range ranks {
		fmt.Fprintln(w, "device:", r.pool.Device().Name())
	}
	took, err := total(ranks, n, add)
	if err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	k := float64(len(ranks))
	fmt.Fprintf(w, "%d numbers of each of %d devices added up by %s: right, %v, %.3g GB/s over each link\n", n,
		len(ranks), how, took.Round(time.Microsecond/10), 2*(k-1)/k*4*float64(n)/took.Seconds()/1e9)
	return nil
}

// total makes each device's numbers, has them added up, and checks what each device has then. What the sum
// reads is freed as soon as the last sum is enqueued.
func total(ranks []rank, n int, add adder) (time.Duration, error) {
	var parts []part
	defer func() {
		for _, p := range parts {
			p.free()
		}
	}()
	for i, r := range ranks {
		p, err := numbers(r.s, i, n)
		if err != nil {
			return 0, err
		}
		parts = append(parts, p)
	}
	s := ranks[0].s
	var start alloc.Event
	for i := range 1 + repeats {
		if i == 1 { // the first one is there to be warm
			start = s.RecordTimed()
		}
		if err := add(parts); err != nil {
			return 0, err
		}
	}
	end := s.RecordTimed()
	want := expected(len(ranks), n)
	for i, p := range parts {
		p.mine.Free()
		got := make([]float32, n)
		if err := p.total.CopyTo(p.s, got); err != nil {
			return 0, err
		}
		if !slices.Equal(got, want) {
			return 0, fmt.Errorf("device %d has a total that is not the sum", i)
		}
	}
	took, err := end.Sub(start)
	return took / repeats, err
}

// numbers returns the part of device i.
func numbers(s *alloc.Stream, i, n int) (p part, err error) {
	p.s = s
	if p.mine, err = alloc.Make[float32](s, n); err != nil {
		return part{}, err
	}
	if p.total, err = alloc.Make[float32](s, n); err != nil {
		p.free()
		return part{}, err
	}
	if err = p.mine.CopyFrom(s, ownNumbers(i, n)); err != nil {
		p.free()
		return part{}, err
	}
	return p, nil
}

// ownNumbers are small and whole, so that every order of adding them comes to the same.
func ownNumbers(i, n int) []float32 {
	x := make([]float32, n)
	for j := range x {
		x[j] = float32(j%7 + i)
	}
	return x
}

func expected(ranks, n int) []float32 {
	sum := make([]float32, n)
	for i := range ranks {
		for j, x := range ownNumbers(i, n) {
			sum[j] += x
		}
	}
	return sum
}

// onHostMemory adds up without a library: it waits for all devices.
func onHostMemory(parts []part) error {
	var sum []float32
	for _, p := range parts {
		x := make([]float32, p.mine.Len())
		if err := p.mine.CopyTo(p.s, x); err != nil {
			return err
		}
		if sum == nil {
			sum = x
			continue
		}
		for j := range sum {
			sum[j] += x[j]
		}
	}
	for _, p := range parts {
		if err := p.total.CopyFrom(p.s, sum); err != nil {
			return err
		}
	}
	return nil
}
