package alloc

import (
	"errors"
	"fmt"
	"runtime"
)

// Close waits for the work on all streams and for calls that other goroutines have under way, gives
// everything that is not live back to the device, and closes the streams. Later Makes fail with [ErrClosed].
// If buffers are live the error is a [*LiveError] that names where they were made, as far as the tracker has
// sampled that; they can still be freed, and their memory goes back to the device, with the streams, when the
// last of them is. Page-locked memory stays until it is freed too. In Check mode the error also has what
// [Pool.Check] would find. While a stream is being captured nobody can wait for it: then nothing goes back,
// errors.Is(err, [ErrCapturing]) is true, and Close is to be called again. Else closing again does nothing.
func (p *Pool) Close() error {
	if p.none() {
		return fmt.Errorf("alloc: close: %w", errNoPool)
	}
	c := p.core
	if !c.estate.enter() {
		return nil
	}
	defer runtime.KeepAlive(p)
	c.mu.Lock()
	if c.graphs.captured.Load() > 0 {
		c.mu.Unlock()
		err := fmt.Errorf("alloc: close: a Capture is under way: Close again behind it: %w", ErrCapturing)
		return errors.Join(err, c.leave())
	}
	if c.closed.Swap(true) {
		c.mu.Unlock()
		return errors.Join(c.closePinned(), c.leave())
	}
	streams := make([]*Stream, 0, len(c.streams))
	for s := range c.streams {
		if s.shut() { // else somebody is at it
			streams = append(streams, s)
		}
	}
	c.mu.Unlock()
	// A Make that is under way finds nothing from now on: work that is being enqueued at this moment may come
	// after the wait for its stream, and what it uses, once freed, must not become another's.
	for _, hp := range c.allHeaps() {
		hp.mu.Lock()
		hp.shut = true
		hp.mu.Unlock()
	}
	var errs []error
	for _, s := range streams {
		errs = append(errs, s.close())
	}
	c.estate.close()
	c.quiesce()
	c.drain(-1)
	c.settleAll()
	errs = append(errs, c.closePinned())
	if c.checker != nil {
		errs = append(errs, c.releaseHeld(0, true), c.checkLive())
	}
	if st := c.account.Stats(); st.LiveObjects > 0 {
		errs = append(errs, c.liveError(st))
		c.trim(0)
	}
	errs = append(errs, c.leave())
	if c.trace != nil {
		errs = append(errs, c.trace.flush())
	}
	return errors.Join(errs...)
}

// leave ends what estate.enter began. If the pool is closed and nothing is live, the last one to leave gives
// everything back to the device, and returns what went wrong. No lock is held.
func (c *core) leave() error {
	if last, err := c.estate.last(); !last {
		return err
	}
	// What is still pending waits for streams that nobody will ask about any more.
	for _, hp := range c.allHeaps() {
		hp.mu.Lock()
		for b := range hp.held {
			c.tellFreed(b)
		}
		hp.shard.Unpend(hp.pendingBytes)
		hp.pendingBytes, hp.pending, hp.held = 0, nil, nil
		hp.mu.Unlock()
	}
	return errors.Join(c.closePinned(), c.estate.settle())
}

// leftover gives back to the device what is not live in a closed pool, when a buffer that was live then is
// freed or a Make that was under way has found no memory.
func (c *core) leftover() {
	if !c.estate.enter() {
		return
	}
	c.settleAll()
	if c.account.Stats().LiveObjects > 0 {
		c.trim(0)
	}
	_ = c.leave()
}

// quiesce waits for the work on all streams if the pool is closed. Memory that is about to go back may have
// been used by a call that Close met: then the work came after the wait for its stream, before the Free. It
// reports false if it could not wait: then the memory stays.
func (c *core) quiesce() bool { return !c.closed.Load() || c.estate.sync() }
