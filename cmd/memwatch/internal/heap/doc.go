// Package heap turns events into the live foreign heap of each process.
//
// It is a pure state machine: it opens nothing, starts nothing and knows no
// kernel, so that a session can be tested and replayed from a file of events.
//
// # Structures
//
//	Heap         all processes; one goroutine owns it
//	process      the memory, threads and contexts of one process
//	allocation   bytes that somebody asked for, or a handle of physical memory
//	site         what one call stack allocated in one class
//	Snapshot     a copy for the views, which may keep it
//
// # Way in
//
// [Heap.Apply] takes events in the order in which they happened. An allocation is
// an event of the call's return, for only then its address is known. A free is an
// event of the call's entry: once the driver has freed an address another thread
// may get it, and that thread's return can come before the return of the free. A
// free whose call fails is therefore undone ([Undo]) and not delayed.
//
// What a free took away is kept until the thread's next event, which shows that
// the call has returned. Two threads may free one address at once; the memory
// comes back only if both fail, and never if the address was given out again.
//
// The end of a context is an event of the call's return that carries the time of
// its entry: it takes what was allocated before it was called.
//
// # Way out
//
// [Heap.Snapshot] copies what the views need. Sites are ordered by live bytes.
//
// # What is counted
//
// Own memory is what the driver holds for the process: device, managed, pinned,
// pool, array and physical memory. Physical memory is counted once, from its
// creation until it is released as often as it was retained and mapped nowhere.
// Imports belong to another process, registered memory to the program itself,
// ranges are addresses without memory, graph nodes get theirs later, and buffers
// and blocks are parts of memory counted before: all of these are shown, not added.
//
// # Invariants, checked by check in the tests
//
//   - the live bytes of a process are the sum of its allocations, and of its sites
//   - allocated - freed = live, in bytes and objects, for each class and each site
//   - every mapping is of an allocation that is alive, and mappings do not overlap
package heap
