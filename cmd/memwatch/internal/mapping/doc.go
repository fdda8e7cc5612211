// Package mapping hears from the kernel which processes map code, and which become other programs, as it
// happens: Open, then Next again and again.
//
// # Structures
//
//	Listener   one event of the kernel's for each processor, none of which counts anything: mappings are told
//	           beside what is counted
//	ring       what one processor has told and nobody has read yet
//
// It takes no program in the kernel and no probe in a process, works on each Linux that memwatch runs on, and
// costs a process that maps nothing nothing. It takes CAP_PERFMON to open, no rights to read. Mappings that
// are not of code are not told, nor are those that a fork hands on; who needs these has to look now and then.
package mapping
