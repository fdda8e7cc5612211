package alloctest

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/gomemory"
)

// A Holder is a device that can hold a stream back, so that the suite can see that work
// really waits. A device without it is not asked those questions.
type Holder interface {
	// Hold makes work that is enqueued on s from now on wait until release is called.
	Hold(s uintptr) (release func(), err error)
}

// TestDevice checks that a device does what alloc.Device promises, and alloc.Mapper, alloc.Pinner
// and alloc.Grapher if it is one. open is called once for each part; what it has to
// clean up it gives to tb.Cleanup. The suite needs 64 MiB on the device.
func TestDevice(t *testing.T, open func(tb testing.TB) alloc.Device) {
	for _, part := range []struct {
		name string
		test func(*suite)
	}{
		{"memory", (*suite).memory},
		{"outOfMemory", (*suite).outOfMemory},
		{"copies", (*suite).copies},
		{"fills", (*suite).fills},
		{"sourceMayChange", (*suite).sourceMayChange},
		{"streams", (*suite).streams},
		{"events", (*suite).events},
		{"waits", (*suite).waits},
		{"rerecording", (*suite).rerecording},
		{"noGoMemory", (*suite).noGoMemory},
		{"concurrency", (*suite).concurrency},
		{"mapping", (*suite).mapping},
		{"moving", (*suite).moving},
		{"pinning", (*suite).pinning},
		{"graphs", (*suite).graphs},
		{"graphOrder", (*suite).graphOrder},
		{"captureRefuses", (*suite).captureRefuses},
		{"pool", (*suite).pool},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(&suite{T: t, dev: open(t)}) })
	}
}

const mib = 1 << 20

type suite struct {
	*testing.T
	dev alloc.Device
}

// holder returns the device, or one that it is around, as a Holder: the handles are the same.
func (s *suite) holder() (Holder, bool) {
	for dev := s.dev; ; {
		if h, is := dev.(Holder); is {
			return h, true
		}
		w, is := dev.(interface{ Unwrap() alloc.Device })
		if !is {
			return nil, false
		}
		dev = w.Unwrap()
	}
}

// ok ends the test if err is not nil.
func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) alloc(size int64) alloc.Ptr {
	s.Helper()
	p, err := s.dev.Alloc(size)
	s.ok(err)
	s.Cleanup(func() { s.ok(s.dev.Free(p, size)) })
	return p
}

func (s *suite) stream() uintptr {
	s.Helper()
	h, err := s.dev.NewStream()
	s.ok(err)
	s.Cleanup(func() {
		s.ok(s.dev.Sync(h))
		s.ok(s.dev.DestroyStream(h))
	})
	return h
}

func (s *suite) event() uintptr {
	s.Helper()
	e, err := s.dev.NewEvent()
	s.ok(err)
	s.Cleanup(func() { s.ok(s.dev.DestroyEvent(e)) })
	return e
}

// put and get copy host memory in and out and wait.
func (s *suite) put(h uintptr, p alloc.Ptr, data []byte) {
	s.Helper()
	s.ok(s.dev.CopyIn(h, p, unsafe.Pointer(&data[0]), int64(len(data))))
}

func (s *suite) get(h uintptr, p alloc.Ptr, n int) []byte {
	s.Helper()
	data := make([]byte, n)
	s.ok(s.dev.CopyOut(h, unsafe.Pointer(&data[0]), p, int64(n)))
	return data
}

func (s *suite) same(got, want []byte, what string) {
	s.Helper()
	if !bytes.Equal(got, want) {
		for i := range want {
			if got[i] != want[i] {
				s.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, len(want), got[i], want[i])
			}
		}
	}
}

// pattern returns n bytes that no fill produces.
func pattern(n, seed int) []byte {
	data := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = byte(x >> 24)
	}
	return data
}

func repeated(x byte, n int) []byte { return bytes.Repeat([]byte{x}, n) }

func (s *suite) memory() {
	if s.dev.Name() == "" {
		s.Error("the device has no name")
	}
	free, total, err := s.dev.MemInfo()
	s.ok(err)
	if free < 0 || free > total || total <= 0 {
		s.Errorf("%d bytes free of %d", free, total)
	}
	type piece struct {
		p    alloc.Ptr
		size int64
	}
	var all []piece
	for _, size := range []int64{512, 1024, 4096, 65536 + 512, mib, 2 * mib} {
		p, err := s.dev.Alloc(size)
		s.ok(err)
		if p == 0 || p%alloc.MinAlign != 0 {
			s.Errorf("Alloc(%d) = %#x", size, p)
		}
		for _, q := range all {
			if p < q.p+alloc.Ptr(q.size) && q.p < p+alloc.Ptr(size) {
				s.Errorf("%d bytes at %#x overlap %d at %#x", size, p, q.size, q.p)
			}
		}
		all = append(all, piece{p, size})
	}
	h := s.stream()
	for i, q := range all { // all of it is memory, and nobody else's
		s.put(h, q.p, pattern(int(q.size), i))
	}
	for i, q := range all {
		s.same(s.get(h, q.p, int(q.size)), pattern(int(q.size), i), "memory")
	}
	for _, q := range all {
		s.ok(s.dev.Free(q.p, q.size))
	}
}

func (s *suite) outOfMemory() {
	_, err := s.dev.Alloc(1 << 50)
	if !errors.Is(err, alloc.ErrOutOfMemory) {
		s.Errorf("Alloc of 1 PiB: %v, want ErrOutOfMemory", err)
	}
	s.alloc(512) // and nothing is broken
}

