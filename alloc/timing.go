package alloc

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// RecordTimed is [Stream.Record] for an event of which [Event.Sub] can say when the work had run. It costs
// the device a little more. On a device that does not time it is an event all the same.
//
//lastuse:effect recv borrowed
func (s *Stream) RecordTimed() Event { return s.record(true) }

var errUntimed = errors.New("the event is not timed: use RecordTimed")

// Sub returns the device's time from what start stands for to what e stands for; it is negative if e came
// first. It blocks until both have run. Both must be timed, and of pools on one device: else there is an
// error, for which errors.Is(err, [ErrForeign]) is true if the devices differ, and errors.Is(err,
// errors.ErrUnsupported) if the device does not time ([Timer]).
func (e Event) Sub(start Event) (time.Duration, error) {
	fail := func(err error) (time.Duration, error) { return 0, fmt.Errorf("alloc: event: sub: %w", err) }
	for _, x := range []Event{start, e} {
		if x.rec == nil {
			return fail(errUntimed)
		}
		if x.rec.untimed != nil {
			return fail(x.rec.untimed)
		}
	}
	from, to := start.rec, e.rec
	if from.core != to.core && from.core.dev != to.core.dev {
		return fail(fmt.Errorf("event %w on another device: record both on one", ErrForeign))
	}
	for _, x := range []Event{start, e} {
		if err := x.Sync(); err != nil {
			return 0, err
		}
	}
	for _, r := range []*eventRecord{from, to} {
		if !r.core.estate.enter() {
			return fail(errPoolClosed) // and the event is the device's again
		}
		defer r.core.leave()
	}
	to.core.calls.Add(1)
	d, err := to.core.timer.Elapsed(from.event, to.event)
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)
	if err != nil {
		return fail(err)
	}
	return d, nil
}

// timedEvent returns an idle event that is timed; errors.ErrUnsupported if the device does not time.
func (c *core) timedEvent() (uintptr, error) {
	if c.timer == nil {
		return 0, errors.ErrUnsupported
	}
	if e, ok := c.estate.takeTimed(); ok {
		return e, nil
	}
	c.calls.Add(1)
	e, err := c.timer.NewTimedEvent()
	if err == nil {
		c.estate.addEvent(e)
	}
	return e, err
}
