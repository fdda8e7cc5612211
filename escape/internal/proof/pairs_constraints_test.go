package proof_test

// constraintPairs show that a line which lends an operand does not speak of the methods by which its type may
// be a type parameter: the callee calls them.
var constraintPairs = []pair{
	{"a method that a library's type has", viewers + `
func f() {
	a, b := Make(), Make()
	lookAt(a, plain{b})
	b.Free() //F
	a.Free() //F
}
`, viewers + `
func f() {
	a, b := Make(), Make()
	lookAt(a, noting{b})
	b.Free() //F
	a.Free() //F
}
`, "handed to somebody"},
	{"a method of what is in an interface", "", viewers + `
func f() {
	b := Make()
	var v viewer = noting{b}
	lookAt(v, v)
	b.Free() //F
}
`, "handed to somebody"},
	{"a method of another function's type parameter", "", viewers + `
func g[T viewer](x T) { lookAt(x, x) }

func f() {
	b := Make()
	g(noting{b})
	b.Free() //F
}
`, "handed to somebody"},
	{"a method that frees", "", viewers + `
type ender struct{ *B }

func (e ender) All() *V {
	e.B.Free()
	return nil
}

func f() {
	a, b := Make(), Make()
	lookAt(a, ender{b})
	b.Free() //F
}
`, "may have freed it before"},
}

const viewers = `
type viewer interface{ All() *V }

//lastuse:effect args borrowed
func lookAt[D, S viewer](dst D, src S) {
	dst.All()
	src.All()
}

//lastuse:effect recv borrowed, result 0 views recv
func (b *B) All() *V

type plain struct{ *B }

type noting struct{ *B }

var last *V

func (n noting) All() *V {
	last = n.B.All()
	return last
}
`
