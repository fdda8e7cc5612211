package proof_test

import (
	"go/ast"
	"go/parser"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// TestElsewhere is frees that are right in this build and wrong in another one, of which a file is left out.
func TestElsewhere(t *testing.T) {
	const shown = `
type T struct{ b *B }

func (t T) Size() int { t.b.Use(); return 1 }

func f() {
	b := Make()
	fmt.Println(T{b: b})
	b.Free() //F
}
`
	const own = `
type W struct{ b *B }

func NewW() *W       { return &W{Make()} }
func (w *W) Sum()    { w.b.Use() }
func (w *W) Close()  { end(w.b) }
func end(b *B)       { b.Free() }

func f() {
	w := NewW()
	w.Sum()
	w.Close() //F
}
`
	const noted = `
type T struct{ b *B }

func (t T) String() string { return note(t.b, 1) }
func note(b *B, n int) string { b.Use(); return "" }

func f() {
	b := Make()
	fmt.Println(T{b: b})
	b.Free() //F
}
`
	const helped = `
func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		prepare(t)
		b.Use()
	})
	b.Free() //F
}
`
	const closed = `
type doer interface{ do(b *B) }
type plain struct{}

func (plain) do(b *B) { b.Use() }

func f(d doer) {
	b := Make()
	d.do(b)
	b.Free() //F
}
`
	// embeds is a type with what it embeds, and a function that frees what it has.
	embeds := func(uses string) string {
		return `
type dev struct{ part }
type part struct{ b *B }

func (p part) Sum() { p.b.Use() }
func (p part) Close() { p.b.Free() }

func f() {
	d := &dev{part{Make()}}
	` + uses + `
	d.part.b.Free() //F
}
`
	}
	const direct = `
type dev struct{ n int }

func (dev) use(b *B) { b.Use() }

func f() {
	b := Make()
	dev{n: 1}.use(b)
	b.Free() //F
}
`
	const aliased = `
type handle = *B

func open() handle { return Make() }

func f() {
	h := open()
	h.Use()
	h.Free() //F
}
`
	// keeps is a maker that keeps what it is given, which the free may call.
	keeps := func(operand, with string) string {
		return `
type hooks struct{ n int }
type wide struct{ hooks }
type onFreer interface{ OnFree() }

//lastuse:effect result 0 owned
func MakeWith(` + operand + `) *B

func f(c onFreer) {
	b := MakeWith(` + with + `)
	b.Use()
	b.Free() //F
}
`
	}
	const numbered = `
//lastuse:effect result 0 owned
func MakeWith(x any) *B

func f[N ~int16](n N) {
	b := MakeWith(n)
	b.Use()
	b.Free() //F
}
`
	const looks = `
type hooks struct{ n int }

//lastuse:effect args borrowed
func look(b *B, x any)

func f() {
	b := Make()
	look(b, hooks{n: 1})
	b.Free() //F
}
`
	const writes = `
type sink struct{ *bytes.Buffer }

func f(s sink) {
	b := Make()
	fmt.Fprintln(s, b)
	b.Free() //F
}
`
	const given = `
func use(b *B) { b.Use() }

func f() {
	b := Make()
	use(b)
	b.Free() //F
}
`
	// counted is a constant, and another that is made of it.
	counted := func(uses string) string {
		return `
const (
	size = 1
	last = size
)
const debug = false
const _, same = 2, 1
const far = last

func pick(a, b *B) *B {
	xs := [2]*B{a, b}
	return xs[size]
}

func f(n int) {
	a, b := Make(), Make()
	xs := [2]*B{a, b}
	` + uses + `
}
`
	}
	first := `a.Use()
	a.Free() //F
	`
	const copies = `
func f() {
	b := Make()
	xs := make([]*B, 1)
	copy(xs, []*B{b})
	xs[0].Use()
	b.Free() //F
}
`
	const converts = `
type num *int

func f() {
	b := Make()
	n := num(nil)
	b.Use()
	b.Free() //F
	println(n)
}
`
	// device is two types with one method, of which others have another one.
	device := func(uses string) string {
		return `
type cpu struct{ n int }
type cpus []cpu
type node struct{ dev cpu }

func (cpu) put(b *B) { b.Use() }
func open() (x cpu, _ error) { return }
func all() cpus { return nil }
func (node) open() cpu { return cpu{} }
func send(n node, b *B) { n.dev.put(b) }

func lent() *bytes.Buffer { return nil }

type hub struct{ *bytes.Buffer }
type slot struct{ cpu }
func fill(s slot, b *B) { s.put(b) }
func measure(h *hub, b *B) { h.Buffer.Len(); b.Use() }

type feed chan cpu
func feeds() feed { return nil }

type rack [1]cpu
func racks() *rack { return nil }

type at *cpu
func ats() at { return nil }

type opener func() cpu
func opens() opener { return nil }

var dev cpu
var main = cpu{}

func f(n node) {
	b := Make()
	` + uses + `
	b.Free() //F
}
`
	}
	// sized is an array, and what is made of its size; a callee frees where a flag is true.
	sized := func(flag string) string {
		return `
type row [2]int32
type wide row
type table struct { row [len(row{}) + 1]int }
type word int
type small struct { t tiny }
type tiny int8

const long = len(row{}) > 2

//lastuse:effect arg 0 borrowed, arg 0 freed if arg 1 is true
func mean(b *B, del bool)

func f(r *row, t *table) {
	b := Make()
	mean(b, ` + flag + `)
	b.Free() //F
}
`
	}
	const same = `
type word int
type row [2]int
type pair struct { x, y *B }
type also = pair

var many = len(row{})

func f(p *pair, q also) {
	b := Make()
	w := -word(3)
	b.Use()
	b.Free() //F
	println(p, w, many)
	q.use()
}

func (pair) use() {}
`
	const others = "type word uint8; type row [3]int; type pair struct { y, x *B };"
	// ordered makes a struct whose fields are of one type.
	ordered := func(x string) string {
		return `
type pair struct { x, y *B }

func (p pair) first() *B { return p.x }

func f() {
	a, b := Make(), Make()
	p := ` + x + `
	c := p.first()
	b.Free() //F
	c.Use()
}
`
	}
	const named = `
type loud struct { b *B }
type plain struct { b *B }
type shows struct { b *B }
type putter interface { put(b *B) }

func (l loud) String() string { global = l.b; return "" }
func (l loud) put(b *B) { global = b }
func (p plain) put(b *B) { b.Use() }

type shown = plain

func f() {
	b := Make()
	USES
	b.Free() //F
}
`
	// made makes something in a function of which others have another body.
	made := func(uses, free string) string {
		return `
type pair struct{ a, b *B }

func one() *B { return Make() }
func two() *pair { return &pair{Make(), Make()} }
func own() pair { return pair{Make(), Make()} }
func none() *pair { return &pair{} }

func f() {
	` + uses + `
	` + free + `.Free() //F
	}
}
`
	}
	// ended calls what frees, or moves, in this build, and more in others.
	ended := func(uses, free string) string {
		return `
type pair struct{ a, b, c *B }

func end(p *pair) { p.b.Free() }
func some(b *B, last bool) {
	if last {
		b.Free()
	}
}
func turn(p *pair) { p.a, p.b = p.b, p.a }

func f() {
	p := &pair{Make(), Make(), Make()}
	` + uses + `
	` + free + `.Free() //F
}
`
	}
	const gpu = "type gpu int; func (gpu) put(b *B) { kept(b) };"
	for _, tt := range []struct{ name, text, right, wrong, words string }{
		{"a variable of another type", device("dev.put(b)"), "var dev cpu", gpu + "var dev gpu", elsewhereWords},
		{"a variable of which it is not written", device("main.put(b)"), "var other = gpu(1)", gpu + "var main = gpu(1)", elsewhereWords},
		{"what is received", device("(<-feeds()).put(b)"), "type feed chan cpu", gpu + "type feed chan gpu", elsewhereWords},
		{"a part of an array", device("r := *racks(); r[:][0].put(b)"), "type rack [1]cpu", gpu + "type rack [1]gpu", elsewhereWords},
		{"what is pointed to", device("x := *ats(); x.put(b)"), "type at *cpu", gpu + "type at *gpu", elsewhereWords},
		{"what is called", device("opens()().put(b)"), "type opener func() cpu", gpu + "type opener func() gpu", elsewhereWords},
		{"a size", sized("len(r) == 3"), "type other [3]int", "type row [3]int", elsewhereWords},
		{"a size in bytes", sized("unsafe.Sizeof(*r) > 8"), "type other [3]int", "type row [3]int", elsewhereWords},
		{"what is in it, in bytes", sized("unsafe.Sizeof(small{}) == 2"), "type other int16", "type tiny int16", elsewhereWords},
		{"a constant that is a size", sized("long"), "type other [3]int", "type row [3]int", elsewhereWords},
		{"the length of an array, which is", sized("len(t.row) == 4"), "type other [3]int", "type row [3]int", elsewhereWords},
		{"what a type is made of", sized("len(wide{}) == 3"), "type other [3]int", "type row [3]int", elsewhereWords},
		{"a sign", sized("^word(0) > 0"), "type other uint", "type word uint", elsewhereWords},
		{"a quotient", sized("word(1)/2 > 0"), "type other float32", "type word float32", elsewhereWords},
		{"what is the same as another type", same, others, others + "func println() {}", elsewhereWords},
		{"fields without names", ordered("pair{a, b}"), "type other struct { y, x *B }", "type pair struct { y, x *B }", elsewhereWords},
		{"fields of what is pointed to", ordered("pair{x: a, y: b}; _ = []*pair{{nil, nil}}"), "type other struct { y, x *B }", "type pair struct { y, x *B }", elsewhereWords},
		{"another name, which is printed", strings.Replace(named, "USES", "fmt.Println(shown{b: b})", 1),
			"type other = loud", "type shown = loud", "handed to somebody"},
		{"another name, behind an interface", strings.Replace(named, "USES", "var p putter = shown{}; p.put(b)", 1),
			"type other = loud", "type shown = loud", "handed to somebody"},
		{"what is imported by a name", device("lent().Len(); dev.put(b)"), "import \"bytes\"; func lent() *bytes.Buffer",
			"import \"gpu/buffer\"; import bytes \"gpu/bytes\"; func lent() *bytes.Buffer", elsewhereWords},
		{"what is embedded by that name", device("measure(nil, b)"), "import \"bytes\"; type hub struct{ *bytes.Buffer }",
			"import bytes \"gpu/bytes\"; type hub struct{ *bytes.Buffer }", "handed to somebody"},
		{"what promotes a method, in a callee", device("fill(slot{}, b)"), "type other struct{ gpu }", gpu + "type slot struct{ gpu }",
			"handed to somebody"},
		{"names of others", device("fmt.Sprint(1); for range json.RawMessage(nil) { dev.put(b) }"),
			"func Sprint() int; type RawMessage []int", gpu + "var dev gpu", elsewhereWords},
		{"an address", device("xs := all(); println(&xs); dev.put(b)"), gpu + "type cpus []gpu",
			gpu + "type cpus []gpu; var dev gpu", elsewhereWords},
		{"another result", device("x, _ := open(); x.put(b)"), "func open() (a cpu, b error)", gpu + "func open() (x gpu, err error)",
			elsewhereWords},
		{"another result of a method", device("n.open().put(b)"), "func (n node) open() cpu", gpu + "func (n node) open() gpu", elsewhereWords},
		{"elements of another type", device("for _, x := range all() { x.put(b) }"), "type cpus []cpu", gpu + "type cpus []gpu", elsewhereWords},
		{"one of these", device("all()[0].put(b)"), "type cpus []cpu", gpu + "type cpus []gpu", elsewhereWords},
		{"a field of another type, in a callee", device("send(n, b)"), "type node struct{ n int; dev cpu }",
			gpu + "type node struct{ dev gpu }", "handed to somebody"},
		{"a type of another package", device("x, _ := open(); x.put(b)"), "func open() (cpu, error)",
			"func open() (lib.cpu, error)", elsewhereWords},
		{"what a function makes", made("if b := one(); b != nil { b.Use()", "b"), "func one() *B { return nil }",
			"func one() *B { return global }", "not made here"},
		{"one that it keeps on a way", made("if b := one(); b != nil { b.Use()", "b"), "func one() *B { return nil }",
			"func one() *B { if global != nil { return global }; return nil }", "not made here"},
		{"one that has a name", made("if b := one(); b != nil { b.Use()", "b"), "func one() *B { return nil }",
			"func one() (b *B) { b = global; return }", "not made here"},
		{"parts of what it makes", made("if p := two(); p != nil { p.a.Use()", "p.a"), "func two() *pair { return nil }",
			"func two() *pair { b := Make(); return &pair{b, b} }", "not made here"},
		{"parts of a struct", made("{ p := own(); p.a.Use()", "p.a"), "func two() pair",
			"func own() pair { b := Make(); return pair{b, b} }", "not made here"},
		{"memory that it makes", made("if p, b := none(), Make(); p != nil { p.a = b; b.Use()", "b"), "func none() *pair { return nil }",
			"func none() *pair { return at }", "handed to somebody"},
		{"a part of what it frees", ended("end(p)", "p.a"), "func other(p *pair)",
			"func end(p *pair) { p.b.Free(); global = p.a }", "not made here"},
		{"what it frees on a condition", ended("some(p.b, false)", "p.b"), "func other(b *B, last bool)",
			"func some(b *B, last bool) { b.Free() }", "handed to somebody"},
		{"what is stored there behind that", ended("end(p); c := Make(); p.c = c; c.Use()", "c"), "func other(p *pair)",
			"func end(p *pair) { p.b.Free(); at = p }", "handed to somebody"},
		{"what it moves", ended("turn(p); p.c.Use()", "p.c"), "func other(p *pair)",
			"func turn(p *pair) { global = p.c }", "not made here"},
		{"what it waits for", `
func finish(g *sync.WaitGroup) { g.Wait() }

func f() {
	var g sync.WaitGroup
	b := Make()
	g.Go(func() { b.Use() })
	finish(&g)
	b.Free() //F
}
`, "func other(*sync.WaitGroup) {}", "func finish(*sync.WaitGroup) {}", "goroutine"},
		{"a variable that a free leads to, where initializers call functions", initializes("print(c.n)"),
			"func (c *counted) Size() { counts[0]++ }", "func (c *counted) Free() { counts[0]++ }", "in another order"},
		{"a function that is a variable", given, "var other = kept", "var other, use = 1, kept", elsewhereWords},
		{"one that is a type", given, "type other *B", "type use *B", elsewhereWords},
		{"a method that is a field", direct, "type dev struct{ n int }", "type dev struct{ n int; use func(*B) }", elsewhereWords},
		{"one that a type has of another", direct, "type dev int", "type dev other", "handed to somebody"},
		{"a function of the language", copies, "func clear(xs, ys []*B) {}", "func copy(xs, ys []*B) { kept(ys) }", elsewhereWords},
		{"a type that is a function", converts, "type num *uint", "func num(x any) *int", elsewhereWords},
		{"a constant that is an index", counted(first + "xs[size].Use()"), "const other = 0", "const size = 0", elsewhereWords},
		{"one that is the same everywhere", counted(first + "xs[same].Use()"), "var _ = same", "const same = 0", elsewhereWords},
		{"one that is made of it", counted(first + "xs[last].Use()"), "const other = 0", "const size = 0", elsewhereWords},
		{"one that is made of that", counted(first + "xs[far].Use()"), "const other = 0", "const size = 0", elsewhereWords},
		{"one that a callee has", counted("c := pick(a, b); " + first + "xs[1] = c; c.Use()"), "const other = 0", "const size = 0", "handed to somebody"},
		{"one that a variable has", counted("on := debug; if n > 3 { on = false }; " + first + "if on { xs[0].Use() }"),
			"const other = true", "const debug = true", elsewhereWords},
		{"one on which a callee frees", `
const debug = false

//lastuse:effect arg 0 borrowed, arg 0 freed if arg 1 is true
func mean(b *B, del bool)

func f() {
	b := Make()
	mean(b, debug)
	b.Free() //F
}
`, "const other = true", "const debug = true", elsewhereWords},
		{"one that an array has as its length", `
const size = 2

type row [size]int

type table struct{ row row }

//lastuse:effect arg 0 borrowed, arg 0 freed if arg 1 is true
func mean(b *B, del bool)

func f(t *table) {
	b := Make()
	mean(b, len(t.row) == 1)
	b.Free() //F
}
`, "const other = 1", "const size = 1", elsewhereWords},
		{"one that is a part of a condition", counted("if n > 3 && !debug { xs[n] = b; add(2, size) }; " + first + "println(min(n, 3))"),
			"const debug, size = true, 0", "func min(n, m int) int { return kept(n) }", elsewhereWords},
		{"one that is a factor", counted(first + "xs[1].Use(); println(n * size)"), "const other = 0", "const size = 0", elsewhereWords},
		{"a method that comes before a promoted one", embeds("d.Sum()"), "func (d dev) Len()", "func (d dev) Sum()", elsewhereWords},
		{"one that is bound", embeds("s := d.Sum; s()"), "func (d dev) Len()", "func (d dev) Sum()", elsewhereWords},
		{"one of an expression", embeds("(*dev).Sum(d)"), "func (d dev) Len()", "func (d dev) Sum()", elsewhereWords},
		{"a free that comes before a promoted one", strings.ReplaceAll(embeds("d.part.Sum()"), "d.part.b.Free()", "d.Close()"),
			"func (d dev) Len()", "func (d *dev) Close()", elsewhereWords},
		{"a type that promotes a method", embeds("d.Sum()"), "type other struct{ part }", "type part struct{ *V }", elsewhereWords},
		{"a type with another field", embeds("d.part.Sum()"), "type other struct{ b *V }", "type part struct{ b *V }", elsewhereWords},
		{"a type that has no such method itself", direct, "type dev struct{ m int }", "type dev struct{ *V }", "handed to somebody"},
		{"another name for a type", aliased, "type other = *V", "type handle = *V", elsewhereWords},
		{"a maker keeps what has a method", keeps("x any", "&hooks{n: 1}"), "func (other) OnFree()", "func (h *hooks) OnFree()", "not made here"},
		{"what embeds that", keeps("x any", "wide{}"), "func (other) OnFree()", "func (h *hooks) OnFree()", "not made here"},
		{"a maker keeps what has a function", keeps("x hooks", "hooks{n: 1}"), "type other struct{ f func() }",
			"type hooks struct{ n int; f func() }", "not made here"},
		{"a maker keeps an interface", keeps("x onFreer", "c"), "func (other) Free()", "func (other) OnFree()", "not made here"},
		{"a maker keeps a number that may have a method", numbered, "func other()", "func (other) OnFree()", "not made here"},
		{"a line of what may be asked", looks, "func (other) See(b *B)", "func (hooks) See(b *B)", "handed to somebody"},
		{"a writer", writes, "func (s sink) Sum()", "func (s sink) Write(p []byte) (int, error)", "handed to somebody"},
		{"a method that the library asks for", shown, "func (t T) Other() string { return kept(t.b) }",
			"func (t T) String() string { return kept(t.b) }", "handed to somebody"},
		{"a type with such a method", shown, "type U struct{ fmt.Stringer }", "type T struct{ fmt.Stringer }", "handed to somebody"},
		{"a function that such a method calls", noted, `func note(*B, int) string { return "" }`,
			`func note(b *B, n int) string { return kept(b) }`, "handed to somebody"},
		{"a helper of a test", helped + "func prepare(t *testing.T) { t.Helper() }\n", "func other(t *testing.T) { t.Parallel() }", "func prepare(t *testing.T) { t.Parallel() }", "not made here"},
		{"what a helper of a test calls", helped + "func prepare(t *testing.T) { start(t) }\nfunc start(t *testing.T) { t.Helper() }\n", "var other = par", "var start = par", "not made here"},
		{"one without a body", noted, "func other(b *B, n int) string", "func note(b *B, n int) string", "handed to somebody"},
		{"one with other operands", noted, `func note(_ *B, n int) string { return "" }`,
			`func note() string { return kept() }`, "handed to somebody"},
		{"what frees here", own, "func (w *W) Start() { println() }", "func (w *W) Close() { println() }", "more than free"},
		{"what frees", own, "func (w *W) Start() { println() }", "func (w *W) Close() { println(); w.b.Free() }", "more than free"},
		{"what that calls", own, "func ends(b *B) { println(); b.Free() }", "func end(b *B) { println(); b.Free() }", "more than free"},
		{"a method of an interface that is not exported", closed, "func (evil) does(b *B) { kept(b) }",
			"func (evil) do(b *B) { kept(b) }", "handed to somebody"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab()
			held := func(beside string) []proof.Verdict {
				f, err := parser.ParseFile(l.fset, "left.go", "package p\n"+beside, 0)
				require.NoError(t, err)
				in := l.input(t, tt.text)
				in.Left = []*ast.File{f}
				return proof.Check(in).Withheld()
			}
			assert.Empty(t, held(tt.right))
			wrong := held(tt.wrong)
			require.NotEmpty(t, wrong)
			assert.Contains(t, wrong[0].Why.Words, tt.words)
		})
	}
}

