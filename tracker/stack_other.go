//go:build !amd64

package tracker

import "runtime"

// stackKey writes what tells the caller's stack from others to key, as much as there is room
// for, and returns the part of it that is used.
func stackKey(key []uintptr) []uintptr { return key[:runtime.Callers(2, key)] }
