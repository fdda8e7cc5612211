package alloc

import (
	"errors"
	"fmt"
)

// Callback runs f on a goroutine of its own once the work that s has been given so far has run. It does not
// block, and later work on s does not wait for f. f may use the pool, and close it; a panic in it ends the
// program, as in any goroutine. If the work fails f is not called: [Stream.Sync] says why. The callbacks of
// one stream may run at the same time.
//
//lastuse:effect recv borrowed
func (s *Stream) Callback(f func()) error {
	switch {
	case s.none():
		return fmt.Errorf("alloc: callback: %w", errNoStream)
	case f == nil:
		return errors.New("alloc: callback: no function")
	}
	c := s.core
	if !c.estate.enter() { // until the work is over: behind a Close nobody could say whether it failed
		return fmt.Errorf("alloc: callback: %w", errPoolClosed)
	}
	e := s.Record()
	if err := e.rec.err.Load(); err != nil {
		c.leave()
		return fmt.Errorf("alloc: callback: %w", *err)
	}
	go func() {
		err := e.Sync()
		if c.leave(); err == nil {
			f()
		}
	}()
	return nil
}
