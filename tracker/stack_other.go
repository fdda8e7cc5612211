//go:build !amd64

package tracker

import "runtime"

// Without a quick walk nothing is remembered of the last sample.
func returnPCs(*uintptr, int) int     { return -1 }
func samePCs(*uintptr, int, int) bool { return false }
func ticks() uint64                   { return 0 }

// stackKey writes what tells the caller's stack from others to key, as much as there is room
// for, and returns the part of it that is used.
func stackKey(key []uintptr) []uintptr { return key[:runtime.Callers(2, key)] }
