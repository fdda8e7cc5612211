package rt

import (
	"iter"
	"testing"

	"github.com/lastuse/lastuse/alloc"
)

// Elem is an element type.
type Elem interface{ ~int64 }

// Filler fills.
type Filler[T Elem] interface {
	Fill(*alloc.Stream, T) error
}

// Sum returns the sum of b, -1 if it cannot be read.
func Sum[T Elem](c *C, b alloc.Buffer[T]) int64 { return read(c.S(), b) }

// Peek is Sum without an operation.
func Peek[T Elem](b alloc.Buffer[T]) int64 {
	return read(current().Stream(), b)
}

func read[T Elem](s *alloc.Stream, b alloc.Buffer[T]) int64 {
	dst := make([]T, b.Len())
	if err := b.CopyTo(s, dst); err != nil {
		return -1
	}
	return total(dst)
}

func total[T Elem](list []T) int64 {
	var n int64
	for _, x := range list {
		n += int64(x)
	}
	return n
}

// SumView is Sum for a view.
func SumView[T Elem](c *C, v alloc.View[T]) int64 {
	dst := make([]T, v.Len())
	if err := v.CopyTo(c.S(), dst); err != nil {
		return -1
	}
	return total(dst)
}

// Pos reports whether the sum is positive.
func Pos[T Elem](c *C, b alloc.Buffer[T]) bool { return Sum(c, b) > 0 }

// Data returns n times x.
func Data[T Elem](n int, x T) []T {
	res := make([]T, n)
	Add(res, x)
	return res
}

// Add adds x to each element.
func Add[T Elem](list []T, x T) {
	for i := range list {
		list[i] += x
	}
}

// Move copies as much of src to dst as fits.
func Move[T Elem](c *C, dst, src alloc.Buffer[T]) error {
	n := min(dst.Len(), src.Len())
	if n == 0 {
		c.S()
		return nil
	}
	return alloc.Copy(c.S(), dst.View(0, n), src.View(0, n))
}

// Quiet fills b without an operation.
func Quiet[T Elem](c *C, b alloc.Buffer[T], x T) { b.Fill(c.Q(), x) }

// Poke writes through a raw pointer.
func Poke(c *C, p alloc.Ptr, x int64) {
	if c.op() {
		return
	}
	c.B_.Poke(p, x)
}

// New is a wrapper around the maker.
func New(c *C, n int) (alloc.Buffer[int64], error) { return alloc.Make[int64](c.S(), n) }

// NewOf is a generic wrapper that checks and wraps the error.
func NewOf[T Elem](c *C, n int) (alloc.Buffer[T], error) {
	b, err := alloc.Make[T](c.S(), n)
	if err != nil {
		return alloc.Buffer[T]{}, err
	}
	return b, nil
}

// Maybe makes a buffer, or nothing, which is no error.
func Maybe[T Elem](c *C, n int) (alloc.Buffer[T], error) {
	if !c.B() {
		return alloc.Buffer[T]{}, nil
	}
	return alloc.Make[T](c.S(), n)
}

// Find makes a buffer and says whether it could.
func Find[T Elem](c *C, n int) (alloc.Buffer[T], bool) {
	b, err := alloc.Make[T](c.S(), n)
	return b, err == nil
}

// Adopted adopts memory made elsewhere.
func Adopted[T Elem](c *C, n int) (alloc.Buffer[T], error) {
	s := c.S()
	p, release := c.B_.Foreign(n * 8)
	b, err := alloc.Adopt[T](s, p, n, release)
	if err != nil {
		release()
	}
	return b, err
}

// Must panics on an error.
func Must[T any](b alloc.Buffer[T], err error) alloc.Buffer[T] {
	if err != nil {
		panic(err)
	}
	return b
}

// Fresh makes a buffer with contents, for use without a name.
func Fresh(c *C, n int) alloc.Buffer[int64] {
	b := Must(alloc.Make[int64](c.S(), n))
	b.Fill(c.Q(), int64(n))
	return b
}

// Count yields n times.
func Count(n int) func(yield func() bool) {
	return func(yield func() bool) {
		for range n {
			if !yield() {
				return
			}
		}
	}
}

// Halves yields each half of b.
func Halves[T Elem](b alloc.Buffer[T]) iter.Seq[alloc.View[T]] {
	return func(yield func(alloc.View[T]) bool) {
		if n := b.Len(); n > 0 && yield(b.View(0, n/2)) {
			yield(b.View(n/2, n))
		}
	}
}

// Later returns a function that calls f.
func Later(f func()) func() { return func() { f() } }

// Again returns a function that returns what f does.
func Again[T any](f func() T) func() T { return func() T { return f() } }

// Twice reads what get returns, twice, without an operation.
func Twice[T Elem](c *C, get func() alloc.Buffer[T]) {
	Report(c, get())
	Report(c, get())
}

// FreeGot frees what get returns.
func FreeGot[T Elem](get func() alloc.Buffer[T]) { get().Free() }

// KeepGot keeps what get returns.
func KeepGot[T Elem](c *C, get func() alloc.Buffer[T]) { Keep(c, get()) }

// Report shows the sum of b without an operation.
func Report[T Elem](c *C, b alloc.Buffer[T]) { c.Out(Peek(b)) }

// Do calls f.
func Do(f func()) { f() }

// Times calls f n times.
func Times(n int, f func()) {
	for range n {
		f()
	}
}

// Touch asks b for its length.
func Touch[T any](b alloc.Buffer[T]) { b.Len() }

// Keep keeps b.
func Keep(c *C, b any) { c.kept = append(c.kept, b) }

// Idle looks at x from a goroutine nobody joins.
func Idle(c *C, x interface{ Len() int }) {
	defer c.wg.Done()
	x.Len()
}

// Sink is a channel that takes a value, or never will.
func Sink[T any](c *C) chan<- T {
	if !c.B() {
		return nil
	}
	ch := make(chan T, 1)
	c.drains = append(c.drains, ch)
	return ch
}

type tb struct {
	testing.TB
	c *C
}

func (t tb) Cleanup(f func()) { t.c.clean = append(t.c.clean, f) }

// TB is a test.
func (c *C) TB() testing.TB { return tb{c: c} }

// Drop frees b if it is told to, and only looks at it otherwise.
func Drop[T Elem](b alloc.Buffer[T], free bool) {
	b.Len()
	if free {
		b.Free()
	}
}

// DropMat is Drop for a Mat.
func DropMat(m *Mat, free bool) {
	m.Len()
	if free {
		m.Close()
	}
}

// Set sets what p points to.
func Set(p *bool) { *p = true }

// State is how far a function got.
type State struct{ Done bool }

// Finish says that it got to the end.
func (s *State) Finish() { s.Done = true }
