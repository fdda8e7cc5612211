package tracker

// returnPCs writes the return addresses of the calls that are under way to the n words
// from pcs on, the innermost first, and returns how many there are. It costs about a nanosecond a
// frame where runtime.Callers costs twenty, since it says nothing about calls that were inlined:
// it tells stacks apart, and runtime.Callers names them.
//
//go:noescape
func returnPCs(pcs *uintptr, n int) int

// stackKey writes what tells the caller's stack from others to key and returns the part of it
// that is used.
func stackKey(key *[maxDepth]uintptr) []uintptr { return key[:returnPCs(&key[0], len(key))] }
