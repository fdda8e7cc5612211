package proof_test

import "testing"

// TestWrongKinds is frees of another type than that of what was made, and views that are no plain memory.
func TestWrongKinds(t *testing.T) {
	tests := []wrong{
		{"a channel that views it is received from", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Chan() chan int

func f() int {
	b := Make()
	v := b.Chan()
	b.Free() //F
	return <-v
}
`},
		{"a channel that views it is sent on", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Chan() chan int

func f() {
	b := Make()
	v := b.Chan()
	b.Free() //F
	v <- 1
}
`},
		{"a channel that views it is closed", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Chan() chan int

func f() {
	b := Make()
	v := b.Chan()
	b.Free() //F
	close(v)
}
`},
		{"a channel that views it is selected", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Chan() chan int

func f(o chan int) {
	b := Make()
	v := b.Chan()
	b.Free() //F
	select {
	case <-v:
	case <-o:
	}
}
`},
		{"a map that views it is counted", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Map() map[int]int

func f() int {
	b := Make()
	v := b.Map()
	b.Free() //F
	return len(v)
}
`},
		{"a conversion of a type parameter copies bytes", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte

func f[T ~[]byte | ~string](t T) int {
	b := Make()
	v := T(b.Bytes())
	b.Free() //F
	return len(string(v))
}
`},
		{"it is freed as a handle of another type", "a view of something", `
type N uint32

//lastuse:effect result 0 owned
func MakeN() N

//lastuse:effect recv freed
func (n N) Free()

type M uint32

//lastuse:effect recv freed
func (m M) Delete()

func f() {
	n := MakeN()
	m := M(n)
	_ = m
	m.Delete() //F
}
`},
		{"it is freed as another type in an interface", "a view of something", `
type C struct{ n int }

//lastuse:effect recv freed
func (c *C) Free()

type freer interface{ Free() }

func f() {
	b := Make()
	c := (*C)(b)
	var x freer = c
	_ = x
	x.Free() //F
}
`},
		{"the same, which a callee makes", "a view of something", `
type C struct{ n int }

//lastuse:effect recv freed
func (c *C) Free()

type freer interface{
	//lastuse:effect recv freed
	Free()
}

func wrap(b *B) freer { return (*C)(b) }

func f() {
	b := Make()
	x := wrap(b)
	_ = x
	x.Free() //F
}
`},
		{"a callee makes another type of what it returns", "not made here", `
type C struct{ n int }

//lastuse:effect recv freed
func (c *C) Free()

func build() *C { return (*C)(Make()) }

func f() {
	c := build()
	_ = c
	c.Free() //F
}
`},
		{"the same, as an interface", "not made here", `
type C struct{ n int }

//lastuse:effect recv freed
func (c *C) Free()

type freer interface{
	//lastuse:effect recv freed
	Free()
}

func build() freer { return (*C)(Make()) }

func f() {
	c := build()
	_ = c
	c.Free() //F
}
`},
		{"the same, in a field", "may be nil", `
type C struct{ n int }

//lastuse:effect recv freed
func (c *C) Free()

type holder struct{ c *C }

func build() *holder { return &holder{(*C)(Make())} }

func f() {
	h := build()
	_ = h
	h.c.Free() //F
}
`},
		{"the same, in a slice", "not made here", `
type C struct{ n int }

//lastuse:effect recv freed
func (c *C) Free()

func build() []*C { return []*C{(*C)(Make())} }

func f() {
	cs := build()
	_ = cs
	for _, c := range cs { //F
		c.Free() //F
	} //F
}
`},
		{"an interface that may be nil", "may be nil", `
type Res interface {
	//lastuse:effect recv freed repeatable
	Close()
	//lastuse:effect recv borrowed
	Use()
}

//lastuse:effect result 0 owned
func Open() Res

func f(c bool) {
	var r Res
	if c {
		r = Open()
	}
	_ = r
	r.Close() //F
}
`},
		{"a part of a handle that is a slice", "a view of something", `
type S []byte

//lastuse:effect result 0 owned
func MakeS() S

//lastuse:effect recv freed
func (s S) Free()

func f() {
	s := MakeS()
	s = s[1:]
	s.Free() //F
}
`},
	}
	newLab().withholds(t, tests)
}
