package linear

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// A Solver solves a system with work on a stream, and says how that went.
type Solver func(w io.Writer, s *alloc.Stream, k *Kernels, system System) error

// Main is the main function of a program of a name that shows a solver: it reads the flags, and ends the
// program with status 1 if something fails.
func Main(name string, solve Solver) {
	n := flag.Int("n", 1<<20, "rows")
	onHost := flag.Bool("host", false, "do not use a GPU")
	lib := flag.String("lib", "", "file of cuBLAS, if the system's loader does not find it")
	nvrtc := flag.String("nvrtc", "", "file of NVRTC, likewise")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s: %q: there are flags only, see -h\n", name, flag.Args())
		os.Exit(2)
	}
	o := Options{NVRTC: *nvrtc}
	if *lib != "" {
		o.BLAS = []string{*lib}
	}
	if err := Run(os.Stdout, *n, *onHost, o, solve); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Run has a solver solve a system of n rows, on the first GPU if there is one and onHost is false, else on
// this machine's memory.
func Run(w io.Writer, n int, onHost bool, o Options, solve Solver) error {
	if n < 1 || n > MaxRows {
		return fmt.Errorf("%d rows: want at least 1, and at most %d", n, MaxRows)
	}
	if !onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			o.GPU = gpu
			return on(w, gpu, n, o, solve)
		}
		fmt.Fprintln(w, "not on a GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return on(w, dev, n, o, solve)
}

// on has a system of n rows solved on a device.
func on(w io.Writer, dev alloc.Device, n int, o Options, solve Solver) (err error) {
	fmt.Fprintln(w, "device:", dev.Name())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	k, err := Open(pool, o)
	if err != nil {
		return err
	}
	defer k.Close()
	s, err := pool.NewStream()
	if err != nil {
		return err
	}
	if err := solve(w, s, k, Tridiagonal(n, 1)); err != nil {
		return err
	}
	st := pool.Stats()
	fmt.Fprintf(w, "live at the end: %d bytes, at most: %d\n", st.Live, st.PeakLive)
	return nil
}
