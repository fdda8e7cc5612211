package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/bench/ask"
)

// pairs is how many pairs are made between two looks at the clock.
const pairs = 1000

// A shape makes so many pairs of sizes.
type shape func(s *alloc.Stream, sizes []float64) error

// shapes are the programs whose pairs are timed. Each line that makes a buffer is a call site of its own.
var shapes = map[string]shape{"one": one, "alternate": alternate, "live8": live8, "deep": one}

// one makes and frees a size at one site.
func one(s *alloc.Stream, sizes []float64) error {
	n := int(sizes[0])
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
func alternate(s *alloc.Stream, sizes []float64) error {
	m, n := int(sizes[0]), int(sizes[1])
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
func live8(s *alloc.Stream, sizes []float64) error {
	var live [8]alloc.Buffer[byte]
	for i := range pairs {
		b, err := alloc.Make[byte](s, int(sizes[i%len(sizes)]))
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
func (p *peer) pair(q ask.Line) (string, error) {
	name, sizes := q.Values["shape"], q.List("sizes")
	f, ok := shapes[name]
	if !ok || len(sizes) == 0 {
		return "", fmt.Errorf("there is no shape %q of %d sizes", name, len(sizes))
	}
	pool, s, err := p.pool(0, 1)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	depth := 0
	if name == "deep" {
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
		limit := time.Duration(q.Number("ms", 20)) * time.Millisecond
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
	allocs := float64(after.Mallocs-before.Mallocs) / float64(n)
	ns := float64(took.Nanoseconds()) / float64(n)
	return fmt.Sprintf("ns=%.2f n=%d allocs=%.4f", ns, n, allocs), pool.Close()
}
