package alloc

import (
	"time"
	"unsafe"
)

// A Ptr is a device address. It means something to the device alone: a Go
// program passes it on and never dereferences it. The zero Ptr is no address.
type Ptr uintptr

// MinAlign is the least alignment, in bytes, of every buffer, and so of every
// address that [Device.Alloc] and [Mapper.Reserve] return.
const MinAlign = 512

// A Device is all that a [Pool] needs of a device: the whole portability
// surface. Package alloctest holds the conformance suite that every Device must
// pass.
//
// Rules for every method:
//
//   - It may be called by many goroutines at once, on the same stream too.
//     Calls that enqueue on one stream take effect in an order in which calls
//     that do not overlap keep their order.
//   - It allocates no Go memory: the pool calls it from paths that promise
//     zero allocations. (Opening and destroying streams and events may.)
//   - It keeps no Go pointer after it returns.
//   - It does not call back into a Pool.
//   - An error leaves the device as if the call had not been made, unless the
//     device is broken for good. Running short of memory is an error for which
//     errors.Is(err, [ErrOutOfMemory]) is true; work refused because of graph
//     capture is one for which errors.Is(err, [ErrCapturing]) is true.
//     Errors of work already queued may surface at any later call on the same
//     stream or event; Sync is where they surface at the latest.
//
// Streams and events are handles: opaque words that the device chooses. The
// zero handle is valid for a stream if the device says so, and never for an
// event.
type Device interface {
	// Name describes the device in a few words, such as "host" or
	// "cuda:0 NVIDIA H200". It appears in errors.
	Name() string

	// MemInfo returns the bytes that a program could still reserve and the
	// bytes the device has in all. It may be slow, and does not wait for queued
	// work. A device without a bound answers with what the machine has.
	MemInfo() (free, total int64, err error)

	// Alloc returns size bytes of device memory, aligned to [MinAlign] at
	// least, usable on every stream at once. Before: size > 0, a multiple of
	// MinAlign. It may block for as long as the driver likes.
	Alloc(size int64) (Ptr, error)

	// Free gives back what Alloc returned, with the size that it was asked for.
	// Before: no queued work touches it. Free may block until the device is
	// idle. The pool does not retry after an error.
	Free(p Ptr, size int64) error

	// DefaultStream returns the handle of the stream that always exists. It is
	// never destroyed.
	DefaultStream() uintptr

	// NewStream makes a stream whose work runs in order, and in no order with
	// the work of other streams that NewStream made.
	NewStream() (uintptr, error)

	// DestroyStream gives back a stream that NewStream made. Before: nobody
	// uses it any more; its work has run or, on a broken device, never will.
	DestroyStream(s uintptr) error

	// Sync blocks until all work that was enqueued on s has run, and returns
	// the first error of that work, if any.
	Sync(s uintptr) error

	// NewEvent makes an event without timing. Until the first Record it counts
	// as done. The pool recycles events, it seldom asks for new ones.
	NewEvent() (uintptr, error)

	// DestroyEvent gives back an event. Before: nobody uses it any more.
	DestroyEvent(e uintptr) error

	// Record makes e stand for the work that s has been given so far. It does
	// not block. An event may be recorded again, on any stream; a Wait that was
	// enqueued before still stands for the older recording.
	Record(e, s uintptr) error

	// Query reports whether the work that e stands for has run. It does not
	// block. Work that has not run is false without an error.
	Query(e uintptr) (done bool, err error)

	// SyncEvent blocks until the work that e stands for has run.
	SyncEvent(e uintptr) error

	// Wait makes work enqueued on s from now on run after the work that e
	// stands for. It does not block the caller.
	Wait(s, e uintptr) error

	// CopyIn copies n > 0 bytes of host memory to the device in order on s. It
	// returns when src may be changed, which may be before the copy has run and
	// before earlier work of s has run.
	CopyIn(s uintptr, dst Ptr, src unsafe.Pointer, n int64) error

	// CopyOut copies n > 0 bytes to host memory in order on s, and returns when
	// dst is filled. It blocks until then.
	CopyOut(s uintptr, dst unsafe.Pointer, src Ptr, n int64) error

	// Copy enqueues a copy of n > 0 bytes within the device. If the ranges
	// overlap, what arrives is unspecified, except that src == dst is allowed.
	Copy(s uintptr, dst, src Ptr, n int64) error

	// Fill enqueues the writing of count > 0 copies of the low width bytes of
	// pattern (little endian), where width is 1, 2 or 4 and dst is a multiple
	// of width. Wider elements are the pool's affair: it copies the first one
	// in and doubles it with Copy.
	Fill(s uintptr, dst Ptr, pattern uint32, width int, count int64) error
}

