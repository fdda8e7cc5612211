package proof_test

// followedPairs show where a pointer is known not to be nil since the program has read a field by it.
var followedPairs = []pair{
	{"a field was read by the pointer", followed(`print(x.n)`), followed(`println()`), "may be nil"},
	{"a field was read on each path", followed(`print(x.n)`), followed(`if next() == 1 { print(x.n) }`), "may be nil"},
	{"a field is read in front", followed(`print(x.n)`, `println()`), followed(`println()`, `print(x.n)`), "may be nil"},
	{"a field was read by this pointer", followed(`print(x.n)`), followed(`print(x.n); x, _ = newPair()`), "may be nil"},
	{"a field was read in each case", followed(`if x.n == 1 { println() }`),
		followed(`func() { defer func() { recover() }(); print(x.n) }()`), "may be nil"},
	{"an array is not read to count its elements", followed(`print(x.n)`), followed(`for i := range x.a { print(i) }`),
		"may be nil"},
	{"what is freed by a part of it was made", ofPart(`x := NewWhole()`), ofPart(`x, _ := TryWhole()`), "may be nil"},
	{"nor by a pointer to it", followed(`print(x.n)`), followed(`for i := range x.p { print(i) }`), "may be nil"},
	{"nor what leads to it", followed(`for range x.in.a[:] {}`), followed(`for range x.in.a {}`), "may be nil"},
	{"nor by a pointer", followed(`for _, n := range x.q.a { print(n) }`), followed(`for n := range x.q.a { print(n) }`),
		"may be nil"},
	{"nor which of several it is", followed(`for range x.as[0][:] {}`), followed(`for i, _ := range x.as[0] { print(i) }`),
		"may be nil"},
	{"nor what it has", followed(`for range []int{x.n} {}`), followed(`for range [1]int{x.n} {}`), "may be nil"},
	{"nor what is asked its size", sized(`_ = unsafe.Add(nil, x.n)`), sized(`print(unsafe.Sizeof(x.t))`), "may be nil"},
}

// followed is a function that frees a part of an object, which may be nil, behind some statements.
func followed(before string, behind ...string) string {
	text := `
type two struct {
	b H
	n int
	a [2]int
	p *[2]int
	in inner
	q *inner
	as [][2]int
}

type inner struct{ a [2]int }

func newPair() (*two, error) {
	if next() == 1 {
		return nil, errors.New("")
	}
	return &two{b: MakeH()}, nil
}

func f() {
	x, _ := newPair()
	_ = x
	` + before + `
	x.b.Free() //F
`
	for _, b := range behind {
		text += "\t" + b + "\n"
	}
	return text + "}\n"
}

// sized is a function that does so in a struct of a type parameter.
func sized(before string) string {
	return `
type sized[T any] struct {
	b H
	n int
	t T
}

func newSized[T any]() (*sized[T], error) {
	if next() == 1 {
		return nil, errors.New("")
	}
	return &sized[T]{b: MakeH()}, nil
}

func f[T any]() {
	x, _ := newSized[T]()
	_ = x
	` + before + `
	x.b.Free() //F
}
`
}

// ofPart is a function that frees something by the method of a part of it.
func ofPart(made string) string {
	return `
type base struct{ n int }

//lastuse:effect recv freed
func (b *base) Free()

type whole struct{ base }

//lastuse:effect result 0 owned
func NewWhole() *whole

//lastuse:effect result 0 owned on success
func TryWhole() (*whole, error)

func f() {
	` + made + `
	_ = x
	x.Free() //F
	println()
}
`
}
