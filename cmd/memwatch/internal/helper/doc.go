// Package helper is the small process that keeps memwatch's rights when it watches
// everything.
//
// What reads other programs' files, names their functions, draws and serves pages
// needs no rights once the programs are in the kernel, and has the most to do with what
// strangers wrote. It gives its rights up. Only two things are left that take them, and the
// helper does nothing else:
//
//	open    a process's list of mappings, and files that it has mapped as code or as a
//	        table of lastuse
//	attach  probes to a file that is called like a driver's library
//
// # Structures
//
//	Client  asks; safe for use by several goroutines
//	Serve   answers, each request in a goroutine of its own: one that never returns, for a
//	        file system may be served by a hostile process, holds up no other
//
// Both ends talk over a pair of sockets, a message each way, with the open file beside
// it. The helper ends when the socket is closed.
package helper
