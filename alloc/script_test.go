package alloc_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// A script is a program of bytes that uses a small pool with several streams in every way, by the rules and
// with no more order than they want. The device runs everything as late as it may (alloctest.Late), and all
// its hand-overs are checked (alloctest.Order). Beside it runs a naive model that knows which bytes each
// buffer must hold, and which streams have used it since when: contents are compared on the device, when the
// work's turn comes. After each step the books must balance, and every invariant that Check knows must hold.
type script struct {
	*rig
	t       testing.TB
	bytes   []byte
	options alloc.Options
	pool    *alloc.Pool
	twin    *script // on another pool of the same device, or nil: each takes some of the steps

	streams []*alloc.Stream // the first one is the default stream
	graphs  []*scriptGraph
	inside  int // buffers that were ever made in a capture: chunks of graph memory are no more
	buffers []*scriptBuffer
	pinned  []*scriptPinned
	live    int64 // bytes asked for, but for those dropped
	dropped int   // buffers that the collector is to find
	foreign int64 // bytes adopted
	steps   []func(*script)
	taken   int
	share   int64 // how many share the memory: see storm
}

// A rig is a device and what the scripts on it share.
type rig struct {
	host     *host.Device
	late     *alloctest.Late
	order    *alloctest.Order
	handles  []uintptr // streams that are no pool's, for all pools to wrap
	captured uintptr   // the handle of the stream that is being captured, or 0
	older    bool      // a pool that was closed has memory
	wrong    verdict
}

// A use is what a stream was given; since then it may have been given more.
type use struct {
	stream *alloc.Stream
	event  alloc.Event // recorded right behind it
	noted  bool        // there is one
}

// A scriptBuffer is a buffer and who must be waited for before what.
type scriptBuffer struct {
	alloc.Buffer[byte]
	fill    byte          // what it holds
	known   bool          // that it does
	home    *alloc.Stream // it was made on
	maker   *alloc.Stream // the same, if nobody has used it since
	writer  use           // the latest
	readers []use         // since
	held    []*alloc.Stream
	adopted bool
	inner   bool // it was made in a capture
	gone    bool // it has been freed or dropped, or its pool is closed
}

// A scriptPinned is page-locked memory and who is at work with it.
type scriptPinned struct {
	alloc.Pinned[byte]
	fill    byte
	writer  use // the latest copy to it
	readers []use
}

func newScript(t testing.TB, text []byte) *script {
	m := &script{rig: new(rig), t: t, bytes: text, share: 1}
	options, more, twins := m.next(), m.next(), m.next()%8 == 0
	var err error
	m.host, err = host.Open(host.Options{Capacity: 4 << 20, Granularity: 64 << 10, NoMapping: options&1 != 0})
	require.NoError(t, err)
	m.late = alloctest.NewLate(m.host, uint64(more))
	m.order = alloctest.NewOrder(m.late, func(f *alloctest.Finding) { m.fail(f) })
	m.options = alloc.Options{Segment: 128 << 10, CollectWait: time.Millisecond}
	m.options.Growth = alloc.Growth(more % 3)
	if options&2 != 0 && options&4 != 0 {
		m.options.Check, m.options.Quarantine = true, 256<<10
	}
	if options&24 != 0 {
		m.options.Limit = 1 << 20 << (options >> 3 & 1)
		m.options.Segment = m.options.Limit >> (options >> 5 & 3)
	}
	if options&128 != 0 {
		m.options.Keep = 256 << 10
	}
	if twins {
		m.share = 2
		m.twin = &script{rig: m.rig, t: t, share: 2, options: m.options, twin: m}
		m.twin.open(3)
	}
	m.open(3 + int(more>>6))
	m.choose()
	return m
}

// open opens a pool with so many streams.
func (m *script) open(streams int) {
	var err error
	m.pool, err = alloc.NewPool(m.order, m.options)
	require.NoError(m.t, err)
	m.streams = []*alloc.Stream{m.pool.DefaultStream()}
	for len(m.streams) < streams {
		m.streams = append(m.streams, newStream(m.t, m.pool))
	}
}

