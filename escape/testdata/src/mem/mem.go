// Package mem has a resource whose functions are known by directives, and // want package:`mem.Done: arg 0 freed\nmem.Each: arg 1 called in turn\nmem.Keep: arg 0 escapes\n.*\nmem.Make: result 0 owned.*\nmem.New: result 0 owned\nfrees: \(\*mem.Buf\).Free`
// helpers of which nothing but the body says what they do.
package mem

// A Buf owns foreign memory.
type Buf struct{ p uintptr }

func get(n int) uintptr
func put(p uintptr)

// Make returns a buffer of n bytes.
//
//lastuse:effect result 0 owned
func Make(n int) (*Buf, error) { return &Buf{get(n)}, nil } // want Make:"proven"

// Free gives the memory back; it may be called once.
//
//lastuse:effect recv freed
func (b *Buf) Free() { put(b.p) } // want Free:"proven"

// Fill writes to the buffer.
//
//lastuse:effect recv borrowed
func (b *Buf) Fill(x int) { put(b.p) } // want Fill:"proven"

// New is a wrapper: its body says that the caller owns the result.
func New[T any](n int) (*Buf, error) { // want New:"proven"
	b, err := Make(n)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Done frees what it is given.
func Done(b *Buf) { b.Free() } // want Done:"proven"

var kept []*Buf

// Keep stores what it is given.
func Keep(b *Buf) { kept = append(kept, b) } // want Keep:"proven"

// Each only calls f.
func Each(n int, f func(int)) { // want Each:"proven"
	for i := range n {
		f(i)
	}
}
