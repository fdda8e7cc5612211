// Package kit opens a checked pool on a checked device for one hostile program.
package kit

import (
	"fmt"
	"os"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"

	"ext.test"
)

var (
	pool   *alloc.Pool
	stream *alloc.Stream
)

// Main runs one program between the opening of the pool and its inspection.
func Main(run func()) {
	dev, err := host.Open(host.Options{})
	if err != nil {
		panic(err)
	}
	ordered := alloctest.NewOrder(dev, func(f *alloctest.Finding) { fmt.Println("ORDER", f) })
	if pool, err = alloc.NewPool(ordered, alloc.Options{Check: true}); err != nil {
		panic(err)
	}
	if stream, err = pool.NewStream(); err != nil {
		panic(err)
	}
	run()
	if err := stream.Sync(); err != nil {
		panic(err)
	}
	if err := pool.Check(); err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "live=%d foreign=%d\n", pool.Stats().Live, ext.Live())
}

// Stream is the stream that programs use.
func Stream() *alloc.Stream { return stream }

// Pool is the pool that programs use.
func Pool() *alloc.Pool { return pool }

// Make makes a buffer of n elements, each x.
func Make(n int, x float32) alloc.Buffer[float32] {
	b, err := alloc.Make[float32](stream, n)
	if err != nil {
		panic(err)
	}
	if err := b.Fill(stream, x); err != nil {
		panic(err)
	}
	return b
}

// Try makes a buffer, or fails for a negative n.
func Try(n int) (alloc.Buffer[float32], error) {
	b, err := alloc.Make[float32](stream, max(n, 0))
	if err != nil {
		return b, err
	}
	if n < 0 {
		return alloc.Buffer[float32]{}, fmt.Errorf("kit: no room for %d", n)
	}
	return b, b.Fill(stream, 1)
}

// Sum adds up a buffer.
func Sum(b alloc.Buffer[float32]) float64 { return SumView(b.All()) }

// SumView adds up what a view sees.
func SumView(v alloc.View[float32]) float64 {
	d := make([]float32, v.Len())
	if err := v.CopyTo(stream, d); err != nil {
		panic(err)
	}
	t := 0.0
	for _, x := range d {
		t += float64(x)
	}
	return t
}

// Set fills a buffer.
func Set(b alloc.Buffer[float32], x float32) {
	if err := b.Fill(stream, x); err != nil {
		panic(err)
	}
}