// TestUnlike is a function that others import, and that is a variable in another build.
func TestUnlike(t *testing.T) {
	l := newLab()
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	lib := l.source(t, "lib", "package lib\n\nfunc Use(n *int) {}\n")
	lib.Specs = set
	does := func(left string) *proof.Summary {
		away, err := parser.ParseFile(l.fset, "left.go", "package lib\n"+left, 0)
		require.NoError(t, err)
		lib.Left = []*ast.File{away}
		sums, err := proof.SummarizeSource(lib)
		require.NoError(t, err)
		return sums[lib.Types.Scope().Lookup("Use").(*types.Func)]
	}
	assert.NotEqual(t, does("var other = kept"), does("var Use = kept"))
}

// TestAwayOfOthers is types of which another package says what they are in other builds.
func TestAwayOfOthers(t *testing.T) {
	l := newLab()
	prove := func(name string, away proof.Away, text string) []proof.Verdict {
		return l.across(t, text, func(n types.Object) (none proof.Away) {
			if n.Pkg().Path() == "lib" && n.Name() == name {
				return away
			}
			return none
		}).Withheld()
	}
	const printed = `
import "fmt"

type mine struct {
	lib.Pair
	b *lib.B
}

func f() {
	b := lib.Make()
	fmt.Println(mine{b: b})
	b.Free() //F
}
`
	const called = `
type mine struct{ lib.Pair }

func f() {
	b := lib.Make()
	m := mine{lib.Pair{A: b}}
	m.Pair.A.Use()
	b.Free() //F
}
`
	// far is what uses names for types of others.
	far := func(uses string) string {
		return `
import "fmt"

type putter interface{ Put(b *lib.B) }
type job struct{ lib.Dev }

func put(d lib.Dev, b *lib.B)   { d.Put(b) }
func open(d lib.Box, b *lib.B)  { d.Put(b) }
func read(p *lib.Pair, b *lib.B) { println(p.A); b.Use() }
func done(x lib.Box, b *lib.B)  { x.Done(); b.Use() }
func lock(g *lib.Guard, b *lib.B) { g.Lock(); b.Use() }
func try(g *lib.Guard, b *lib.B)  { g.Try(); b.Use() }
func all(ds lib.Devs, b *lib.B) { ds[0].Put(b) }

func f(d lib.Dev, x lib.Box, j job) {
	b := lib.Make()
	` + uses + `
	b.Free() //F
}
`
	}
	const level = `
const low = lib.Level == 1

func f() {
	b := lib.Make()
	lib.Mean(b, low)
	b.Free() //F
}
`
	const bytes = `
import "unsafe"

func f() {
	a := [2]*lib.B{lib.Make(), lib.Make()}
	a[0].Free() //F
	a[unsafe.Sizeof([0]lib.Pair{})+1].Use()
	a[1].Free()
}
`
	for _, tt := range []struct {
		name, of, text string
		right, wrong   proof.Away
		words          string
	}{
		{"a constant that is made of another one", "Level", level, proof.Away{}, proof.Away{Varies: true}, elsewhereWords},
		{"the size of a type", "Pair", bytes, proof.Away{}, proof.Away{Resized: true}, elsewhereWords},
		{"a method that the library asks for", "Pair", printed, proof.Away{Has: []string{"Sum"}}, proof.Away{Has: []string{"String"}},
			"handed to somebody"},
		{"a type that is printed", "Pair", printed, proof.Away{}, proof.Away{Declared: true}, "handed to somebody"},
		{"another name for a type, in a callee", "Dev", far("put(d, b)"), proof.Away{}, proof.Away{Declared: true}, "handed to somebody"},
		{"another name, behind an interface", "Dev", far("var p putter = lib.Dev{}; p.Put(b)"), proof.Away{},
			proof.Away{Declared: true}, "handed to somebody"},
		{"another name, which is printed", "Dev", far("fmt.Println(lib.Dev{B: b})"), proof.Away{}, proof.Away{Declared: true}, "handed to somebody"},
		{"a type that promotes a method, in a callee", "Box", far("open(x, b)"), proof.Away{Declared: true},
			proof.Away{Declared: true, Has: []string{"Put"}}, "handed to somebody"},
		{"a type that promotes a method", "Box", far("x.Put(b)"), proof.Away{}, proof.Away{Declared: true}, elsewhereWords},
		{"one without operands", "Box", far("done(x, b)"), proof.Away{Declared: true},
			proof.Away{Declared: true, Has: []string{"Done"}}, "handed to somebody"},
		{"a method of a lock", "Guard", far("lock(nil, b)"), proof.Away{Declared: true, Has: []string{"Lock"}},
			proof.Away{Varies: true}, elsewhereWords},
		{"one with a result", "Guard", far("try(nil, b)"), proof.Away{Declared: true},
			proof.Away{Declared: true, Has: []string{"Try"}}, "handed to somebody"},
		{"a field, in a callee", "A", far("read(nil, b)"), proof.Away{}, proof.Away{Varies: true}, "handed to somebody"},
		{"elements, in a callee", "Devs", far("all(nil, b)"), proof.Away{}, proof.Away{Declared: true}, "handed to somebody"},
		{"a type that has a field", "Pair", called, proof.Away{Has: []string{"Use"}}, proof.Away{Declared: true}, elsewhereWords},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Empty(t, prove(tt.of, tt.right, tt.text))
			assert.Empty(t, prove("Cell", tt.wrong, tt.text))
			held := prove(tt.of, tt.wrong, tt.text)
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}

const elsewhereWords = "something else in other builds"

// TestTold shows what others are told of what a package declares.
func TestTold(t *testing.T) {
	l := newLab()
	p := l.source(t, "p", `package p
import "strings"
type A struct{}; type B struct{}; type C struct{}; type D struct{}; type E struct{}; type T1 = strings.Builder
var V, W, X B; const K = 1; const L = 2 * K; const M = 3; func (A) F() B; func G() B; func H() B
type R [L]int; var S = R{}; const N = len(S); var T = L; func (A) I(R); func J(n [M]int)
type Z [2]int; type Y Z; type P struct{ A; Q, U B }; const O = len(Z{})
type a struct{ z [1]Z }; type b []Z`)
	left, err := parser.ParseFile(l.fset, "left.go", `package p
func (*B) Error() string; func (C) Sum() int; type D = string; func String() string
func (U) String() string; func (D) M(); func E() int
var V C; var W B; const K = 3; func (A) F() C; func G() C; func H() B; type Z [3]int; type P struct{ B; U B; Q C }
type T1 struct { addr, buf int }`, 0)
	require.NoError(t, err)
	p.Left = []*ast.File{left}
	got := map[string]proof.Away{}
	all, err := proof.Elsewhere(p)
	require.NoError(t, err)
	for o, a := range all {
		got[o.Name()] = a
		assert.Equal(t, p.Types, o.Pkg(), o.Name())
	}
	other := proof.Away{Varies: true}
	assert.Equal(t, map[string]proof.Away{"A": {Has: []string{"F"}}, "B": {Has: []string{"Error"}},
		"C": {Has: []string{"Sum"}}, "D": {Declared: true, Has: []string{"M"}}, "E": other, "V": other, "K": other,
		"L": other, "F": other, "G": other, "R": other, "S": other, "N": other, "I": other, "O": other, "Y": other, "Q": other,
		"a": {Resized: true}, "Z": {Declared: true}, "T1": {Declared: true},
		"P": {Declared: true, Has: []string{"Error", "F", "I", "M", "String", "Sum"}}}, got)
}
