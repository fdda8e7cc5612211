package cuda

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lastuse/lastuse/alloc"
)

// capturedEvents are the events of a device that were recorded last in a capture. A question about one of
// them would break the capture, so the driver is not asked.
type capturedEvents struct {
	n  atomic.Int64 // how many; so that without graphs nobody takes the lock
	mu sync.Mutex
	of map[uintptr]bool
}

// recorded notes whether e was recorded last in a capture.
func (c *capturedEvents) recorded(e uintptr, captured bool) {
	if !captured && c.n.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[uintptr]bool)
	}
	if captured {
		c.of[e] = true
	} else {
		delete(c.of, e)
	}
	c.n.Store(int64(len(c.of)))
}

// refuse is the answer to a question about an event of a capture; about another one it is nil.
func (c *capturedEvents) refuse(e uintptr) error {
	if c.n.Load() == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.of[e] {
		return nil
	}
	return fmt.Errorf("cuda: event %#x was recorded in a capture: %w", e, alloc.ErrCapturing)
}
