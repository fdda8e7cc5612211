// Package live watches running processes: it finds those that use a driver's library,
// has its functions probed, names their stacks, and hands events to a sink in the
// order in which they happened.
//
// # Structures
//
//	Watcher   one session; Run's goroutine empties the ring, and what it hears from the others goes to the sink
//	scanner   looks for libraries and tables in mappings, and has libraries probed; who has mapped one the
//	          kernel tells it (package mapping), and it looks at all processes now and then
//	reader    reads the tables
//	unwinder  walks copies of stacks where frame pointers do not tell all; what it has to read
//	          of files is read beside it, and not waited for when the ring fills
//	resolver  names stacks: reading a large library's symbols may take a second, and the ring must be
//	          read meanwhile
//
// Frames of Python come with the calls, and are put in the place of those of its interpreter before a stack
// is named (python_linux.go). The resolver finds the interpreter among the mappings.
//
// # Way in
//
// Libraries are found in the mappings of processes, and in the places where the
// system keeps them, so that programs that start later are seen from their first
// call. A library is probed once for all processes, or for the processes asked for.
//
// # Way out
//
// The sink gets a Start for each process before its first event, the events of its
// calls, its stacks as soon as they are named, once a second what the kernel's own
// books say and what was lost, and its Exit. A process that had the library mapped
// before the probes were there is marked as joined.
//
// Programs that use the lastuse runtime have a table of their buffers, which is read
// as often as it is asked for and told to the sink: being read costs them nothing. Markers are left
// alone.
package live
