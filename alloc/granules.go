package alloc

import "github.com/lastuse/lastuse/internal/lockrank"

// granules says what of a segment is mapped, and where each extent begins. Where the device does not map,
// bits is nil and all of the segment is memory.
type granules struct {
	base Ptr
	size int64 // bytes
	unit int64 // bytes

	mu     lockrank.Mutex[rankGranules]
	bits   []uint64 // mapped
	starts []uint64 // first granule of an extent
}

// at returns the number of the granule at p.
func (g *granules) at(p Ptr) int64 { return int64(p-g.base) / g.unit }

func bit(set []uint64, i int64) bool { return set[i/64]>>(i%64)&1 != 0 }

// add notes that [p, p+size) has been mapped as one extent.
func (g *granules) add(p Ptr, size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.at(p)
	g.starts[i/64] |= 1 << (i % 64)
	for end := i + size/g.unit; i < end; i++ {
		g.bits[i/64] |= 1 << (i % 64)
	}
}

// remove notes that the extents in [p, p+size) have been unmapped.
func (g *granules) remove(p Ptr, size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.at(p)
	for end := i + size/g.unit; i < end; i++ {
		g.bits[i/64] &^= 1 << (i % 64)
		g.starts[i/64] &^= 1 << (i % 64)
	}
}

// moved notes that the extents that lay behind [src, src+size) of from lie behind [dst, dst+size) now.
func (g *granules) moved(dst Ptr, from *granules, src Ptr, size int64) {
	for off := int64(0); off < size; {
		_, n := from.within(src+Ptr(off), size-off, 1, size)
		from.remove(src+Ptr(off), n)
		g.add(dst+Ptr(off), n)
		off += n
	}
}

// within returns where the first whole extents in [p, p+size) begin, as an offset, and how many bytes they
// have: as few as make least, and most at most. It returns 0 bytes if there are none.
func (g *granules) within(p Ptr, size, least, most int64) (off, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.at(p + Ptr(g.unit-1))
	last := g.at(p + Ptr(size)) // the first granule that is not all inside
	for i := first; i < last && n < least; {
		if !bit(g.starts, i) {
			i++
			continue
		}
		end := i + 1
		for end < g.size/g.unit && bit(g.bits, end) && !bit(g.starts, end) {
			end++
		}
		long := (end - i) * g.unit
		if end > last || n+long > most {
			if n > 0 {
				break
			}
			i = end
			continue
		}
		if n == 0 {
			off = int64(g.base-p) + i*g.unit
		}
		n += long
		i = end
	}
	return off, n
}

// mapped returns how many bytes are.
func (g *granules) mapped() (n int64) {
	if g.bits == nil {
		return g.size
	}
	g.ranges(func(_ Ptr, size int64) { n += size })
	return n
}

// ranges calls f with the ranges that are mapped, each as large as can be.
func (g *granules) ranges(f func(p Ptr, size int64)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := int64(len(g.bits)) * 64
	for i := int64(0); i < n; i++ {
		if g.bits[i/64]>>(i%64) == 0 {
			i |= 63
			continue
		}
		if !bit(g.bits, i) {
			continue
		}
		j := i
		for j < n && bit(g.bits, j) {
			j++
		}
		f(g.base+Ptr(i*g.unit), (j-i)*g.unit)
		i = j
	}
}
