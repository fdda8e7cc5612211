package proof_test

// turnedElse are other methods.
var turnedElse = []whole{
	{"rotate", "", `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a, p.b = p.b, p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

type three struct{ a, b, c *B }

func (t *three) turn()  { t.a, t.b, t.c = t.b, t.c, t.a }
func (t *three) Close() { t.a.Free(); t.b.Free(); t.c.Free() }

func f(n int) {
	t := &three{Make(), Make(), Make()}
	for range n {
		t.turn()
		t.a.Use()
	}
	t.Close() //F
	next()
}
`},
	{"half", twice, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a = p.b }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	p.swap()
	p.Close() //F
}
`},
	{"half, one", named, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a = p.b }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	p.swap()
	p.a.Free() //F
	y.Use()
}
`},
	{"in order", theirs, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a = p.b; p.b = p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	p.swap()
	p.Close() //F
}
`},
	{"keeps one", theirs, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a, p.b = p.b, p.a; gw = p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	p.swap()
	p.Close() //F
}
`},
	{"on a condition", theirs, `
type pair struct{ a, b *B }

func (p *pair) swap()  { if gw != nil { p.a, p.b = p.b, p.a } }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	p.swap()
	p.a.Free() //F
	x.Use()
}
`},
	{"of another", theirs, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a, p.b = p.b, p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func (p *pair) with(q *pair) { p.a, q.a = q.a, p.a }

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	q := &pair{Make(), Make()}
	p.with(q)
	p.Close() //F
	q.a.Use()
}
`},
	{"with itself", theirs, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a, p.b = p.b, p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func (p *pair) with(q *pair) { p.a, q.b = q.b, p.a }

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	p.with(p)
	p.Close() //F
	x.Use()
}
`},
	{"parts of handles", handed, `
type hs struct{ a, b H }

func (p *hs) swap() { p.a.n, p.b.n = p.b.n, p.a.n }

func f() {
	x, y := MakeH(), MakeH()
	p := &hs{x, y}
	p.swap()
	p.a.Free() //F
	y.Use()
}
`},
	{"parts of handles, other", handed, `
type hs struct{ a, b H }

func (p *hs) swap() { p.a.n, p.b.n = p.b.n, p.a.n }

func f() {
	x, y := MakeH(), MakeH()
	p := &hs{x, y}
	p.swap()
	p.b.Free() //F
	x.Use()
}
`},
	{"the handle itself", handed, `
type own struct{ a, b int }

//lastuse:effect result 0 owned
func MakeOwn() *own

//lastuse:effect recv freed
func (o *own) Free()

//lastuse:effect recv borrowed
func (o *own) Use()

func (o *own) swap() { o.a, o.b = o.b, o.a }

func f() {
	o := MakeOwn()
	o.swap()
	o.Free() //F
}
`},
	{"elements", theirs, `
type arr struct{ xs [2]*B }

func (p *arr) swap() { p.xs[0], p.xs[1] = p.xs[1], p.xs[0] }

func f() {
	x, y := Make(), Make()
	p := &arr{[2]*B{x, y}}
	p.swap()
	p.xs[0].Free() //F
	y.Use()
	x.Free()
}
`},
	{"three, one of them twice", twice, `
type three struct{ a, b, c *B }

func (t *three) turn()  { t.a, t.b = t.c, t.a }
func (t *three) Close() { t.a.Free(); t.b.Free(); t.c.Free() }

func f() {
	t := &three{Make(), Make(), Make()}
	t.turn()
	t.Close() //F
}
`},
	{"views", used, `
type vs struct{ a, b *V }

func (p *vs) swap() { p.a, p.b = p.b, p.a }

func f() {
	x, y := Make(), Make()
	p := &vs{x.View(), y.View()}
	p.swap()
	x.Free() //F
	p.b.Use()
	y.Free()
}
`},
	{"the caller's", theirs, `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a, p.b = p.b, p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func turn(p *pair) { p.swap() }

func f() {
	x := Make()
	p := &pair{x, Make()}
	turn(p)
	p.b.Free() //F
	x.Use()
}
`},
	{"nested", named, `
type in struct{ b *B }
type pair struct{ x, y in }

func (p *pair) swap() { p.x, p.y = p.y, p.x }

func f() {
	a, b := Make(), Make()
	p := &pair{in{a}, in{b}}
	p.swap()
	p.y.b.Free() //F
	a.Use()
	b.Free()
}
`},
	{"overlapping", named, `
type in struct{ a, b *B }
type pair struct{ x, y in }

func (p *pair) swap() { p.x, p.x.a, p.y = p.y, p.y.a, p.x }

func f() {
	a, b := Make(), Make()
	p := &pair{in{a, Make()}, in{b, Make()}}
	p.swap()
	p.y.a.Free() //F
	a.Use()
}
`},
}
