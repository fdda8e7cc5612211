package alloc_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/finalize"
)

// What a script can do, and how often: times the number.
var scriptSteps = []struct {
	often int
	do    func(*script)
	alone bool // not for one goroutine of several: others have the same streams, or the books are to agree
}{
	// All scripts do these, each does a choice of the others.
	{8, (*script).make, false},
	{6, (*script).free, false},
	{5, (*script).burst, false},
	{4, (*script).write, false},
	{3, (*script).read, false},
	{2, (*script).copy, false},
	{1, (*script).copyIn, false},
	{1, (*script).copyOut, false},
	{4, (*script).wait, false},
	{1, (*script).sync, false},
	{2, (*script).query, false},
	{1, (*script).trim, false},
	{1, (*script).replace, true},
	{1, (*script).wrap, true},
	{1, (*script).capture, true},
	{1, (*script).syncContext, false},
	{2, (*script).held, false},
	{2, (*script).heldWrite, false},
	{1, (*script).freeMeanwhile, false},
	{2, (*script).makePinned, false},
	{4, (*script).copyPinned, false},
	{2, (*script).freePinned, false},
	{1, (*script).writePinned, false},
	{3, (*script).upload, false},
	{1, (*script).adopt, true},
	{1, (*script).drop, true},
	{12, (*script).someGraph, true},
}

// choose sets what the script does: programs that do everything seldom do one thing often enough.
func (m *script) choose() {
	mask := uint32(m.next()) | uint32(m.next())<<8 | uint32(m.next())<<16 | uint32(m.next())<<24
	for i, s := range scriptSteps {
		if i < 3 || mask>>i&1 != 0 {
			for range s.often {
				m.steps = append(m.steps, s.do)
			}
		}
	}
}

func (m *script) step() {
	switch x := m.next(); x {
	case 255:
		m.reopen()
	case 254:
		m.collect()
	default:
		m.steps[int(x)%len(m.steps)](m)
	}
}

// rawBytes returns host memory.
func rawBytes(p alloc.Ptr, n int) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

// size returns a size that the script chooses: mostly one of a few, which come again, else any.
func (m *script) size() int {
	few := [...]int{512, 512, 4 << 10, 32 << 10, 40 << 10, 64 << 10, 96 << 10, 160 << 10, 300 << 10}
	x := int(m.next())
	if x < 25*len(few) {
		return few[x%len(few)]
	}
	return 1 + (x-224)*(x-224)*257
}

// make makes a buffer and may fill it.
func (m *script) make() { m.makeOn(m.stream(), m.size(), m.next()) }

// room is how much may be live: less than there is, lest the collector be asked at every Make.
func (m *script) room() int64 {
	if m.options.Limit > 0 {
		return m.options.Limit / 2 / m.share
	}
	return 3 << 20 / m.share
}

func (m *script) makeOn(s *alloc.Stream, size int, how byte) *scriptBuffer {
	for m.live+int64(size) > m.room() && len(m.buffers) > 0 {
		m.free()
	}
	b, err := alloc.Make[byte](s, size)
	if err != nil {
		if !errors.Is(err, alloc.ErrOutOfMemory) {
			m.fail(err)
		}
		for range len(m.buffers)/2 + 1 { // or else the next Make asks the collector too
			m.free()
		}
		return nil
	}
	x := &scriptBuffer{Buffer: b, home: s, maker: s}
	m.buffers = append(m.buffers, x)
	m.live += int64(size)
	if how%4 != 0 {
		m.fail(x.Fill(s, how|1))
		m.wrote(s, x, how|1, how>>2)
	}
	return x
}

// free frees a buffer, at times with work of somebody who has its address enqueued just before, and at times
// twice.
func (m *script) free() {
	if len(m.buffers) == 0 {
		return
	}
	b := m.buffers[int(m.next())%len(m.buffers)]
	how := m.next()
	if !b.gone && len(b.held) > 0 && how%2 == 0 {
		m.foreignWrite(b, how)
	}
	if how%3 == 0 && !b.gone {
		s := m.at(int(how))
		m.toRead(s, b, how)
		m.verify(s, b)
		m.has(s, b, how>>4)
	}
	b.Free()
	if how%8 == 7 {
		b.Free()
	}
	if m.options.Check && !b.gone && !b.adopted && !b.inner && m.share == 1 && m.pool.Stats().Pending < int64(b.Len()) {
		m.fail(fmt.Errorf("%d bytes were freed and are not in quarantine", b.Len()))
	}
	m.forget(b)
}

// write fills a buffer on some stream.
func (m *script) write() {
	if b := m.pick(); b != nil {
		s, how := m.stream(), m.next()
		m.toWrite(s, b, how)
		m.fail(b.Fill(s, how|1))
		m.wrote(s, b, how|1, how>>4)
	}
}

// read compares a buffer on some stream, beside others who may read it.
func (m *script) read() {
	if b := m.pick(); b != nil {
		s, how := m.stream(), m.next()
		m.toRead(s, b, how)
		m.verify(s, b)
		m.has(s, b, how>>4)
	}
}

