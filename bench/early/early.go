// Package early compares four programs in four forms: with no frees, with deferred ones, as lastuse
// rewrites them, and freed by hand. What differs is how much foreign memory they hold, and for how
// long.
package early

//go:generate go run rewrite.go

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/early/deferred"
	"github.com/lastuse/lastuse/bench/early/hand"
	"github.com/lastuse/lastuse/bench/early/plain"
	"github.com/lastuse/lastuse/bench/early/rewritten"
	"github.com/lastuse/lastuse/bench/early/work"
	"github.com/lastuse/lastuse/internal/cputime"
)

// Programs are the names of the programs.
var Programs = []string{"loop", "blur", "train", "serve"}

// Forms are the names of their forms: the collector alone, deferred, rewritten, by hand.
var Forms = []string{"collector", "defer", "lastuse", "hand"}

var functions = map[string]map[string]func(*work.Dev, int){
	"loop":  {"collector": plain.Loop, "defer": deferred.Loop, "lastuse": rewritten.Loop, "hand": hand.Loop},
	"blur":  {"collector": plain.Blur, "defer": deferred.Blur, "lastuse": rewritten.Blur, "hand": hand.Blur},
	"train": {"collector": plain.Train, "defer": deferred.Train, "lastuse": rewritten.Train, "hand": hand.Train},
	"serve": {"collector": plain.Serve, "defer": deferred.Serve, "lastuse": rewritten.Serve, "hand": hand.Serve},
}

// A Result is what one run of a program took.
type Result struct {
	Wall    time.Duration
	CPU     time.Duration // of the whole process; 0 where the system does not say
	Peak    int64         // bytes of the foreign heap
	Mean    float64       // bytes, over the samples; 0 without
	Cycles  uint32        // collections
	Late    int64         // buffers that the collector had to free
	Samples []int64       // bytes of the foreign heap, after each call
}

// Run runs a form of a program once, with at most limit bytes of foreign memory. An error for which
// errors.Is(err, alloc.ErrOutOfMemory) is true says that it did not fit.
func Run(program, form string, batch int, limit int64, sampling bool) (Result, error) {
	return run(program, form, batch, limit, func(d *work.Dev) { d.Sampling = sampling })
}

func run(program, form string, batch int, limit int64, set func(*work.Dev)) (Result, error) {
	f := functions[program][form]
	if f == nil {
		return Result{}, fmt.Errorf("early: no form %q of program %q", form, program)
	}
	dev, err := host.Open(host.Options{})
	if err != nil {
		return Result{}, err
	}
	pool, err := alloc.NewPool(dev, alloc.Options{Limit: limit})
	if err != nil {
		return Result{}, err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin, cpu := time.Now(), cputime.Process()
	d := work.New(pool.DefaultStream())
	set(d)
	f(d, batch)
	err = d.Finish()
	r := Result{Wall: time.Since(begin), CPU: cputime.Process() - cpu, Samples: d.Samples}
	runtime.ReadMemStats(&after)
	st := pool.Stats()
	r.Peak, r.Late, r.Cycles = st.PeakLive, st.Late, after.NumGC-before.NumGC
	for _, s := range d.Samples {
		r.Mean += float64(s) / float64(len(d.Samples))
	}
	var live *alloc.LiveError
	if closed := pool.Close(); !errors.As(closed, &live) { // what it leaves is the subject here
		err = errors.Join(err, closed)
	}
	return r, err
}

// Largest returns the largest batch with which a form of a program runs within limit bytes, up to
// most. It runs them dry: what the kernels compute matters to no buffer.
func Largest(program, form string, limit int64, most int) (int, error) {
	fits, fails := 0, most+1
	for fails-fits > 1 {
		batch := (fits + fails) / 2
		switch _, err := run(program, form, batch, limit, func(d *work.Dev) { d.Dry = true }); {
		case err == nil:
			fits = batch
		case errors.Is(err, alloc.ErrOutOfMemory):
			fails = batch
		default:
			return 0, err
		}
	}
	return fits, nil
}
