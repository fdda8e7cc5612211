package proof_test

// operandPairs show what a callee may call that only uses its operands: functions that one of them leads to,
// methods of an interface. What these keep of another operand, the call keeps.
var operandPairs = []pair{
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
	{"a method of an interface of which nobody knows what it holds", operands("doer", `known`, `
type doer interface{ Do(int) }
var known doer
`), operands("doer", `known`, `
type doer interface{ Do(*B) }
var known doer
`), "handed to somebody"},
	{"a function in a field of another type", `
type other struct{ f func(*B) }

var o = other{quiet}

func f() {
	b := Make()
	o.f(b)
	b.Free() //F
}

func quiet(b *B) { b.Use() }
`, `
type other struct{ f func(*B) }

var _ = other{quiet}

type cell[T any] struct{ f T }

func (c *cell[T]) set(f T) { c.f = f }

var o = &cell[func(*B)]{}

func init() { o.set(stash) }

func f() {
	b := Make()
	o.f(b)
	b.Free() //F
}

func quiet(b *B) { b.Use() }

func stash(b *B) { global = b }
`, "handed to somebody"},
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
