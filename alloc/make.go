package alloc

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
)

// make is Make, once for all element types. typ is a nil pointer to the element type, elem the element's
// size.
func (s *Stream) make(typ any, elem uintptr, n int) (*header, uint64, error) {
	hi, lo := bits.Mul64(uint64(elem), uint64(n))
	if hi != 0 || lo-1 >= maxSize || s.none() { // n <= 0 as well
		return s.makeNothing(typ, elem, n)
	}
	if s.careful.Load() != 0 {
		return s.makeCarefully(typ, int64(lo))
	}
	return s.makeBlock(typ, int64(lo))
}

// makeBlock makes a buffer of size bytes, which is positive.
func (s *Stream) makeBlock(typ any, size int64) (*header, uint64, error) {
	c, hp := s.core, s.heap
	if s.late.Len() != 0 {
		c.drain(drainPerMake)
	}
	class := -1
	if size <= smallMax {
		class = classOf(size)
	} else {
		size = roundLarge(size)
	}
	hp.mu.Lock()
	if w := elemWord(typ); *hp.elem(w) != w {
		hp.mu.Unlock()
		if err := c.checkElem("make", typ); err != nil {
			return nil, 0, err
		}
		hp.mu.Lock()
		*hp.elem(w) = w
	}
	b := hp.grab(size, class)
	if b == nil {
		hp.mu.Unlock()
		var err error
		if b, err = s.climb(size, class); err != nil {
			return nil, 0, err
		}
		hp.mu.Lock()
	}
	h := hp.headerFor(s.pool, b)
	return h, s.made(hp, h, b), nil
}

// made ends a Make of the live block b, whose generation it returns. hp.mu is held; made gives it up.
func (s *Stream) made(hp *heap, h *header, b *block) (gen uint64) {
	ptr, size, seq := b.ptr, b.size, hp.shard.Seq()
	sample := hp.shard.Sample()
	if sample == 0 {
		hp.mu.Unlock()
		probe.Alloc(uintptr(ptr), uintptr(size), 0, seq)
		return h.word.Load() >> pinBits
	}
	hp.mu.Unlock() // a stack takes its time, and the block is nobody else's
	sample = hp.shard.Site(sample, size)
	hp.mu.Lock()
	b.site = sample
	hp.mu.Unlock()
	probe.Alloc(uintptr(ptr), uintptr(size), uintptr(sample.Site()), seq)
	return h.word.Load() >> pinBits
}

// makeNothing is what remains of a Make that asks for no memory, or for an impossible
// amount.
func (s *Stream) makeNothing(typ any, elem uintptr, n int) (*header, uint64, error) {
	if err := s.ready(); err != nil {
		return nil, 0, fmt.Errorf("alloc: make: %w", err)
	}
	if err := s.core.checkElem("make", typ); err != nil {
		return nil, 0, err
	}
	switch {
	case n < 0:
		return nil, 0, fmt.Errorf("alloc: make: %d elements: %w", n, ErrSize)
	case n == 0 || elem == 0:
		return nil, 0, nil
	}
	return nil, 0, fmt.Errorf("alloc: make: %d elements of %d bytes: %w", n, elem, ErrSize)
}

// elemWord returns a word that stands for the type that typ, a nil pointer, points
// to: the first word of the interface, the address of the pointer type's descriptor.
func elemWord(typ any) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&typ)) }

// elemAlign is what the addresses of type descriptors are multiples of, more or less: it only
// decides how well they spread over heap.elems.
const elemAlign = 32

// elem returns the place among the element types known to be good where that of a word of elemWord
// would be. hp.mu is held.
func (hp *heap) elem(word unsafe.Pointer) *unsafe.Pointer {
	return &hp.elems[uintptr(word)/elemAlign%uintptr(len(hp.elems))]
}

// elemType returns the type that a word of elemWord stands for.
func elemType(word unsafe.Pointer) reflect.Type {
	typ := any((*int)(nil))
	*(*unsafe.Pointer)(unsafe.Pointer(&typ)) = word
	return reflect.TypeOf(typ).Elem()
}

// checkElem returns an error if the type that typ, a nil pointer, points to holds Go
// pointers. The hot path compares one word instead (heap.elems).
func (c *core) checkElem(op string, typ any) error {
	if err := c.checkFlat(reflect.TypeOf(typ).Elem()); err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	return nil
}

// checkFlat returns an error if t holds Go pointers.
func (c *core) checkFlat(t reflect.Type) error {
	if flat(t) {
		return nil
	}
	if _, good := c.types.Load(t); good {
		return nil
	}
	switch path := pointerIn(t); path {
	case "":
	case t.String():
		return fmt.Errorf("%v is a Go pointer or holds one: %w", t, ErrType)
	default:
		return fmt.Errorf("%v: %s is a Go pointer: %w", t, path, ErrType)
	}
	c.types.Store(t, nil)
	return nil
}

// flat reports whether t is plainly without pointers.
func flat(t reflect.Type) bool {
	k := t.Kind()
	return k >= reflect.Bool && k <= reflect.Complex128
}

// pointerIn returns the part of t that is a Go pointer or holds one, or "".
func pointerIn(t reflect.Type) string {
	switch {
	case flat(t):
		return ""
	case t.Kind() == reflect.Array:
		if t.Len() == 0 {
			return ""
		}
		return pointerIn(t.Elem())
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if path := pointerIn(f.Type); path != "" {
				if f.Type.Kind() != reflect.Struct {
					return "field " + f.Name
				}
				return path
			}
		}
		return ""
	}
	return t.String()
}
