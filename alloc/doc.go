// Package alloc gives Go programs memory of a device, such as a GPU, that is freed when it is last used: by
// an explicit Free, in nanoseconds and in stream order, and in any case after the collector has found its
// owner dead.
//
//	pool, err := alloc.NewPool(dev, alloc.Options{})
//	s, err := pool.NewStream()
//	b, err := alloc.Make[float32](s, n)
//	err = b.CopyFrom(s, src)
//	b.Free() // legal while the copy is still queued
//
// # The rules of stream order
//
// Memory made on a stream may be used on that stream at once. Another stream t may use it after t.Wait(s).
// A Free comes after all work with the buffer that was enqueued before it, on any stream; the caller does
// not wait. Handles given to a launch are resolved when it is enqueued. The pool learns on which streams a
// buffer is used from the copies, fills, launches and Ptr calls that name them: an address used on a stream
// that was not named is outside of the promise.
//
// # The picture
//
//	            Make / Free                      climb, tidy                    grow, trim
//	program ◄──────────────────► heap ◄──────────────────────────► arena ◄──────────────────► device
//	                             one a stream                      one a pool
//	                             runs by size class                segments: ranges of the device's memory
//	                             8 cached large blocks             large idle blocks, in bins by size,
//	                             pending blocks                    on the shelf of their last heap
//
//	Pool      what a program has of a device; its inside is the core
//	Stream    a queue of work; its heap serves its Makes and Frees
//	timeline  how far the device has come with a stream's work, counted in events
//	stamp     a point on one timeline: what must have run before a block may change hands
//	block     a part of a segment; the bookkeeping lies in the Go heap, never in the device's memory
//	run       a block cut into slots of one size class, which are small blocks
//	extent    what one Map of a device that maps got: what can be moved or given back
//	hole      addresses of a segment with no memory behind them
//	bins      idle blocks by size: 1,024 bins for each doubling, found through bitmaps
//	header    what a Buffer points to and the collector watches
//	estate    what must go back to the device; it outlives the Pool
//
// A small block, of up to 32 KiB, is a slot of a run: its size is one of 32 size classes, which waste at
// most 11.1 % beyond the multiple of 512 bytes that alignment wants. A large block is the best fit among
// the idle blocks of its stream. It is cut to size, and joined with its idle neighbours when it goes back
// to the arena. All of this takes constant time.
//
// # The one rule
//
// Memory goes from one owner to the next in stream order. On its own stream it always does. To another
// stream, to the host (which moves and unmaps) or to the device it goes only by its stamp: when an event
// that was recorded after the Free has been seen to be over, or when the new stream has been made to wait
// for such an event. timeline.orders is the rule; whoever takes a block over gives it a stamp of his own.
// Package alloctest has a device that checks every hand-over (alloctest.Ordered).
//
// An event is recorded only when somebody asks whether a block's work is complete: a Make that looks at
// other streams, Trim, growth. One event answers for all frees before it. A block that several streams have
// used is pending until all of them are past its Free (pending.go).
//
// # Make goes up
//
//  1. The stream's heap is locked. A small size takes the first slot of the first run of its class; a large
//     one a cached block of its size, else the best fit of the heap's shelf. The block comes with a header,
//     whose cleanup was attached at its birth, so nothing is allocated. The shard counts. This is all a
//     warm Make does.
//
//  2. Else the heap is tidied up: what is cached and runs without a live slot go to the arena, pending
//     blocks known to be free come back. From here on it is the ladder, and Stats counts the rung that
//     served.
//
//  3. Blocks of buffers that the collector found dead, from the late queue.
//
//  4. Idle blocks of other streams, whole, if the device says that their work is complete.
//
//  5. Fresh memory. Before, the pacer may decide that foreign memory is short enough for a collection. The
//     share of Limit is claimed before the device is called. Where the device maps and more lies idle than
//     Options.Growth allows, idle extents are moved behind the new addresses instead.
//
//  6. What other streams have after they have been tidied up too.
//
//  7. Idle segments back to the device, or all idle extents moved, then 5 again. Then any idle block, of
//     whatever kind of segment.
//
//  8. Waiting for the streams that pending blocks were used on.
//
//  9. Making the stream wait for another one whose idle blocks fit. This comes late, since it makes streams
//     run one after the other.
//
//  10. A collection of the Go heap, and a wait until its cleanups have run. What then still fails is a
//     *MemoryError.
//
// # Free goes down
//
//  1. The header's generation moves on, in one atomic operation: all copies of the handle are dead.
//     Somebody who is enqueuing work with the buffer at this moment holds a pin, and the last unpin goes on
//     with 2.
//
//  2. The heap is locked, the shard counts, and the block is stamped with the number of the stream's latest
//     event (core.release, which the collector's frees pass too). If only its own stream used it, it is
//     idle: on top of its run, or cached. If others used it, it is pending.
//
// Nothing else happens: no call of the device, no event, no wait.
//
// # Graphs
//
//	Graph         work that was captured, launched as often as one likes: capture.go, graph.go
//	capture       one run of the function of a Capture or an Update; its members are the streams in it
//	graph memory  what the graph has: chunks, cut into spans for the buffers of a capture (graphmem.go)
//	names         the buffers outside of it that its work uses (naming.go)
//
// Way in: Capture makes the stream a member and has the device begin. From then on Stream.careful leads each
// Make, copy and launch on it to the capture. A Make gets a span of a chunk; chunks are whole granules, fresh
// or observed complete, because a launch is in no order with the stream that the memory came from (chunk.go).
// Free in the function gives the span back, and the next Make on a stream that is behind all work on it has
// it: that is known from the waits between the members alone, which count points as timelines count events.
// Work with any other buffer makes the graph name it. The pool asks the device nothing about a member, and
// nothing is given back that might wait for the whole device. At the end the device instantiates what it has
// recorded.
//
// Way out: a chunk is a live block of the pool's, so all of graph memory is live until the graph is closed
// and the buffers that have left the function are freed; then it is pending until every stream that it was
// launched on is past that point. A named buffer that is freed is pending, in heap.held, until the last graph
// that names it lets go; from there on it waits for its streams like any other. Check mode leaves its
// contents alone: if the function itself has freed it launches go on. An executable goes back to the device
// when its launches have run (core.reap). Close does none of the waiting.
//
// An update is a second capture on the same chunks, less what has left the first and is not over: its
// launches run behind those before, so no memory has to be got for it. Until the device has taken it nothing
// of the old graph is touched.
//
// # Block states
//
// Hole: addresses without memory, in the arena. Growth makes them busy, then idle. Their contents do not
// exist.
//
// Idle: reserved and nobody's: large in the arena, small in its run. Work of the stream of its stamp may
// still be running on it, which does not matter to a Make on that stream.
//
// Cached: idle too, a large block that its heap has kept for the next Make of just its size.
//
// Live: owned by a buffer. No list of the pool has it; its header is the buffer's.
//
// Pending: freed, but used on other streams that are not known to be past the Free. It waits in a batch of
// its heap. In Check mode, quarantine is pending too.
//
// Busy: in no list, in the hands of one goroutine, which holds core.moving and may talk to the device. There
// are none while Check looks.
//
// Run: cut into slots, each of which has a state of its own.
//
// Inner: owned by a buffer that was made in a capture. It is a part of a chunk, which is live; no segment has
// it.
//
// At every stop, and in Stats at any time, Live + Pending + Idle == Reserved, and Reserved never exceeds
// Limit.
//
// # Who keeps what alive
//
// A live buffer keeps its header alive, the header the Pool. Nothing in the pool refers to the header of a
// live buffer; the header of an idle block waits with the block. The argument of a header's cleanup is a
// number and the late queue, and leads to neither the header nor the pool. So a buffer that is dropped is
// found, and a pool that is dropped with all its buffers and streams is found too: its cleanup gives the
// estate back. See header.
//
// Memory goes back to the device when nobody can be at work with it. Whoever calls the device with a
// segment, a stream or an event of the pool is counted as inside (estate.enter), or has pinned a buffer,
// which is live for as long. Close waits for those inside; the last one to leave a closed pool in which
// nothing is live gives everything back, whether that is Close or the goroutine that has freed the last
// buffer.
//
// A dead copy of a handle refers to a header that may serve another buffer by then, and keeps that one from
// being found dead: forget handles after their Free, or let them go out of scope.
//
// # Check mode
//
// With Options.Check every buffer stands between red zones, freed memory is filled with 0xdb and held back
// for a while, and the stacks of every Make and Free are kept. A write out of bounds or after the Free
// makes the Make that reuses the block panic with a [*CorruptionError]; [Pool.Check] returns it on demand,
// for live buffers too, and so does Close. The use of a dead handle panics with a [*UseError]. Freeing
// again is only counted, here as elsewhere. It all works through fills and copies in stream order, and
// slows a program down severalfold.
//
// # Lock order
//
//	core.moving        read: memory in one's hands that is in no list; written by who wants none to be
//	core.mu            streams and heaps coming and going
//	graph.mu           a graph's executable, held over calls that enqueue
//	  graphs.mu        how many graphs name what
//	  memory.mu        of a graph, and of the capture on it
//	  heap.mu          what a heap has; the device is never called under it
//	    arena.mu       what is idle, and who lies beside whom; nor under this one
//	      granules.mu  what is mapped
//	      afterMu      of a timeline: whom its stream waits for
//	    checker.mu     quarantine and the stacks of what was freed
//	    trace.mu       lines of the trace
//	    owners.mu      numbers of headers
//	    books          internal/books says what lies below
//	  timeline.mu      events of one stream; held over calls that record and query
//	    estate.mu      lists of what is the device's
//	pinnedHeap         page-locked memory by itself: registering, over calls that page-lock and give back, then
//	                   mu; timelines are asked without it
//
// No goroutine holds the mutexes of two heaps, or of two timelines, except who stops the pool
// (core.stopped): he takes those of all heaps, in their order, and the arena's, under core.mu. Nothing is
// waited for under any of them but core.moving, under which the device gives, moves and takes memory.
//
// # Adding a device
//
// A [Device] is the whole portability surface; what it may be able to do beyond, each an interface of its
// own, stands behind it in device.go. alloctest.TestDevice says whether it conforms, and launch.go what a
// package that launches work builds on.
package alloc
