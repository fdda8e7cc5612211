// Package finalize is the safety net under explicit frees: it hears from the
// collector which owners died without giving back what they owned, and it tells
// the collector when foreign memory, which the collector does not see, is short.
//
// # Structures
//
// A [Queue] holds what dead owners left behind. [Arm] ties a value to an owner:
// the cleanup's argument is a slot that carries the value and the queue's link, so
// that a death allocates nothing. A [Pacer] decides when foreign memory is short
// enough for a collection and runs it.
//
// # The way in
//
// The collector finds an owner unreachable and runs its cleanup on a goroutine of
// its own. The cleanup pushes the slot on the queue, lock-free, and is done.
// Nothing is freed there: a cleanup must not block, and it does not know which
// locks the program holds.
//
// # The way out
//
// Ordinary goroutines drain the queue where it suits them: an allocator does it at
// the start of its slow path, a few values at a time ([Queue.DrainN]), so that a
// storm of deaths does not stop one unlucky caller.
//
// # Two traps
//
// The value must not lead to its owner, or the owner never dies. And an owner
// whose raw handle is in the hands of foreign code must be kept alive until that
// call has returned: runtime.KeepAlive(owner) behind the call, else the net may
// fire under it.
//
// # Pacing
//
// runtime.GC returns before the cleanups that it queued have run, so [Collect]
// waits for them, with a deadline. When to collect follows CUDA.jl: from three
// quarters of the budget on, at most a twentieth of the time, more under real
// pressure; never while explicit frees keep up, and less and less often when
// collections find nothing. Every constant is an option and every decision is
// counted. Collections that the runtime ran by itself count as ours, so a small
// GOMEMLIMIT is respected by not adding to it.
package finalize
