package proof_test

// numberPairs show where a number beside a resource is told from it: a literal that only reads such fields of
// a variable has not the variable, and a callee keeps, or returns, such a field of a struct alone.
var numberPairs = []pair{
	{"a literal reads a number beside the resource", keepsOf(`print(m.rows)`), keepsOf(`m.data.Use()`), "not made here"},
	{"a literal reads numbers of a part", keepsOf(`print(m.part.k, m.rows)`), keepsOf(`x := m; _ = x`), "not made here"},
	{"a literal in it reads a number", keepsOf(`func() { print(m.rows) }()`), keepsOf(`func() { m.data.Use() }()`), "not made here"},
	{"a number that a literal reads is an address", keepsOf(`print(m.rows)`, `m.rows = 3`),
		keepsOf(`print(m.rows)`, `m.rows = int(uintptr(unsafe.Pointer(m.data)))`), "not made here"},
	{"an address is put there through a pointer", keepsOf(`print(m.rows)`, `m.part.k = 3`),
		keepsOf(`print(m.rows)`, `p := &m; p.rows = int(uintptr(unsafe.Pointer(m.data)))`), "not made here"},
	{"an address is put there by another literal", keepsOf(`print(m.rows)`, `func() { print(m.rows) }()`),
		keepsOf(`print(m.rows)`, `func() { m.rows = int(uintptr(unsafe.Pointer(m.data))) }()`), "not made here"},
	{"a method has the address of what a literal reads", keepsOf(`print(m.rows)`, `m.look()`),
		keepsOf(`print(m.rows)`, `m.touch()`), "not made here"},
	{"a literal stores", keepsOf(`print(m.rows)`), keepsOf(`m.rows++`), "not made here"},
	{"a literal takes an address", keepsOf(`print(m.rows)`), keepsOf(`at = &m.rows`), "not made here"},
	{"a literal reads a view beside the resource", keepsOf(`print(m.rows)`, `m.v = nil`),
		keepsOf(`m.v.Use()`, `m.v = m.data.View()`), "not made here"},
	{"what frees it by value writes to nothing that a literal reads", frees(`m matrix`), frees(`m *matrix`), "not made here"},
	{"a callee keeps a number of a struct", calledWith(`func keep(m matrix) { last = m.rows }`, `keep(m)`, ``),
		calledWith(`func keep(m matrix) { last = m.rows }`, `keep(m)`, `m.rows = address(m.data)`), "handed"},
	{"a literal of a callee keeps a number",
		calledWith(`func keep(m matrix) { later = append(later, func() { print(m.rows) }) }`, `keep(m)`, ``),
		calledWith(`func keep(m matrix) { later = append(later, func() { m.data.Use() }) }`, `keep(m)`, ``), "handed"},
	{"a callee hands a struct to one that keeps a number",
		calledWith(`func keep(m matrix) { keeps(m) }; func keeps(m matrix) { last = m.rows }`, `keep(m)`, ``),
		calledWith(`func keep(m matrix) { m.rows += address(m.data); keeps(m) }; func keeps(m matrix) { last = m.rows }`,
			`keep(m)`, ``), "handed"},
	{"a callee keeps a number behind a pointer",
		calledWith(`func (m *matrix) keep() { last = m.part.k }`, `m.keep()`, `m.look()`),
		calledWith(`func (m *matrix) keep() { last = m.part.k }`, `m.keep()`, `m.part.k = address(m.data)`), "not made here"},
	{"a callee keeps where a number is",
		calledWith(`func (m *matrix) keep() { p := &m.rows; last = *p }`, `m.keep()`, ``),
		calledWith(`func (m *matrix) keep() { at = &m.rows }`, `m.keep()`, ``), "not made here"},
	{"a callee changes a number that it keeps",
		calledWith(`func (m *matrix) keep() { m.rows = 0; last = m.rows }`, `m.keep()`, ``),
		calledWith(`func (m *matrix) keep() { m.rows = address(m.data); last = m.rows }`, `m.keep()`, ``), "not made here"},
	{"a callee changes it by another name",
		calledWith(`func keep(a, b *matrix) { b.rows = 0; last = a.rows }`, `keep(&m, &m)`, ``),
		calledWith(`func keep(a, b *matrix) { b.rows = b.part.k; last = a.rows }`, `keep(&m, &m)`, `m.part.k = address(m.data)`),
		"not made here"},
	{"a callee reads a number through what a pointer leads to",
		calledWith(`func (m *matrix) keep() { last = m.rows }`, `m.keep()`, `m.next = nil`),
		calledWith(`func (m *matrix) keep() { last = m.next.rows }`, `m.keep()`, `m.next = &matrix{rows: address(m.data)}`),
		"not made here"},
	{"a literal of a callee reads a number behind a pointer",
		calledWith(`func (m *matrix) keep() { n := m.rows; later = append(later, func() { print(n) }) }`, `m.keep()`, ``),
		calledWith(`func (m *matrix) keep() { later = append(later, func() { print(m.rows) }) }`, `m.keep()`, ``), "not made here"},
	{"a callee returns a number behind a pointer",
		calledWith(`func (m *matrix) n() int { return m.rows * m.part.k }`, `x := m.n()`, ``, `print(x)`),
		calledWith(`func (m *matrix) n() int { return m.rows * m.part.k }`, `x := m.n()`, `m.rows = address(m.data)`, `print(x)`),
		"read or written"},
	{"a callee returns where a number is",
		calledWith(`func (m *matrix) n() int { p := &m.rows; return *p }`,
			`x := m.n()`, ``, `print(x)`),
		calledWith(`func (m *matrix) where() *int { return &m.rows }`, `x := m.where()`, ``,
			`*x = 3`, `m.look()`), "not made here"},
	{"a callee makes what a pointer leads to anew", calledWith(`func (m *matrix) like() *matrix {
	x := newMatrix(m.rows)
	x.part.k = m.part.k
	return &x
}`, `x := m.like()`, ``, `print(x.rows, x.part.k)`), calledWith(`func (m *matrix) like() *matrix {
	x := newMatrix(m.rows)
	x.v = m.v
	return &x
}`, `x := m.like()`, `m.v = m.data.View()`, `x.v.Use()`), "used by Use"},
	{"a callee says in an error which number it is",
		calledWith(`func (m *matrix) check() error { return fmt.Errorf("%d rows", m.rows) }`, `err := m.check()`, ``, `print(err)`),
		calledWith(`func (m *matrix) check() error { return fmt.Errorf("%v", m.data) }`, `err := m.check()`, ``, `print(err)`),
		"read or written"},
	{"a callee frees what has a number of the operand",
		calledWith(`func (m *matrix) try() { x := newMatrix(m.rows); x.Close() }`+closed, `m.try()`, ``),
		calledWith(`func (m *matrix) try() { x := matrix{data: m.data, rows: m.rows}; x.Close() }`+closed, `m.try()`, ``), "not made here"},
	{"a number beside what was lent is written", calledWith(`func look(m *matrix) { print(m.rows) }`, `look(&m)`, `m.rows = 3`),
		matrix + `
type tile struct {
	H
	rows int
}

func look(t *tile) { print(t.rows) }

func f() {
	t := tile{H: MakeH()}
	look(&t)
	t.n = 3
	t.H.Free() //F
}
`, "not made here"},
	{"a callee returns a number", calledWith(`func (m matrix) n() int { return m.rows }`, `x := m.n()`, ``, `print(x)`),
		calledWith(`func (m matrix) n() int { return m.rows }`, `x := m.n()`, `m.rows = address(m.data)`, `print(x)`),
		"read or written"},
	{"a callee computes a number", calledWith(`func (m matrix) n() int { return m.rows * m.part.k }`, `x := m.n()`, ``,
		`print(x)`), calledWith(`func (m matrix) n() int { return m.rows + address(m.data) }`, `x := m.n()`, ``, `print(x)`),
		"read or written"},
	{"a callee makes a struct with a number", calledWith(`func (m matrix) like() matrix { return newMatrix(m.rows) }`,
		`x := m.like()`, ``, `print(x.rows)`), calledWith(`func (m matrix) like() matrix { return newMatrix(m.rows) }`,
		`x := m.like()`, `m.rows = address(m.data)`, `print(x.rows)`), "read or written"},
	{"a callee puts a number where it is told",
		calledWith(`func (m matrix) into(p *int) { *p = m.rows }`, `x := 0; m.into(&x)`, ``, `print(x)`),
		calledWith(`func (m matrix) into(p *int) { *p = m.rows }`, `x := 0; m.into(&x)`, `m.rows = address(m.data)`, `print(x)`),
		"handed"},
	{"what a callee hands on has a number that is kept",
		calledWith(`func keep(m matrix) { last = m.rows }; func outer(m matrix) { keep(m) }`, `outer(m)`, ``),
		calledWith(`func keep(m matrix) { last = m.rows }; func outer(m matrix) { keep(m) }`, `outer(m)`,
			`m.rows = address(m.data)`), "handed"},
	{"a callee puts a number into what it hands on",
		calledWith(`func keep(m *matrix) { last = m.rows }; func outer(n int) { keep(&matrix{rows: n}) }`, `outer(m.rows)`, ``),
		calledWith(`func keep(m *matrix) { last = m.rows }; func outer(n int) { keep(&matrix{rows: n}) }`, `outer(m.rows)`,
			`m.rows = address(m.data)`), "handed"},
	{"a number of what a field of the operand leads to",
		calledWith(`func (m *matrix) keep() { last = m.next.rows }; func (m *matrix) like(x *matrix) int { return x.rows }`,
			`x := m.like(&matrix{rows: m.rows})`, ``, `print(x)`),
		calledWith(`func (m *matrix) keep() { last = m.like(m.next) }; func (m *matrix) like(x *matrix) int { return x.rows }`,
			`m.keep()`, `m.next = &matrix{rows: address(m.data)}`), "not made here"},
	{"a number that is kept is the address of a variable",
		calledWith(`func keep(m matrix) { last = m.rows }`, `keep(m)`, `x := m.data; _ = &x`),
		calledWith(`func keep(m matrix) { last = m.rows }`, `keep(m)`, `x := m.data; m.rows = int(uintptr(unsafe.Pointer(&x)))`),
		"handed"},
	{"a callee keeps a number of a copy", calledWith(`func keep(m matrix) { x := m; last = x.rows }`, `keep(m)`, ``),
		calledWith(`func keep(m matrix) { x := *m.next; last = x.rows }`, `keep(m)`,
			`m.next = &matrix{rows: address(m.data)}`), "handed"},
	{"a callee keeps a number of what was sent", calledWith(`func keep(m matrix) { last = m.rows }`, `keep(m)`, ``),
		calledWith(`func keep(m matrix) { last = m.rows }`, `keep(<-c)`,
			`c := make(chan matrix, 1); c <- matrix{rows: address(m.data)}`), "handed"},
	{"a callee keeps a number of what a literal gives",
		calledWith(`func keep(m matrix) { last = m.rows }`, `keep(func() matrix { return matrix{rows: n} }())`, `m.data.Use()`),
		calledWith(`func keep(m matrix) { last = m.rows }`,
			`keep(func() matrix { return matrix{rows: address(m.data)} }())`, ``), "handed"},
	{"a number of a handle", frees(`m matrix`), `
var later func()

func f() {
	m := MakeH()
	later = func() { print(m.n) }
	m.Use()
	m.Free() //F
}
`, "not made here"},
	{"an operand is converted to a type with other fields", `
type small struct{ n int }

type big struct {
	a, b int
	c    struct{ p, q *B }
}

func (b *big) reset() { b.c.q = nil }

func g(s *small) { (*big)(unsafe.Pointer(s)).reset() }

func f(s *small) {
	g(s)
	b := Make()
	b.Use()
	b.Free() //F
}
`, `
type small struct{ p *B }

type big struct{ p, q *B }

func (b *big) reset() { b.p = nil }

func f(s *small) {
	b := Make()
	s.p = b
	(*big)(unsafe.Pointer(s)).reset()
	b.Use()
	b.Free() //F
}
`, "handed to somebody"},
}

