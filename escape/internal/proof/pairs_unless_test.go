package proof_test

import (
	"fmt"
	"strings"
)

// unlessPairs show where a test ends that what is freed is not an operand, but what was made in its place.
var unlessPairs = func() (out []pair) {
	const right = `
func f(p, q *B, c bool) {
	x := p
	if c {
		x = Make()
	}
	x.Use()
	if x != p { //F
		x.Free() //F
	} //F
	p.Use()
}
`
	for _, w := range []struct{ name, old, new, words string }{
		{"another operand", "if x != p {", "if x != q {", "what is freed may be"},
		{"what the name of the operand has by then", "x := p\n", "x := p\n\tp = q\n", "what is freed may be"},
		{"an operand that is given something on some way", "if c {\n", "if c {\n\t\tp = next1()\n", "not understood what it is compared with"},
		{"one of two operands that it may be", "x := p\n", "x := p\n\tif q != nil {\n\t\tx = q\n\t}\n", "what is freed may be"},
		{"a part of the operand", "x = Make()", "x = p.part()", "what is freed may be"},
		{"what is used behind it", "p.Use()", "x.Use()", "its name is read"},
		{"what somebody has", "x.Use()\n", "global = x\n\tx.Use()\n", "handed to somebody"},
		{"a variable that a literal has", "x.Use()\n", "defer func() { x = nil }()\n\tx.Use()\n", "not understood what it is compared with"},
		{"what is freed at the end as well", "x := p\n", "x := p\n\tdefer func() {\n\t\tif c {\n\t\t\tx.Free()\n\t\t}\n\t}()\n", "not understood what it is compared with"},
		{"two statements under it", "x.Free() //F\n", "x.Free() //F\n\t\tx.Free() //F\n", ""},
		{"a statement that is deferred under it", "x.Free() //F\n", "defer x.Free() //F\n", ""},
		{"what keeps it alive under it", "x.Free() //F\n", "runtime.KeepAlive(x) //F\n", ""},
		{"something else under it", "x.Free() //F\n", "p.Free() //F\n", ""},
		{"the operand itself", "if x != p {", "if x == p {", ""},
	} {
		out = append(out, pair{"unless it is " + w.name, right, unlessLibrary(strings.Replace(right, w.old, w.new, 1), w.old), w.words})
	}
	return append(out, pair{"unless it is an interface", strings.Replace(right, "q *B", "q, r *B", 1), `
func f(p Arr, c bool) {
	x := p
	if c {
		x = NewArr()
	}
	println(x.Size())
	if x != p { //F
		x.Release() //F
	} //F
}
`, "more than free"}, pair{"unless it is an operand, in a loop that makes more", `
func f(p *B, n int) {
	x := p
	for range n {
		x = Make()
		x.Use()
	}
	if x != p { //F
		x.Free() //F
	} //F
}
`, `
func f(p *B, n int) {
	x := p
	for range n {
		if x != p { //F
			x.Free() //F
		} //F
		if n > 3 {
			x = Make()
		}
		x.Use()
	}
}
`, "its name is read"}, pair{"unless it is an operand, as the program found", `
func f(p *B, c bool) {
	x := p
	if c {
		x = Make()
	}
	x.Use()
	if p == x {
		println("given")
	} else {
		println("made")
		x.Free() //F
	}
}
`, `
func f(p *B, c bool) {
	x := p
	if c {
		x = Make()
	}
	x.Use()
	if p == x {
		println("given")
		x.Free() //F
	} else {
		println("made")
	}
}
`, "what is freed may be"}, pair{"unless it is an operand, as was found before it became one", `
func f(p *B, c bool) {
	x := p
	if c {
		x = Make()
	}
	x.Use()
	if p == x {
		return
	}
	for range 3 {
		println("made")
	}
	x.Free() //F
}
`, `
func f(p *B, c bool) {
	x := Make()
	if p == x {
		return
	}
	for range 3 {
		println("made")
		if c {
			x.Free() //F
			x = p
		}
	}
}
`, "what is freed may be"})
}()

// unlessLibrary puts what a text needs beside it.
func unlessLibrary(text, old string) string {
	if text == "" || old == "" {
		panic(fmt.Sprint("nothing is replaced: ", old))
	}
	return text + `
func next1() *B
func (b *B) part() *B
`
}
