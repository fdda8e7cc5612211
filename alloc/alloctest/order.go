package alloctest

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// What comes before what: streams, events, and copies that are still queued.

// sourceMayChange checks that CopyIn has taken what it needs when it returns, however
// far behind the stream is.
func (s *suite) sourceMayChange() {
	h := s.stream()
	p := s.alloc(8 * mib)
	hold, _ := s.holder()
	for _, n := range []int{16, 4096, 100_000} {
		release := func() {}
		if hold != nil {
			var err error
			release, err = hold.Hold(h)
			s.ok(err)
		}
		data := pattern(n, n)
		s.put(h, p, data)
		clear(data)
		release()
		s.same(s.get(h, p, n), pattern(n, n), "source changed after CopyIn")
	}
}

func (s *suite) streams() {
	h := s.stream()
	p := s.alloc(512)
	// Work of one stream runs in order, whatever it is.
	for i := range 200 {
		s.ok(s.dev.Fill(h, p, uint32(i), 1, 256))
		s.ok(s.dev.Copy(h, p+256, p, 256))
	}
	s.ok(s.dev.Sync(h))
	s.same(s.get(h, p, 512), repeated(199, 512), "order on a stream")
	d := s.dev.DefaultStream()
	if d != s.dev.DefaultStream() {
		s.Error("the default stream changes")
	}
	s.ok(s.dev.Fill(d, p, 9, 1, 512))
	s.ok(s.dev.Sync(d))
	s.same(s.get(d, p, 512), repeated(9, 512), "the default stream")
	s.ok(s.dev.Sync(d))
	if hold, is := s.holder(); is {
		u := s.stream()
		release, err := hold.Hold(h)
		s.ok(err)
		s.ok(s.dev.Fill(h, p, 1, 1, 512))
		s.ok(s.dev.Sync(u)) // is not held back
		s.same(s.get(u, p, 512), repeated(9, 512), "work that is held back")
		release()
		s.ok(s.dev.Sync(h))
		s.same(s.get(u, p, 512), repeated(1, 512), "work that was held back")
	}
	for range 50 { // streams may come and go
		x, err := s.dev.NewStream()
		s.ok(err)
		s.ok(s.dev.Fill(x, p, 1, 1, 512))
		s.ok(s.dev.Sync(x))
		s.ok(s.dev.DestroyStream(x))
	}
}

func (s *suite) events() {
	h := s.stream()
	e := s.event()
	if e == 0 {
		s.Error("an event has handle 0")
	}
	done, err := s.dev.Query(e)
	s.ok(err)
	if !done {
		s.Error("an event that was never recorded is not done")
	}
	s.ok(s.dev.SyncEvent(e))
	s.ok(s.dev.Wait(h, e))
	s.ok(s.dev.Record(e, h))
	s.ok(s.dev.SyncEvent(e))
	if done, err = s.dev.Query(e); err != nil || !done {
		s.Errorf("after SyncEvent: %v, %v", done, err)
	}
	s.ok(s.dev.Record(e, h))
	s.ok(s.dev.Sync(h))
	if done, err = s.dev.Query(e); err != nil || !done {
		s.Errorf("after Sync: %v, %v", done, err)
	}
	if hold, is := s.holder(); is {
		release, err := hold.Hold(h)
		s.ok(err)
		s.ok(s.dev.Record(e, h))
		done, err := s.dev.Query(e)
		s.ok(err)
		if done {
			s.Error("an event is done before the work that it stands for")
		}
		release()
		s.ok(s.dev.SyncEvent(e))
	}
}

// waits checks that work after a Wait sees what came before the event.
func (s *suite) waits() {
	h, u := s.stream(), s.stream()
	e := s.event()
	p := s.alloc(2 * mib)
	for i := range 20 {
		s.ok(s.dev.Fill(h, p, uint32(i), 1, 2*mib))
		s.ok(s.dev.Record(e, h))
		s.ok(s.dev.Wait(u, e))
		s.same(s.get(u, p+2*mib-512, 512), repeated(byte(i), 512), "work after a Wait")
		s.ok(s.dev.Record(e, u))
		s.ok(s.dev.Wait(h, e))
	}
}

// rerecording checks that a Wait stands for the recording of the event that there was when it
// was enqueued.
func (s *suite) rerecording() {
	hold, is := s.holder()
	if !is {
		s.Skip("the device cannot hold a stream back")
	}
	h, u, v := s.stream(), s.stream(), s.stream()
	e := s.event()
	p := s.alloc(512)
	s.ok(s.dev.Fill(v, p, 0, 1, 512))
	s.ok(s.dev.Sync(v))
	release, err := hold.Hold(h)
	s.ok(err)
	s.ok(s.dev.Record(e, h))
	s.ok(s.dev.Wait(u, e))
	s.ok(s.dev.Record(e, v)) // done at once, and no concern of u
	s.ok(s.dev.SyncEvent(e))
	s.ok(s.dev.Fill(u, p, 1, 1, 512))
	runtime.Gosched()
	s.same(s.get(v, p, 512), repeated(0, 512), "a Wait for the older recording")
	release()
	s.ok(s.dev.Sync(u))
	s.same(s.get(v, p, 512), repeated(1, 512), "after the older recording")
}

func (s *suite) concurrency() {
	shared := s.stream()
	var wg sync.WaitGroup
	for g := range 4 {
		p := s.alloc(mib)
		own, e := s.stream(), s.event()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 50 {
				x := byte(g*50 + i)
				err := errors.Join(
					s.dev.Fill(shared, p, uint32(x), 1, mib),
					s.dev.Record(e, shared),
					s.dev.Wait(own, e))
				got := make([]byte, 512)
				err = errors.Join(err, s.dev.CopyOut(own, unsafe.Pointer(&got[0]), p+mib-512, 512))
				if err != nil || !bytes.Equal(got, repeated(x, 512)) {
					s.Errorf("goroutine %d, round %d: %v, %#x", g, i, err, got[:4])
					return
				}
			}
		}()
	}
	wg.Wait()
}
