package cuda

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// DefaultStream returns the context's legacy default stream, which other libraries use when they are told
// nothing. It orders itself with streams that were made as blocking; those of NewStream are not.
func (b *base) DefaultStream() uintptr { return cudadrv.LegacyStream }

// NewStream makes a non-blocking stream.
func (b *base) NewStream() (uintptr, error) {
	s, err := b.ctx.StreamCreate()
	if err != nil {
		return 0, b.work(err)
	}
	b.held.Add(1)
	return s, nil
}

// Priorities returns the range that the driver says.
func (b *base) Priorities() (least, most int, err error) {
	least, most, err = b.ctx.CtxGetStreamPriorityRange()
	if err != nil {
		return 0, 0, b.work(err)
	}
	return least, most, nil
}

// NewPriorityStream makes a non-blocking stream of a priority.
func (b *base) NewPriorityStream(priority int) (uintptr, error) {
	s, err := b.ctx.StreamCreateWithPriority(priority)
	if err != nil {
		return 0, b.work(err)
	}
	b.held.Add(1)
	return s, nil
}

// DestroyStream gives a stream back.
func (b *base) DestroyStream(s uintptr) error {
	if err := b.ctx.StreamDestroy(s); err != nil {
		if err := b.give(err); err != nil {
			return err
		}
	}
	b.held.Add(-1)
	b.stage.leave(s)
	return nil
}

// Sync blocks until s is idle.
func (b *base) Sync(s uintptr) error {
	if err := b.ctx.StreamSynchronize(s); err != nil {
		return b.work(err)
	}
	return nil
}

// NewEvent makes an event without timing.
func (b *base) NewEvent() (uintptr, error) {
	e, err := b.ctx.EventCreate()
	if err != nil {
		return 0, b.work(err)
	}
	return e, nil
}

// NewTimedEvent makes an event with timing.
func (b *base) NewTimedEvent() (uintptr, error) {
	e, err := b.ctx.EventCreateTimed()
	if err != nil {
		return 0, b.work(err)
	}
	return e, nil
}

// Elapsed returns the device time between two timed events.
func (b *base) Elapsed(start, end uintptr) (time.Duration, error) {
	if err := errors.Join(b.captured.refuse(start), b.captured.refuse(end)); err != nil {
		return 0, err
	}
	d, err := b.ctx.EventElapsedTime(start, end)
	if err != nil {
		return 0, b.work(err)
	}
	return d, nil
}

// DestroyEvent gives an event back.
func (b *base) DestroyEvent(e uintptr) error {
	b.captured.recorded(e, false)
	if err := b.ctx.EventDestroy(e); err != nil {
		return b.give(err)
	}
	return nil
}

// Record makes e stand for the work that s has now.
func (b *base) Record(e, s uintptr) error {
	captured, err := b.ctx.EventRecord(e, s)
	if err != nil {
		return b.work(err)
	}
	b.captured.recorded(e, captured)
	return nil
}

// Query reports whether e's work has run.
func (b *base) Query(e uintptr) (bool, error) {
	if err := b.captured.refuse(e); err != nil {
		return false, err
	}
	done, err := b.ctx.EventQuery(e)
	if err != nil {
		return false, b.work(err)
	}
	return done, nil
}

// SyncEvent blocks until e's work has run.
func (b *base) SyncEvent(e uintptr) error {
	if err := b.captured.refuse(e); err != nil {
		return err
	}
	if err := b.ctx.EventSynchronize(e); err != nil {
		return b.work(err)
	}
	return nil
}

// Wait makes later work of s run after e's work.
func (b *base) Wait(s, e uintptr) error {
	if err := b.ctx.StreamWaitEvent(s, e); err != nil {
		return b.work(err)
	}
	return nil
}

// WaitAcross makes later work of s run after work of another GPU of this process.
func (b *base) WaitAcross(s uintptr, d alloc.Device, e uintptr) error {
	o, err := device(d)
	if err != nil {
		return fmt.Errorf("cuda: wait: %w", alloc.ErrForeign)
	}
	if err := b.ctx.StreamWaitEvent(s, e); err != nil { // the driver knows whose e is
		return fmt.Errorf("cuda: wait for %s: %w", o.name, b.with(o, err))
	}
	return nil
}

// Capturing reports whether s is being captured. On a broken device nothing is; what is wrong with it the
// call that asks will meet itself.
func (b *base) Capturing(s uintptr) (bool, error) {
	on, err := b.ctx.StreamIsCapturing(s)
	if err != nil {
		if errors.Is(err, cudadrv.ErrSticky) || errors.Is(err, cudadrv.ErrShuttingDown) {
			return false, nil
		}
		return false, b.work(err)
	}
	return on, nil
}

// AdoptStream checks that a foreign stream can be used from goroutines: it must belong to this device's
// primary context and be the same stream on every thread.
func (b *base) AdoptStream(h uintptr) error {
	if h == cudadrv.PerThreadStream {
		return fmt.Errorf("cuda: adopt stream: the per-thread default stream is another one on each thread, "+
			"and goroutines change threads: make one by cuStreamCreate: %w", ErrStream)
	}
	if h == 0 {
		h = cudadrv.LegacyStream
	}
	ours, err := b.ctx.StreamIsOurs(h)
	if err != nil {
		return b.work(err)
	}
	if !ours {
		return fmt.Errorf("cuda: adopt stream: it belongs to another context than device %d's primary one: "+
			"make it inside Do: %w", b.ordinal, ErrStream)
	}
	return nil
}

// StreamID returns what tells the stream from every other one of the process, past ones too: the driver uses
// handles again.
func (b *base) StreamID(h uintptr) (uint64, error) {
	id, err := b.ctx.StreamGetId(h)
	if err != nil {
		return 0, b.work(err)
	}
	return id, nil
}
