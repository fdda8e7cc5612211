// Package buf is the other API that the cases are written against: buffers are
// pointers, a second Free is an error, and what its functions do is told by
// lastuse.spec alone.
package buf

import "unsafe"

// A Buf owns a piece of device memory.
type Buf struct {
	p unsafe.Pointer
	n int
}

func get(n int) unsafe.Pointer
func put(p unsafe.Pointer)
func sum(p unsafe.Pointer, n int) float32
func fill(p unsafe.Pointer, n int, x float32)
func launch(p unsafe.Pointer)
func errOf(p unsafe.Pointer) error

// Alloc returns a buffer of n elements, or nil and an error.
func Alloc(n int) (*Buf, error) {
	p := get(n)
	if err := errOf(p); err != nil {
		return nil, err
	}
	return &Buf{p, n}, nil
}

// MustAlloc panics where Alloc returns an error.
func MustAlloc(n int) *Buf {
	b, err := Alloc(n)
	if err != nil {
		panic(err)
	}
	return b
}

// Free gives the memory back. A nil b is fine; freeing twice is not.
func (b *Buf) Free() {
	if b == nil {
		return
	}
	put(b.p)
}

// View returns elements i to j of b. It owns nothing.
func (b *Buf) View(i, j int) *Buf { return &Buf{unsafe.Add(b.p, i), j - i} }

// Ptr returns the device address.
func (b *Buf) Ptr() uintptr { return uintptr(b.p) }

// Len returns the number of elements.
func (b *Buf) Len() int { return b.n }

// Sum reads b.
func (b *Buf) Sum() float32 { return sum(b.p, b.n) }

// Fill sets every element of b to x and returns b.
func (b *Buf) Fill(x float32) *Buf {
	fill(b.p, b.n, x)
	return b
}

// Scale multiplies every element of b by x and returns b.
func (b *Buf) Scale(x float32) *Buf {
	fill(b.p, b.n, x)
	return b
}

// Put writes to b.
func (b *Buf) Put(x float32) error {
	fill(b.p, b.n, x)
	return errOf(b.p)
}

// Plus returns a new buffer, the sum of b and c.
func (b *Buf) Plus(c *Buf) *Buf {
	d := MustAlloc(b.n)
	fill(d.p, d.n, b.Sum()+c.Sum())
	return d
}

// Use reads its arguments.
func Use(bufs ...*Buf) {
	for _, b := range bufs {
		b.Sum()
	}
}

// Launch enqueues work on the buffer at p. It keeps nothing of it.
func Launch(p uintptr) { launch(unsafe.Pointer(p)) }
