package alloc

import (
	"bytes"
	"fmt"
	"unsafe"
)

// A part is the untyped core of a View. Its methods do the work of Buffer's and View's, once
// for all element types; what these tell it is the size of an element. It is a value of
// four words, which stay in registers on the way.
type part struct {
	header *header
	gen    uint64
	off    int64 // bytes from the buffer's start
	n      int   // elements
}

// view returns the elements [i, j) of p.
func (p part) view(i, j int, elem uintptr) part {
	if i < 0 || j < i || j > p.n {
		panic(fmt.Errorf("alloc: view [%d, %d) of %d elements: %w", i, j, p.n, ErrSize))
	}
	p.off += int64(i) * int64(elem)
	p.n = j - i
	return p
}

// arg returns p as an argument of a launch. typ is a nil pointer to the element type.
func (p part) arg(typ any) Arg { return Arg{part: p, typ: elemWord(typ)} }

// begin pins the buffer for work on s and returns the part's address. If the error is nil, end
// must follow. The zero part is always fine and has no address.
func (p part) begin(s *Stream, op string) (Ptr, error) {
	// Whether the stream is being captured is the device's to say, in the same call
	// that enqueues: asking first would cost another one.
	if err := s.open(); err != nil {
		return 0, fmt.Errorf("alloc: %s: %w", op, err)
	}
	return p.resolve(s, op)
}

// resolve is begin on a stream that is known to be ready.
func (p part) resolve(s *Stream, op string) (Ptr, error) {
	ptr, ok := p.pinOn(s)
	if !ok {
		return 0, p.refused(s, op)
	}
	return ptr, nil
}

// refused returns the error for a part that pinOn does not pin.
func (p part) refused(s *Stream, op string) error {
	if p.header.pool != s.pool {
		return fmt.Errorf("alloc: %s: buffer %w", op, ErrForeign)
	}
	return p.header.used(p.gen, op)
}

// pinOn is resolve without words: it reports false if the buffer is of another pool or has been
// freed.
func (p part) pinOn(s *Stream) (Ptr, bool) {
	h := p.header
	if h == nil {
		return 0, true
	}
	if h.pool != s.pool || !h.pin(p.gen) {
		return 0, false
	}
	b := h.block
	if m := s.member(); m != nil {
		m.use(p)
	} else {
		b.usedOn(s.heap)
	}
	if o := s.core.custody; o != nil {
		o.Begin(s.heap.line.handle, uintptr(b.data()), b.room())
	}
	return b.data() + Ptr(p.off), true
}

// usedOn notes that work on hp's stream is given b.
func (b *block) usedOn(hp *heap) { b.usedBy(b.heap(), hp) }

// usedBy is usedOn for the block b of the heap home.
func (b *block) usedBy(home, hp *heap) {
	if hp != home && b.others.Load()&hp.line.bit == 0 {
		b.others.Or(hp.line.bit)
	}
}

// end unpins what begin pinned for s. The work is enqueued by then.
func (p part) end(s *Stream) {
	if p.header != nil {
		if o := s.core.custody; o != nil {
			b := p.header.block
			o.End(s.heap.line.handle, uintptr(b.data()), b.room())
		}
		p.header.unpin(p.gen)
	}
}

// copyHost copies n elements from the host's memory at mem to p, or with out from p to there.
func (p part) copyHost(s *Stream, out bool, mem unsafe.Pointer, n int, elem uintptr) error {
	op, to := "copy in", "into"
	if out {
		op, to = "copy out", "of"
	}
	if n > p.n {
		return fmt.Errorf("alloc: %s: %d elements %s %d: %w", op, n, to, p.n, ErrSize)
	}
	ptr, err := p.begin(s, op)
	if err != nil {
		return err
	}
	defer p.end(s)
	size := int64(n) * int64(elem)
	if size == 0 {
		return nil
	}
	if m := s.member(); m != nil {
		if out {
			return fmt.Errorf("alloc: %s: to Go memory, which a graph cannot fill: Download into page-locked "+
				"memory: %w", op, ErrCapturing)
		}
		if err := m.copyIn(ptr, mem, size); err != nil {
			return fmt.Errorf("alloc: %s: %w", op, err)
		}
		return nil
	}
	pinned, err := s.core.hold(op, mem, size)
	if err != nil {
		return err
	}
	if out {
		err = s.core.dev.CopyOut(s.heap.line.handle, mem, ptr, size)
	} else {
		err = s.core.dev.CopyIn(s.heap.line.handle, ptr, mem, size)
	}
	if s.letGo(pinned, err); err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	return nil
}

func copyParts(s *Stream, dst, src part, elem uintptr) error {
	if src.n > dst.n {
		return fmt.Errorf("alloc: copy: %d elements into %d: %w", src.n, dst.n, ErrSize)
	}
	to, err := dst.begin(s, "copy")
	if err != nil {
		return err
	}
	defer dst.end(s)
	from, err := src.resolve(s, "copy")
	if err != nil {
		return err
	}
	defer src.end(s)
	if size := int64(src.n) * int64(elem); size > 0 {
		if err := s.core.dev.Copy(s.heap.line.handle, to, from, size); err != nil {
			return fmt.Errorf("alloc: copy: %w", err)
		}
	}
	return nil
}

// fill sets all elements to the elem bytes at x. It does not let x escape.
func (p part) fill(s *Stream, x unsafe.Pointer, elem uintptr) error {
	ptr, err := p.begin(s, "fill")
	if err != nil {
		return err
	}
	defer p.end(s)
	if p.n == 0 || elem == 0 {
		return nil
	}
	if err := s.fill(ptr, unsafe.Slice((*byte)(x), elem), int64(p.n)); err != nil {
		return fmt.Errorf("alloc: fill: %w", err)
	}
	return nil
}

// fill writes n copies of x, however wide it is, at ptr.
func (s *Stream) fill(ptr Ptr, x []byte, n int64) error {
	c, stream := s.core, s.heap.line.handle
	width := period(x)
	if width == 1 || width == 2 || width == 4 {
		var pattern uint32
		for i := range width {
			pattern |= uint32(x[i]) << (8 * i)
		}
		return c.dev.Fill(stream, ptr, pattern, width, n*int64(len(x)/width))
	}
	// The first element goes in from the host, then what there is is doubled.
	first := append([]byte(nil), x...)
	var err error
	if m := s.member(); m != nil {
		err = m.copyIn(ptr, unsafe.Pointer(&first[0]), int64(len(x)))
	} else {
		err = c.dev.CopyIn(stream, ptr, unsafe.Pointer(&first[0]), int64(len(x)))
	}
	if err != nil {
		return err
	}
	all := n * int64(len(x))
	for done := int64(len(x)); done < all; {
		more := min(done, all-done)
		if err := c.dev.Copy(stream, ptr+Ptr(done), ptr, more); err != nil {
			return err
		}
		done += more
	}
	return nil
}

// period returns 1, 2 or 4 if x consists of copies of its first bytes, that many of
// them, else len(x).
func period(x []byte) int {
	for _, w := range [...]int{1, 2, 4} {
		if len(x)%w == 0 && bytes.Equal(x[w:], x[:len(x)-w]) {
			return w
		}
	}
	return len(x)
}

func (p part) ptr(s *Stream) Ptr {
	err := s.ready()
	if err != nil {
		panic(fmt.Errorf("alloc: address: %w", err))
	}
	ptr, err := p.resolve(s, "address")
	if err != nil {
		panic(err)
	}
	s.core.tellHeld(s, p)
	p.end(s)
	return ptr
}
