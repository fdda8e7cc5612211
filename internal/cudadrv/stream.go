//go:build cgo && linux

package cudadrv

// #include "shim_stream.h"
// #cgo nocallback lu_StreamCreate
// #cgo noescape lu_StreamCreate
// #cgo nocallback lu_StreamCreateWithPriority
// #cgo noescape lu_StreamCreateWithPriority
// #cgo nocallback lu_CtxGetStreamPriorityRange
// #cgo noescape lu_CtxGetStreamPriorityRange
// #cgo nocallback lu_StreamDestroy
// #cgo noescape lu_StreamDestroy
// #cgo nocallback lu_StreamSynchronize
// #cgo noescape lu_StreamSynchronize
// #cgo nocallback lu_StreamQuery
// #cgo noescape lu_StreamQuery
// #cgo nocallback lu_StreamWaitEvent
// #cgo noescape lu_StreamWaitEvent
// #cgo nocallback lu_StreamGetId
// #cgo noescape lu_StreamGetId
// #cgo nocallback lu_StreamIsOurs
// #cgo noescape lu_StreamIsOurs
// #cgo nocallback lu_StreamIsCapturing
// #cgo noescape lu_StreamIsCapturing
// #cgo nocallback lu_EventCreate
// #cgo noescape lu_EventCreate
// #cgo nocallback lu_EventDestroy
// #cgo noescape lu_EventDestroy
// #cgo nocallback lu_EventRecord
// #cgo noescape lu_EventRecord
// #cgo nocallback lu_EventQuery
// #cgo noescape lu_EventQuery
// #cgo nocallback lu_EventSynchronize
// #cgo noescape lu_EventSynchronize
// #cgo nocallback lu_EventElapsedTime
// #cgo noescape lu_EventElapsedTime
import "C"

import (
	"math"
	"time"
)

// StreamCreate makes a stream that does not order itself with the default stream.
func (c *Context) StreamCreate() (uintptr, error) {
	o := C.lu_StreamCreate(c.c)
	if o.r != 0 {
		return 0, c.fail("cuStreamCreate", Code(o.r))
	}
	return uintptr(o.v), nil
}

// StreamCreateWithPriority is StreamCreate for a stream of a priority in the range of
// [Context.CtxGetStreamPriorityRange].
func (c *Context) StreamCreateWithPriority(priority int) (uintptr, error) {
	o := C.lu_StreamCreateWithPriority(c.c, C.int(priority))
	if o.r != 0 {
		return 0, c.fail("cuStreamCreateWithPriority", Code(o.r))
	}
	return uintptr(o.v), nil
}

// CtxGetStreamPriorityRange returns the priorities of the least and the most urgent streams.
func (c *Context) CtxGetStreamPriorityRange() (least, greatest int, err error) {
	o := C.lu_CtxGetStreamPriorityRange(c.c)
	if o.r != 0 {
		return 0, 0, c.fail("cuCtxGetStreamPriorityRange", Code(o.r))
	}
	return int(int64(o.a)), int(int64(o.b)), nil
}

// StreamDestroy gives a stream back; work that is queued on it still runs.
func (c *Context) StreamDestroy(s uintptr) error {
	if r := C.lu_StreamDestroy(c.c, C.uintptr_t(s)); r != 0 {
		return c.fail("cuStreamDestroy", Code(r))
	}
	return nil
}

// StreamSynchronize blocks until the stream is idle.
func (c *Context) StreamSynchronize(s uintptr) error {
	if r := C.lu_StreamSynchronize(c.c, C.uintptr_t(s)); r != 0 {
		return c.fail("cuStreamSynchronize", Code(r))
	}
	return nil
}

// StreamQuery reports whether the stream is idle.
func (c *Context) StreamQuery(s uintptr) (bool, error) {
	r := Code(C.lu_StreamQuery(c.c, C.uintptr_t(s)))
	if r == 0 || r == CodeNotReady {
		return r == 0, nil
	}
	return false, c.fail("cuStreamQuery", r)
}

