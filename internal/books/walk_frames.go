//go:build amd64 || arm64

package books

// returnPCs writes the return addresses of the calls that led to the function that calls it to
// the n words from pcs on, the innermost first, and returns how many there are, or -1 if it cannot
// follow them to the end. It costs about a nanosecond a frame where runtime.Callers costs twenty to
// fifty, since it says nothing about calls that were inlined: it tells stacks apart, and
// runtime.Callers names them.
//
//go:noescape
func returnPCs(pcs *uintptr, n int) int

// Walk writes what tells the caller's stack from others to key, as much as there is room
// for, and returns the part of it that is used. [Frames] can name it, but for calls that were inlined.
func Walk(key []uintptr) []uintptr {
	if n := returnPCs(&key[0], len(key)); n >= 0 {
		return key[:n]
	}
	return callers(key)
}
