package alloc

import "github.com/lastuse/lastuse/internal/custody"

// What the pool tells a device that wants to know whose each byte is: see package custody. On any other
// device core.custody is nil. Makes and Frees of a pool with an observer go the careful way, so that the
// ordinary ones have nothing to ask.

// observer returns the observer that dev wants, or nil.
func observer(dev Device) custody.Observer {
	if d, ok := dev.(custody.Observed); ok {
		return d.Observe()
	}
	return nil
}

// tellMade says that b is a buffer's, made on l.
func (c *core) tellMade(l *timeline, b *block) {
	if o := c.custody; o != nil {
		o.Made(l.handle, uintptr(b.ptr), b.size)
	}
}

// tellFreed says that b is nobody's any more: before it is in any list, and before it is stamped. What graphs
// name is somebody's until the last of them lets go.
func (c *core) tellFreed(b *block) {
	if o := c.custody; o != nil {
		o.Freed(uintptr(b.ptr), b.size)
	}
}

// tellHeld says that the address of p, which is pinned, has been given away for work on s.
func (c *core) tellHeld(s *Stream, p part) {
	if o := c.custody; o != nil && p.header != nil {
		b := p.header.block
		o.Held(s.heap.line.handle, uintptr(b.data()), b.room())
	}
}

// tellAdopted says that [p, p+size), made on s by somebody else, is a buffer's, and returns what release
// becomes, so that the observer hears before its owner.
func (c *core) tellAdopted(s *Stream, p Ptr, size int64, release func()) func() {
	o := c.custody
	if o == nil {
		return release
	}
	o.Adopted(s.heap.line.handle, uintptr(p), size)
	return func() {
		o.Released(uintptr(p), size)
		release()
	}
}

// tellPinned says that page-locked memory is a Pinned's, or with made false that it is nobody's.
func (c *core) tellPinned(b *pinnedBlock, made bool) {
	o := c.custody
	switch {
	case o == nil:
	case made:
		o.Made(custody.Host, uintptr(b.ptr), b.size())
	default:
		o.Freed(uintptr(b.ptr), b.size())
	}
}
