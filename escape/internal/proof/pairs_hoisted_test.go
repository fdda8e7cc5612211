package proof_test

import "strings"

// hoistedPairs read what a call made that cannot fail behind calls in front of which it was read.
var hoistedPairs = func() (out []pair) {
	const library = `
type col struct {
	n    int
	next *col
}

//lastuse:effect result 0 owned
func newCol(n int) *col

//lastuse:effect recv freed
func (c *col) free()

//lastuse:effect result 0 owned, result 0 views arg 0
func of(n *int) *col

//lastuse:effect args borrowed
func table(a, b int, cols ...*col)

//lastuse:effect args borrowed
func both(a col, b *col)

func maybe(n int) *col {
	if n > 3 {
		return nil
	}
	return newCol(n)
}

//lastuse:effect result 0 borrowed
func peek(n int) *col

//lastuse:effect args borrowed
func count(c *col) *int

var at = new(int)
`
	const fields = `
func f() {
	table(newCol(1).n, newCol(2).n) //O
	a := newCol(1) //F
	b := newCol(2) //F
	table(a.n, b.n) //F
	b.free() //F
	a.free() //F
}
`
	for _, w := range []struct{ name, right, from, to, words string }{
		{"a field of it, which may be nil", fields, "newCol(1)", "maybe(1)", "what a pointer leads to is read"},
		{"all of it, where it views another", `
func f() {
	both(*newCol(1), newCol(2)) //O
	a := newCol(1) //F
	b := newCol(2) //F
	both(*a, b) //F
	b.free() //F
	a.free() //F
}
`, "newCol(1)", "of(at)", "may panic"},
		{"a field of what its field leads to", fields, ".n, ", ".next.n, ", "what a pointer leads to is read"},
		{"a field of what is not made here", strings.Replace(fields, "\ta.free() //F\n", "", 1), "newCol(1)", "peek(1)", "what a pointer leads to is read"},
		{"a field of a variable", `
func f() {
	x := col{1, nil}
	table(x.n, newCol(2).n) //O
	b := newCol(2) //F
	table(x.n, b.n) //F
	b.free() //F
}
`, "x := col", "x := &col", "what a pointer leads to is read"},
		{"the sign of a variable", `
func f(n int, ch chan int) {
	table(-n, 2, newCol(2)) //O
	b := newCol(2) //F
	table(-n, 2, b) //F
	b.free() //F
}
`, "-n", "<-ch", "a receive or an address"},
		{"what is made of it", `
func f() {
	table(*count(newCol(2)), 2) //O
	b := newCol(2) //F
	table(*count(b), 2) //F
	b.free() //F
}
`, "*count", "*at + *count", "may panic"},
		{"an address that is computed before", `
func f(xs []ptr) {
	put(&ptr{1}, Make()) //O
	b := Make() //F
	put(&ptr{1}, b) //F
	b.Free() //F
}

type ptr struct{ n int }

//lastuse:effect args borrowed
func put(n *ptr, b *B)
`, "&ptr{1}", "&xs[0]", "a receive or an address"},
	} {
		wrong := strings.ReplaceAll(w.right, w.from, w.to)
		out = append(out, pair{"hoisted: " + w.name, library + w.right, library + wrong, w.words})
	}
	return out
}()