// The interfaces below are what a device may be able to do beyond [Device]. A
// pool finds out by type assertion, once, in [NewPool].

// A Mapper is a Device that hands out address ranges and memory apart from each
// other. Segments of such a device grow in place, and idle granules anywhere can
// be put behind one range of addresses, so that a big Make succeeds whenever
// enough whole granules are idle.
//
// All addresses and sizes are multiples of Granularity. What one Map puts behind addresses is an
// extent, one piece of memory: Move and Unmap take whole extents, several at once if they lie side by side,
// and a part of one is an error that changes nothing. So a mapper that backs addresses with memory handles
// needs one handle an extent, which costs about as much for a large one as for a small one.
type Mapper interface {
	Device

	// Granularity is the unit of mapping in bytes: a power of two, at least
	// [MinAlign], constant for the life of the device. 0 means that this one cannot
	// map after all; then no other method of Mapper is called.
	Granularity() int64

	// Reserve takes a range of addresses with no memory behind it. It costs no
	// device memory.
	Reserve(size int64) (Ptr, error)

	// Unreserve gives a whole reserved range back. Before: nothing in it is
	// mapped.
	Unreserve(p Ptr, size int64) error

	// Map puts fresh memory behind [p, p+size) and makes it usable on every
	// stream: one extent. Before: the range is reserved and nothing in it is mapped. On
	// error nothing in it is mapped, partial work is undone.
	Map(p Ptr, size int64) error

	// Move takes the memory from behind [src, src+size), which is whole extents, and
	// puts it behind [dst, dst+size), where nothing is mapped: the same extents in the same order. It needs
	// no new memory. What the memory holds afterwards is unspecified. Before: no queued work touches either.
	// On error both ranges are as before; if that could not be brought about either, errors.Is(err,
	// [ErrUnmapped]) is true, nothing is mapped in either range, and the memory is the device's again.
	Move(dst, src Ptr, size int64) error

	// Unmap gives the memory behind [p, p+size) back to the device. Before: it is whole
	// extents, and no queued work touches it. On error all of it is mapped as before.
	Unmap(p Ptr, size int64) error
}

// A Pinner is a Device that can give out page-locked host memory, which copies
// reach without staging.
type Pinner interface {
	// AllocHost returns size > 0 bytes of page-locked memory outside the Go
	// heap, aligned to 64 bytes at least. It may block.
	AllocHost(size int64) (unsafe.Pointer, error)

	// FreeHost gives it back. Before: no queued work touches it. It may block.
	FreeHost(p unsafe.Pointer, size int64) error
}

// A Registrar is a [Pinner] that can page-lock memory which somebody else has allocated ([Register]).
type Registrar interface {
	// RegisterHost page-locks [p, p+size), whose pages hold nothing else, until UnregisterHost. Before: the
	// memory stays where it is, and no part of it is registered. It may block.
	RegisterHost(p unsafe.Pointer, size int64) error

	// UnregisterHost ends that. Before: no queued work touches it; but CopyIn and CopyOut may be at it, with
	// which the memory is what any other is. It may block.
	UnregisterHost(p unsafe.Pointer, size int64) error
}

// A Transferer is a [Pinner] that copies from and to its page-locked memory without waiting
// ([Upload], [Download]). On another device these copies wait.
type Transferer interface {
	// Transfer enqueues a copy of n > 0 bytes between device memory at p and page-locked memory at
	// host, to the device if in is set, in order on s. It does not block. The host's memory stays what it is
	// until the copy has run.
	Transfer(s uintptr, p Ptr, host unsafe.Pointer, n int64, in bool) error
}

// A RowCopier is a Device with a call for copies of rows ([Copy2D]). On another one each row is a copy.
type RowCopier interface {
	// CopyRows enqueues a copy of height > 0 rows of width > 0 bytes, in order on s. It does not block. Rows
	// of one side do not lie on one another; at most one side is the host's, whose memory is page-locked and
	// stays what it is until the copy has run. A device that has no such call after all returns
	// errors.ErrUnsupported.
	CopyRows(s uintptr, dst, src Rows, width, height int64) error
}

// Rows says where the rows of a copy lie on one side.
type Rows struct {
	Ptr   Ptr            // of the first row, in device memory
	Host  unsafe.Pointer // if it is not nil: of the first row, in page-locked memory
	Pitch int64          // bytes from one row to the next
}