// copy copies a buffer to the front of another, and fills what is left.
func (m *script) copy() {
	from, to := m.pick(), m.pick()
	if from == nil || from == to || to.Len() < from.Len() || !from.known {
		return
	}
	s, how := m.stream(), m.next()
	m.toRead(s, from, how)
	m.toWrite(s, to, how>>1)
	m.fail(alloc.Copy(s, to.View(0, from.Len()), from.All()))
	m.fail(to.View(from.Len(), to.Len()).Fill(s, from.fill))
	m.has(s, from, how>>4)
	m.wrote(s, to, from.fill, how>>5)
}

func (m *script) copyIn() {
	if b := m.pick(); b != nil {
		s, how := m.stream(), m.next()
		m.toWrite(s, b, how)
		m.fail(b.CopyFrom(s, slices.Repeat([]byte{how | 1}, b.Len())))
		m.wrote(s, b, how|1, how>>4)
	}
}

func (m *script) copyOut() {
	if b := m.pick(); b != nil && b.known {
		s, how := m.stream(), m.next()
		m.toRead(s, b, how)
		got := make([]byte, b.Len())
		m.fail(b.CopyTo(s, got))
		m.compare("copied out", got, b.fill)
		m.has(s, b, how>>4)
	}
}

func (m *script) trim() { m.pool.Trim(int64(m.next()) << 12) }

// held gives the address of a buffer away for a stream. Somebody may use it there until the Free.
func (m *script) held() {
	if b := m.pick(); b != nil {
		s := m.stream()
		m.toRead(s, b, m.next())
		b.Ptr(s)
		if !slices.Contains(b.held, s) {
			b.held = append(b.held, s)
		}
	}
}

// heldWrite uses an address that was given away.
func (m *script) heldWrite() {
	if b := m.pick(); b != nil && len(b.held) > 0 {
		m.foreignWrite(b, m.next())
	}
}

// foreignWrite enqueues work on the device behind the pool's back.
func (m *script) foreignWrite(b *scriptBuffer, how byte) {
	s := m.uncaptured(b.held[int(how>>4)%len(b.held)])
	m.toWrite(s, b, how)
	m.fail(m.late.Fill(s.LaunchHandle(), b.Ptr(s), uint32(how|1), 1, int64(b.Len())))
	m.wrote(s, b, how|1, how>>3)
}

// freeMeanwhile frees a buffer while a launch with it is being enqueued, and makes another one before it has
// been.
func (m *script) freeMeanwhile() {
	b := m.pick()
	if b == nil {
		return
	}
	s, u, how := m.stream(), m.stream(), m.next()
	m.toWrite(s, b, how)
	p, err := s.Begin(nil, b.Arg())
	if err != nil {
		m.fail(err)
		return
	}
	size, arg := b.Len(), b.Arg()
	b.Free()
	m.forget(b)
	m.makeOn(u, size, how|1)
	m.fail(m.late.Fill(s.LaunchHandle(), p[0].Ptr, 0xee, 1, int64(size)))
	m.wrote(s, b, 0xee, how>>4)
	s.End(arg)
}

// adopt makes a buffer of memory of the device's own, which goes back when the pool is done with it.
func (m *script) adopt() {
	const size = 4096
	if m.host.Used() > 3<<20 {
		return
	}
	s := m.stream()
	p, err := m.order.Alloc(size)
	if err != nil {
		return
	}
	m.foreign += size
	b, err := alloc.Adopt[byte](s, p, size, func() {
		m.foreign -= size
		m.fail(m.order.Free(p, size))
	})
	m.fail(err)
	m.buffers = append(m.buffers, &scriptBuffer{Buffer: b, maker: s, adopted: true})
	m.live += size
}

// drop forgets a buffer without a Free.
func (m *script) drop() {
	if b := m.pick(); b != nil && m.dropped < 8 {
		m.forget(b)
		m.dropped++
		if b = nil; m.next()%4 == 0 {
			m.collect()
		}
	}
}

// collect lets the collector find what was dropped, and all that was with it at the time.
func (m *script) collect() {
	if m.dropped > 0 {
		finalize.Collect(time.Millisecond)
		runtime.Gosched()
		m.pool.Stats() // drains
	}
}

// burst makes buffers of one size, uses them all on their stream and some on another, and frees them; often
// behind what another stream has been given.
func (m *script) burst() {
	s, u, size, how := m.stream(), m.stream(), m.size(), m.next()
	if how&32 != 0 {
		s.Wait(u)
	}
	var all []*scriptBuffer
	for range 1 + how%16 {
		if m.live+int64(size) > m.room() {
			break
		}
		if b := m.makeOn(s, size, how|1); b != nil {
			all = append(all, b)
		}
	}
	for i, b := range all {
		if b.gone { // it had to make room
			continue
		}
		if how&16 != 0 && i%4 == 0 {
			m.toRead(u, b, how>>5)
			m.verify(u, b)
		}
		b.Free()
		m.forget(b)
	}
}

// reopen closes the pool, with buffers that are live, and goes on with another one on the same device.
func (m *script) reopen() {
	m.close()
	for _, s := range m.streams {
		m.over(s)
	}
	for _, b := range m.buffers {
		b.gone = true
	}
	m.older = m.older || len(m.buffers) > 0 || m.dropped > 0
	for i := range m.graphs {
		m.graphs[i].Close() // whose memory goes back now
	}
	m.graphs = nil
	for _, h := range m.pinned {
		h.Free()
	}
	m.pinned = nil
	m.open(len(m.streams))
}
