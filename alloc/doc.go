// Package alloc gives Go programs memory of a device, such as a GPU, that is freed when it
// is last used: by an explicit Free, in nanoseconds and in stream order, and in any case
// after the collector has found its owner dead.
//
//	pool, err := alloc.NewPool(dev, alloc.Options{})
//	s, err := pool.NewStream()
//	b, err := alloc.Make[float32](s, n)
//	err = b.CopyFrom(s, src)
//	b.Free() // legal while the copy is still queued
//
// # The rules of stream order
//
// Memory made on a stream may be used on that stream at once. Another stream t may use
// it after t.Wait(s). A Free comes after all work with the buffer that was enqueued
// before it, on any stream; the caller does not wait. Handles given to a launch are resolved when
// it is enqueued. The pool learns on which streams a buffer is used from the copies, fills,
// launches and Ptr calls that name them: an address used on a stream that was not named is outside of
// the promise.
//
// # Structures
//
//	Pool      what a program has of a device; its inside is the core
//	Stream    a queue of work; what the pool keeps of one is its lane
//	lane      the heaps of a stream and how far the device has come with its work
//	heap      segments and idle lists under one lock; a lane has one, or, if goroutines
//	          meet on the stream, up to one for each processor
//	segment   one range got from the device: memory, or addresses that memory is mapped
//	          behind as the segment grows
//	block     a part of a segment; the bookkeeping lies in the Go heap, never in the
//	          device's memory
//	run       a block cut into slots of one size class, which are small blocks
//	bins      idle blocks by size: 1,024 bins for each doubling, found through bitmaps
//	header    what a Buffer points to and the collector watches
//	estate    what must go back to the device; it outlives the Pool
//
// There are two tiers. A small block, of up to 32 KiB, is a slot of a run: its size is one of
// 32 size classes, which waste at most 11.1 % beyond the multiple of 512 bytes that alignment wants.
// A large block is the best fit among the idle blocks of its heap. It is cut to size, and
// joined with its idle neighbours when it is freed. Both take constant time.
//
// # Make goes up
//
//  1. Pick a heap of the stream and lock it. A small size takes the first slot of the first run
//     of its class; a large one takes the warm block if it is of its size, else the best fit out of
//     the bins. The block comes
//     with a header, whose cleanup was attached at its birth, so nothing is
//     allocated. The tracker's shard counts. This is all a warm Make does.
//
//  2. Else the stream's own blocks are tidied up: pending blocks known to be free,
//     empty runs, the other heaps of the stream. From here on it is the ladder, and
//     Stats counts the rung that served.
//
//  3. Blocks of buffers that the collector found dead, from the late queue.
//
//  4. Idle blocks of other streams, if the device says that their work is complete. They are lent.
//
//  5. Fresh memory. Before, the pacer may decide that foreign memory is short enough for a
//     collection. The share of Limit is claimed before the device is called. Where the
//     device maps and more than 1/32 of the live bytes lies idle, whole idle granules are
//     moved behind the new addresses instead.
//
//  6. Idle segments back to the device, or all idle granules moved, then 5 again.
//
//  7. Waiting for the streams that pending blocks were used on.
//
//  8. Making the stream wait for another one whose idle blocks fit. This comes late, since it
//     makes streams run one after the other.
//
//  9. A collection of the Go heap, and a wait until its cleanups have run. What then still fails is a
//     *MemoryError.
//
// # Free goes down
//
//  1. The header's generation moves on, in one atomic operation: all copies of the handle
//     are dead. If somebody is enqueuing work with the buffer at this moment, he holds a pin, and
//     the last unpin goes on with 2.
//
//  2. The heap is locked, the shard counts, and the block is stamped with the number of
//     the stream's latest event. If only its own stream used it, it is idle: on top of
//     its run, or the warm block of its heap; the one that was warm before is joined with its
//     neighbours and goes into the bins. If others used it, it is pending.
//
// Nothing else happens: no call of the device, no event, no wait.
//
// # Events
//
// An event is recorded only when somebody asks whether a block's work is complete: a Make
// that looks at other streams, Trim, growth. One event answers for all frees before it. See
// lane for the numbers, and pending.go for blocks that wait for several streams.
//
// # Block states
//
// Void: addresses without memory, in a segment that maps. Growth makes them busy, then idle. Their
// contents do not exist.
//
// Idle: reserved and nobody's, in the lists of a heap. Work on the heap's stream may still be
// running on it, which does not matter to a Make on that stream; anybody else must
// compare its stamp with how far the stream is known to have come. Make makes it live, Trim and
// growth busy.
//
// Warm: idle too, but in none of the lists: the large block of a heap that was freed last. The next
// Make of just its size takes it; whoever looks through the heap's lists puts it there first.
//
// Live: owned by a buffer. No list of the pool has it; its header is the buffer's. Free
// makes it idle or pending, whoever drains the late queue as well.
//
// Pending: freed, but used on other streams that are not known to be past the Free. It
// waits in a batch of its heap. Whoever finds the needs of the batch met makes it idle. In Check
// mode, quarantine is pending too.
//
// Busy: in the hands of one goroutine that talks to the device, and in no list, so that no
// lock is needed meanwhile. There are none at a stop.
//
// Run: cut into slots, each of which has a state of its own. When all are idle, a Make
// that finds nothing else makes it idle.
//
// At every stop, and in Stats at any time, Live + Pending + Idle == Reserved, and Reserved never exceeds Limit.
//
// # Who keeps what alive
//
// A live buffer keeps its header alive, the header the Pool. Nothing in the pool refers to
// the header of a live buffer; the header of an idle block waits with the block. The argument of a
// header's cleanup is a number and the late queue, and leads to neither the header
// nor the pool. So a buffer that is dropped is found, and a pool that is dropped with all its
// buffers and streams is found too: its cleanup gives the estate back. See header.
//
// Memory goes back to the device when nobody can be at work with it. Whoever calls the device with a
// segment, a stream or an event of the pool is counted as inside (estate.enter), or has pinned a buffer, which is
// live for as long. Close waits for those inside; the last one to leave a closed pool in which nothing is
// live gives everything back, whether that is Close or the goroutine that has freed the last buffer.
//
// A dead copy of a handle refers to a header that may serve another buffer by then, and
// keeps that one from being found dead: forget handles after their Free, or let them go out of scope.
//
// # Check mode
//
// With Options.Check every buffer stands between red zones, freed memory is filled with 0xdb
// and held back for a while, and the stacks of every Make and Free are kept. A write out of
// bounds or after the Free makes the Make that reuses the block panic with a [*CorruptionError];
// [Pool.Check] returns it on demand, for live buffers too, and so does Close. The use of a dead
// handle panics with a [*UseError]. Freeing again is only counted, here as elsewhere. It all works
// through fills and copies in stream order, and slows a program down severalfold.
//
// # Lock order
//
//	core.mu          streams and lanes coming and going
//	  lane.mu        events of one stream; held over calls that record and query
//	    estate.mu    lists of what is the device's
//	  heap.mu        blocks; the device is never called under it
//	    owners.mu    numbers of headers
//
// No goroutine holds the mutexes of two heaps, or of two lanes, except who lists what is live or
// checks everything: he takes those of all heaps, under core.mu. Nothing is waited for under any
// of them.
//
// # Adding a device
//
// A [Device] is the whole portability surface; [Mapper], [Pinner], [Capturer] and [StreamAdopter]
// are what it may be able to do beyond. alloctest.TestDevice says whether it conforms, and
// launch.go what a package that launches work builds on.
package alloc
