package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/trace"
)

// trace replays steps on a fresh pool: cold, once more, and as often as there is time for.
func (o *own) trace(q question) (string, error) {
	steps, err := readSteps(q.values["file"])
	if err != nil {
		return "", err
	}
	before := o.free()
	dev := counted(o.dev)
	p, s, err := (&own{dev: dev, kind: o.kind}).pool(q.number("limit", 0), steps.streams)
	if err != nil {
		return "", err
	}
	defer p.Close()
	pl := trace.NewPlayer(p, s, steps.all, steps.places)
	var ns, calls, what []string
	var last, most int64
	dev.take()
	play := func() (float64, error) {
		r, err := pl.Play(0)
		if err == nil && r.Failures > 0 {
			err = fmt.Errorf("%d allocations found no memory", r.Failures)
		}
		n := r.Stats.DeviceCalls - last
		last = r.Stats.DeviceCalls
		calls = append(calls, strconv.FormatInt(n, 10))
		if kinds, times := dev.take(); len(calls) > 2 && n > most {
			most, what = n, nil // of the warm replay that called most
			for _, kind := range kinds {
				what = append(what, fmt.Sprintf("%s:%d", kind, times[kind]))
			}
		}
		return float64(r.Time.Nanoseconds()) / float64(len(steps.all)), err
	}
	runtime.GC() // what earlier pools left does not come back in this one
	cold, err := play()
	if err == nil {
		_, err = play()
	}
	end := time.Now().Add(time.Duration(q.number("ms", 100)) * time.Millisecond)
	for i := int64(0); err == nil && i < q.number("replays", 5) && (i == 0 || time.Now().Before(end)); i++ {
		var x float64
		if x, err = play(); err == nil {
			ns = append(ns, strconv.FormatFloat(x, 'f', 1, 64))
		}
	}
	if err != nil {
		return "", err
	}
	reserved, taken := p.Stats().PeakReserved, before-o.free()
	return fmt.Sprintf("cold=%.1f ns=%s reserved=%d taken=%d calls=%s what=%s", cold, strings.Join(ns, ","),
		reserved, taken, strings.Join(calls, ","), strings.Join(what, ",")), p.Close()
}

// limit replays steps once on a device that has only so much memory free, and says how far it came.
func (o *own) limit(q question) (answer string, err error) {
	steps, err := readSteps(q.values["file"])
	if err != nil {
		return "", err
	}
	small, undo, err := o.small(q.number("free", 0))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, undo()) }()
	p, s, err := small.pool(0, steps.streams)
	if err != nil {
		return "", err
	}
	defer p.Close()
	r, err := trace.NewPlayer(p, s, steps.all, steps.places).Play(1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("done=%.4f", float64(r.Steps)/float64(len(steps.all))), p.Close()
}

// small returns what has a device with so many bytes free, and what undoes that.
func (o *own) small(free int64) (*own, func() error, error) {
	if _, ok := o.dev.(*host.Device); ok {
		d, err := host.Open(host.Options{Capacity: free})
		return &own{dev: d, kind: o.kind}, func() error { return nil }, err
	}
	const granule = 2 << 20
	rest := (o.free() - free) &^ (granule - 1)
	if rest <= 0 {
		return nil, nil, errors.New("the device has less memory free than the limit")
	}
	p, err := o.dev.Alloc(rest)
	return o, func() error { return o.dev.Free(p, rest) }, err
}
