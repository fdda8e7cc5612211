// Package procfs reads what /proc tells of other processes, which may be hostile: a
// process is held by its directory, files are opened without ever waiting, and of
// everything there is a bound.
//
// # Structures
//
//	Process  one running program
//	Mapped   one line of its maps
//
// # The table
//
// A program that uses lastuse keeps its counters in a file that has no name in any
// directory and is mapped under the name [probe.Name]. [Process.Tables] reads all of
// them. [Process.OpenTable] opens one, so that it can be read after the process has
// ended, for the last time.
package procfs

import "errors"

var (
	ErrGone    = errors.New("no such process")
	ErrNoTable = errors.New("it has no table: it does not use lastuse, or was told not to keep one")
	ErrRights  = errors.New("not permitted: run memwatch as root or as the user of that process")
)
