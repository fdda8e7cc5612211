package proof_test

// keptPairs show which functions and methods a value may have that somebody is lent, or keeps.
var keptPairs = []pair{
	{"a number of a type that is a parameter, with a method", `
//lastuse:effect args borrowed
func with[T interface{ ~int }](b *B, t T) {}

func f[T interface{ ~int }](t T) {
	b := Make()
	with(b, t)
	b.Free() //F
}
`, `
//lastuse:effect args borrowed
func with[T interface {
	~int
	Do(*B)
}](b *B, t T) {
	t.Do(b)
}

func f[T interface {
	~int
	Do(*B)
}](t T) {
	b := Make()
	with(b, t)
	b.Free() //F
}
`, "it was handed to somebody"},
	{"a number of a type that is a parameter, which may be one of the package's that has methods", `
type keep int

func (k keep) Do(b *B) { global = b }

//lastuse:effect args borrowed
func with[T int | string](b *B, t T) {}

func f[T int | string](t T) {
	b := Make()
	with(b, t)
	b.Free() //F
}
`, `
type keep int

func (k keep) Do(b *B) { global = b }

//lastuse:effect args borrowed
func with[T ~int](b *B, t T) {
	if d, ok := any(t).(interface{ Do(*B) }); ok {
		d.Do(b)
	}
}

func f[T ~int](t T) {
	b := Make()
	with(b, t)
	b.Free() //F
}
`, "it was handed to somebody"},
	{"a maker keeps such a number", `
//lastuse:effect result 0 owned, arg 0 escapes
func newWith[T interface{ ~int }](t T) *B { return Make() }

func f[T interface{ ~int }](t T) {
	b := newWith(t)
	b.Use()
	b.Free() //F
}
`, `
//lastuse:effect result 0 owned, arg 0 escapes
func newWith[T interface {
	~int
	Do()
}](t T) *B {
	return Make()
}

func f[T interface {
	~int
	Do()
}](t T) {
	b := newWith(t)
	b.Use()
	b.Free() //F
}
`, "something that was not made here"},
	{"a maker keeps an interface of which the package has one method, and embeds others", `
type both interface {
	M()
	N()
}

type A struct{}

func (A) m() {}

//lastuse:effect result 0 owned, arg 0 escapes
func newWith(x both) *B

func f(x both) {
	b := newWith(x)
	b.Use()
	b.Free() //F
}
`, `
type both interface {
	M()
	N()
}

type A struct{}

func (A) M() { global = nil }

type C struct {
	A
	D
}

type D struct{ E }

type E interface{ N() }

//lastuse:effect result 0 owned, arg 0 escapes
func newWith(x both) *B

func f(x both) {
	b := newWith(x)
	b.Use()
	b.Free() //F
}
`, "something that was not made here"},
	{"a maker keeps a pointer to what has a function", `
var with = &sync.Mutex{}

//lastuse:effect result 0 owned, arg 0 escapes
func newWith(m *sync.Mutex) *B

func f() {
	b := newWith(with)
	b.Use()
	b.Free() //F
}
`, `
var with = &sync.Pool{New: func() any { global = nil; return nil }}

//lastuse:effect result 0 owned, arg 0 escapes
func newWith(p *sync.Pool) *B

func f() {
	b := newWith(with)
	b.Use()
	b.Free() //F
}
`, "something that was not made here"},
}
