package heap

import (
	"fmt"
	"strings"
)

// check tests the invariants of the package comment.
func (h *Heap) check() error {
	var errs []string
	bad := func(format string, args ...any) { errs = append(errs, fmt.Sprintf(format, args...)) }
	total := 0
	for _, p := range h.procs {
		var own, mapped int64
		var classes [NumClasses]Tally
		n := 0
		all := p.physical()
		for k, a := range p.table {
			if a.key != k {
				bad("%v is at %v", a.key, k)
			}
			all = append(all, a)
		}
		for _, a := range all {
			if a.gone {
				bad("%v is gone and known", a.key)
			}
			n++
			classes[a.class].grow(a.size, 1)
			if a.class.Own() {
				own += a.size
			}
		}
		total += n
		if own != p.live {
			bad("live is %d, allocations are %d", p.live, own)
		}
		for c := range NumClasses {
			t := p.classes[c]
			if c == Buffer && p.told {
				continue
			}
			if t.Live != classes[c].Live || t.Objects != classes[c].Objects {
				bad("%v: %d bytes, allocations are %d", c, t.Live, classes[c].Live)
			}
			if int64(t.AllocBytes-t.FreedBytes) != t.Live || int64(t.AllocObjects-t.FreedObjects) != t.Objects {
				bad("%v: allocated - freed is not live: %+v", c, t)
			}
		}
		var sites [NumClasses]Tally
		for _, s := range p.sites {
			if s.told {
				continue
			}
			for who, t := range []int64{h.now - 2, h.now / 2} { // what is kept is what a walk finds
				var old Freed
				for a := s.first; a != nil && a.at < t; a = a.next {
					old.Bytes += uint64(a.size)
					old.Objects++
				}
				if got := s.older(t, who).least; got != old {
					bad("site %v: before %d are %+v, and it says %+v", s.key, t, old, got)
				}
			}
			var bytes, objects, last int64
			for a := s.first; a != nil; a = a.next {
				bytes += a.size
				objects++
				if a.at < last {
					bad("site %v is not in order", s.key)
				}
				last = a.at
				if a.next == nil && s.last != a {
					bad("site %v: the list does not end", s.key)
				}
			}
			if bytes != s.Live || objects != s.Objects || int64(s.AllocBytes-s.FreedBytes) != s.Live {
				bad("site %v: %+v, allocations are %d", s.key, s.Tally, bytes)
			}
			sites[s.key.class].grow(s.Live, s.Objects)
		}
		for c := range NumClasses {
			if sites[c].Live != p.classes[c].Live && !(c == Buffer && p.told) {
				bad("%v: sites hold %d of %d", c, sites[c].Live, p.classes[c].Live)
			}
		}
		end := uint64(0)
		for _, m := range p.maps {
			if m.addr < end {
				bad("mappings overlap at %#x", m.addr)
			}
			end = m.end()
			mapped += int64(m.size)
			if m.of != nil && m.of.gone {
				bad("mapping at %#x of memory that is gone", m.addr)
			}
		}
		if mapped != p.mapped {
			bad("mapped is %d, mappings are %d", p.mapped, mapped)
		}
	}
	if total != h.live {
		bad("%d allocations, %d counted", total, h.live)
	}
	if errs == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(errs, "\n"))
}
