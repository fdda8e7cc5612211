package alloc

import (
	"errors"
	"fmt"
)

// makeApart makes a buffer of size bytes for a pool with Options.Apart: memory that the pool adopts from its
// own device.
func (s *Stream) makeApart(typ any, size int64) (*header, uint64, error) {
	c := s.core
	if err := c.checkElem("make", typ); err != nil {
		return nil, 0, err
	}
	if !c.estate.enter() {
		return nil, 0, fmt.Errorf("alloc: make: %w", errPoolClosed)
	}
	defer c.leave()
	n := (size + MinAlign - 1) / MinAlign * MinAlign
	c.drain(-1)
	s.heap.inquire()
	h, gen, err := s.adoptOwn(n)
	if errors.Is(err, ErrOutOfMemory) {
		for _, hp := range c.allHeaps() {
			for _, need := range hp.needs() {
				_ = need.await() // what stays is missing below
			}
			hp.settle()
		}
		h, gen, err = s.adoptOwn(n)
	}
	if errors.Is(err, ErrOutOfMemory) {
		return nil, 0, s.pool.memoryError(size, err)
	} else if err != nil {
		return nil, 0, fmt.Errorf("alloc: make %s: %w", sizeText(size), err)
	}
	return h, gen, nil
}

// adoptOwn adopts n fresh bytes of the pool's device, within the limit.
func (s *Stream) adoptOwn(n int64) (*header, uint64, error) {
	c := s.core
	c.moving.RLock()
	defer c.moving.RUnlock()
	if !c.claim(n) {
		return nil, 0, errLimit
	}
	c.calls.Add(1)
	p, err := c.dev.Alloc(n)
	if err != nil {
		c.unclaim(n)
		return nil, 0, err
	}
	dev := c.dev // and not the pool: it goes back when it is dropped, and nothing may lead to it then
	a := &adopted{size: n, own: true, release: func() { _ = dev.Free(p, n) }}
	h, gen, err := s.adopted(a, p)
	if err != nil {
		a.release()
		c.unclaim(n)
	}
	return h, gen, err
}
