package proof_test

import "testing"

// TestWrongNames is names for what a statement computes behind something else, or not at all.
func TestWrongNames(t *testing.T) {
	tests := []wrong{
		{"a receive before", "a receive or an address comes before the value that is computed first", `
func f(ch chan int) {
	two(<-ch, Make()) //O
	b := Make() //F
	two(<-ch, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"an address before", "a receive or an address comes before the value that is computed first", `
type box struct{ n int }

func f() {
	p := &box{}
	three(&p.n, Make()) //O
	b := Make() //F
	three(&p.n, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func three(n *int, b *B)
`},
		{"a division before", "what comes before the value that is computed first may panic", `
func f(a, c int) {
	two(a/c, Make()) //O
	b := Make() //F
	two(a/c, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"a shift before", "what comes before the value that is computed first may panic", `
func f(a, c int) {
	two(a<<c, Make()) //O
	b := Make() //F
	two(a<<c, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"an if with an init before", "a statement, or a part of one, comes before the value that is computed first", `
func f(n int) {
	if next(); Make().Sum() > 0 { //O
	b := Make() //F
	if next(); b.Sum() > 0 { //F
		next()
	}
	b.Free() //F
}
`},
		{"an else if", "a statement, or a part of one, comes before the value that is computed first", `
func f(n int) {
	if n > 0 { //O
		next() //O
	} else if Make().Sum() > 0 { //O
		next() //O
	} //O
	b := Make() //F
	if n > 0 { //F
		next() //F
	} else if b.Sum() > 0 { //F
		next() //F
	} //F
	b.Free() //F
}
`},
		{"a for with an init before", "the new text differs from the old one in more than frees", `
func f(n int) {
	for i := next(); i < Make().Sum(); i++ { //O
	b := Make() //F
	for i := next(); i < b.Sum(); i++ { //F
		next()
	}
	b.Free() //F
}
`},
		{"a switch with an init before", "a statement, or a part of one, comes before the value that is computed first", `
func f(n int) {
	switch next(); Make().Sum() { //O
	b := Make() //F
	switch next(); b.Sum() { //F
	case 1:
		next()
	}
	b.Free() //F
}
`},
		{"a case", "the new text differs from the old one in more than frees", `
func f(n int) {
	switch n { //O
	case Make().Sum(): //O
		next() //O
	} //O
	b := Make() //F
	switch n { //F
	case b.Sum(): //F
		next() //F
	} //F
	b.Free() //F
}
`},
		{"a select", "the new text differs from the old one in more than frees", `
func f(ch chan int) {
	select { //O
	case ch <- Make().Sum(): //O
	case <-ch: //O
	} //O
	b := Make() //F
	select { //F
	case ch <- b.Sum(): //F
	case <-ch: //F
	} //F
	b.Free() //F
}
`},
		{"var with two specs", "a statement, or a part of one, comes before the value that is computed first", `
func f() {
	var ( //O
		x = next() //O
		y = Make().Sum() //O
	) //O
	b := Make() //F
	var ( //F
		x = next() //F
		y = b.Sum() //F
	) //F
	b.Free() //F
	_, _ = x, y
}
`},
		{"a slice made an array before", "what a slice leads to is read before the value that is computed first", `
func f(s []int) {
	four([2]int(s), Make()) //O
	b := Make() //F
	four([2]int(s), b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func four(n [2]int, b *B)
`},
		{"method value with promoted pointer", "what a pointer leads to is read before the value that is computed first", `
type inner struct{ n int }

//lastuse:effect recv borrowed, arg 0 borrowed
func (p *inner) Do(n int)

type outer struct{ *inner }

func f(o *outer) {
	o.Do(Make().Sum()) //O
	b := Make() //F
	o.Do(b.Sum()) //F
	b.Free() //F
}
`},
		{"generic conversion before", "what a slice leads to is read before the value that is computed first", `
func f[T ~[]int | ~[2]int](s T) {
	six([2]int(s), Make()) //O
	b := Make() //F
	six([2]int(s), b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func six(n [2]int, b *B)
`},
		{"type assertion before", "what comes before the value that is computed first may panic", `
func f(s any) {
	two(s.(int), Make()) //O
	b := Make() //F
	two(s.(int), b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"index before", "what comes before the value that is computed first may panic", `
func f(s []int) {
	two(s[1], Make()) //O
	b := Make() //F
	two(s[1], b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"comparing interfaces before", "what comes before the value that is computed first may panic", `
func f(s, t any) {
	seven(s == t, Make()) //O
	b := Make() //F
	seven(s == t, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func seven(n bool, b *B)
`},
		{"a star before", "what comes before the value that is computed first may panic", `
func f(s *int) {
	two(*s, Make()) //O
	b := Make() //F
	two(*s, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"a loose variable behind", "variable pkg, which others may change, is read before the value that is computed first", `
var pkg int

func f() {
	two(pkg, Make()) //O
	b := Make() //F
	two(pkg, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func two(n int, b *B)
`},
		{"short circuit", "the new text differs from the old one in more than frees", `
func f(n bool) {
	if n && Make().Sum() > 0 { //O
	b := Make() //F
	if n && b.Sum() > 0 { //F
		next()
	}
	b.Free() //F
}
`},
		{"in a literal", "the new text differs from the old one in more than frees", `
func f() {
	g := func() { Make().Use() } //O
	b := Make() //F
	g := func() { b.Use() } //F
	g()
	b.Free() //F
}
`},
		{"a map of a type parameter", "what comes before the value that is computed first may panic", `
func f[K comparable](k K) {
	eight(map[K]int{k: 1}, Make()) //O
	b := Make() //F
	eight(map[K]int{k: 1}, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func eight(n any, b *B)
`},
		{"a map of interfaces", "what comes before the value that is computed first may panic", `
func f(k any) {
	nine(map[any]int{k: 1}, Make()) //O
	b := Make() //F
	nine(map[any]int{k: 1}, b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func nine(n map[any]int, b *B)
`},
		{"append before", "a call comes before the value that is computed first", `
func f(s []int) {
	ten(append(s, 1), Make()) //O
	b := Make() //F
	ten(append(s, 1), b) //F
	b.Free() //F
}

//lastuse:effect args borrowed
func ten(n []int, b *B)
`},
	}
	newLab().withholds(t, tests)
}