const matrix = `
type matrix struct {
	data *B
	v    *V
	rows int
	part struct{ k int }
	next *matrix
}

//lastuse:effect recv borrowed
func (m matrix) look()

//lastuse:effect recv borrowed
func (m *matrix) touch()

func newMatrix(n int) matrix { return matrix{data: Make(), rows: n} }

var later []func()

var at *int

func address(b *B) int { return int(uintptr(unsafe.Pointer(b))) }
`

const closed = `

func (m *matrix) Close() { m.data.Free() }`

// keepsOf is a function whose literal, with that body, others keep while a resource is freed that a variable
// which it captures has.
func keepsOf(body string, then ...string) string {
	text := matrix + "\nfunc f(n int) {\n\tm := newMatrix(n)\n\tlater = append(later, func() { " + body + " })\n"
	for _, t := range then {
		text += "\t" + t + "\n"
	}
	return text + "\tm.data.Use()\n\tm.data.Free() //F\n}\n"
}

// calledWith is a function that frees a resource of a struct with which it has called what is declared.
func calledWith(declared, call, before string, behind ...string) string {
	text := matrix + "\nvar last int\n\n" + declared + "\n\nfunc f(n int) {\n\tm := newMatrix(n)\n\t" + before + "\n\t" +
		call + "\n\tm.data.Free() //F\n"
	for _, t := range behind {
		text += "\t" + t + "\n"
	}
	return text + "}\n"
}

// frees is a function that frees a variable whose number others read later.
func frees(recv string) string {
	return matrix + "\nfunc (" + recv + `) Close() {
	m.data.Free()
	m.rows = 0
}

func f(n int) {
	m := newMatrix(n)
	later = append(later, func() { print(m.rows) })
	m.data.Use()
	m.Close() //F
}
`
}
