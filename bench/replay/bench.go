package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/trace"
	"github.com/lastuse/lastuse/tracker"
)

// granule is what limits are rounded up to: the unit in which drivers give memory.
const granule = 2 << 20

// A machine is where traces are replayed.
type machine struct {
	name   string // of the pools in the results
	device func() (alloc.Device, error)
	// small returns a device with so many bytes free. What makes it so must be undone.
	small func(free int64) (d alloc.Device, undo func() error, err error)
	close func() error
}

func openHost() (machine, error) {
	open := func(capacity int64) (alloc.Device, error) { return host.Open(host.Options{Capacity: capacity}) }
	return machine{
		name: "lastuse-host",
		// Untouched memory costs the host nothing, so there may be more of it than the machine has.
		device: func() (alloc.Device, error) { return open(1 << 40) },
		small: func(free int64) (alloc.Device, func() error, error) {
			d, err := open(free)
			return d, func() error { return nil }, err
		},
		close: func() error { return nil },
	}, nil
}

func openCUDA() (machine, error) {
	dev, err := cuda.Open(0)
	if err != nil {
		return machine{}, err
	}
	small := func(free int64) (alloc.Device, func() error, error) {
		has, _, err := dev.MemInfo()
		if err != nil {
			return nil, nil, err
		}
		rest := (has - free) &^ (granule - 1)
		if rest <= 0 {
			return nil, nil, fmt.Errorf("the device has %d bytes free: fewer than the limit of %d", has, free)
		}
		p, err := dev.Alloc(rest)
		return dev, func() error { return dev.Free(p, rest) }, err
	}
	return machine{
		name:   "lastuse-cuda",
		device: func() (alloc.Device, error) { return dev, nil },
		small:  small,
		close:  dev.Close,
	}, nil
}

// A bench replays one trace.
type bench struct {
	machine
	w     io.Writer
	trace *trace.Trace
	name  string
}

// run prints a line for each round and each limit.
func (b *bench) run(count int, limits []float64) error {
	peak := b.trace.Peak()
	for range count {
		// Sites are what no other allocator takes: with and without, in turns.
		for _, c := range []struct {
			name  string
			sites *tracker.Tracker
		}{{b.machine.name, nil}, {b.machine.name + "-nosites", tracker.New(tracker.Options{Rate: -1})}} {
			d, err := b.device()
			if err != nil {
				return err
			}
			runtime.GC() // what earlier rounds left does not come back in this one
			cold, warm, err := b.replay(d, alloc.Options{Tracker: c.sites}, 2, 0)
			if err != nil {
				return err
			}
			steps := float64(cold.Steps)
			fmt.Fprintf(b.w, "BenchmarkTrace/trace=%s/pool=%s 1 %.1f ns/event %.1f cold-ns/event %d reserved-B %d requested-B %d events %d failures\n", b.name, c.name,
				float64(warm.Time)/steps, float64(cold.Time)/steps, cold.Stats.PeakReserved, peak, cold.Steps, cold.Failures)
		}
	}
	for _, times := range limits {
		free := (int64(float64(peak)*times) + granule - 1) &^ (granule - 1)
		d, undo, err := b.small(free)
		if err != nil {
			return err
		}
		r, _, err := b.replay(d, alloc.Options{}, 1, 1)
		if err = errors.Join(err, undo()); err != nil {
			return err
		}
		all, _ := b.trace.Steps()
		fmt.Fprintf(b.w, "BenchmarkTraceLimit/trace=%s/pool=%s/limit=%.2f 1 %d failures %.4f done %d free-B\n", b.name, b.machine.name, times,
			r.Failures, float64(r.Steps)/float64(len(all)), free)
	}
	return nil
}

// replay plays the trace so many times on a new pool and returns what the first and the last came to.
func (b *bench) replay(d alloc.Device, o alloc.Options, times, failures int) (first, last trace.Replayed, err error) {
	p, err := alloc.NewPool(d, o)
	if err != nil {
		return first, last, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	pl, err := b.trace.Player(p)
	if err != nil {
		return first, last, err
	}
	defer func() { err = errors.Join(err, pl.Close()) }()
	for i := range times {
		if last, err = pl.Play(failures); err != nil {
			return first, last, err
		}
		if i == 0 {
			first = last
		}
	}
	return first, last, nil
}
