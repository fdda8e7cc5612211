// Reduction adds up numbers, batch after batch, by graphs: the program of NVIDIA's samples simpleCudaGraphs,
// ported. A graph takes its numbers from page-locked memory when it is launched, so that one capture serves
// all batches. They go up in pieces, on a stream each, so that one piece is added up while the next is on its
// way; and there are two graphs, so that the host fills the memory of one while the other runs.
//
//	go run ./examples/reduction [-n numbers] [-batches count] [-host] [-nvrtc libnvrtc.so.13]
//
// The two kernels are CUDA C, compiled at run time; without a GPU Go functions do the same on this machine's
// memory.
package main

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

func main() {
	n := flag.Int("n", 1<<24, "numbers of a batch")
	batches := flag.Int("batches", 20, "how many batches")
	hosted := flag.Bool("host", false, "do not use a GPU")
	nvrtc := flag.String("nvrtc", "", "file of NVRTC, if the system's loader does not find it")
	flag.Parse()
	if err := run(os.Stdout, *n, *batches, *hosted, *nvrtc); err != nil {
		fmt.Fprintln(os.Stderr, "reduction:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, n, batches int, hosted bool, nvrtc string) error {
	if n < pieces || batches < 1 {
		return fmt.Errorf("%d batches of %d numbers: want at least 1 of %d", batches, n, pieces)
	}
	if !hosted {
		gpu, err := cuda.Open(0)
		if err == nil {
			defer gpu.Close()
			return on(w, gpu, func(p *alloc.Pool) (kernels, error) { return compiled(p, nvrtc) }, n, batches)
		}
		fmt.Fprintln(w, "not on a GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return err
	}
	return on(w, dev, func(*alloc.Pool) (kernels, error) { return onHost, nil }, n, batches)
}

// on adds up batches of n numbers on a device.
func on(w io.Writer, dev alloc.Device, load func(*alloc.Pool) (kernels, error), n, batches int) (err error) {
	fmt.Fprintln(w, "device:", dev.Name())
	pool, err := alloc.NewPool(dev, alloc.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }() // says what is still live
	k, err := load(pool)
	if err != nil {
		return err
	}
	var streams [pieces]*alloc.Stream
	for i := range streams {
		if streams[i], err = pool.NewStream(); err != nil {
			return err
		}
	}
	var turns [2]*turn
	for i := range turns {
		t, err := newTurn(&streams, k, n)
		if err != nil {
			return err
		}
		defer t.close()
		turns[i] = t
	}
	s := streams[0]
	begin := s.RecordTimed()
	for batch := range batches {
		t := turns[batch%len(turns)]
		if batch >= len(turns) {
			if err := t.check(batch - len(turns)); err != nil {
				return err
			}
		}
		t.fill(batch)
		if err := t.graph.Launch(s); err != nil {
			return err
		}
		t.ran = s.Record()
	}
	end := s.RecordTimed()
	for batch := max(0, batches-len(turns)); batch < batches; batch++ {
		if err := turns[batch%len(turns)].check(batch); err != nil {
			return err
		}
	}
	took, err := end.Sub(begin)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d batches of %d numbers: right, %v, %.3g GB/s with the host's part\n", batches, n, took,
		4*float64(n)*float64(batches)/took.Seconds()/1e9)
	return nil
}
