package proof_test

import "github.com/lastuse/lastuse/escape/internal/proof"

// Edits that are more than frees and names.
var sameRules = []ruleTest{
	{proof.Same, "a call comes before", `
func f() int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return add(next(), r) //F
	return add(next(), b.Sum()) //O
}
`},
	{proof.Same, "what a pointer leads to", `
func f(v *V) int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return v.n + r //F
	return v.n + b.Sum() //O
}
`},
	{proof.Same, "may panic", `
func f(x, y any) bool {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return (x == y) == (r == 1) //F
	return (x == y) == (b.Sum() == 1) //O
}
`},
	{proof.Same, "a part of one", `
func f(c bool) int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	if c {
		return 1
	} else if r > 0 { //F
	} else if b.Sum() > 0 { //O
		return 2
	}
	return 3
}
`},
	{proof.Same, "a part of one", `
func f(x int) int {
	b := Make()
	r := add(b.Sum(), x) //F
	b.Free() //F
	if x := 3; r > x { //F
	if x := 3; add(b.Sum(), x) > x { //O
		return 2
	}
	return x
}
`},
	{proof.Same, "a constant", `
func f() float64 {
	b := Make()
	b.Use()
	r := 0.1 //F
	b.Free() //F
	return r + 0.2 //F
	return 0.1 + 0.2 //O
}
`},
	{proof.Same, "in more than frees", `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
	next() //O
}
`},
	{proof.Same, "may do more than free", `
func f() {
	b := Make()
	all := func(yield func(int, *B) bool) { yield(next(), b) }
	_ = all
	for _, x := range all { //F
		x.Free() //F
	} //F
}
`},
	{proof.Same, "not only statements", `
//go:noinline //O
func f() {
	b := Make()
	b.Use()
	b.Free() //F
}
`},
	{proof.Same, "what a slice leads to", `
//lastuse:effect args borrowed, recv borrowed
func (b *B) Fill(p []byte) string

func f(buf []byte) string {
	b := Make()
	r := b.Fill(buf) //F
	b.Free() //F
	return string(buf) + r //F
	return string(buf) + b.Fill(buf) //O
}
`},
}
