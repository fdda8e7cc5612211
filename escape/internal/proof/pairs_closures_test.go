package proof_test

import "strings"

// closurePairs show what a function may do with what it holds: return it, or store it in what it is called
// with.
var closurePairs = []pair{
	{"a literal without operands gives what it made", gets("Make()"), gets("o"), "a parameter"},
	{"a literal without operands gives what others have", gets("Make()"), gets("global"), "not made here"},
	{"a literal without operands gives memory", putsInto("&cell{}"), putsInto("o"), "handed"},
	{"a literal that is deferred frees what a variable holds by then", ends(`return`), ends(`b.Free()
		return`), "may have freed it before"},
	{"a literal that is deferred frees a variable that has what others own", ends(`return`), ends(`b = o
		return`), "a parameter"},
	{"a literal that is deferred frees a variable that holds nothing", `
func f() {
	b, _ := Try()
	defer func() { //F
		if b != nil { //F
			b.Free() //F
		} //F
	}() //F
	defer func() { b.Use() }()
	next()
}
`, `
func f() {
	b, _ := Try()
	defer func() { b.Free() }() //F
	defer func() { b.Use() }()
	next()
}
`, "may be nil"},
	{"a literal that is deferred frees before another one reads", ends(`return`), ends(`return`, `	defer func() { b.Use() }()
`), "its name is read"},
	{"a literal that is deferred does no more than free", ends(`return`), `
func f() {
	b := Make()
	defer func() { b.Free(); next() }() //F
	defer func() { b.Use() }()
	next()
}
`, "in more than frees"},
	{"a function in a field is called", holding(`func() {}`, `func()`, `j.run()`, ``),
		holding(`func() { b.Use() }`, `func()`, ``, `j.run()`), "its name is read"},
	{"a function in a field returns what it holds",
		holding(`func() *B { return nil }`, `func() *B`, `x := j.run()`, `_ = x`),
		holding(`func() *B { return b }`, `func() *B`, `x := j.run()`, `x.Use()`), "used by"},
	{"a function stores what it holds", `
func f() {
	b := Make()
	with(b)(3)
	b.Free() //F
}

func with(b *B) func(int) { return func(n int) { b.Use() } }
`, `
func f() {
	b := Make()
	var c cfg
	with(b)(&c)
	b.Free() //F
	c.b.Use()
}

type cfg struct{ b *B }

func with(b *B) func(*cfg) { return func(c *cfg) { c.b = b } }
`, "handed to somebody"},
	{"a callee calls a function that stores what it holds", `
func f() {
	b := Make()
	var c cfg
	apply(&c, func(c *cfg) { b.Use() })
	b.Free() //F
}

type cfg struct{ b *B }

func apply(c *cfg, o func(*cfg)) { o(c) }
`, `
func f() {
	b := Make()
	var c cfg
	apply(&c, with(b))
	b.Free() //F
	c.b.Use()
}

type cfg struct{ b *B }

func apply(c *cfg, o func(*cfg)) { o(c) }

func with(b *B) func(*cfg) { return func(c *cfg) { c.b = b } }
`, "handed to somebody"},
	{"a callee calls a function with memory of its own", wires(`func(c *cfg) { b.Use() }`), wires(`with(b)`),
		"handed to somebody"},
	{"a method of a function stores what that holds", `
func f() {
	b := Make()
	var c cfg
	var s sets = quiet(1)
	s.set(&c)
	b.Use()
	b.Free() //F
	_ = quiet.set
}

type cfg struct{ b *B }

type sets interface{ set(*cfg) }

type quiet int

func (q quiet) set(c *cfg) {}
`, `
func f() {
	b := Make()
	var c cfg
	var s sets = with(b)
	s.set(&c)
	b.Free() //F
	c.b.Use()
	_ = setter.set
}

type cfg struct{ b *B }

type sets interface{ set(*cfg) }

type setter func(*cfg)

func (s setter) set(c *cfg) { s(c) }

func with(b *B) setter { return func(c *cfg) { c.b = b } }
`, "handed to somebody"},
	{"the same of several", `
func f() {
	b := Make()
	c := build(quiet)
	b.Use()
	b.Free() //F
	_ = c
}

type cfg struct{ b *B }

func quiet(c *cfg) {}

func build(os ...func(*cfg)) *cfg {
	c := &cfg{}
	for _, o := range os {
		o(c)
	}
	return c
}
`, `
func f() {
	b := Make()
	c := build(with(b))
	b.Use()
	b.Free() //F
	c.b.Use()
}

type cfg struct{ b *B }

func with(b *B) func(*cfg) { return func(c *cfg) { c.b = b } }

func build(os ...func(*cfg)) *cfg {
	c := &cfg{}
	for _, o := range os {
		o(c)
	}
	return c
}
`, "handed to somebody"},
}

// wires is a program that hands g to a callee which calls it with what it returns.
func wires(g string) string {
	return `
func f() {
	b := Make()
	c := wire(` + g + `)
	b.Use()
	b.Free() //F
	_ = c
	_ = with
}

type cfg struct{ b *B }

func wire(g func(*cfg)) *cfg {
	c := &cfg{}
	g(c)
	return c
}

func with(b *B) func(*cfg) { return func(c *cfg) { c.b = b } }
`
}

// holding is a program that frees what a function in a field may hold.
func holding(lit, t, before, after string) string {
	return `
type job struct{ run ` + t + ` }

type cfg struct {
	b *B
	n int
}

func newJob(b *B) job { return job{` + lit + `} }

func f() {
	b := Make()
	j := newJob(b)
	_ = j
	` + before + `
	b.Free() //F
	` + after + `
}
`
}

// ends returns a function that assigns a variable which a deferred literal reads, or ends before that.
func ends(end string, before ...string) string {
	return `
func f(o *B) {
	b := Make()
` + strings.Join(before, "") + `	defer func() { b.Free() }() //F
	defer func() { b.Use() }()
	if next() > 0 {
		` + end + `
	}
	old := b //F
	b = Make()
	old.Free() //F
	next()
}
`
}

// gets is a function that frees what it made, or a literal gave.
func gets(what string) string {
	return `
func f(n int, o *B) {
	get := func() *B { return ` + what + ` }
	x := Make()
	if n > 3 {
		x.Free() //F
		x = get()
	}
	x.Use()
	x.Free() //F
}
`
}

// putsInto is a function that puts what it frees into memory which a literal gave.
func putsInto(what string) string {
	return `
type cell struct{ b *B }

func f(o *cell) {
	get := func() *cell { return ` + what + ` }
	b := Make()
	x := get()
	x.b = b
	x.b.Use()
	b.Free() //F
}
`
}
