package alloc

import (
	"slices"

	"github.com/lastuse/lastuse/internal/extent"
	"github.com/lastuse/lastuse/internal/lockrank"
)

// granules says what of a segment is mapped, extent by extent. Where the device does not map, all of the
// segment is memory.
type granules struct {
	base Ptr
	size int64 // bytes
	maps bool

	mu      lockrank.Mutex[rankGranules]
	extents extent.Table[struct{}]
}

// A piece is a part of a segment with memory behind it.
type piece = extent.Extent[struct{}]

// add notes that [p, p+size) has been mapped as one extent.
func (g *granules) add(p Ptr, size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.extents.Add(piece{P: uintptr(p), N: size})
}

// remove notes that the extents in [p, p+size) have been unmapped.
func (g *granules) remove(p Ptr, size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.extents.Remove(uintptr(p), size)
}

// moved notes that the extents that lay behind [src, src+size) of from lie behind [dst, dst+size) now.
func (g *granules) moved(dst Ptr, from *granules, src Ptr, size int64) {
	from.mu.Lock()
	all := slices.Clone(from.extents.Inside(uintptr(src), size))
	from.mu.Unlock()
	from.remove(src, size)
	for _, x := range all {
		g.add(dst+Ptr(x.P)-src, x.N)
	}
}

// within returns where the first whole extents in [p, p+size) begin, as an offset, and how many bytes they
// have: as few as make least, and most at most. It returns 0 bytes if there are none.
func (g *granules) within(p Ptr, size, least, most int64) (off, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range g.extents.Inside(uintptr(p), size) {
		if n == 0 {
			off = int64(x.P - uintptr(p))
		}
		if n+x.N <= most {
			n += x.N
		} else if n > 0 {
			break
		}
		if n >= least {
			break
		}
	}
	return off, n
}

// mapped returns what is, in as few pieces as can be.
func (g *granules) mapped() (all []piece) {
	if !g.maps {
		return []piece{{P: uintptr(g.base), N: g.size}}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range g.extents.All() {
		if last := len(all) - 1; last >= 0 && all[last].P+uintptr(all[last].N) == x.P {
			all[last].N += x.N
		} else {
			all = append(all, x)
		}
	}
	return all
}
