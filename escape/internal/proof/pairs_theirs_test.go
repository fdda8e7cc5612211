package proof_test

// theirPairs show where it matters to the callers of a function whose an operand is: its methods do what the
// lines of a library say if the library made it.
var theirPairs = []pair{
	{"what an operand's method is called with", adds + `
func f() {
	a := NewArr()
	b := Make()
	g(a, b)
	a.Release() //F
	b.Free()    //F
}
`, adds + `
func f(a Arr) {
	b := Make()
	g(a, b)
	b.Free() //F
}
`, "handed to somebody"},
	{"an operand that is wrapped by the caller", "", `
type holds struct {
	Arr
	b *B
}

func (h *holds) Add(b *B) { h.b = b; global = b }

func g(a Arr, b *B) { a.Add(b) }

func f() {
	a := NewArr()
	b := Make()
	g(&holds{a, nil}, b)
	b.Free() //F
}
`, "handed to somebody"},
	{"an operand that is wrapped by the callee", "", `
type holds struct{ Arr }

func (h holds) Add(b *B) { global = b }

func g(a Arr, b *B) {
	a = holds{a}
	a.Add(b)
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b)
	b.Free() //F
}
`, "handed to somebody"},
	{"one of two operands", `
func g(c bool, a, d Arr, b *B) {
	if c {
		a = d
	}
	a.Add(b)
}

func f(c bool) {
	a := NewArr()
	d := NewArr()
	b := Make()
	g(c, a, d, b)
	b.Free() //F
	d.Release() //F
	a.Release() //F
}
`, `
func g(c bool, a, d Arr, b *B) {
	if c {
		a = d
	}
	a.Add(b)
}

func f(c bool, d Arr) {
	a := NewArr()
	b := Make()
	g(c, a, d, b)
	b.Free() //F
	a.Release()
}
`, "handed to somebody"},
	{"an operand that is handed on", `
func h(a Arr, b *B) { a.Add(b) }

func g(a Arr, b *B) { h(a, b) }

func f() {
	a := NewArr()
	b := Make()
	g(a, b)
	b.Free() //F
	a.Release() //F
}
`, `
func h(a Arr, b *B) { a.Add(b) }

func g(a Arr, b *B) {
	h(a, b)
	h(other, b)
}

var other Arr

func f() {
	a := NewArr()
	b := Make()
	g(a, b)
	b.Free() //F
	a.Release()
}
`, "handed to somebody"},
	{"a function that calls itself with another operand", `
func g(a Arr, b *B, n int) {
	if n > 0 {
		g(a, b, n-1)
	}
	a.Add(b)
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b, 1)
	b.Free() //F
	a.Release() //F
}
`, `
var other Arr

func g(a Arr, b *B, n int) {
	if n > 0 {
		g(other, b, n-1)
	}
	a.Add(b)
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b, 1)
	b.Free() //F
	a.Release()
}
`, "handed to somebody"},
	{"what the function itself makes", "", `
func g(a Arr) {
	b := Make()
	a.Add(b)
	b.Free() //F
}

func f() {
	a := NewArr()
	g(a)
	a.Release()
}
`, "handed to somebody"},
	{"an operand that is freed", `
func g(a Arr, b *B) {
	a.Add(b)
	a.Release()
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b)
	b.Free() //F
}
`, `
func g(a Arr, b *B) {
	a.Add(b)
	a.Release()
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b)
	a.Release() //F
	b.Free()
}
`, "may have freed it before"},
	{"what a function returns beside that", `
func g(a Arr, b *B) int {
	a.Add(b)
	return a.Size()
}

func f() int {
	a := NewArr()
	b := Make()
	n := g(a, b)
	b.Free() //F
	a.Release() //F
	return n
}
`, `
func g(a Arr, b *B) *V {
	a.Add(b)
	return a.Part()
}

func f() {
	a := NewArr()
	b := Make()
	v := g(a, b)
	b.Free()
	a.Release() //F
	v.Use()
}
`, "it is used by Use"},
	{"a literal that gets to an operand's method", `
func g(a Arr, b *B, call func(*B)) {
	call(b)
	a.Add(b)
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b, func(b *B) { println(b) })
	b.Free() //F
	a.Release() //F
}
`, `
func g(a Arr, b *B, call func(*B)) {
	a.Add(b)
	call(b)
}

func f() {
	a := NewArr()
	b := Make()
	g(a, b, func(b *B) { global = b })
	b.Free() //F
	a.Release()
}
`, "handed to somebody"},
	{"a function that a line speaks of whose author has not read it", `
func lendLook(b *B) { b.Use() }

func f() {
	b := Make()
	lendLook(b)
	b.Free() //F
}
`, `
func lendDrop(b *B) { defer b.Free() }

func f() {
	b := Make()
	lendDrop(b)
	b.Free() //F
}
`, "may have freed it before"},
	{"a free of an interface in a function of which such a line speaks", "", `
func lendEnd(a Arr) { a.Release() }

func f() {
	a := NewArr()
	lendEnd(a)
	a.Release() //F
}
`, "may have freed it before"},
}

// adds hands one operand to a method of another one.
const adds = `
func g(a Arr, b *B) { a.Add(b) }
`
