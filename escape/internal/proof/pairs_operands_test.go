package proof_test

// operandPairs show what a callee may call that only uses its operands: functions that one of them leads to,
// methods of an interface. What these keep of another operand, the call keeps.
var operandPairs = []pair{
	{"a free that is promoted", `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, err := NewE()
	if err != nil {
		return
	}
	e.Use()
	e.Free() //F
}
`, `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, _ := NewE()
	println(e)
	e.Free() //F
}
`, "may be nil"},
	{"a free that is promoted from behind a pointer", `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, err := NewE()
	if err != nil {
		return
	}
	e.Use()
	e.Free() //F
}
`, `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, _ := NewE()
	println(e)
	e.Free() //F
}
`, "may be nil"},
	{"what the pointer leads to is used", `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, err := NewE()
	if err != nil {
		return
	}
	e.Use()
	e.Free() //F
}
`, `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, err := NewE()
	if err != nil {
		return
	}
	x := e.in
	e.Free() //F
	x.Use()
}
`, "it is used by Use"},
	{"another is put behind the pointer", `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, err := NewE()
	if err != nil {
		return
	}
	e.Use()
	e.Free() //F
}
`, `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f(x *in) {
	e, err := NewE()
	if err != nil {
		return
	}
	e.in = x
	e.Use()
	e.Free() //F
}
`, "handed to somebody"},
	{"a pointer that is a field of a parameter", `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f() {
	e, err := NewE()
	if err != nil {
		return
	}
	e.Use()
	e.Free() //F
}
`, `
type in struct{ n int }

//lastuse:effect recv freed
func (b *in) Free()

//lastuse:effect recv borrowed
func (b *in) Use()

type E struct{ *in }

//lastuse:effect result 0 owned
func NewE() (*E, error)

func f(e *E) {
	e.Use()
	e.Free() //F
}
`, "may be a parameter"},
	{"a function in a struct", operands("opts", `opts{n: 1}`, `
type opts struct{ n int }
`), operands("opts", `opts{done: stash}`, `
type opts struct{ done func(*B) }
`), "handed to somebody"},
	{"a function among the rest", operands("...int", `1`, ""), operands("...func(*B)", `stash`, ""),
		"handed to somebody"},
	{"a function in a map", operands("map[string]int", `map[string]int{}`, ""),
		operands("map[string]func(*B)", `map[string]func(*B){"": stash}`, ""), "handed to somebody"},
	{"a function as an interface", operands("any", `1`, ""), operands("any", `stash`, ""), "handed to somebody"},
	{"a struct with a function that nobody knows", operands("*opts", `known`, `
type opts struct{ n int }
var known *opts
`), operands("*opts", `known`, `
type opts struct{ done func(*B) }
var known *opts
`), "handed to somebody"},
	{"a method of an interface", operands("doer", `using{}`, `
type doer interface{ do(*B) }
type using struct{}
func (using) do(b *B) { b.Use() }
`), operands("doer", `keeping{}`, `
type doer interface{ do(*B) }
type keeping struct{}
func (keeping) do(b *B) { global = b }
`), "handed to somebody"},
	{"a method of an interface that frees", lends(`k.b.Use()`), lends(`k.b.Free()`), "handed to somebody"},
	{"a method of an interface of which nobody knows what it holds", operands("doer", `known`, `
type doer interface{ Do(int) }
var known doer
`), operands("doer", `known`, `
type doer interface{ Do(*B) }
var known doer
`), "handed to somebody"},
	{"numbers are copied, and no functions", copies("int"), copies("func(*M)"), "handed to somebody"},
	{"a function that frees, beside a condition", `
//lastuse:effect arg 0 freed if arg 1 is true, arg 2 borrowed
func put(b *B, c bool, done func())

func f() {
	b := Make()
	put(b, false, done)
	b.Free() //F
}

func done() {}
`, `
//lastuse:effect arg 0 freed if arg 1 is true, arg 2 borrowed
func put(b *B, c bool, done func(*B))

func f() {
	b := Make()
	put(b, false, free)
	b.Free() //F
}

func free(b *B) { b.Free() }
`, "freed it before"},
	{"a method that the free may call", hooks(`nil`), hooks(`&prints{1}`), "not made here"},
	{"a method that the free may call since then", lateHooks(`nil`), lateHooks(`&prints{1}`),
		"handed to somebody"},
	{"a function in a field of another type", "", `
type other struct{ f func(*B) }

type cell[T any] struct{ f T }

func (c *cell[T]) set(f T) { c.f = f }

var o = &cell[func(*B)]{}

func init() { _ = other{quiet}; o.set(stash) }

func f() {
	b := Make()
	o.f(b)
	b.Free() //F
}

func quiet(b *B) { b.Use() }

func stash(b *B) { global = b }
`, "handed to somebody"},
}

const prints = `
type hook interface{ Done() }

type prints struct{ n int }

func (p *prints) Done() { fmt.Println(p.n) }
`

// hooks is a program that makes what it frees of an interface.
func hooks(v string) string {
	return prints + `
//lastuse:effect result 0 owned, arg 0 escapes
func open(h hook) *B

func f() {
	b := open(` + v + `)
	b.Use()
	b.Free() //F
}
`
}

// lateHooks is a program that hands an interface to what it frees.
func lateHooks(v string) string {
	return prints + `
//lastuse:effect recv borrowed, arg 0 escapes
func (b *B) OnFree(h hook)

func f() {
	b := Make()
	b.OnFree(` + v + `)
	b.Free() //F
}
`
}

// lends is a program that lends an interface which has what it frees.
func lends(do string) string {
	return `
type doer interface{ Do() }

type has struct{ b *B }

func (k has) Do() { ` + do + ` }

//lastuse:effect args borrowed
func run(d doer)

func f() {
	b := Make()
	run(has{b})
	b.Free() //F
	_ = has.Do
}
`
}

// operands is a program that lends what it frees to run, next to v of type t.
func operands(t, v, decls string) string {
	return decls + `
//lastuse:effect args borrowed
func run(b *B, v ` + t + `)

func stash(b *B) { global = b }

func f() {
	b := Make()
	run(b, ` + v + `)
	b.Free() //F
	b = nil
	do, stash := 0, stash // what is named is looked into
	_, _ = do, stash
}
`
}

// copies returns a function that copies elements of what others have into what it frees.
func copies(elem string) string {
	return `
func f(o *M) {
	m := MakeM()
	m.move(o)
	m.Free() //F
	next()
}

type M struct {
	list []` + elem + `
	done func(*M)
}

//lastuse:effect result 0 owned
func MakeM() *M

//lastuse:effect recv freed
func (m *M) Free()

func (m *M) move(o *M) { m.Move(o) }

//lastuse:effect recv borrowed, arg 0 borrowed
func (m *M) Move(o *M) { copy(m.list, o.list) }
`
}
