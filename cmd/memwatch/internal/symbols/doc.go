// Package symbols turns addresses of other processes into functions and lines.
//
// # Structures
//
//	Mapping  one line of /proc/PID/maps
//	File     the functions of one mapped file: Go's from its own tables, others from ELF
//	Process  the mappings of a process and their files, read when first seen, so that
//	         they are known when the process is gone
//	Cache    files by device and inode, for all processes, and where asked for their unwind
//	         tables, which are read from the open file
//
// # Go programs
//
// Functions and lines come from .gopclntab, which is there in stripped programs too.
// Its addresses count from where Go's code begins, and that is not where the section
// .text begins when a C linker made the program: since Go 1.26 it is in .go.module,
// before that in the table's header. Calls that the compiler inlined appear as the
// function that they were inlined into.
//
// # Trust
//
// A process chooses what it maps, and the names. Only regular files whose device and
// inode are those of the mapping are read, never waiting for a pipe; sections are
// bounded before they are read, and tables that lie give wrong names for that process
// and nothing worse.
package symbols