// StreamWaitEvent makes later work on the stream run after the event.
func (c *Context) StreamWaitEvent(s, e uintptr) error {
	if r := C.lu_StreamWaitEvent(c.c, C.uintptr_t(s), C.uintptr_t(e)); r != 0 {
		return c.fail("cuStreamWaitEvent", Code(r))
	}
	return nil
}

// StreamGetId returns the stream's id, which no other stream of the process ever has; handles are used again.
func (c *Context) StreamGetId(s uintptr) (uint64, error) {
	o := C.lu_StreamGetId(c.c, C.uintptr_t(s))
	if o.r != 0 {
		return 0, c.fail("cuStreamGetId", Code(o.r))
	}
	return uint64(o.v), nil
}

// StreamIsOurs reports whether the stream belongs to this context.
func (c *Context) StreamIsOurs(s uintptr) (bool, error) {
	o := C.lu_StreamIsOurs(c.c, C.uintptr_t(s))
	if o.r != 0 {
		return false, c.fail("cuStreamGetCtx", Code(o.r))
	}
	return o.v != 0, nil
}

// StreamIsCapturing reports whether the stream is under capture.
func (c *Context) StreamIsCapturing(s uintptr) (bool, error) {
	o := C.lu_StreamIsCapturing(c.c, C.uintptr_t(s))
	if o.r != 0 {
		return false, c.fail("cuStreamIsCapturing", Code(o.r))
	}
	return o.v != 0, nil
}

// EventCreate makes an event without timing.
func (c *Context) EventCreate() (uintptr, error) { return c.eventCreate(0) }

// EventCreateTimed makes an event that [Context.EventElapsedTime] may be asked about.
func (c *Context) EventCreateTimed() (uintptr, error) { return c.eventCreate(1) }

func (c *Context) eventCreate(timed C.int) (uintptr, error) {
	o := C.lu_EventCreate(c.c, timed)
	if o.r != 0 {
		return 0, c.fail("cuEventCreate", Code(o.r))
	}
	return uintptr(o.v), nil
}

// EventDestroy gives an event back.
func (c *Context) EventDestroy(e uintptr) error {
	if r := C.lu_EventDestroy(c.c, C.uintptr_t(e)); r != 0 {
		return c.fail("cuEventDestroy", Code(r))
	}
	return nil
}

// EventRecord makes the event stand for the work that the stream has now. It reports whether a capture of
// ours ([Context.CaptureOwn]) has taken the record: a question about the event would break that capture.
func (c *Context) EventRecord(e, s uintptr) (captured bool, err error) {
	r := Code(C.lu_EventRecord(c.c, C.uintptr_t(e), C.uintptr_t(s)))
	if r == 0 || r == codeCaptured {
		return r != 0, nil
	}
	return false, c.fail("cuEventRecord", r)
}

// EventQuery reports whether the event's work is done. That it is not is no error.
func (c *Context) EventQuery(e uintptr) (bool, error) {
	r := Code(C.lu_EventQuery(c.c, C.uintptr_t(e)))
	if r == 0 || r == CodeNotReady {
		return r == 0, nil
	}
	return false, c.fail("cuEventQuery", r)
}

// EventSynchronize blocks until the event's work is done.
func (c *Context) EventSynchronize(e uintptr) error {
	if r := C.lu_EventSynchronize(c.c, C.uintptr_t(e)); r != 0 {
		return c.fail("cuEventSynchronize", Code(r))
	}
	return nil
}

// EventElapsedTime returns the time between two timed events whose work is done. The driver counts it in
// milliseconds, as a float of 32 bits: of a second 60 ns are lost.
func (c *Context) EventElapsedTime(start, end uintptr) (time.Duration, error) {
	o := C.lu_EventElapsedTime(c.c, C.uintptr_t(start), C.uintptr_t(end))
	if o.r != 0 {
		return 0, c.fail("cuEventElapsedTime", Code(o.r))
	}
	return time.Duration(math.Round(float64(o.v) * float64(time.Millisecond))), nil
}
