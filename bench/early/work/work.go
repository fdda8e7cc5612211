// Package work is what the programs of bench/early have in common: a stream, kernels that run on the
// host device, and a gauge of the foreign heap.
package work

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// A Buffer is what all programs compute with.
type Buffer = alloc.Buffer[float32]

// A Dev is a stream with a sticky error: after the first one all calls do nothing, so that the
// programs need no error paths and differ in nothing but their frees.
type Dev struct {
	stream *alloc.Stream
	err    error

	// Samples of the bytes of the foreign heap are taken at each Make and each launch if Sampling is set.
	Sampling bool
	Samples  []int64

	// Dry leaves out what kernels, fills and copies do, but nothing else.
	Dry bool
}

// New returns a Dev on a stream.
func New(s *alloc.Stream) *Dev { return &Dev{stream: s} }

// Finish waits for all work and returns the first error.
func (d *Dev) Finish() error {
	if err := d.stream.Sync(); d.err == nil {
		d.err = err
	}
	return d.err
}

// fail keeps the first error.
func (d *Dev) fail(err error) {
	if d.err == nil && err != nil {
		d.err = fmt.Errorf("work: %w", err)
	}
}

// sample notes the size of the foreign heap.
func (d *Dev) sample() {
	if d.Sampling {
		d.Samples = append(d.Samples, d.stream.Pool().Tracker().Bytes())
	}
}

// Make returns n elements, or none after an error.
func (d *Dev) Make(n int) Buffer {
	if d.err != nil {
		return Buffer{}
	}
	b, err := alloc.Make[float32](d.stream, n)
	d.fail(err)
	d.sample()
	return b
}

// Read waits for the work on b and copies its beginning to dst.
func (d *Dev) Read(dst []float32, b Buffer) {
	if d.Dry {
		d.launch(nil, b.Arg())
	} else if d.err == nil {
		d.fail(b.View(0, min(b.Len(), len(dst))).CopyTo(d.stream, dst))
	}
}

// Fill sets all elements to x.
func (d *Dev) Fill(b Buffer, x float32) {
	if d.Dry {
		d.launch(nil, b.Arg())
	} else if d.err == nil {
		d.fail(b.Fill(d.stream, x))
	}
}

// Copy copies src to the beginning of dst.
func (d *Dev) Copy(dst, src Buffer) {
	if d.Dry {
		d.launch(nil, dst.Arg(), src.Arg())
	} else if d.err == nil {
		d.fail(alloc.Copy(d.stream, dst.View(0, src.Len()), src))
	}
}

// launch enqueues f.
func (d *Dev) launch(f func(host.Args), args ...alloc.Arg) {
	if d.err == nil {
		if d.Dry {
			f = func(host.Args) {}
		}
		d.fail(host.Launch(d.stream, f, args...))
		d.sample()
	}
}
