package symbols

import "strings"

// Offsets are fields of the Go runtime's structures, in bytes: what finds a goroutine
// from its thread, and its stack while it is in C.
type Offsets struct {
	M, GoID, SyscallPC, SyscallBP uint16 // of g
	CurG                          uint16 // of m
}

// GoOffsets returns the offsets of a Go version, which differ from one to the next.
// Of a version that is not known, goroutines are not walked.
func GoOffsets(version string) (Offsets, bool) {
	for _, v := range []struct {
		prefix string
		o      Offsets
	}{
		{"go1.26", Offsets{M: 48, GoID: 152, SyscallPC: 112, SyscallBP: 120, CurG: 184}},
	} {
		if rest, ok := strings.CutPrefix(version, v.prefix); ok && (rest == "" || rest[0] == '.' || rest[0] == ' ' || rest[0] == 'r' || rest[0] == '-') {
			return v.o, true
		}
	}
	return Offsets{}, false
}
