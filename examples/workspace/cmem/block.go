// Package cmem owns memory of the C heap (or of a mapping, where there is no C
// compiler) the way the idea's first sketch did: tracked by hand, released by a
// finalizer that the constructor armed.
package cmem

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/lastuse/lastuse/tracker"
)

// ErrNoMemory says that the C heap gave nothing.
var ErrNoMemory = errors.New("out of memory")

// A Block owns size bytes outside the Go heap.
type Block struct {
	p    unsafe.Pointer
	size int
	t    *tracker.Tracker
}

// Alloc returns a block of size bytes, counted by t. The caller may Free it; if
// nobody does, a finalizer will.
//
//lastuse:effect result 0 owned on success
func Alloc(t *tracker.Tracker, size int) (*Block, error) {
	if size <= 0 {
		return nil, fmt.Errorf("cmem: size %d: must be positive", size)
	}
	p := allocate(size)
	if p == nil {
		return nil, fmt.Errorf("cmem: %d bytes: %w", size, ErrNoMemory)
	}
	t.Alloc(uintptr(p), int64(size))
	b := &Block{p: p, size: size, t: t}
	runtime.SetFinalizer(b, (*Block).Free)
	return b, nil
}

// Bytes returns the block's memory, good until Free or until b is unreachable.
//
//lastuse:effect result 0 views recv
func (b *Block) Bytes() []byte { return unsafe.Slice((*byte)(b.p), b.size) }

// Free gives the memory back and disarms the finalizer. It may be repeated.
//
//lastuse:effect recv freed repeatable
func (b *Block) Free() {
	if b.p == nil {
		return
	}
	runtime.SetFinalizer(b, nil)
	if err := b.t.Free(uintptr(b.p)); err != nil {
		panic("cmem: " + err.Error()) // the books disagree with this block: a bug here
	}
	release(b.p, b.size)
	b.p = nil
}
