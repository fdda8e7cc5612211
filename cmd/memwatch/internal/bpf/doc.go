// Package bpf runs the probe programs and reads what they report.
//
// # Structures
//
//	Session     the programs in the kernel, their maps, and what is attached
//	Attachment  the probes of one file
//	Report      one call, marker, stack or end of a process, as the kernel saw it
//	Ledger      the books that the programs keep of each process
//
// # Way in
//
// [Open] loads the programs, [Session.Attach] attaches the probes of a library's
// [probes.Image] to its file, for all processes that map it or for one. Where the
// kernel has links of many probes, they are used; else single probes, which need
// more rights. [Session.Watch] tells of a process, and where its goroutines are.
//
// # Way out
//
// [Session.Read] hands out reports in the order of the ring. Every report that found
// no room is counted in the ledger of its process, and the ledgers' own totals stay
// right then. The ring wakes the reader when it is an eighth full; until then the
// reader looks twenty times a second.
//
// # Stacks
//
// A stack is taken by frame pointers and reported once. With [Options].Copies a call whose
// stack they do not tell brings a [Copy] of it, for half of the ring at most: what is beyond
// is for calls. The reader judges stacks ([Session.Judge]): of those that are good no more
// copies come.
//
// # Python
//
// Of a process that [Session.WatchPython] told of, each call that has a stack also has the number of the
// stack of its thread's frames of Python (python.h). A stack that was not seen lately comes before it, in a
// report of its own, and before that what its code objects say of themselves. What found no room is reported
// the next time.
//
// # Go programs
//
// Go functions get entry probes only ([Session.AttachMarkers]): a return probe
// replaces the return address on a stack that Go moves and walks.
package bpf
