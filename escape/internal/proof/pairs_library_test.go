package proof_test

// libraryPairs show how far the embedded lines for methods of a library's interface are believed: in full of
// what the library made, and of others that they look at what they are called on.
var libraryPairs = []pair{
	{"lent", `
func g(a Arr) int { return a.Size() }

func f() int {
	a := NewArr()
	n := g(a)
	a.Release() //F
	return n
}
`, `
type holds struct {
	Arr
	b *B
}

func (h holds) Size() int { global = h.b; return 1 }

func g(a Arr) int { return a.Size() }

func f() int {
	b := Make()
	n := g(holds{nil, b})
	b.Free() //F
	return n
}
`, "handed to somebody"},
	{"a name in front of an assertion", `
func f() int {
	l := NewArr().(*Lib) //O
	r := NewArr()        //F
	l := r.(*Lib)        //F
	n := l.Size()
	r.Release() //F
	return n
}
`, `
func f(x any) int {
	n := add(x.(int), NewArr().Size()) //O
	r := NewArr()                      //F
	n := add(x.(int), r.Size())        //F
	r.Release()                        //F
	return n
}
`, "may panic"},
	{"nil in an interface", `
func f() int {
	a, _ := TryArr()
	n := a.Size()
	if a != nil { //F
		a.Release() //F
	} //F
	return n
}
`, `
func f() int {
	a, _ := TryArr()
	l, _ := a.(*Lib)
	var b Arr = l
	println(b)
	if b != nil { //F
		b.Release() //F
	} //F
	return 1
}
`, "it may be nil"},
	{"what an interface is found to be", `
func f() int {
	a := NewArr()
	l := a.(*Lib)
	var b Arr = l
	n := b.Size() + l.Size()
	a.Release() //F
	return n
}
`, `
type mine Lib

func (m *mine) Release()  { global = nil }
func (m *mine) Size() int { return 1 }
func (m *mine) Part() *V  { return nil }
func (m *mine) Add(*B)    {}

func f() int {
	a := NewArr()
	l := a.(*Lib)
	b := Arr((*mine)(l))
	n := b.Size()
	b.Release() //F
	return n
}
`, "not known to free"},
	{"what holds what an interface is found to be", "", `
type holds struct{ *Lib }

func (h holds) Release() { global = nil }

func f() int {
	a := NewArr()
	l := a.(*Lib)
	b := Arr(holds{l})
	n := b.Size()
	b.Release() //F
	return n
}
`, "not known to free"},
	{"a nil pointer in an interface", `
func g() (Arr, error) { return TryArr() }

func f() int {
	a, _ := g()
	println(a)
	if a != nil { //F
		a.Release() //F
	} //F
	return 1
}
`, `
type I interface {
	//lastuse:effect recv freed
	Free()
}

func g() (I, error) {
	b, err := Try()
	return b, err
}

func f() int {
	a, _ := g()
	println(a)
	if a != nil { //F
		a.Free() //F
	} //F
	return 1
}
`, "it may be nil"},
	{"one of two is a nil pointer in an interface", "", `
func g(c bool) (Arr, error) {
	if c {
		return (*Lib)(nil), nil
	}
	return TryArr()
}

func f(c bool) int {
	a, _ := g(c)
	println(a)
	if a != nil { //F
		a.Release() //F
	} //F
	return 1
}
`, "it may be nil"},
	{"functions that a constructor is given", `
func f() int {
	b := Make()
	a := NewArrWith(b)
	n := a.Size()
	a.Release() //F
	b.Free() //F
	return n
}
`, `
func f(o option) int {
	b := Make()
	a := NewArrWith(b, o)
	n := a.Size()
	a.Release()
	b.Free() //F
	return n
}
`, "handed to somebody"},
	{"an option of the library", `
func f() int {
	b := Make()
	a := NewArrWith(b, WithSize(1), WithSize(2))
	n := a.Size()
	a.Release() //F
	b.Free() //F
	return n
}
`, `
func f() int {
	b, c := Make(), Make()
	a := NewArrWith(b, WithSize(1), WithB(c))
	n := a.Size()
	a.Release()
	b.Free() //F
	return n + c.Sum()
}
`, "handed to somebody"},
	{"an option that may be another", "", `
func f(o option, c bool) int {
	b := Make()
	x := WithSize(1)
	if c {
		x = o
	}
	a := NewArrWith(b, x)
	n := a.Size()
	a.Release()
	b.Free() //F
	return n
}
`, "handed to somebody"},
	{"a wider interface of the library", `
func f() {
	a := NewArr().(Wider)
	a.Wide().Use()
	a.Release() //F
}
`, `
type has struct {
	Arr
	b *B
}

func (h has) Wide() *V { global = h.b; return nil }

func f(c bool) {
	b := Make()
	var x any = has{nil, b}
	if c {
		x = NewArr()
	}
	x.(Wider).Wide()
	b.Free() //F
}
`, "handed to somebody"},
	{"what a method is called with", `
func f() {
	a := NewArr()
	b := Make()
	a.Add(b)
	b.Free() //F
	a.Release() //F
}
`, `
func f(a Arr) {
	b := Make()
	a.Add(b)
	b.Free() //F
}
`, "handed to somebody"},
	{"taken for the interface later", `
func g(a interface {
	Arr
	Name() string
}) int {
	return a.(Arr).Size()
}

func f() int {
	a := NewArr()
	a.Size()
	a.Release() //F
	return 1
}
`, `
type holds struct{ b *B }

func (h holds) Release()  {}
func (h holds) Size() int { global = h.b; return 1 }
func (h holds) Part() *V  { return nil }
func (h holds) Add(*B)    {}

func g(a any) int { return a.(Arr).Size() }

func f() int {
	b := Make()
	n := g(holds{b})
	b.Free() //F
	return n
}
`, "handed to somebody"},
	{"a free that a line names", `
type freer interface{ Free() }

//lastuse:effect args borrowed
func look(x freer)

func f() {
	b := Make()
	look(b)
	b.Free() //F
}
`, `
type freer interface{ Free() }

type has struct{ b *B }

func (h has) Free() { h.b.Free() }

//lastuse:effect args borrowed
func look(x freer)

func f() {
	b := Make()
	look(has{b})
	b.Free() //F
}
`, "handed to somebody"},
	{"a free in front of which variables of the package are initialized", `
var first = made()

var counts = map[int]int{}

func made() int {
	a := NewArr()
	n := a.Size()
	a.Release() //F
	return n
}
`, `
type counted struct{ n int }

//lastuse:effect result 0 owned
func newCounted() *counted

//lastuse:effect recv freed
func (c *counted) Release() { counts[c.n]++ }

var first = made()

var counts = map[int]int{}

func made() int {
	c := newCounted()
	n := c.n
	c.Release() //F
	return n
}
`, "in another order"},
	{"a view", `
func f() {
	a := NewArr()
	a.Part().Use()
	a.Release() //F
}
`, `
func f() {
	a := NewArr()
	v := a.Part()
	a.Release() //F
	v.Use()
}
`, "it is used by Use"},
	{"what another function made", `
func quiet() Arr { return NewArr() }

func f() int {
	a := quiet()
	n := a.Size()
	a.Release() //F
	return n
}
`, `
type loud struct{ Arr }

func (l loud) Release() { println("gone"); l.Arr.Release() }

func quiet() Arr { return loud{NewArr()} }

func f() int {
	a := quiet()
	n := a.Size()
	a.Release() //F
	return n
}
`, "does more than free"},
	{"a pointer to a type that has one", `
func quiet() Arr {
	a := NewArr()
	return a
}

func f() {
	a := quiet()
	a.Size()
	a.Release() //F
}
`, `
type loud struct{ Arr }

func (l *loud) Release() { println("gone") }

func quiet() Arr { return &loud{NewArr()} }

func f() {
	a := quiet()
	a.Size()
	a.Release() //F
}
`, "does more than free"},
	{"another interface in between", "", `
type loud struct{ Arr }

func (l loud) Release() { println("gone") }

func f() {
	var x any = loud{NewArr()}
	a := x.(Arr)
	a.Size()
	a.Release() //F
}
`, ""},
	{"another type of the same memory", `
type has struct{ a Arr }

func f() {
	h := &has{NewArr()}
	b := Make()
	h.a.Add(b)
	b.Free() //F
}
`, `
type mine Lib

func (m *mine) Release()  { println("gone") }
func (m *mine) Size() int { return 0 }
func (m *mine) Part() *V  { return nil }
func (m *mine) Add(b *B)  { global = b }

type has struct{ a Arr }

func f() {
	h := &has{(*mine)(NewArr().(*Lib))}
	b := Make()
	h.a.Add(b)
	b.Free() //F
}
`, "handed to somebody"},
	{"one of two", `
func f(c bool) {
	var a Arr
	if c {
		a = NewArr()
	} else {
		a = NewArr()
	}
	a.Size()
	a.Release() //F
}
`, `
type loud struct{ n int }

func (l loud) Release() { println("gone") }
func (l loud) Size() int { return 0 }
func (l loud) Part() *V { return nil }
func (l loud) Add(*B) {}

func f(c bool) {
	var a Arr
	if c {
		a = NewArr()
	} else {
		a = loud{1}
	}
	a.Size()
	a.Release() //F
}
`, ""},
	{"a directive", `
func f() {
	a := NewArr()
	a.Size()
	a.Release() //F
}
`, `
type loud struct{ b *B }

func (l loud) Release() { println("gone"); l.b.Free() }
func (l loud) Size() int { return 0 }
func (l loud) Part() *V { return nil }
func (l loud) Add(*B) {}

//lastuse:effect result 0 owned
func quiet() Arr { return loud{Make()} }

func f() {
	a := quiet()
	a.Size()
	a.Release() //F
}
`, "does more than free"},
}