func (s *suite) copies() {
	h := s.stream()
	p := s.alloc(4 * mib)
	for _, n := range []int{1, 3, 512, 4097, 65537, mib + 1} {
		want := pattern(n, n)
		s.put(h, p, want)
		s.same(s.get(h, p, n), want, "round trip")
		s.put(h, p+513, want[:n-n/2])
		s.same(s.get(h, p+513, n-n/2), want[:n-n/2], "round trip at an odd address")
	}
	q := s.alloc(mib)
	want := pattern(mib, 7)
	s.put(h, p, want)
	s.ok(s.dev.Copy(h, q, p, mib))
	s.ok(s.dev.Fill(h, p, 0, 4, mib/4))
	s.same(s.get(h, q, mib), want, "copy within the device")
	s.ok(s.dev.Copy(h, q, q, mib))
	s.same(s.get(h, q, mib), want, "copy onto itself")
	s.ok(s.dev.Copy(h, q+1, p+3, 7))
	s.same(s.get(h, q, 9), append(append(want[:1:1], repeated(0, 7)...), want[8]), "copy at odd addresses")
}

func (s *suite) fills() {
	h := s.stream()
	p := s.alloc(mib)
	for _, c := range []struct {
		pattern uint32
		width   int
		count   int64
		want    []byte
	}{
		{0x11, 1, 1, []byte{0x11}},
		{0xffffff22, 1, 5, []byte{0x22, 0x22, 0x22, 0x22, 0x22}},
		{0xffff4433, 2, 3, []byte{0x33, 0x44, 0x33, 0x44, 0x33, 0x44}},
		{0x88776655, 4, 2, []byte{0x55, 0x66, 0x77, 0x88, 0x55, 0x66, 0x77, 0x88}},
	} {
		s.ok(s.dev.Fill(h, p, 0xee, 1, 64))
		s.ok(s.dev.Fill(h, p+4, c.pattern, c.width, c.count))
		got := s.get(h, p, 64)
		want := repeated(0xee, 64)
		copy(want[4:], c.want)
		s.same(got, want, "fill")
	}
	s.ok(s.dev.Fill(h, p, 0xabcd, 2, mib/2))
	s.same(s.get(h, p, mib), bytes.Repeat([]byte{0xcd, 0xab}, mib/2), "large fill")
}

// noGoMemory checks that the calls of a pool's paths allocate nothing on the Go heap.
func (s *suite) noGoMemory() {
	if s.late() {
		s.Skip("what is here for tests may")
	}
	h, u := s.stream(), s.stream()
	e := s.event()
	p := s.alloc(4096)
	s.ok(s.dev.Fill(h, p, 0, 4, 1024)) // what is copied has been written: tools that check memory look
	data := make([]byte, 512)
	at := unsafe.Pointer(&data[0])
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"CopyIn", func() error { return s.dev.CopyIn(h, p, at, 512) }},
		{"CopyOut", func() error { return s.dev.CopyOut(h, at, p, 512) }},
		{"Copy", func() error { return s.dev.Copy(h, p, p+512, 512) }},
		{"Fill", func() error { return s.dev.Fill(h, p, 1, 4, 128) }},
		{"Record", func() error { return s.dev.Record(e, h) }},
		{"Query", func() error { _, err := s.dev.Query(e); return err }},
		{"Wait", func() error { return s.dev.Wait(u, e) }},
		{"SyncEvent", func() error { return s.dev.SyncEvent(e) }},
		{"Sync", func() error { return s.dev.Sync(h) }},
		{"MemInfo", func() error { _, _, err := s.dev.MemInfo(); return err }},
	} {
		var err error
		for range 100 { // what is used again and again is there
			err = errors.Join(err, c.call())
		}
		s.ok(s.dev.Sync(h))
		s.ok(s.dev.Sync(u))
		s.allocatesNothing(c.name, func() {
			if e := c.call(); e != nil {
				err = e
			}
		})
		s.ok(err)
	}
	runtime.KeepAlive(data)
}

// late reports whether the device, or the one that is checked, is a Late.
func (s *suite) late() bool {
	dev := s.dev
	if o, is := dev.(*Order); is {
		dev = o.Unwrap()
	}
	_, is := dev.(*Late)
	return is
}

// allocatesNothing checks that a call allocates nothing on the Go heap. What is here for tests may.
func (s *suite) allocatesNothing(name string, call func()) {
	s.Helper()
	_, ordered := s.dev.(*Order)
	switch {
	case s.late():
	case ordered:
		if stacks := gomemory.Stacks(100, call, reflect.TypeFor[Order]().PkgPath()); len(stacks) > 0 {
			s.Errorf("%s: Go allocations: %s", name, stacks)
		}
	default:
		if n := testing.AllocsPerRun(100, call); n > 0 {
			s.Errorf("%s: %v Go allocations per call", name, n)
		}
	}
}

// pool runs a pool on the device for a while.
func (s *suite) pool() {
	p, err := alloc.NewPool(s.dev, alloc.Options{Limit: 48 * mib, Check: true})
	s.ok(err)
	st, err := p.NewStream()
	s.ok(err)
	u, err := p.NewStream()
	s.ok(err)
	var held []alloc.Buffer[byte]
	for i := range 100 {
		b, err := alloc.Make[byte](st, 1+(i*7919*i)%(2*mib))
		s.ok(err)
		s.ok(b.Fill(st, byte(i)))
		u.Wait(st)
		got := make([]byte, b.Len())
		s.ok(b.CopyTo(u, got))
		s.same(got, repeated(byte(i), b.Len()), "a buffer")
		if held = append(held, b); len(held) > 5 {
			held[0].Free()
			held = held[1:]
		}
		if i%10 == 0 {
			p.Trim(0)
			s.ok(p.Check())
		}
	}
	for _, b := range held {
		b.Free()
	}
	s.ok(p.Close())
}
