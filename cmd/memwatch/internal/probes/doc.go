// Package probes says which functions of a driver's library are probed, where, and
// what their calls mean.
//
// # Structures
//
//	Probe      one function, as data: what it does and where its numbers are
//	Library    the functions of one library, and the names of its file
//	Image      an ELF file: its exports, the head of each function, its build ID
//	Placement  where in the file a probe goes, and what a hit costs
//	Raw        what the probe programs in the kernel collected of one call
//
// # Way in
//
// The kernel has one entry and one return program for all functions. A probe's
// cookie is its number ([Probe.ID]); under it the program finds a [Descriptor] that
// says which arguments to fetch, and when. Nothing else about a library is in the
// kernel, so that a new function is a new line in a table.
//
// # Way out
//
// [Translate] turns what was fetched into events of the heap. Allocations come from
// the return of a call, frees from its entry, and a free that failed is undone.
//
// # Placement
//
// A probe is an instruction replaced by a breakpoint. The kernel emulates a few
// kinds of instructions, and single-steps all others, which in a virtual machine
// costs twenty times as much. So the head of a function is decoded and the probe
// goes to the first emulated instruction that is reached with the stack pointer,
// the frame pointer and the arguments unchanged, if nothing jumps to it or between;
// else to the head. A head that the kernel refuses to probe is refused here, for
// the kernel accepts the probe then and never runs it.
package probes
