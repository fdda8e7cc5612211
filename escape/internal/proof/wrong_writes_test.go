package proof_test

import "testing"

// TestWrongWrites is frees that write beside what they free, where somebody reads that by another address: on
// each path on which the free stands, also where it frees nothing.
func TestWrongWrites(t *testing.T) {
	tests := []wrong{
		{"what it writes beside the resource is read through an address", "its name is read", `
type stack struct {
	b      *B
	closed bool
}

func (s *stack) Close() { s.b.Free(); s.closed = true }

func f() {
	s := &stack{b: Make()}
	c := &s.closed
	s.Close() //F
	if *c {
		next()
	}
}
`},
		{"a free that divides", "does more than free", `
type stack struct {
	b *B
	n int
}

func (s *stack) Close() {
	if 10/s.n > 1 {
		s.b.Free()
	}
}

func f() {
	s := &stack{b: Make()}
	s.b.Use()
	s.Close() //F
}
`},
		{"a free that may not come back", "does more than free", `
type stack struct {
	b *B
	n int
}

func (s *stack) Close() {
	for s.n > 0 {
	}
	s.b.Free()
}

func f() {
	s := &stack{b: Make()}
	s.b.Use()
	s.Close() //F
}
`},
		{"an address of that which has no name", "it is read or written", `
type stack struct {
	b *B
	state
}

type state struct{ closed bool }

type wrap struct{ *state }

func (s *stack) Close() { s.b.Free(); s.closed = true }

func f() {
	s := &stack{b: Make()}
	w := wrap{&s.state}
	s.Close() //F
	if w.closed {
		next()
	}
}
`},
		{"the same where nothing is freed", "its name is read", `
type stack struct {
	h      H
	closed bool
}

func (s *stack) Close() { s.h.Free(); s.closed = true }

func f(c bool) bool {
	s := &stack{}
	p := &s.closed
	if c {
		s.h = MakeH()
		s.h.Use()
	}
	s.Close() //F
	if !c {
		return *p
	}
	return false
}
`},
		{"the same where the program has freed it", "its name is read", `
type stack struct {
	h      H
	closed bool
}

func (s *stack) Close() { s.h.Free(); s.closed = true }

func f(c bool) bool {
	s := &stack{}
	s.h = MakeH()
	p := &s.closed
	if c {
		s.h.Free()
	}
	s.Close() //F
	if c {
		return *p
	}
	return false
}
`},
		{"the same where making it failed", "its name is read", `
type stack struct {
	h      H
	closed bool
}

//lastuse:effect result 0 owned on success
func TryH() (H, error)

func (s *stack) Close() { s.h.Free(); s.closed = true }

func f() bool {
	s := &stack{}
	p := &s.closed
	h, err := TryH()
	s.h = h
	s.Close() //F
	if err != nil {
		return *p
	}
	return false
}
`},
		{"the same in a goroutine that starts where nothing is freed", "may still run", `
type stack struct {
	h      H
	closed bool
}

func (s *stack) Close() { s.h.Free(); s.closed = true }

func f(c bool, ch chan bool) {
	s := &stack{}
	p := &s.closed
	if c {
		s.h = MakeH()
		s.h.Use()
	} else {
		go func() { <-ch; println(*p) }()
	}
	s.Close() //F
	ch <- true
}
`},
		{"the same in what is deferred there", "its name is read", `
type stack struct {
	h      H
	closed bool
}

func (s *stack) Close() { s.h.Free(); s.closed = true }

func f(c bool, ch chan bool) {
	s := &stack{}
	p := &s.closed
	if c {
		s.h = MakeH()
		s.h.Use()
	} else {
		defer func() { println(*p) }()
	}
	defer s.Close() //F
}
`},
		{"what it writes is read as text", "it is read or written", `
type stack struct {
	b      *B
	closed bool
}

func (s *stack) Close() { s.b.Free(); s.closed = true }

func f() bool {
	s := &stack{b: Make()}
	v := unsafe.String((*byte)(unsafe.Pointer(&s.closed)), 1)
	_ = s
	s.Close() //F
	return v == "\x01"
}
`},
		{"the free reads what was freed before", "does more than free", reading("v *V", "d.v.n == 0", "b.View()")},
		{"the free reads a text that was freed before", "does more than free",
			reading("v string", `d.v == "x"`, "b.Text()")},
		{"the free reads elements that were freed before", "does more than free",
			reading("v []byte", "first(d)", "b.Bytes()")},
		{"the free reads a map that others write", "does more than free",
			reading("v map[int]int", "len(d.v) > 0", "shared")},
		{"a method that is promoted writes what it is lent to somebody else", "handed to somebody", `
type sends interface {
	WriteTo(io.Writer) (int64, error)
}

//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte

func f(w io.Writer) {
	b := Make()
	var s sends = bytes.NewReader(b.Bytes())
	s.WriteTo(w)
	b.Free() //F
}
`},
	}
	newLab().withholds(t, tests)
}

// reading is a program in which a free reads what is no part of what it frees.
func reading(field, cond, v string) string {
	body := "if " + cond + " {\n\t\td.b.Free()\n\t}"
	if cond == "first(d)" {
		body = "for _, x := range d.v {\n\t\tif x == 0 {\n\t\t\td.b.Free()\n\t\t}\n\t}"
	}
	return `
type door struct {
	b *B
	` + field + `
}

func (d *door) Close() {
	` + body + `
}

//lastuse:effect result 0 views recv
func (b *B) Text() string

//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte

var shared map[int]int

func f() {
	b := Make()
	d := &door{b: Make()}
	d.v = ` + v + `
	b.Free()
	d.b.Use()
	d.Close() //F
}
`
}
