package alloc_test

import (
	"errors"
	"slices"

	"github.com/lastuse/lastuse/alloc"
)

// What a script does with page-locked memory.

// makePinned makes page-locked memory, which the host fills at once.
func (m *script) makePinned() {
	if len(m.pinned) >= 6 {
		return
	}
	h, err := alloc.MakePinned[byte](m.pool, [...]int{512, 130 << 10}[m.next()%2])
	if err != nil {
		if !errors.Is(err, alloc.ErrOutOfMemory) {
			m.fail(err)
		}
		return
	}
	x := &scriptPinned{Pinned: h}
	m.pinned = append(m.pinned, x)
	m.fillPinned(x, m.next())
}

func (m *script) fillPinned(x *scriptPinned, fill byte) {
	all := x.Slice()
	for i := range all {
		all[i] = fill
	}
	x.fill = fill
}

func (m *script) pickPinned() *scriptPinned {
	if x := int(m.next()); len(m.pinned) > 0 {
		return m.pinned[x%len(m.pinned)]
	}
	return nil
}

// copyPinned enqueues a copy from page-locked memory to a buffer, or back, and does not wait for it.
func (m *script) copyPinned() {
	if h, b := m.pickPinned(), m.pick(); h != nil && b != nil {
		m.transfer(h, b, m.stream(), m.next())
	}
}

func (m *script) transfer(h *scriptPinned, b *scriptBuffer, s *alloc.Stream, how byte) {
	out := how%4 == 0
	if out && (!b.known || b.Len() < h.Len()) {
		return
	}
	if m.toRead(s, b, how>>1); !out {
		m.toWrite(s, b, how>>1)
	}
	m.behind(s, h.writer, how>>2)
	if out {
		for _, u := range h.readers {
			m.behind(s, u, how>>2)
		}
	}
	p, err := s.Begin(nil, b.Arg())
	if err != nil {
		m.fail(err)
		return
	}
	use, err := alloc.BeginPinned(s, h.Pinned)
	m.fail(err)
	to, from, n := p[0].Ptr, alloc.Ptr(uintptr(use.Ptr)), min(h.Len(), b.Len())
	if out {
		to, from = from, to
	}
	m.fail(m.late.Copy(s.LaunchHandle(), to, from, int64(n)))
	use.End()
	s.End(b.Arg())
	if out {
		h.fill, h.writer, h.readers = b.fill, m.used(s, how>>4), nil
		m.has(s, b, how>>3)
	} else {
		m.fail(b.View(n, b.Len()).Fill(s, h.fill))
		m.wrote(s, b, h.fill, how>>3)
		h.readers = append(h.readers, m.used(s, how>>4))
	}
}

// upload copies what it has in page-locked memory to buffers on several streams, and frees it at once.
func (m *script) upload() {
	if m.makePinned(); len(m.pinned) == 0 {
		return
	}
	h := m.pinned[len(m.pinned)-1]
	for range 2 + m.next()%3 {
		if b := m.pick(); b != nil {
			m.transfer(h, b, m.stream(), m.next()|1)
		}
	}
	h.Free()
	m.pinned = m.pinned[:len(m.pinned)-1]
}

// freePinned frees page-locked memory that work may still have.
func (m *script) freePinned() {
	if h := m.pickPinned(); h != nil {
		h.Free()
		m.pinned = slices.DeleteFunc(m.pinned, func(x *scriptPinned) bool { return x == h })
	}
}

// writePinned compares page-locked memory and fills it anew, when the work with it is over.
func (m *script) writePinned() {
	if h := m.pickPinned(); h != nil {
		for _, u := range append(h.readers, h.writer) {
			switch {
			case u.stream == nil:
			case u.noted:
				m.fail(u.event.Sync())
			default:
				m.fail(m.uncaptured(u.stream).Sync())
			}
		}
		h.writer, h.readers = use{}, nil
		m.compare("in page-locked memory", h.Slice(), h.fill)
		m.fillPinned(h, m.next())
	}
}
