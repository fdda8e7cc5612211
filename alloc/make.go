package alloc

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
	"github.com/lastuse/lastuse/tracker"
)

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

// Frames from finish to the caller of the exported function, for the sites.
const (
	depthMake    = 4 // makeBlock, make, Make
	depthCareful = 5 // makeBlock, makeCarefully, make, Make
	depthChecked = 6 // makeBlock, makeChecked, makeCarefully, make, Make
	depthAdopt   = 3 // adopt, Adopt
)

// makeBlock makes a buffer of size bytes, which is positive. The caller of Make is depth frames above
// what finish calls. If hp is not nil it is a locked heap of the stream; if b is not nil either, it
// is live in it and counted, and all that is missing is its header or its site.
func (s *Stream) makeBlock(typ any, size int64, hp *heap, b *block, depth int) (*header, uint64, error) {
	if hp == nil {
		if s.late.Len() != 0 {
			s.core.drain(drainPerMake)
		}
		hp = s.lane.pick()
		if !hp.mu.TryLock() {
			hp = s.lane.contended(hp)
		}
	}
	if b == nil {
		w := elemWord(typ)
		if known := hp.elem(w); *known != w {
			hp.mu.Unlock()
			if err := s.core.checkElem("make", typ); err != nil {
				return nil, 0, err
			}
			hp.mu.Lock()
			*known = w
		}
		class := -1
		if size <= smallMax {
			class = classOf(size)
		} else {
			size = roundLarge(size)
		}
		if b = hp.grab(size, class); b == nil {
			hp.mu.Unlock()
			var err error
			if b, err = s.climb(hp, size, class); err != nil { // b is live and its heap locked
				return nil, 0, err
			}
			hp = b.heap
		}
	}
	ptr, size, seq := b.ptr, b.size, hp.shard.Seq()
	h := hp.headerFor(b)
	sampled := hp.shard.Sample(size)
	if sampled && h != nil {
		if b.site = hp.shard.SiteAgain(depthAgain, size); b.site != 0 {
			sampled = false
		}
	}
	if sampled || h == nil {
		return s.finish(hp, b, h, sampled, seq, depth)
	}
	site := b.site
	hp.mu.Unlock()
	probe.Alloc(uintptr(ptr), uintptr(size), uintptr(site), seq)
	return h, h.word.Load() >> pinBits, nil
}

// depthAgain is how many frames lie between a call in makeBlock and its caller: what the
// stacks of Shard.SiteAgain begin with.
const depthAgain = 0

// finish ends a Make whose block needs a header, or whose site is to be taken. The
// heap hp of the live block b is locked; finish unlocks it.
func (s *Stream) finish(hp *heap, b *block, h *header, sampled bool, seq uintptr, depth int) (*header, uint64, error) {
	ptr, size := b.ptr, b.size
	hp.mu.Unlock()
	// Both take their time, and the block is nobody else's.
	fresh := h == nil
	if fresh {
		h = newHeader(s.pool, hp)
	}
	var site tracker.SiteID
	if sampled {
		site = s.core.books.Site(depth, hp.shard, size)
	}
	hp.mu.Lock()
	if fresh {
		h.bind(b)
	}
	b.site = site
	if sampled && depth == depthMake {
		hp.shard.Remember(depthAgain+1, site)
	}
	hp.mu.Unlock()
	probe.Alloc(uintptr(ptr), uintptr(size), uintptr(site), seq)
	return h, h.word.Load() >> pinBits, nil
}

// freed is the end of every Free: what needs no lock. told says that the books know already what
// the site has lost.
func (c *core) freed(hp *heap, site tracker.SiteID, told bool, ptr Ptr, size int64, seq, how uintptr) {
	if !told {
		c.books.Unsite(site, size, how == probe.Late)
	}
	if c.recording {
		c.recordFree(hp, ptr, size, how)
	}
	probe.Free(uintptr(ptr), uintptr(size), uintptr(site), seq, how)
	if c.closed.Load() {
		c.leftover()
	}
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
