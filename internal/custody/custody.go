// Package custody is how a pool says whose each byte of a device is at any time, to a device that wants to
// know.
//
// A device that checks its pool (alloctest.Order) is an [Observed]. [alloc.NewPool] finds that out once, asks
// it for an [Observer], and from then on tells it what no call of the device shows: which block became a
// buffer's and ceased to be one, and from when to when work with it is being enqueued. What calls of the
// device do show (copies, fills, events, waits, memory that comes, goes and moves) it sees by itself. A pool
// on any other device has no observer and tells nobody.
//
//	            Made                       Freed
//	idle block ──────► a buffer's block ──────────► idle or pending block
//	                     Begin … End     work with it is being enqueued
//	                     Held            its address was given away: work until Freed
//
// An observer never calls the pool, may be told things by many goroutines at once, and may be called under
// the lock of a heap. Streams are the device's handles. Ranges are whole blocks, but for Begin, End and Held
// in Check mode: there they leave out the red zones, which the pool looks at meanwhile.
package custody

// Host stands for the host where a method wants a stream: who gets page-locked memory.
const Host = ^uintptr(0)

// An Observed is a device that wants to be told.
type Observed interface {
	// Observe returns the observer for one pool.
	Observe() Observer
}

// An Observer is told by one pool.
type Observer interface {
	// Made says that [p, p+size) is a new buffer's, for work that is enqueued on stream from now on. It comes
	// before the program has the buffer.
	Made(stream, p uintptr, size int64)

	// Freed says that it is nobody's any more. It comes before anybody else can get it, and before the pool
	// notes what the memory must wait for.
	Freed(p uintptr, size int64)

	// Begin says that work with it is about to be enqueued on stream, End that it has been. Between them the
	// pool keeps the memory from being given away.
	Begin(stream, p uintptr, size int64)
	End(stream, p uintptr, size int64)

	// Held says that its address has been given away for work on stream. That is enqueued out of sight, until
	// Freed.
	Held(stream, p uintptr, size int64)

	// Adopted is Made for memory that is not the pool's. Released says that work with it is over, and comes
	// before its owner is told.
	Adopted(stream, p uintptr, size int64)
	Released(p uintptr, size int64)

	// Closed says that the pool has waited for stream and enqueues nothing on it any more, nor may those who
	// hold addresses for it.
	Closed(stream uintptr)

	// Dropped says that the collector has found the pool dead, and with it all its buffers.
	Dropped()
}
