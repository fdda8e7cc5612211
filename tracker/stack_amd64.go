package tracker

import "runtime"

// returnPCs writes the return addresses of the calls that led to the function that calls it to
// the n words from pcs on, the innermost first, and returns how many there are, or -1 if it cannot
// follow them to the end. It costs about a nanosecond a
// frame where runtime.Callers costs twenty, since it says nothing about calls that were inlined:
// it tells stacks apart, and runtime.Callers names them.
//
//go:noescape
func returnPCs(pcs *uintptr, n int) int

// samePCs reports whether the return addresses that returnPCs would write, without the first
// skip of them, are the n words from pcs on. It is false for n == 0.
//
//go:noescape
func samePCs(pcs *uintptr, n, skip int) bool

// ticks returns the processor's time stamp counter, which goes up a billion times a second at
// least. It costs half of what the clock does, and says only that little time has passed.
func ticks() uint64

// stackKey writes what tells the caller's stack from others to key, as much as there is room
// for, and returns the part of it that is used.
func stackKey(key []uintptr) []uintptr {
	if n := returnPCs(&key[0], len(key)); n >= 0 {
		return key[:n]
	}
	return callersKey(key)
}

// callersKey does the same where frame pointers do not lead to the end.
//
//go:noinline
func callersKey(key []uintptr) []uintptr { return key[:runtime.Callers(2, key)] }
