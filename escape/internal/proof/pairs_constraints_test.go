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
	{"a method of elements", viewers + lookEach + `
func f() {
	b := Make()
	lookEach([]plain{{b}})
	b.Free() //F
}
`, viewers + lookEach + `
func f() {
	b := Make()
	lookEach([]noting{{b}})
	b.Free() //F
}
`, "handed to somebody"},
	{"a method of what a pointer leads to", "", viewers + `
//lastuse:effect args borrowed
func lookIn[T any, P interface {
	*T
	viewer
}](x *T) {
	P(x).All()
}

func f() {
	b := Make()
	lookIn(&noting{b})
	b.Free() //F
}
`, "handed to somebody"},
	{"a method of what the receiver has", "", viewers + boxed + `
func f() {
	b := Make()
	x := box[noting]{noting{b}}
	x.show()
	b.Free() //F
}
`, "handed to somebody"},
	{"a method of what the receiver has, in an interface", viewers + boxed + `
func f() {
	b := Make()
	var x interface{ show() } = box[plain]{plain{b}}
	x.show()
	b.Free() //F
}
`, viewers + boxed + `
func f() {
	b := Make()
	var x interface{ show() } = box[noting]{noting{b}}
	x.show()
	b.Free() //F
}
`, "handed to somebody"},
	{"a generic method of what the receiver has", "", viewers + boxed + `
type wrapper[T viewer] struct{ v T }

func (w wrapper[T]) All() *V { return w.v.All() }

func f() {
	b := Make()
	var x interface{ show() } = box[wrapper[noting]]{wrapper[noting]{noting{b}}}
	x.show()
	b.Free() //F
}
`, "handed to somebody"},
	{"a function with a constraint as a value", "", viewers + lookEach + `
func run(f func([]noting), list []noting) { f(list) }

func f() {
	b := Make()
	run(lookEach[noting], []noting{{b}})
	b.Free() //F
}
`, "handed to somebody"},
}

const lookEach = `
//lastuse:effect args borrowed
func lookEach[T viewer](list []T) {
	for _, x := range list {
		x.All()
	}
}
`

const boxed = `
type box[T viewer] struct{ v T }

//lastuse:effect recv borrowed
func (b box[T]) show() { b.v.All() }
`

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
