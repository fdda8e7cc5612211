package proof_test

// parameterPairs show what is done with values of type parameters, and with those that an interface has.
var parameterPairs = []pair{
	{"a text whose type is a parameter is copied", `
//lastuse:effect result 0 views arg 0
func text[T ~[]byte](b *B) T { panic(0) }

func f[T ~[]byte]() int {
	b := Make()
	t := text[T](b)
	n := len(string(t))
	b.Free() //F
	return n
}
`, `
//lastuse:effect result 0 views arg 0
func text[T ~[]byte](b *B) T { panic(0) }

func f[T ~[]byte]() int {
	b := Make()
	t := text[T](b)
	b.Free() //F
	n := len(string(t))
	return n
}
`, "it is read"},
	{"a byte of a text whose type is a parameter is looked at", `
//lastuse:effect result 0 views arg 0
func text[T ~string | ~[]byte](b *B) T { panic(0) }

func f[T ~string | ~[]byte]() {
	b := Make()
	t := text[T](b)
	if t[0] == 'a' {
		println()
	}
	b.Free() //F
}
`, `
//lastuse:effect result 0 views arg 0
func text[T ~string | ~[]byte](b *B) T { panic(0) }

func f[T ~string | ~[]byte]() {
	b := Make()
	t := text[T](b)
	b.Free() //F
	if t[0] == 'a' {
		println()
	}
}
`, "it is read"},
	{"a maker keeps values whose type is a parameter", `
type flat interface {
	~int8 | []byte | string | struct{ a, b float64 }
}

func keep(x any)

func g[T flat](xs []T) *B {
	for i := range xs {
		keep(&xs[i])
	}
	return Make()
}

func f[T flat](xs []T) {
	b := g(xs)
	b.Use()
	b.Free() //F
}
`, `
type flat interface {
	~int8 | []byte | struct{ a func() }
}

func keep(x any)

func g[T flat](xs []T) *B {
	for i := range xs {
		keep(&xs[i])
	}
	return Make()
}

func f[T flat](xs []T) {
	b := g(xs)
	b.Use()
	b.Free() //F
}
`, "not made here"},
	{"a field of the struct that an interface has is freed", `
type wrap struct {
	in *Lib
	n  int
}

func (w wrap) Release()
func (w wrap) Size() int
func (w wrap) Part() *V
func (w wrap) Add(b *B)

func f() {
	a := NewArr()
	w := a.(wrap)
	println(w.n)
	a.Release() //F
}
`, `
type wrap struct {
	in *Lib
	n  int
}

func (w wrap) Release()
func (w wrap) Size() int
func (w wrap) Part() *V
func (w wrap) Add(b *B)

func f() {
	a := NewArr()
	w := a.(wrap)
	println(w.n)
	w.in.Release() //F
}
`, "a view of something"},
	{"an element of the array that an interface has is freed", `
type wrap [2]*Lib

func (w wrap) Release()
func (w wrap) Size() int
func (w wrap) Part() *V
func (w wrap) Add(b *B)

func f(i int) {
	a := NewArr()
	println(a.(wrap)[i].Size())
	a.Release() //F
}
`, `
type wrap [2]*Lib

func (w wrap) Release()
func (w wrap) Size() int
func (w wrap) Part() *V
func (w wrap) Add(b *B)

func f(i int) {
	a := NewArr()
	println(a.Size())
	x := a.(wrap)[i]
	x.Size()
	x.Release() //F
}
`, "a view of something"},
	{"a part of what an interface has, in a callee", `
type wrap struct{ in *Lib }

func (w wrap) Release()
func (w wrap) Size() int
func (w wrap) Part() *V
func (w wrap) Add(b *B)

func of(a Arr) wrap { return a.(wrap) }

func f() {
	a := NewArr()
	println(of(a).in.Size())
	a.Release() //F
}
`, `
type wrap struct{ in *Lib }

func (w wrap) Release()
func (w wrap) Size() int
func (w wrap) Part() *V
func (w wrap) Add(b *B)

func of(a Arr) wrap { return a.(wrap) }

func f() {
	a := NewArr()
	x := of(a).in
	println(x.Size())
	x.Release() //F
}
`, "a view of something"},
}
