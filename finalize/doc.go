// Package finalize is the safety net under explicit frees. It hears from the collector
// which owners died without giving back what they owned, and it tells the collector when
// foreign memory, which the collector does not see, is short.
//
// # The net
//
//	Queue   what dead owners left behind, until somebody drains it
//	Arm     connects an owner with a queue: when the owner is found dead, a value of the
//	        caller's is put on the queue
//	Net     the connection, which Disarm cuts
//
// Nothing is freed on the collector's goroutines: a cleanup there only pushes a slot that was
// made when the owner was armed, without a lock and without allocating. Freeing is the work
// of whoever drains the queue, on a goroutine that may block, take locks and call a
// driver. A program that stops draining leaks, and Queue.Len says so.
//
// There are two traps. The value must not lead to the owner, or the owner never dies: give
// the raw handle, not the object that holds it. And an owner may die as soon as it is
// used no more, which can be while foreign code still works with the handle taken out of it: put
// runtime.KeepAlive(owner) behind such calls.
//
// # Pacing
//
// The collector runs when the Go heap has grown. A 64-byte owner of 2 GiB is 64 bytes to it. A
// [Pacer] is asked before foreign memory grows, and runs a collection if a large part of the
// budget is live, unless
//
//   - explicit frees keep up, so that a collection would find nothing;
//   - the last one found little and not much was made since: the bytes to wait for double each
//     time;
//   - the runtime has just run one by itself, as it does in a program with much garbage or
//     close to its GOMEMLIMIT;
//   - collections have had their share of the time, which is larger the less memory is
//     left.
//
// Every number is in [Options], every decision is counted in [Stats].
//
// # Lock order
//
// A Queue's mutex and a Pacer's are taken last: nothing is called while one is held, but the runtime for
// its count of collections. Neither is held while values are drained or a collection runs.
//
// # The end of a collection
//
// runtime.GC returns before the cleanups that it queued have run. [Collect] waits for them, with a
// deadline, by the runtime's own counts.
package finalize
