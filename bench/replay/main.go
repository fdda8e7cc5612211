// Replay replays traces of allocations on a pool and prints lines that benchstat reads, or writes a trace in another form.
//
//	go run ./bench/replay [-device host|cuda] [-count 10] FILE…
//	go run ./bench/replay -write lastuse|rmm FILE >OTHER
//
// Files are what bench/trace reads: traces of alloc.Options.Trace, RMM's logs, memory snapshots of PyTorch's, compressed with
// gzip or not. Each is replayed on a new pool, which has to grow (cold), and once more on the same (warm): a line for each
// such round has the time of an event in both, and the most that was reserved. Then the device is made so small that only so many
// times the trace's own peak is free, and a line says whether the replay comes to its end: on the host by the device's
// capacity, on a GPU by an allocation that takes all the rest.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lastuse/lastuse/bench/trace"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("replay: ")
	device := flag.String("device", "host", "`host` or cuda")
	count := flag.Int("count", 10, "rounds")
	limits := flag.String("limits", "1,1.05,1.1,1.25", "memory of the device, in `times` the most that a trace asks for, a comma between")
	write := flag.String("write", "", "write the trace in this `form`, lastuse or rmm, and replay nothing")
	flag.Parse()
	if err := run(os.Stdout, *device, *count, *limits, *write, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, device string, count int, limits, write string, files []string) error {
	if len(files) == 0 {
		return errors.New("which trace?")
	}
	if write != "" {
		return convert(w, write, files)
	}
	var open func() (machine, error)
	switch device {
	case "host":
		open = openHost
	case "cuda":
		open = openCUDA
	default:
		return fmt.Errorf("device %q is neither host nor cuda", device)
	}
	var times []float64
	for s := range strings.SplitSeq(limits, ",") {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || x <= 0 {
			return fmt.Errorf("limit %q is no positive number", s)
		}
		times = append(times, x)
	}
	m, err := open()
	if err != nil {
		return err
	}
	defer m.close()
	for _, file := range files {
		t, err := trace.Open(file)
		if err != nil {
			return err
		}
		b := bench{machine: m, w: w, trace: t, name: traceName(file)}
		if err := b.run(count, times); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// traceName returns what a trace is called: its file's name up to the first point.
func traceName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}

// convert writes one trace in a form.
func convert(w io.Writer, form string, files []string) error {
	if len(files) != 1 {
		return errors.New("one trace at a time")
	}
	t, err := trace.Open(files[0])
	if err != nil {
		return err
	}
	if t.Skipped > 0 {
		log.Printf("%s: %d events are left out: allocations that failed, and what does not fit together", files[0], t.Skipped)
	}
	switch form {
	case "lastuse":
		return t.Write(w)
	case "rmm":
		return t.WriteRMM(w)
	}
	return fmt.Errorf("form %q is neither lastuse nor rmm", form)
}
