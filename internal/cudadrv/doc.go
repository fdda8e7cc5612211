// Package cudadrv calls the CUDA driver API, which it opens at run time.
//
// # Structures
//
// A [Driver] is one opened library: a table of function addresses in C memory, filled once per library and
// process. A [Context] is the primary context of one device, which every library in the process shares. Both
// are small handles on C records that live as long as the process, so that a call which meets a closed one
// fails instead of crashing. Nothing else is global; in particular there is no current device.
//
// # Way in
//
// [Open] loads the library, checks that every needed symbol is there and initialises the driver.
// [Driver.Retain] retains a device's primary context. Every other function is one driver call under the
// driver's name.
//
// Each call is one crossing into C, to a shim written in shim_*.h, which
//
//   - makes the context the calling thread's current one, if that thread's last shim left another (a
//     thread-local word in C; nothing has to lock goroutines to threads);
//   - for work on a stream, checks that the stream is not under capture, and enqueues nothing if it is;
//   - makes calls that a capture elsewhere forbids with that rule relaxed, so that a foreign capture
//     survives;
//   - calls the driver and returns result and values in a struct.
//
// Nothing is passed by reference except argument bytes, and those functions are declared not to let them
// escape. A call costs no Go memory, and the collector does not wait for one that blocks.
//
// # Way out
//
// [Context.Release] gives the context back. The library is never closed: the driver keeps threads of its own.
// Failures are [*Error], which names call and code as the driver names them. When the process exits the
// driver may go first and answers with a code that is [ErrShuttingDown]; releasing then counts as done, which
// is the caller's to decide.
//
// # Invariants
//
//   - No Go pointer is in the driver's hands after a call returned. Host memory that the driver works on
//     later comes from [Context.MemHostAlloc].
//   - The thread's current context after a call is the call's. Foreign code that needs its own current
//     context must set it in the crossing in which it works, as goroutines change threads anyway.
//
// Without cgo everything builds and [Open] says why it cannot.
package cudadrv