// A verdict is what is wrong first.
type verdict struct {
	mu  sync.Mutex
	err error
}

func (v *verdict) get() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// fail notes what is wrong, if anything is.
func (m *script) fail(err error) {
	if f := (*alloctest.Finding)(nil); *orderOnly && !errors.As(err, &f) {
		return
	}
	m.wrong.mu.Lock()
	defer m.wrong.mu.Unlock()
	if m.wrong.err == nil {
		m.wrong.err = err
	}
}

// next takes a byte of the script, or 0 at its end.
func (m *script) next() byte {
	if len(m.bytes) == 0 {
		return 0
	}
	x := m.bytes[0]
	m.bytes = m.bytes[1:]
	return x
}

// run runs the script, and reports what is wrong.
func (m *script) run() error {
	for len(m.bytes) > 0 && m.wrong.get() == nil {
		turn := m
		if m.twin != nil && m.next()%2 == 1 {
			turn = m.twin
			turn.bytes, turn.steps = m.bytes, m.steps
		}
		turn.step()
		turn.check()
		m.bytes = turn.bytes
	}
	if m.wrong.get() == nil {
		m.finish()
	}
	m.fail(m.late.Faults())
	return m.wrong.get()
}

// stream takes a stream that the script chooses.
func (m *script) stream() *alloc.Stream { return m.at(int(m.next())) }

// at returns one of the streams, which is not being captured any more.
func (m *script) at(i int) *alloc.Stream { return m.uncaptured(m.streams[i%len(m.streams)]) }

// used returns the use of what s has just been given.
func (m *script) used(s *alloc.Stream, how byte) use {
	u := use{stream: s}
	if how%2 == 0 {
		u.event, u.noted = s.Record(), true
	}
	return u
}

// behind puts s behind a use, in one of the ways there are.
func (m *script) behind(s *alloc.Stream, u use, how byte) {
	if !u.noted || how%8 > 5 {
		m.uncaptured(u.stream)
	}
	switch {
	case u.stream == nil || u.stream == s:
	case u.noted && how%8 == 0:
		m.fail(u.event.Sync())
	case u.noted && how%8 == 1:
		for !u.event.Query() {
		}
	case u.noted && how%8 < 6:
		s.WaitEvent(u.event)
	case how%8 == 6:
		m.fail(u.stream.Sync())
	default:
		s.Wait(u.stream)
	}
}

// toRead puts s behind the latest writer of b, toWrite behind the readers as well.
func (m *script) toRead(s *alloc.Stream, b *scriptBuffer, how byte) {
	m.behind(s, use{stream: b.maker}, how)
	m.behind(s, b.writer, how)
}

func (m *script) toWrite(s *alloc.Stream, b *scriptBuffer, how byte) {
	m.toRead(s, b, how)
	for _, r := range b.readers {
		m.behind(s, r, how>>3)
	}
}

// has notes that s has read b, wrote that it has written it. Everybody else who uses b comes behind that one,
// and so behind the Make.
func (m *script) has(s *alloc.Stream, b *scriptBuffer, how byte) {
	b.readers = append(b.readers, m.used(s, how))
}

func (m *script) wrote(s *alloc.Stream, b *scriptBuffer, fill, how byte) {
	b.fill, b.known = fill, true
	b.maker, b.writer, b.readers = nil, m.used(s, how), b.readers[:0]
}

// pick returns a buffer that the script chooses, of the pool that is open, or nil.
func (m *script) pick() *scriptBuffer {
	x := int(m.next())
	for i := range m.buffers {
		if b := m.buffers[(x+i)%len(m.buffers)]; !b.gone {
			return b
		}
	}
	return nil
}

// forget takes b from the buffers.
func (m *script) forget(b *scriptBuffer) {
	m.live -= int64(b.Len())
	b.gone = true
	for i, x := range m.buffers {
		if x == b {
			last := len(m.buffers) - 1
			m.buffers[i], m.buffers[last] = m.buffers[last], nil
			m.buffers = m.buffers[:last]
			return
		}
	}
}

