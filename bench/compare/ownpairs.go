package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lastuse/lastuse/alloc"
)

// pairs is how many pairs are made between two looks at the clock.
const pairs = 1000

// A shape makes so many pairs of sizes.
type shape func(s *alloc.Stream, sizes []int) error

// shapes are the programs whose pairs are timed. Each line that makes a buffer is a call site of its own.
var shapes = map[string]shape{"one": one, "alternate": alternate, "live8": live8, "deep": one}

// one makes and frees a size at one site.
func one(s *alloc.Stream, sizes []int) error {
	n := sizes[0]
	for range pairs {
		b, err := alloc.Make[byte](s, n)
		if err != nil {
			return err
		}
		b.Free()
	}
	return nil
}

// alternate makes and frees one size at a site and the next at another.
func alternate(s *alloc.Stream, sizes []int) error {
	m, n := sizes[0], sizes[1]
	for range pairs / 2 {
		b, err := alloc.Make[byte](s, m)
		if err != nil {
			return err
		}
		b.Free()
		c, err := alloc.Make[byte](s, n)
		if err != nil {
			return err
		}
		c.Free()
	}
	return nil
}

// live8 frees the oldest of eight live buffers for each that it makes.
func live8(s *alloc.Stream, sizes []int) error {
	var live [8]alloc.Buffer[byte]
	for i := range pairs {
		b, err := alloc.Make[byte](s, sizes[i%len(sizes)])
		if err != nil {
			return err
		}
		live[i%8].Free()
		live[i%8] = b
	}
	for _, b := range live {
		b.Free()
	}
	return nil
}

// deep calls f under so many calls of its own.
//
//go:noinline
func deep(n int, f func() error) error {
	if n == 0 {
		return f()
	}
	return deep(n-1, f)
}

// pair times pairs on a fresh pool, warm.
func (o *own) pair(q question) (string, error) {
	f, ok := shapes[q.values["shape"]]
	if !ok {
		return "", fmt.Errorf("there is no shape %q", q.values["shape"])
	}
	var sizes []int
	for s := range strings.SplitSeq(q.values["sizes"], ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return "", err
		}
		sizes = append(sizes, n)
	}
	dev := counted(o.dev)
	p, s, err := (&own{dev: dev, kind: o.kind}).pool(0, 1)
	if err != nil {
		return "", err
	}
	defer p.Close()
	depth := 0
	if q.values["shape"] == "deep" {
		depth = 60
	}
	n := 0
	var took time.Duration
	var before, after runtime.MemStats
	err = deep(depth, func() error {
		if err := f(s[0], sizes); err != nil {
			return err
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		dev.take()
		limit := time.Duration(q.number("ms", 20)) * time.Millisecond
		for begin := time.Now(); took < limit; took = time.Since(begin) {
			if err := f(s[0], sizes); err != nil {
				return err
			}
			n += pairs
		}
		runtime.ReadMemStats(&after)
		return nil
	})
	if err != nil {
		return "", err
	}
	answer := fmt.Sprintf("ns=%.2f n=%d allocs=%.4f clock=%.4f what=", float64(took.Nanoseconds())/float64(n), n,
		float64(after.Mallocs-before.Mallocs)/float64(n), clock())
	kinds, calls := dev.take()
	for _, kind := range kinds {
		answer += fmt.Sprintf("%s:%.4f,", kind, float64(calls[kind])/float64(n))
	}
	return answer, p.Close()
}

// spun keeps what clock computes from being left out.
var spun atomic.Uint64

// clock returns the nanoseconds of a multiplication with an addition behind it: four cycles or so.
func clock() float64 {
	const n = 100_000
	x := spun.Load()
	begin := time.Now()
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	took := time.Since(begin)
	spun.Store(x)
	return float64(took.Nanoseconds()) / n
}

// A lonely is what a goroutine that shares nothing writes to.
type lonely struct {
	_    [128]byte
	word atomic.Uint64
	_    [120]byte
}

// streams times pairs by one goroutine and by several, each on a stream of its own, and the same of
// goroutines that share nothing: a machine may have fewer processors than it says.
func (o *own) streams(q question) (string, error) {
	g := int(q.number("goroutines", 2))
	p, s, err := o.pool(0, g)
	if err != nil {
		return "", err
	}
	defer p.Close()
	const many = 50_000
	var failed atomic.Pointer[error]
	run := func(i int) {
		for range many {
			b, err := alloc.Make[byte](s[i], 4096)
			if err != nil {
				failed.Store(&err)
				return
			}
			b.Free()
		}
	}
	words := make([]lonely, g)
	alone := func(i int) {
		for range 3 * many {
			words[i].word.Add(1)
		}
	}
	for range 5 { // each stream has memory of its own, and nothing is lent any more
		together(g, run)
		together(1, run)
	}
	var took, machine [2]time.Duration
	end := time.Now().Add(time.Duration(q.number("ms", 100)) * time.Millisecond)
	for i := 0; i < 3 || time.Now().Before(end); i++ {
		took[0] += together(1, run)
		took[1] += together(g, run)
		machine[0] += together(1, alone)
		machine[1] += together(g, alone)
		if err := failed.Load(); err != nil {
			return "", *err
		}
	}
	times := func(t [2]time.Duration) float64 { return float64(g) * float64(t[0]) / float64(t[1]) }
	return fmt.Sprintf("speedup=%.2f machine=%.2f", times(took), times(machine)), p.Close()
}

// together runs f on so many goroutines that start at one moment, and returns how long it took until the
// last was done.
func together(g int, f func(i int)) time.Duration {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range g {
		ready.Add(1)
		done.Add(1)
		go func() {
			ready.Done()
			<-start
			f(i)
			done.Done()
		}()
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	return time.Since(begin)
}
