package proof_test

import (
	"strings"
	"testing"
)

// TestWrongLines is wrong edits about callees of which a spec line, or a directive, says a part, and about
// functions that are handed to others.
func TestWrongLines(t *testing.T) {
	tests := []wrong{
		{"an operand that is borrowed on a condition", "handed to somebody", `
//lastuse:effect arg 0 borrowed if arg 1 is true
func put(b *B, c bool)

func f() {
	b := Make()
	put(b, false)
	b.Free() //F
}
`},
		{"a line of which another one says something else", "not made here", `
func Torn() *B

func f() {
	b := Torn()
	b.Use()
	b.Free() //F
}
`},
		{"an operand that is borrowed on success", "handed to somebody", `
//lastuse:effect arg 0 borrowed on success
func put(b *B) error

func f() {
	b := Make()
	put(b)
	b.Free() //F
}
`},
		{"owned on a condition that is not looked at", "not made here", `
//lastuse:effect result 0 owned if arg own is true
func cast(b *B, own bool) *B

func f(b *B, own bool) {
	c := cast(b, own)
	c.Use()
	if c != nil {
		c.Free() //F
	}
}
`},
		{"the same with a body", "not made here", `
//lastuse:effect result 0 owned if arg own is true
func cast(b *B, own bool) *B {
	if own {
		return Make()
	}
	return b
}

func f(b *B) {
	c := cast(b, false)
	c.Use()
	c.Free() //F
}
`},
		{"what is owned has an operand", "handed to somebody", `
type holder struct{ b *B }

//lastuse:effect result 0 owned
func wrap(b *B) *holder { return &holder{b} }

//lastuse:effect recv freed
func (h *holder) Close()

func f() {
	b := Make()
	h := wrap(b)
	b.Free() //F
	h.b.Use()
	h.Close()
}
`},
		{"borrowed by who hands it to a function", "handed to somebody", `
//lastuse:effect arg 0 borrowed
func each(b *B, f func(*B)) { f(b) }

func f() {
	b := Make()
	each(b, func(x *B) { global = x })
	b.Free() //F
}
`},
		{"the same, which may keep the function", "handed to somebody", `
//lastuse:effect arg 0 borrowed
func each(b *B, f func(*B))

func f() {
	b := Make()
	var c *B
	each(b, func(x *B) { c = x })
	b.Free() //F
	c.Use()
}
`},
		{"a function that is handed on leaves a goroutine behind", "handed to somebody", `
func both(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	next()
	wg.Wait()
}

func do(f func(*B), b *B) { f(b) }

func f() {
	b := Make()
	defer b.Free() //F
	do(both, b)
}
`},
		{"freed on a condition, and else by a function that is handed on", "freed it before", `
func free(b *B) { b.Free() }

func do(f func(*B), b *B) { f(b) }

func drop(b *B, yes bool) {
	if yes {
		b.Free()
	} else {
		do(free, b)
	}
}

func f() {
	b := Make()
	drop(b, false)
	b.Free() //F
}
`},
		{"a function is kept that the free may call", "not made here", `
//lastuse:effect result 0 owned
func adopt(release func()) *B

func f() {
	a := Make()
	b := adopt(func() { a.Free() })
	b.Use()
	b.Free() //F
	a.Use()
}
`},
		{"a method that is lent frees", "freed it before", `
type matcher struct{}

func (matcher) Error() string { return "" }

func (matcher) Is(err error) bool { err.(held).b.Free(); return false }

type held struct{ b *B }

func (held) Error() string { return "" }

func f() bool {
	b := Make()
	is := errors.Is(matcher{}, held{b})
	b.Free() //F
	return is
}
`},
		{"a function in an interface that a variable holds", "handed to somebody",
			lentTo("g any", `g.(func(*B))(b)`, `
	var x any = stash
	p := &x
	each(b, *p)`)},
		{"a function in an interface among arguments", "handed to somebody",
			lentTo("gs ...any", `gs[0].(func(*B))(b)`, "each(b, stash)")},
		{"a function in a channel of interfaces", "handed to somebody",
			lentTo("c chan any", `(<-c).(func(*B))(b)`, "each(b, anys)")},
		{"a function behind pointers", "handed to somebody",
			lentTo("g **func(*B)", `(**g)(b)`, "each(b, at)")},
		{"a function as raw memory", "handed to somebody",
			lentTo("p unsafe.Pointer", `(*(*func(*B))(p))(b)`, "g := stash\n\teach(b, unsafe.Pointer(&g))")},
		{"methods among arguments", "handed to somebody",
			lentTo("ks ...putter", `ks[0].put(b)`, "each(b, keeps{})")},
		{"a method behind a field", "handed to somebody",
			lentTo("x box", `x.putter.put(b)`, "each(b, box{keeps{}})")},
		{"a method that is asked for", "handed to somebody",
			lentTo("k any", `k.(putter).put(b)`, "each(b, keeps{})")},
		{"a method of a type that is a parameter", "handed to somebody", strings.ReplaceAll(
			lentTo("k T", `any(k).(putter).put(b)`, "each(b, keeps{})"), "each(b *B", "each[T any](b *B")},
		{"a method that a helper calls", "handed to somebody",
			lentTo("k putter", `help(both{b, k})`, "each(b, keeps{})")},
		{"a method that a library calls", "handed to somebody",
			lentTo("g func(*B)", `errors.Is(both{b, box{calls(g)}}, nil)`, "each(b, stash)")},
		{"a function that is a key", "handed to somebody",
			lentTo("m map[putter]int", `for k := range m { k.put(b) }`, "each(b, map[putter]int{keeps{}: 1})")},
		{"a function that a function returns", "handed to somebody",
			strings.Replace(lentTo("g func() func(*B)", `g()(b)`, "each(b, give)"), "arg 0 ", "args ", 1)},
		{"a function that a literal returns", "handed to somebody",
			strings.Replace(lentTo("g func() func(*B)", `g()(b)`, "each(b, func() func(*B) { return stash })"), "arg 0 ", "args ", 1)},
		{"a value with methods that a function returns", "handed to somebody",
			strings.Replace(lentTo("g func() putter", `g().put(b)`, "each(b, func() putter { return keeps{} })"), "arg 0 ", "args ", 1)},
		{"a function that a method returns", "handed to somebody",
			strings.Replace(lentTo("k giver", `k.Give()(b)`, "each(b, gives{})"), "arg 0 ", "args ", 1)},
		{"likewise, of which nobody knows whose it is", "handed to somebody",
			strings.Replace(lentTo("k giver", `k.Give()(b)`, "each(b, givers)"), "arg 0 ", "args ", 1)},
		{"one of several such functions", "handed to somebody",
			lentTo("k putter", `k.put(b)`, `
	e := each
	if next() > 0 {
		e = again
	}
	e(b, putters)`)},
		{"such a function is handed on", "handed to somebody",
			lentTo("k putter", `k.put(b)`, `run(b, each)`)},
		{"a function that returns a text of it", "handed to somebody", `
//lastuse:effect result 0 views arg 0
func text(b *B) string

var kept string

//lastuse:effect arg 0 borrowed
func each(b *B, g func(*B) string) { kept = g(b) }

func f() {
	b := Make()
	each(b, text)
	b.Free() //F
}
`},
		{"a result views what functions get", "handed to somebody", `
//lastuse:effect result 0 views arg 0
func view(b *B, g func(*B)) *V { g(b); return b.View() }

func stash(b *B) { global = b }

func f() {
	b := Make()
	view(b, stash).Use()
	b.Free() //F
}
`},
		{"a function is kept where a line says that nothing is", "handed to somebody", `
//lastuse:effect recv borrowed
func (d *door) onClose(g func()) { d.g = g }

type door struct {
	b *B
	g func()
}

//lastuse:effect result 0 owned
func open() *door { return &door{b: Make()} }

//lastuse:effect recv freed
func (d *door) Close() { d.b.Free(); d.g() }

func f() {
	d := open()
	d.onClose(func() { fmt.Println() })
	d.Close() //F
}
`},
		{"methods are kept that the free may call", "not made here", `
type door struct {
	b  *B
	on []any
}

//lastuse:effect result 0 owned
func open(on ...any) *door { return &door{Make(), on} }

//lastuse:effect recv freed
func (d *door) Close() { d.b.Free(); d.on[0].(bell).Ring() }

type bell struct{}

func (bell) Ring() { fmt.Println() }

func f() {
	d := open(bell{})
	_ = d
	d.Close() //F
}
`},
	}
	newLab().withholds(t, tests)
}

// lentTo is a program in which each, of which a line says that it borrows, does something with b and k.
func lentTo(k, does, calls string) string {
	return `
//lastuse:effect arg 0 borrowed
func each(b *B, ` + k + `) { ` + does + ` }

func f() {
	b := Make()
	` + calls + `
	b.Free() //F
}

func stash(b *B) { global = b }

type putter interface{ put(*B) }

type giver interface{ Give() func(*B) }

type gives struct{}

func (gives) Give() func(*B) { return stash }

var givers giver

func give() func(*B) { return stash }

type keeps struct{}

func (keeps) put(b *B) { global = b }

type box struct{ putter }

type calls func(*B)

func (c calls) put(b *B) { c(b) }

type both struct {
	b *B
	k putter
}

func (x both) Error() string { x.k.put(x.b); return "" }

func help(x both) { x.k.put(x.b) }

var (
	anys    chan any
	at      **func(*B)
	putters putter
)

//lastuse:effect arg 0 borrowed
func again(b *B, k putter)

//lastuse:effect args borrowed
func run(b *B, g func(*B, putter)) { g(b, putters) }
`
}