// verify enqueues a comparison of b with what it must hold.
func (m *script) verify(s *alloc.Stream, b *scriptBuffer) {
	if !b.known {
		return
	}
	want, n := b.fill, b.Len()
	compare := func(p []alloc.Param) { m.compare("on the device", rawBytes(p[0].Ptr, n), want) }
	m.fail(m.late.Launch(s, compare, b.Arg()))
}

// compare looks for bytes that are not want.
func (m *script) compare(where string, got []byte, want byte) {
	if len(got) == 0 || got[0] == want && bytes.Equal(got[1:], got[:len(got)-1]) {
		return
	}
	for i, x := range got {
		if x != want {
			m.fail(fmt.Errorf("wrong contents %s: byte %d of %d is %#x, want %#x", where, i, len(got), x,
				want))
			return
		}
	}
}

// check compares the books with what the script knows.
func (m *script) check() {
	if m.wrong.get() != nil {
		return
	}
	// In Check mode Check reads memory, and so runs work.
	if m.taken++; m.taken%16 == 0 || m.taken%4 == 0 && !m.options.Check {
		m.fail(m.pool.Check())
	}
	m.fail(m.late.Faults())
	st := m.pool.Stats()
	live := int64(0)
	for _, b := range m.buffers {
		if !b.gone && !b.inner {
			live++
		}
	}
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"live + pending + idle = reserved", st.Reserved == st.Live+st.Pending+st.Idle},
		{"idle is not negative", st.Idle >= 0},
		{"live buffers are counted", st.Buffers >= live && st.Buffers <= live+int64(m.dropped+m.inside)},
		{"the limit holds", m.options.Limit == 0 || st.Reserved-m.foreign <= m.options.Limit},
		{"reserved is what the device gave", m.older || m.reserved()+m.twin.reserved() == m.host.Used()},
	} {
		if !c.ok {
			m.fail(fmt.Errorf("the books: %s: %d live buffers, %+v, device %d", c.what, live, st,
				m.host.Used()))
		}
	}
}

// reserved returns what the pool has from the device. A script that is not there has none.
func (m *script) reserved() int64 {
	if m == nil {
		return 0
	}
	st := m.pool.Stats()
	return st.Reserved + st.PinnedReserved
}

// finish ends all scripts on the device, which must have everything again then.
func (m *script) finish() {
	dropped := m.dropped
	if m.end(); m.twin != nil {
		m.twin.end()
		dropped += m.twin.dropped
	}
	if m.wrong.get() != nil || dropped > 0 {
		return
	}
	if m.host.Used() != 0 {
		m.fail(fmt.Errorf("%d bytes are left", m.host.Used()))
	}
	for _, h := range m.handles {
		m.fail(m.order.DestroyStream(h)) // which says if work is left
	}
}

// end compares everything, frees it, and closes the pool.
func (m *script) end() {
	m.uncapture()
	for i, b := range m.buffers {
		if !b.gone {
			s := m.streams[i%len(m.streams)]
			m.toRead(s, b, byte(i))
			m.verify(s, b)
		}
	}
	for len(m.buffers) > 0 && m.wrong.get() == nil {
		b := m.buffers[0]
		b.Free()
		m.forget(b)
		m.check()
	}
	for _, h := range m.pinned {
		h.Free()
	}
	for _, g := range m.graphs {
		g.Close()
	}
	m.graphs = nil
	for i, s := range m.streams {
		if i == 1 && !m.older && m.taken%2 == 0 {
			m.seize(s) // with what it has been given
		} else {
			m.fail(s.Sync())
		}
	}
	m.close()
}

// close closes the pool, which may say that buffers are live, or that a stream is being captured.
func (m *script) close() {
	err := m.pool.Close()
	if m.captured != 0 && errors.Is(err, alloc.ErrCapturing) {
		m.uncapture()
		err = m.pool.Close()
	}
	if err != nil && !errors.Is(err, alloc.ErrLive) {
		m.fail(err)
	}
}
