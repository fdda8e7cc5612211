package alloctest

import (
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// What a device may be able to do beyond alloc.Device: mapping and pinning.

// mapper returns the device as a mapper, or skips.
func (s *suite) mapper() (alloc.Mapper, int64) {
	m, is := s.dev.(alloc.Mapper)
	if !is || m.Granularity() == 0 {
		s.Skip("the device does not map")
	}
	g := m.Granularity()
	if g < alloc.MinAlign || g&(g-1) != 0 {
		s.Fatalf("granularity %d", g)
	}
	if 16*g > 64*mib {
		s.Skipf("granules of %d bytes are too large for the suite", g)
	}
	return m, g
}

func (s *suite) mapping() {
	m, g := s.mapper()
	p, err := m.Reserve(16 * g)
	s.ok(err)
	if int64(p)%g != 0 {
		s.Errorf("Reserve = %#x, not a multiple of %#x", p, g)
	}
	h := s.stream()
	at := func(i int64) alloc.Ptr { return p + alloc.Ptr(i*g) }
	s.ok(m.Map(at(2), 3*g))
	s.ok(m.Map(at(5), g)) // one range with the first
	want := pattern(int(4*g), 1)
	s.put(h, at(2), want)
	s.same(s.get(h, at(2), int(4*g)), want, "a range that was mapped in two calls")
	s.ok(s.dev.Sync(h))
	s.ok(m.Unmap(at(3), g)) // part of what one call mapped
	s.same(s.get(h, at(2), int(g)), want[:g], "before an unmapped granule")
	s.same(s.get(h, at(4), int(2*g)), want[2*g:], "behind an unmapped granule")
	s.ok(m.Map(at(3), g)) // and again
	s.put(h, at(3), want[:g])
	s.same(s.get(h, at(3), int(g)), want[:g], "a granule mapped again")
	s.ok(m.Unmap(at(2), 4*g)) // across what three calls mapped
	s.ok(m.Unreserve(p, 16*g))
}

func (s *suite) moving() {
	m, g := s.mapper()
	p, err := m.Reserve(16 * g)
	s.ok(err)
	q, err := m.Reserve(16 * g)
	s.ok(err)
	h := s.stream()
	at := func(p alloc.Ptr, i int64) alloc.Ptr { return p + alloc.Ptr(i*g) }
	s.ok(m.Map(p, 4*g))
	s.ok(s.dev.Fill(h, p, 1, 1, 4*g))
	s.ok(s.dev.Sync(h))
	free, _, err := s.dev.MemInfo()
	s.ok(err)
	s.ok(m.Move(at(q, 5), at(p, 1), 2*g))
	if after, _, err := s.dev.MemInfo(); err == nil && after < free-g && s.quiet() {
		s.Errorf("Move took %d bytes", free-after)
	}
	s.ok(m.Move(at(q, 7), p, g)) // behind the first, one range with it
	want := pattern(int(3*g), 2)
	s.put(h, at(q, 5), want)
	s.same(s.get(h, at(q, 5), int(3*g)), want, "moved granules")
	s.same(s.get(h, at(p, 3), int(g)), repeated(1, int(g)), "the granule that stayed")
	s.ok(s.dev.Sync(h))
	s.ok(m.Map(p, 3*g)) // the addresses are free again
	s.ok(m.Unmap(p, 4*g))
	s.ok(m.Unmap(at(q, 5), 3*g))
	s.ok(m.Unreserve(p, 16*g))
	s.ok(m.Unreserve(q, 16*g))
}

// quiet reports whether MemInfo counts this device's users alone.
func (s *suite) quiet() bool {
	_, is := s.dev.(interface{ Used() int64 })
	return is
}

func (s *suite) pinning() {
	pin, is := s.dev.(alloc.Pinner)
	if !is {
		s.Skip("the device does not pin")
	}
	const n = mib
	host, err := pin.AllocHost(n)
	s.ok(err)
	if uintptr(host)%64 != 0 {
		s.Errorf("AllocHost = %p", host)
	}
	mem := unsafe.Slice((*byte)(host), n)
	copy(mem, pattern(n, 3))
	h := s.stream()
	p := s.alloc(n)
	s.ok(s.dev.CopyIn(h, p, host, n))
	s.ok(s.dev.Sync(h))
	clear(mem)
	s.ok(s.dev.CopyOut(h, host, p, n))
	s.same(mem, pattern(n, 3), "through page-locked memory")
	s.ok(pin.FreeHost(host, n))
}
