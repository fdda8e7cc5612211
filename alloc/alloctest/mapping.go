package alloctest

import (
	"errors"
	"runtime"
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
	s.ok(m.Map(at(5), g))
	s.ok(m.Map(at(6), 2*g)) // one range with the others
	want := pattern(int(6*g), 1)
	s.put(h, at(2), want)
	s.same(s.get(h, at(2), int(6*g)), want, "a range that was mapped in three calls")
	s.ok(s.dev.Sync(h))
	s.refuses("unmap", "the first part of an extent", func() error { return m.Unmap(at(2), g) })
	s.refuses("unmap", "the last part of an extent", func() error { return m.Unmap(at(4), 2*g) })
	s.refuses("unmap", "more than is mapped", func() error { return m.Unmap(at(6), 3*g) })
	s.refuses("unmap", "what is not mapped", func() error { return m.Unmap(at(9), g) })
	s.refuses("map", "what is mapped", func() error { return m.Map(at(7), 2*g) })
	s.same(s.get(h, at(2), int(6*g)), want, "what calls that are refused leave")
	s.ok(m.Unmap(at(5), g)) // between others
	s.same(s.get(h, at(2), int(3*g)), want[:3*g], "before an unmapped extent")
	s.same(s.get(h, at(6), int(2*g)), want[4*g:], "behind an unmapped extent")
	s.ok(m.Map(at(5), g)) // and again
	s.put(h, at(5), want[:g])
	s.same(s.get(h, at(5), int(g)), want[:g], "an extent mapped again")
	s.ok(m.Unmap(at(2), 6*g)) // across what three calls mapped
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
	for i := range int64(4) {
		s.ok(m.Map(at(p, i), g))
	}
	s.ok(m.Map(at(p, 4), 2*g))
	s.ok(s.dev.Fill(h, p, 1, 1, 6*g))
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
	s.same(s.get(h, at(q, 5), int(3*g)), want, "moved extents")
	s.refuses("move", "part of an extent", func() error { return m.Move(at(q, 9), at(p, 4), g) })
	s.refuses("move", "to where something is", func() error { return m.Move(at(q, 6), at(p, 4), 2*g) })
	s.same(s.get(h, at(p, 3), int(3*g)), repeated(1, int(3*g)), "the extents that stayed")
	s.ok(m.Move(at(q, 9), at(p, 3), 3*g)) // of two sizes
	want = pattern(int(3*g), 3)
	s.put(h, at(q, 9), want)
	s.same(s.get(h, at(q, 9), int(3*g)), want, "extents of two sizes, moved")
	s.ok(s.dev.Sync(h))
	s.refuses("unmap", "part of a moved extent", func() error { return m.Unmap(at(q, 11), g) })
	s.ok(m.Unmap(at(q, 10), 2*g)) // which kept its bounds
	s.ok(m.Map(p, 3*g))           // the addresses are free again
	s.ok(m.Unmap(p, 3*g))
	s.ok(m.Unmap(at(q, 5), 3*g))
	s.ok(m.Unmap(at(q, 9), g))
	s.ok(m.Unreserve(p, 16*g))
	s.ok(m.Unreserve(q, 16*g))
}

// refuses checks that a call that a mapper cannot do is an error, or a panic of a device that watches its
// pool.
func (s *suite) refuses(op, what string, call func() error) {
	s.Helper()
	defer func() { _ = recover() }()
	if call() == nil {
		s.Errorf("%s of %s is no error", op, what)
	}
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
	if rows, is := s.dev.(alloc.RowCopier); is {
		s.rows(rows, h, p, host)
	}
	s.ok(pin.FreeHost(host, n))
	s.registering(h, p)
}

// registering checks a MiB of the test's own memory, with p's.
func (s *suite) registering(h uintptr, p alloc.Ptr) {
	const n = mib
	r, is := s.dev.(alloc.Registrar)
	if !is {
		return
	}
	mem := alloc.Pages[byte](n)
	var held runtime.Pinner
	host := unsafe.Pointer(&mem[0])
	held.Pin(host)
	defer held.Unpin()
	if err := r.RegisterHost(host, n); !errors.Is(err, errors.ErrUnsupported) {
		s.ok(err)
		copy(mem, pattern(n, 5))
		s.ok(s.dev.CopyIn(h, p, host, n))
		s.ok(s.dev.Sync(h))
		clear(mem)
		s.ok(s.dev.CopyOut(h, host, p, n))
		s.same(mem, pattern(n, 5), "through registered memory")
		s.ok(r.UnregisterHost(host, n))
		s.ok(r.RegisterHost(host, n)) // again
		s.ok(r.UnregisterHost(host, n))
	}
}

// rows checks copies of rows between page-locked memory of a MiB, and p's, which is as much.
func (s *suite) rows(d alloc.RowCopier, h uintptr, p alloc.Ptr, host unsafe.Pointer) {
	const width, height, pitch = 100, 50, 512
	mem := unsafe.Slice((*byte)(host), mib)
	copy(mem, pattern(mib, 7))
	s.ok(s.dev.Fill(h, p, 1, 1, mib))
	up, half := alloc.Rows{Host: host, Pitch: width + 3}, p+mib/2
	err := d.CopyRows(h, alloc.Rows{Ptr: p, Pitch: pitch}, up, width, height)
	if errors.Is(err, errors.ErrUnsupported) {
		s.ok(s.dev.Sync(h))
		return
	}
	s.ok(err)
	s.ok(d.CopyRows(h, alloc.Rows{Ptr: half, Pitch: 2 * pitch}, alloc.Rows{Ptr: p, Pitch: pitch}, width, height))
	down := alloc.Rows{Host: unsafe.Add(host, mib/2), Pitch: width}
	s.ok(d.CopyRows(h, down, alloc.Rows{Ptr: half, Pitch: 2 * pitch}, width, height))
	s.ok(s.dev.Sync(h))
	for y := range height {
		s.same(mem[mib/2+y*width:][:width], mem[y*(width+3):][:width], "a row")
	}
	s.same(s.get(h, half+width, 2*pitch-width), repeated(1, 2*pitch-width), "beside the rows")
}
