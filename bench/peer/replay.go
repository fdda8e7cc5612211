package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/bench/trace"
)

// trace replays steps on a fresh pool: cold, once more, and as often as there is time for.
func (p *peer) trace(q ask.Line) (string, error) {
	steps, err := trace.ReadSteps(q.Values["file"])
	if err != nil {
		return "", err
	}
	before := p.free()
	pool, s, err := p.pool(q.Number("limit", 0), steps.Streams)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	pl := steps.Player(pool, s)
	var ns, calls []string
	last := int64(0)
	play := func() (float64, error) {
		r, err := pl.Play(0)
		if err == nil && r.Failures > 0 {
			err = fmt.Errorf("%d allocations found no memory", r.Failures)
		}
		calls = append(calls, strconv.FormatInt(r.Stats.DeviceCalls-last, 10))
		last = r.Stats.DeviceCalls
		return float64(r.Time.Nanoseconds()) / float64(len(steps.All)), err
	}
	runtime.GC() // what earlier pools left does not come back in this one
	cold, err := play()
	if err == nil {
		_, err = play()
	}
	end := time.Now().Add(time.Duration(q.Number("ms", 100)) * time.Millisecond)
	for i := int64(0); err == nil && i < q.Number("replays", 5) && (i == 0 || time.Now().Before(end)); i++ {
		var x float64
		if x, err = play(); err == nil {
			ns = append(ns, strconv.FormatFloat(x, 'f', 1, 64))
		}
	}
	if err != nil {
		return "", err
	}
	reserved, taken := pool.Stats().PeakReserved, before-p.free()
	return fmt.Sprintf("cold=%.1f ns=%s reserved=%d taken=%d calls=%s", cold, strings.Join(ns, ","), reserved,
		taken, strings.Join(calls, ",")), pool.Close()
}

// limit replays steps once on a device that has only so much memory free, and says how far it came.
func (p *peer) limit(q ask.Line) (answer string, err error) {
	steps, err := trace.ReadSteps(q.Values["file"])
	if err != nil {
		return "", err
	}
	small, undo, err := p.small(q.Number("free", 0))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, undo()) }()
	pool, s, err := small.pool(0, steps.Streams)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	r, err := steps.Player(pool, s).Play(1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("done=%.4f", float64(r.Steps)/float64(len(steps.All))), pool.Close()
}

// small returns what has a device with so many bytes free, and what undoes that.
func (p *peer) small(free int64) (*peer, func() error, error) {
	if _, ok := p.dev.(*host.Device); ok {
		d, err := host.Open(host.Options{Capacity: free})
		return &peer{dev: d, kind: p.kind}, func() error { return nil }, err
	}
	const granule = 2 << 20
	rest := (p.free() - free) &^ (granule - 1)
	if rest <= 0 {
		return nil, nil, errors.New("the device has less memory free than the limit")
	}
	at, err := p.dev.Alloc(rest)
	return p, func() error { return p.dev.Free(at, rest) }, err
}

// first times a fresh pool and its first buffer.
func (p *peer) first(q ask.Line) (string, error) {
	before := p.free()
	t0 := time.Now()
	pool, s, err := p.pool(0, 1)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	had := pool.Stats().Reserved
	t1 := time.Now()
	b, err := alloc.Make[byte](s[0], int(q.Number("size", 0)))
	took := time.Since(t1)
	if err != nil {
		return "", err
	}
	a := fmt.Sprintf("ns=%d new=%d reserved=%d taken=%d", took, t1.Sub(t0), pool.Stats().Reserved-had,
		before-p.free())
	b.Free()
	return a, pool.Close()
}

// copy times copies from and to Go memory. A copy to the device has arrived when its time ends.
func (p *peer) copy(q ask.Line) (string, error) {
	pool, ss, err := p.pool(0, 1)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	s, n := ss[0], int(q.Number("size", 0))
	b, err := alloc.Make[byte](s, n)
	if err != nil {
		return "", err
	}
	if len(p.memory) < n { // made once: to fill it takes longer than to copy it
		p.memory = make([]byte, n)
		for i := 0; i+8 <= n; i += 8 {
			binary.LittleEndian.PutUint64(p.memory[i:], uint64(i)*0x9e3779b97f4a7c15)
		}
	}
	memory := p.memory[:n]
	in, fresh := q.Values["dir"] == "in", q.Values["fresh"] == "1"
	once := func() error {
		switch {
		case in:
			return errors.Join(b.CopyFrom(s, memory), s.Sync())
		case fresh:
			return b.CopyTo(s, make([]byte, n))
		}
		return b.CopyTo(s, memory)
	}
	if err := once(); err != nil {
		return "", err
	}
	var all []string
	end := time.Now().Add(time.Duration(q.Number("ms", 100)) * time.Millisecond)
	for i := 0; i < 3 || i < 50 && time.Now().Before(end); i++ {
		begin := time.Now()
		if err := once(); err != nil {
			return "", err
		}
		all = append(all, strconv.FormatInt(time.Since(begin).Nanoseconds(), 10))
	}
	b.Free()
	return "ns=" + strings.Join(all, ","), pool.Close()
}