// A Stager is a Device that keeps page-locked memory of its own, through which it copies from and to Go
// memory.
type Stager interface {
	// Staged returns how many bytes that is, for all pools on the device together. It asks no driver and does
	// not block.
	Staged() int64
}

// A Capturer is a Device whose streams can be recorded into a graph instead of
// run. While that goes on, memory may not change hands on the stream.
//
// The pool asks only for streams whose handle others have ([Stream.Handle],
// [Pool.WrapStream]): nobody else can begin a capture. So the check costs the ordinary
// Make nothing.
type Capturer interface {
	// Capturing reports whether s is being captured. It does not block and does
	// not disturb the capture.
	Capturing(s uintptr) (bool, error)
}

// A Grapher is a Device that can record what streams are given instead of running it, and run the record as
// often as it is asked ([Stream.Capture]). A graph is such a record, an executable what is made of one to be
// launched; both are handles. All this may take its time and Go memory, but for LaunchExec.
//
// A stream that is being captured takes Copy, Fill, Record, Wait for an event that was recorded in the same
// capture, Transfer, and launches, from any goroutine. All else that names it fails with [ErrCapturing], and
// so do Query and SyncEvent of an event that was recorded in a capture; none of that disturbs the capture,
// and neither does any work on other streams.
type Grapher interface {
	// BeginCapture begins to record what s is given. The default stream cannot be captured.
	BeginCapture(s uintptr) error

	// JoinCapture is Wait for a stream s that is not captured and an event e that was recorded in the capture
	// that was begun with origin: s is a part of it from now on.
	JoinCapture(origin, s, e uintptr) error

	// EndCapture ends the capture that was begun with origin for all its streams, whatever it returns. A
	// stream that joined it and whose work since then origin does not wait for is an error, and there is no
	// graph then.
	EndCapture(origin uintptr) (graph uintptr, err error)

	// DestroyGraph gives a graph back. Executables that were made of it stay.
	DestroyGraph(graph uintptr) error

	// Instantiate makes an executable.
	Instantiate(graph uintptr) (exec uintptr, err error)

	// UpdateExec makes later launches of exec run what graph says, and reports true; or reports false if the
	// two differ by too much for that, and leaves exec as it is.
	UpdateExec(exec, graph uintptr) (bool, error)

	// LaunchExec enqueues exec on s. One launch of an executable runs after the other, in the order of the
	// calls, whatever streams they name. It does not block.
	LaunchExec(exec, s uintptr) error

	// DestroyExec gives an executable back. Before: its launches have run or, on a broken device, never will.
	DestroyExec(exec uintptr) error
}

// A Prioritizer is a Device whose streams may be more or less urgent than one another
// ([Pool.NewStreamWith]). On another device they are all alike.
type Prioritizer interface {
	// Priorities returns the range of priorities: least of the streams that come last, most of the most
	// urgent ones. Lower is more urgent, so most <= least. NewStream's is 0.
	Priorities() (least, most int, err error)

	// NewPriorityStream is like NewStream for a priority of that range.
	NewPriorityStream(priority int) (uintptr, error)
}

// A Timer is a Device that knows when its work ran ([Stream.RecordTimed]).
type Timer interface {
	// NewTimedEvent is like NewEvent for an event that Elapsed may be asked about. A device that cannot time
	// after all returns errors.ErrUnsupported; then Elapsed is never called.
	NewTimedEvent() (uintptr, error)

	// Elapsed returns the device time between what two timed events stand for, negative if
	// end came before start. Before: both have been recorded, and what they stand for has run.
	Elapsed(start, end uintptr) (time.Duration, error)
}

// A CrossWaiter is a Device whose streams can wait for events of another device of its kind in this
// process ([Stream.Wait] across pools).
type CrossWaiter interface {
	// WaitAcross makes work enqueued on s from now on run after what e, an event of device d, stands for. It
	// does not block the caller. If d is of another kind, errors.Is(err, [ErrForeign]) is true.
	WaitAcross(s uintptr, d Device, e uintptr) error
}

// A StreamAdopter is a Device that lets streams made by others take part in a
// pool ([Pool.WrapStream]).
type StreamAdopter interface {
	// AdoptStream checks that h is a stream of this device that any goroutine
	// may use from any thread, and says what is wrong if it is not. The pool
	// never destroys an adopted stream.
	AdoptStream(h uintptr) error
}
