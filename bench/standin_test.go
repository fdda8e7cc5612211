package bench

import (
	"math/rand/v2"
	"sync"
)

// A chunk is a block of the stand-in.
type chunk struct {
	ptr         uintptr
	size        int64
	free        bool
	left, right *chunk // neighbours in the range

	a, b *chunk // children in the set; a is the next of the spare ones
	rank uint32
}

// ordered is a best fit over an ordered set keyed by size and address, the shape of PyTorch's
// and CuPy's allocators: here a treap. It is a stand-in without anything but the bookkeeping, in one
// address range: one mutex, a map from pointer to block, neighbours that are merged on a free.
type ordered struct {
	mu    sync.Mutex
	root  *chunk
	live  map[uintptr]*chunk
	spare *chunk
}

func newOrdered(size int64) *ordered {
	h := &ordered{live: make(map[uintptr]*chunk)}
	h.insert(&chunk{ptr: 1 << 40, size: size, free: true})
	return h
}

func less(x *chunk, size int64, ptr uintptr) bool {
	return x.size < size || x.size == size && x.ptr < ptr
}

func (h *ordered) insert(c *chunk) {
	c.rank, c.a, c.b = rand.Uint32(), nil, nil
	at := &h.root
	for *at != nil && (*at).rank > c.rank {
		if less(*at, c.size, c.ptr) {
			at = &(*at).b
		} else {
			at = &(*at).a
		}
	}
	c.a, c.b = cut(*at, c.size, c.ptr)
	*at = c
}

// cut parts a treap at a key.
func cut(x *chunk, size int64, ptr uintptr) (below, above *chunk) {
	if x == nil {
		return nil, nil
	}
	if less(x, size, ptr) {
		x.b, above = cut(x.b, size, ptr)
		return x, above
	}
	below, x.a = cut(x.a, size, ptr)
	return below, x
}

func (h *ordered) remove(c *chunk) {
	at := &h.root
	for *at != c {
		if less(*at, c.size, c.ptr) {
			at = &(*at).b
		} else {
			at = &(*at).a
		}
	}
	*at = merge(c.a, c.b)
}

func merge(x, y *chunk) *chunk {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	case x.rank > y.rank:
		x.b = merge(x.b, y)
		return x
	}
	y.a = merge(x, y.a)
	return y
}

// lowerBound returns the smallest chunk of at least size bytes.
func (h *ordered) lowerBound(size int64) *chunk {
	var best *chunk
	for x := h.root; x != nil; {
		if less(x, size, 0) {
			x = x.b
		} else {
			best, x = x, x.a
		}
	}
	return best
}

func (h *ordered) malloc(size int64) uintptr {
	size = (size + 511) &^ 511
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.lowerBound(size)
	h.remove(c)
	if rest := split(c, size, &h.spare); rest != nil {
		h.insert(rest)
	}
	c.free = false
	h.live[c.ptr] = c
	return c.ptr
}

func (h *ordered) free(p uintptr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.live[p]
	delete(h.live, p)
	c.free = true
	if r := c.right; r != nil && r.free {
		h.remove(r)
		join(c, &h.spare)
	}
	if l := c.left; l != nil && l.free {
		h.remove(l)
		join(l, &h.spare)
		c = l
	}
	h.insert(c)
}

// split cuts c and returns the rest, or nil.
func split(c *chunk, size int64, spare **chunk) *chunk {
	if c.size == size {
		return nil
	}
	rest := *spare
	if rest == nil {
		rest = new(chunk)
	} else {
		*spare = rest.a
	}
	*rest = chunk{ptr: c.ptr + uintptr(size), size: c.size - size, free: true, left: c, right: c.right}
	if c.right != nil {
		c.right.left = rest
	}
	c.right, c.size = rest, size
	return rest
}

// join makes c and its right neighbour one.
func join(c *chunk, spare **chunk) {
	r := c.right
	c.size += r.size
	c.right = r.right
	if r.right != nil {
		r.right.left = c
	}
	r.a, *spare = *spare, r
}
