package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A wrong edit is withheld with these words.
type wrong struct{ name, words, text string }

func (l *lab) withholds(t *testing.T, tests []wrong) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			held := l.prove(t, tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}

// TestWrong is wrong edits, each as near to a right one as can be: what is computed earlier than it was, and
// what was taken out.
func TestWrong(t *testing.T) {
	tests := []wrong{
		{"a guard that tests something else", "more than frees", `
var other *B

func f() {
	b := Make()
	b.Use()
	if other != nil { //F
		b.Free() //F
	} //F
}
`},
		{"a name for a variable of the package", "a variable of a package", `
var other *B

func f() {
	b := Make()
	b.Use()
	t := other //F
	if t != nil { //F
		t.Free() //F
	} //F
	b.Free() //F
}
`},
		{"a name for an element of a map", "in a map", `
type in struct{ m map[int]*B }

func f(x in) {
	b := Make()
	b.Use()
	t := x.m[0] //F
	if t != nil { //F
		t.Free() //F
	} //F
	b.Free() //F
}
`},
		{"a copy that is counted up", "a copy is written", `
func f(n int) int {
	x := struct{ n int }{n}
	b := Make()
	b.Use()
	r := x.n //F
	b.Free() //F
	r++ //F
	x.n++ //O
	return x.n
}
`},
		{"a copy that a method changes", "a copy is written", `
type counter struct{ n int }

func (c *counter) inc() int { c.n++; return c.n }

func f() int {
	var x struct{ c counter }
	b := Make()
	b.Use()
	r := x.c //F
	b.Free() //F
	n := r.inc() //F
	n := x.c.inc() //O
	return x.c.n + n
}
`},
		{"an element of a copied array", "a copy is written", `
func f(n int) int {
	x := struct{ a [3]int }{}
	b := Make()
	b.Use()
	r := x.a //F
	b.Free() //F
	r[0] = n //F
	x.a[0] = n //O
	return x.a[0]
}
`},
		{"a slice of a copied array", "a copy is written", `
func f() []int {
	x := struct{ a [3]int }{}
	b := Make()
	b.Use()
	r := x.a //F
	b.Free() //F
	return r[:] //F
	return x.a[:] //O
}
`},
		{"a range that assigns to a copy", "in more than frees", `
func f(xs []int) int {
	x := struct{ a [3]int }{}
	b := Make()
	b.Use()
	r := x.a //F
	b.Free() //F
	for r[0] = range xs { //F
	for x.a[0] = range xs { //O
	}
	return x.a[0]
}
`},
		{"a function that is looked up before", "may panic", `
func f(fs map[any]func(int) int, k any) int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return fs[k](r) //F
	return fs[k](b.Sum()) //O
}
`},
		{"a key that cannot be compared", "may panic", `
func f(k any) map[any]int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return map[any]int{k: 1, 2: r} //F
	return map[any]int{k: 1, 2: b.Sum()} //O
}
`},
		{"a slice that is too short for an array", "what a slice leads to", `
func with(a [4]int, n int) int

func f[S ~[]int](s S) int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return with([4]int(s), r) //F
	return with([4]int(s), b.Sum()) //O
}
`},
		{"an array of which a call has a slice", "variable a, which others may change", `
func with(a [4]int, n int) int

func f() int {
	var a [4]int
	s := a[:]
	b := Make()
	r := add(b.Sum(), set(s)) //F
	b.Free() //F
	return with(a, r) //F
	return with(a, add(b.Sum(), set(s))) //O
}

func set(s []int) int { s[0] = 1; return 1 }
`},
		{"an array of which a call has the address of an element", "variable a, which others may change", `
func with(a [4]int, n int) int

func f() int {
	var a [4]int
	p := &a[1]
	b := Make()
	r := add(b.Sum(), set(p)) //F
	b.Free() //F
	return with(a, r) //F
	return with(a, add(b.Sum(), set(p))) //O
}

func set(p *int) int { *p = 1; return 1 }
`},
		{"an array that a literal changes", "variable a, which others may change", `
func with(a [4]int, n int) int

func f() int {
	var a [4]int
	b := Make()
	set := func() int { a[0]++; return b.Sum() }
	r := set() //F
	b.Free() //F
	return with(a, r) //F
	return with(a, set()) //O
}
`},
		{"a variable that compilers read late", "does not say which comes first", `
func f() int {
	x := 1
	set := func() int { x++; return x }
	b := Make()
	b.Use()
	r := x //F
	b.Free() //F
	return add(r, set()) //F
	return add(x, set()) //O
}
`},
		{"a variable that compilers read late, in a sum", "does not say which comes first", `
func f() int {
	x := 1
	set := func() int { x++; return x }
	b := Make()
	r := x + b.Sum() //F
	b.Free() //F
	return add(r, set()) //F
	return add(x+b.Sum(), set()) //O
}
`},
		{"a free that frees less than the one that was taken out", "not shown that another free", `
type two struct{ a, b *B }

func (t *two) Close() { t.a.Free(); t.b.Free() }

func (t *two) CloseA() { t.a.Free() }

func newTwo() *two { return &two{Make(), Make()} }

func f() {
	t := newTwo()
	t.a.Use()
	t.CloseA() //F
	next()
	t.Close() //O
}
`},
		{"a free that writes less than the one that was taken out", "not shown that another free", `
type one struct {
	b      *B
	closed bool
}

func (t *one) Close() { t.b.Free(); t.closed = true }

func (t *one) Free() { t.b.Free() }

func newOne() *one { return &one{b: Make()} }

func f() {
	t := newOne()
	t.b.Use()
	t.Free() //F
	next()
	t.Close() //O
}
`},
		{"a variable that is written through a pointer to one of two", "not shown that another free", `
func f(c bool) {
	x, y, z := Make(), Make(), Make()
	p := &x
	if c {
		p = &y
	}
	x.Use()
	x.Free() //F
	*p = z
	x.Free() //O
}
`},
		{"a variable that is written through a pointer in a struct", "not shown that another free", `
func f() {
	x, z := Make(), Make()
	var s struct{ p **B }
	s.p = &x
	x.Use()
	x.Free() //F
	*s.p = z
	x.Free() //O
}
`},
		{"a free that hands on another operand", "more than what it frees", `
type list struct{ bs []*B }

//lastuse:effect recv freed
func (b *B) FreeTo(l *list)

func f(l *list) {
	b := Make()
	b.Use()
	b.FreeTo(l) //F
}
`},
		{"a guard that compares with something else", "the new text differs from the old one in more than frees", `
func f(nil, x any) {
	b := Make()
	b.Use()
	if x != nil { //F
		b.Free() //F
	} //F
}
`},
		{"a method that was asked for what it does while that was open", "handed to somebody", `
type E struct {
	n  int
	in *E
}

func (E) Error() string { return "" }

func (e E) Is(err error) bool {
	if e.n > 0 {
		return errors.Is(E{}, err) || e.in.Is(err)
	}
	last = err
	return false
}

var last error

type held struct{ b *B }

func (held) Error() string { return "" }

func f() bool {
	b := Make()
	is := errors.Is(E{}, held{b})
	b.Free() //F
	return is
}
`},
		{"a method of an interface that may be nil", "does not say which comes first", `
type taker interface{ take(int) int }

func f(i taker) int {
	b := Make()
	b.Use()
	r := i.take //F
	b.Free() //F
	return r(next()) //F
	return i.take(next()) //O
}
`},
		{"a division by what may be zero", "does not say which comes first", `
func f(x, y int) int {
	b := Make()
	b.Use()
	r := x / y //F
	b.Free() //F
	return r + next() //F
	return x/y + next() //O
}
`},
		{"memory at an address that may be nil", "does not say which comes first", `
func f(p *int, n int) ([]int, int) {
	b := Make()
	b.Use()
	r := unsafe.Slice(p, n) //F
	b.Free() //F
	return r, next() //F
	return unsafe.Slice(p, n), next() //O
}
`},
		{"an array of which the length alone is asked for", "was not", `
func f(p *[3]int) int {
	b := Make()
	b.Use()
	r := *p //F
	b.Free() //F
	return len(r) //F
	return len(*p) //O
}
`},
		{"an array of which the indices alone are taken", "was not", `
func f(p *[3]int) {
	b := Make()
	b.Use()
	r := *p //F
	b.Free() //F
	for i := range r { //F
	for i := range *p { //O
		add(i, i)
	}
}
`},
		{"a name that is made of another, behind a call", "a call comes before", `
func f() int {
	b := Make()
	r := b.Sum() //F
	q := add(next(), r) //F
	b.Free() //F
	return q //F
	return add(next(), b.Sum()) //O
}
`},
		{"a free of a package that is initialized in another order with it", "in another order", `
type counted struct{ n int }

//lastuse:effect result 0 owned
func newCounted() *counted { return &counted{} }

//lastuse:effect recv freed
func (c *counted) Free() { counts[c.n]++ }

var first = made()

var counts = table()

func table() map[int]int {
	print("table")
	return map[int]int{}
}

func made() int {
	c := newCounted()
	print(c.n)
	c.Free() //F
	return 1
}
`},
		{"a method of an embedded interface that may be nil", "what a pointer leads to", `
func f(x struct{ fmt.Stringer }) {
	b := Make()
	n := b.Sum() //F
	b.Free() //F
	lendAsked(x.String, b.Sum()) //O
	lendAsked(x.String, n) //F
}

func lendAsked(f func() string, n int)
`},
		{"what a range assigns to in each round", "in more than frees", `
func f() {
	b := Make()
	n := b.Sum() //F
	b.Free() //F
	for lendAt(b.Sum()).n = range 3 { //O
	for lendAt(n).n = range 3 { //F
	}
}

func lendAt(n int) *V
`},
		{"a name that is made before a call whose value is dropped", "in more than frees", `
func f() {
	x := next() //F
	b := Make() //F
	Make() //O
	b.Free() //F
	print(next()) //O
	print(x) //F
}
`},
		{"a name of a field that a call changes whose value is dropped", "in more than frees", `
func f(p *struct{ b *B }) {
	x := p.b //F
	b := renew(p) //F
	renew(p) //O
	b.Free() //F
	print(p.b) //O
	print(x) //F
}

func renew(p *struct{ b *B }) *B {
	p.b = nil
	return Make()
}
`},
		{"a call whose value nobody reads", "in more than frees", `
func f() int {
	b := Make()
	r, _ := b.Sum(), next() //F
	b.Free() //F
	return r //F
	return b.Sum() //O
}
`},
		{"one of the results that a call is given", "in more than frees", `
func two() (int, int)

func f() {
	b := Make()
	b.Use()
	r, _ := two() //F
	b.Free() //F
	fmt.Println(r) //F
	fmt.Println(two()) //O
}
`},
		{"an assertion that does not panic any more", "in more than frees", `
func f(x any) int {
	b := Make()
	b.Use()
	r, _ := x.(int) //F
	b.Free() //F
	return r //F
	return x.(int) //O
}
`},
		{"a byte of a string that may be empty", "in more than frees", `
func f(s string) {
	b := Make()
	b.Use()
	runtime.KeepAlive(s[0]) //F
	b.Free() //F
}
`},
		{"a name that means something else behind another in a group", "a part of one", `
//lastuse:effect recv borrowed
func (b *B) At(n int) int

func f(x int) int {
	b := Make()
	if x > 1 {
		r := b.At(x) //F
		b.Free() //F
		var ( x = 1; y = r ) //F
		var ( x = 1; y = b.At(x) ) //O
		return x + y
	}
	b.Free() //F
	return x
}
`},
		{"an address that is a number", "an address that is a number", `
func f(p *[4]int) unsafe.Pointer {
	b := Make()
	b.Use()
	r := uintptr(unsafe.Pointer(p)) //F
	b.Free() //F
	return unsafe.Pointer(r + 8) //F
	return unsafe.Pointer(uintptr(unsafe.Pointer(p)) + 8) //O
}
`},
		{"an address that is an operand of a call to the system", "an address that is a number", `
//lastuse:effect args borrowed
func call3(a, b, c uintptr) uintptr

func f() uintptr {
	var x [4]int
	b := Make()
	b.Use()
	r := uintptr(unsafe.Pointer(&x)) //F
	b.Free() //F
	return call3(1, r, 2) //F
	return call3(1, uintptr(unsafe.Pointer(&x)), 2) //O
}
`},
		{"an address that reflection returns", "an address that is a number", `
type value struct{}

func (value) Pointer() uintptr

func f(v value) unsafe.Pointer {
	b := Make()
	b.Use()
	r := v.Pointer() //F
	b.Free() //F
	return unsafe.Pointer(r) //F
	return unsafe.Pointer(v.Pointer()) //O
}
`},
		{"a name that a free which was taken out would mean", "takes the place of another", `
func f(c bool) {
	x, y := MakeH(), MakeH()
	y.Use()
	x.Use()
	if c {
		x := y //F
		x.Free() //F
		print(1)
		x.Free() //O
	}
}
`},
		{"a variable that was read before it was written", "not shown that another free", `
func f() {
	x, y := Make(), Make()
	show := func() { x.Use() }
	show()
	t := x
	_ = t
	x = y
	t.Free() //F
	x.Free() //O
}
`},
		{"a variable that only the free read which was taken out", "only what was taken out reads", `
func f() {
	b := Make()
	c := b
	b.Use()
	b.Free() //F
	next()
	c.Free() //O
}
`},
		{"a variable that is only written else, by a range and in parentheses", "only what was taken out reads", `
func f(all []*B) {
	b := Make()
	var c *B
	(c) = b
	b.Use()
	b.Free() //F
	next()
	c.Free() //O
	for _, c = range all {
	}
}
`},
	}
	newLab().withholds(t, tests)
}

// TestWrongAlone is a pointer that may be nil, which one free follows before another: neither says of it that
// it is not, as both may stand alone.
func TestWrongAlone(t *testing.T) {
	assert.Len(t, newLab().prove(t, `
func f(c bool) {
	var p *struct{ x, y *B }
	if c {
		p = &struct{ x, y *B }{Make(), Make()}
	}
	_ = p
	p.x.Free() //F
	if next() > 0 {
		next()
	}
	p.y.Free() //F
}
`).Withheld(), 2)
}
