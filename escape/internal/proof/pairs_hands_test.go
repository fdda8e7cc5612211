package proof_test

// ranging is a program in which a function hands something to the body of a range, and the body frees it.
func ranging(params, body, loop string) string {
	return `
var stored *B

func seq(n int) func(func(` + params + `) bool) {
	return func(yield func(` + params + `) bool) {
` + body + `
	}
}

func f(n int) {
` + loop + `
}
`
}

// inEach frees what the body of a range over seq is handed, behind its use.
const inEach = `	for b := range seq(n) {
		b.Use()
		b.Free() //F
	}`

// handsPairs show what is handed to the body of a range, as an operand of its own.
var handsPairs = []pair{
	{"what is made for the body of a range is its own", ranging("*B", `
		for range n {
			b := Make()
			b.Use()
			if !yield(b) {
				return
			}
		}`, inEach), ranging("*B", `
		for range n {
			b := Make()
			if !yield(b) {
				return
			}
			b.Use()
		}`, inEach), "something that was not made here"},
	{"the maker frees it itself", ranging("*B", `yield(Make())`, inEach), ranging("*B", `
		b := Make()
		yield(b)
		b.Free()`, inEach), "something that was not made here"},
	{"the maker frees it in the end, which may be done again", "", `
type C struct{ n int }

//lastuse:effect result 0 owned
func MakeC() *C

//lastuse:effect recv freed repeatable
func (c *C) Free()

//lastuse:effect recv borrowed
func (c *C) Use()

func seq() func(func(*C) bool) {
	return func(yield func(*C) bool) {
		c := MakeC()
		defer c.Free()
		yield(c)
	}
}

func f() {
	for c := range seq() {
		c.Use()
		c.Free() //F
	}
}
`, "something that was not made here"},
	{"it is handed over again", ranging("*B", `
		for range n {
			yield(Make())
		}`, inEach), ranging("*B", `
		b := Make()
		for range n {
			yield(b)
		}`, inEach), "something that was not made here"},
	{"the maker keeps it", "", ranging("*B", `
		b := Make()
		stored = b
		yield(b)`, inEach), "something that was not made here"},
	{"it was made outside", "", `
func seq() func(func(*B) bool) {
	b := Make()
	return func(yield func(*B) bool) { yield(b) }
}

func f() {
	for b := range seq() {
		b.Use()
		b.Free() //F
	}
}
`, "something that was not made here"},
	{"a view of it is handed over beside it", ranging("*B, int", `yield(Make(), n)`, `
	for b, i := range seq(n) {
		if i > 0 {
			b.Use()
		}
		b.Free() //F
	}`), ranging("*B, *V", `
		b := Make()
		yield(b, b.View())`, `
	var last *V
	for b, v := range seq(n) {
		last = v
		b.Use()
		b.Free() //F
	}
	last.Use()`), "something that was not made here"},
	{"each of two operands is", ranging("*B, *B", `yield(Make(), Make())`, `
	for a, b := range seq(n) {
		a.Use()
		a.Free() //F
		b.Use()
		b.Free() //F
	}`), ranging("*B, *B", `
		b := Make()
		yield(b, b)`, `
	for a, b := range seq(n) {
		a.Use()
		a.Free() //F
		b.Use()
	}`), "something that was not made here"},
	{"the last one is needed behind the loop", ranging("*B", `yield(Make())`, `
	for b := range seq(n) {
		if n > 3 {
			b.Free() //F
			break
		}
		b.Use()
		b.Free() //F
	}`), ranging("*B", `yield(Make())`, `
	var last *B
	for b := range seq(n) {
		last = b
		b.Free() //F
	}
	last.Use()`), "its name is read"},
	{"the one before is not the one that the body has", ranging("*B", `
		for range n {
			yield(Make())
		}`, `
	var prev *B
	for b := range seq(n) {
		if prev != nil {
			prev.Use()
			prev.Free() //F
		}
		prev = b
	}
	if prev != nil { //F
		prev.Free() //F
	} //F`), ranging("*B", `
		for range n {
			yield(Make())
		}`, `
	var prev *B
	for b := range seq(n) {
		if prev != nil {
			prev.Use()
		}
		prev = b
		b.Free() //F
	}`), "its name is read"},
	{"the program frees it", "", ranging("*B", `yield(Make())`, `
	for b := range seq(n) {
		b.Free()
		b.Free() //F
	}`), "the program may have freed it before"},
	{"beside an error there is nothing", ranging("*B, error", `
		b, err := Try()
		yield(b, err)`, `
	for b, err := range seq(n) {
		if err != nil {
			return
		}
		b.Use()
		b.Free() //F
	}`), ranging("*B, error", `
		b, _ := Try()
		yield(b, nil)`, `
	for b, err := range seq(n) {
		if err != nil {
			return
		}
		b.Use()
		b.Free() //F
	}`), "it may be nil"},
	{"there is one beside the error", "", ranging("*B, error", `
		yield(Make(), errors.New(""))`, `
	for b, err := range seq(n) {
		if err != nil {
			b.Use()
			return
		}
		b.Free() //F
	}
	for b, err := range seq(n) {
		if err != nil {
			b.Free()
		}
		b.Free() //F
	}`), "the program may have freed it before"},
	{"nothing may be handed over", ranging("*B", `
		b, err := Try()
		if err == nil {
			yield(b)
		}`, inEach), ranging("*B", `yield(nil)
		yield(Make())`, inEach), "it may be nil"},
	{"another call of the maker hands over something else", "", ranging("*B", `
		yield(Make())
		yield(stored)`, inEach), "something that was not made here"},
	{"a goroutine of the maker calls the body", "", ranging("*B", `
		done := make(chan bool)
		go func() {
			yield(Make())
			close(done)
		}()
		<-done`, inEach), "something that was not made here"},
	{"what is called is handed on", "", ranging("*B", `
		b := Make()
		again(yield, b)
		yield(Make())`, inEach) + `
func again(yield func(*B) bool, b *B) { yield(b); b.Use() }
`, "something that was not made here"},
	{"one of two functions is returned", "", `
var stored *B

func seq(n int) func(func(*B) bool) {
	if n > 3 {
		return func(yield func(*B) bool) { yield(stored) }
	}
	return func(yield func(*B) bool) { yield(Make()) }
}

func f(n int) {
	for b := range seq(n) {
		b.Use()
		b.Free() //F
	}
}
`, "something that was not made here"},
	{"a literal that is lent is handed it as well", `
func each(n int, do func(*B) bool) {
	for range n {
		do(Make())
	}
}

func f(n int) {
	each(n, func(b *B) bool {
		b.Use()
		b.Free() //F
		return n > 3
	})
}
`, `
func each(n int, do func(*B) bool) {
	for range n {
		do(Make())
	}
}

func f(n int, x *B) {
	do := func(b *B) bool {
		b.Use()
		b.Free() //F
		return n > 3
	}
	each(n, do)
	do(x)
}
`, "a parameter"},
	{"a method is a function as well", `
type data struct{ n int }

func (d *data) each(yield func(*B) bool) {
	for range d.n {
		if !yield(Make()) {
			return
		}
	}
}

func f(d *data) {
	for b := range d.each {
		b.Use()
		b.Free() //F
	}
}
`, `
type data struct{ b *B }

func (d *data) each(yield func(*B) bool) {
	d.b = Make()
	yield(d.b)
}

func f(d *data) {
	for b := range d.each {
		b.Use()
		b.Free() //F
	}
}
`, "something that was not made here"},
	{"the maker goes on when the body panics", "", ranging("*B", `
		b := Make()
		defer func() {
			recover()
			b.Use()
		}()
		yield(b)`, `
	for b := range seq(n) {
		b.Use()
		b.Free() //F
		panic("stop")
	}`), "something that was not made here"},
	{"the maker returns one function in two places", `
func seq(n int) func(func(*B) bool) {
	each := func(yield func(*B) bool) { yield(Make()) }
	if n > 3 {
		return each
	}
	return each
}

func f(n int) {
	for b := range seq(n) {
		b.Use()
		b.Free() //F
	}
}
`, `
func each(n int, do func(*B)) (sum int) {
	b := Make()
	for range numbers(n) {
		defer b.Use()
	}
	do(b)
	return n
}

func numbers(n int) func(func(int) bool) { return func(yield func(int) bool) { yield(n) } }

func f(n int) {
	each(n, func(b *B) {
		print(n)
		b.Use()
		b.Free() //F
	})
}
`, "something that was not made here"},
	{"what is called gets itself", "", `
type F func(F, *B)

var stored *B

func each(do F) { do(do, Make()) }

func f(n int) {
	each(func(again F, b *B) {
		if n > 3 {
			again(nil, stored)
		}
		b.Use()
		b.Free() //F
	})
}
`, "something that was not made here"},
	{"another function gets it before", "", `
func each(first, do func(*B)) {
	b := Make()
	first(b)
	do(b)
}

var stored *B

func f(n int) {
	each(func(b *B) { stored = b }, func(b *B) {
		print(n)
		b.Use()
		b.Free() //F
	})
}
`, "something that was not made here"},
	{"it needs another one", "", `
//lastuse:effect result 0 owned, result 0 views recv
func (b *B) Sub() *B

func seq() func(func(*B) bool) {
	return func(yield func(*B) bool) {
		b := Make()
		yield(b.Sub())
		b.Free()
	}
}

func f() {
	for b := range seq() {
		b.Use()
		b.Free() //F
	}
}
`, "something that was not made here"},
	{"it is handed over as another type", "", `
type W B

//lastuse:effect recv freed
func (w *W) Free()

//lastuse:effect recv borrowed
func (w *W) Use()

func seq() func(func(*W) bool) {
	return func(yield func(*W) bool) { yield((*W)(Make())) }
}

func f() {
	for w := range seq() {
		w.Use()
		w.Free() //F
	}
}
`, "something that was not made here"},
	{"who hands it over has others", `
type data struct{ b *B }

func (d *data) each(yield func(*B) bool) {
	d.b.Use()
	yield(Make())
}

func f() {
	d := &data{Make()}
	for b := range d.each {
		b.Use()
		b.Free() //F
	}
	d.b.Use()
	d.b.Free() //F
}
`, `
type data struct{ b *B }

func (d *data) each(yield func(*B)) {
	d.b.Use()
	yield(Make())
}

func (d *data) mine(yield func(*B)) { yield(d.b) }

func f(n int) {
	d := &data{Make()}
	do := func(b *B) {
		print(n)
		b.Use()
	}
	d.each(do)
	d.b.Free() //F
	d.mine(do)
}
`, "is used by"},
	{"who hands it over has nothing yet", `
type data struct{ last *B }

func (d *data) each(yield func(*B) bool) { yield(Make()) }

func f() {
	d := &data{}
	for b := range d.each {
		b.Use()
		b.Free() //F
	}
}
`, `
type data struct{ last *B }

func (d *data) each(yield func(*B) bool) {
	yield(Make())
	yield(d.last)
}

func f() {
	d := &data{}
	for b := range d.each {
		b.Use()
		b.Free() //F
	}
}
`, "something that was not made here"},
	{"a method value is returned", `
type data struct{ n int }

func (d *data) each(yield func(*B) bool) { yield(Make()) }

func seq(d *data) func(func(*B) bool) { return d.each }

func f(d *data) {
	for b := range seq(d) {
		b.Use()
		b.Free() //F
	}
}
`, `
type G func(*B) bool

var stored *B

func (g G) each(yield func(*B) bool) {
	g(Make())
	yield(stored)
}

func seq(g G) func(func(*B) bool) { return g.each }

func f() {
	for b := range seq(nil) {
		b.Use()
		b.Free() //F
	}
}
`, "something that was not made here"},
	{"others may call the literal", calledBack("", "each(do)"), calledBack("func(*B)", "each(do)\n\treturn do"),
		"something that was not made here"},
	{"two functions hand it something", calledBack("", "some(do)\n\teach(do)"), calledBack("", "none(do)\n\teach(do)"),
		"something that was not made here"},
}

// calledBack is a function with a literal that frees what it is called with, and what is done with that.
func calledBack(result, body string) string {
	return `
func each(do func(*B)) { do(Make()) }

func some(do func(*B)) { do(Make()) }

func none(do func(*B)) {
	do(nil)
	do(Make())
}

func f(n int) ` + result + ` {
	do := func(b *B) {
		print(n)
		if b != nil {
			b.Use()
		}
		b.Free() //F
	}
	` + body + `
}
`
}
