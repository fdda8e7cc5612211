package bench

import (
	"math/rand/v2"
	"sync"
)

// Stand-ins for the shapes of the allocators that programs use today, in one address range and
// without anything but the bookkeeping: one mutex, a map from pointer to block, neighbours
// that are merged on a free. They track nothing and know no streams.

// A heap hands out addresses.
type heap interface {
	malloc(size int64) uintptr
	free(p uintptr)
}

// A chunk is a block of a stand-in.
type chunk struct {
	ptr         uintptr
	size        int64
	free        bool
	left, right *chunk // neighbours in the range

	a, b *chunk // children in the set, or next and previous in the list
	rank uint32
}

// ordered is a best fit over an ordered set keyed by size and address, the shape of PyTorch's
// and CuPy's allocators: here a treap.
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

// linked is a best fit by a walk along a list of free chunks in order of address, the
// shape of RMM's pool, coalescing by the walk's end included.
type linked struct {
	mu    sync.Mutex
	first *chunk // of the free ones, linked by a
	live  map[uintptr]*chunk
	spare *chunk
}

func newLinked(size int64) *linked {
	return &linked{live: make(map[uintptr]*chunk), first: &chunk{ptr: 1 << 40, size: size, free: true}}
}

func (h *linked) malloc(size int64) uintptr {
	size = (size + 511) &^ 511
	h.mu.Lock()
	defer h.mu.Unlock()
	var best **chunk
	for at := &h.first; *at != nil; at = &(*at).a {
		if c := *at; c.size >= size && (best == nil || c.size < (*best).size) {
			if best = at; c.size == size {
				break
			}
		}
	}
	c := *best
	next := c.a
	if rest := split(c, size, &h.spare); rest != nil {
		rest.a = next
		*best = rest
	} else {
		*best = next
	}
	c.free, c.a = false, nil
	h.live[c.ptr] = c
	return c.ptr
}

func (h *linked) free(p uintptr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.live[p]
	delete(h.live, p)
	c.free = true
	var before *chunk
	at := &h.first
	for *at != nil && (*at).ptr < c.ptr {
		before = *at
		at = &before.a
	}
	c.a, *at = *at, c
	if c.right != nil && c.right == c.a {
		c.a = c.right.a
		join(c, &h.spare)
	}
	if before != nil && c.left == before {
		next := c.a
		join(before, &h.spare)
		before.a = next
	}
}
