package proof_test

// counted is a wrapper with a number beside its resource.
const counted = `
type T struct {
	b *B
	n int
}

func (t *T) Free() { t.b.Free() }

func (t *T) N() int { return t.n }

func first() *T { return &T{Make(), 3} }

func number(b *B) int { return int(uintptr(unsafe.Pointer(b))) }

func use(n int) { (*B)(unsafe.Pointer(uintptr(n))).Use() }
`

// readPairs show what is known of results that are fields of operands.
var readPairs = []pair{
	{"a field beside the resource", counted + `
func f() {
	t := first()
	n := t.N()
	t.b.Use()
	t.Free() //F
	println(n)
}
`, counted + `
func (t *T) get() *B { return t.b }

func f() {
	t := first()
	b := t.get()
	t.Free() //F
	b.Use()
}
`, "its name is read"},
	{"a field that got the number of the resource", "", counted + `
func f() {
	t := first()
	t.n = number(t.b)
	n := t.N()
	t.Free() //F
	use(n)
}
`, "used by use"},
	{"a method that puts the number there first", "", counted + `
func (t *T) get() int {
	t.n = number(t.b)
	return t.n
}

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "what is freed may be something that was not made here"},
	{"a method that lets another put it there", "", counted + `
func (t *T) set() { t.n = number(t.b) }

func (t *T) get() int {
	t.set()
	return t.n
}

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "what is freed may be something that was not made here"},
	{"a method that put it there before", "", counted + `
func (t *T) set() { t.n = number(t.b) }

func f() {
	t := first()
	t.set()
	n := t.N()
	t.Free() //F
	use(n)
}
`, "what is freed may be something that was not made here"},
	{"the number of the resource itself", "", counted + `
func (t *T) get() int { return number(t.b) }

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"one of two fields", counted + `
func (t *T) get(c bool) int {
	if c {
		return 1
	}
	return t.n
}

func f(c bool) {
	t := first()
	n := t.get(c)
	t.Free() //F
	println(n)
}
`, counted + `
func (t *T) get(c bool) int {
	if c {
		return number(t.b)
	}
	return t.n
}

func f(c bool) {
	t := first()
	n := t.get(c)
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"a copy of the operand", counted + `
func (t T) get() int { return t.n }

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	println(n)
}
`, counted + `
func (t T) get() int {
	t.n = number(t.b)
	return t.n
}

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"a copy that is written through its address", "", counted + `
func (t T) get() int {
	p := &t
	p.n = number(t.b)
	return t.n
}

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"a copy that a literal writes", "", counted + `
func (t T) get() int {
	func() { t.n = number(t.b) }()
	return t.n
}

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"a copy that a callee writes", "", counted + `
func set(t *T) { t.n = number(t.b) }

func (t T) get() int {
	set(&t)
	return t.n
}

func f() {
	t := first()
	n := t.get()
	t.Free() //F
	use(n)
}
`, "it was handed to somebody who may keep it"},
	{"a field of another operand", counted + `
func other(t, u *T) int { return u.n }

func f() {
	t, u := first(), first()
	n := other(t, u)
	t.Free() //F
	println(n)
	u.Free()
}
`, counted + `
func other(t, u *T) int {
	u.n = number(t.b)
	return u.n
}

func f() {
	t, u := first(), first()
	n := other(t, u)
	t.Free() //F
	use(n)
	u.Free()
}
`, "what is freed may be something that was not made here"},
	{"a method of an interface, on a copy", "", counted + `
type in struct{ n int }

type U struct {
	b *in
	n int
}

type numbered interface{ num() *in }

func (u U) num() *in { return u.b }

func f() {
	t := first()
	u := U{b: &in{number(t.b)}}
	var x numbered = u
	n := x.num()
	t.Free() //F
	use(n.n)
}
`, "it is read or written"},
	{"a slice in a field", `
type T struct {
	b    *B
	dims []int
}

func (t *T) Free() { t.b.Free() }

func (t *T) Dims() []int { return t.dims }

func first() *T { return &T{Make(), []int{1, 2}} }

func f() {
	t := first()
	d := t.Dims()
	t.Free() //F
	println(d[0])
}
`, `
type T struct {
	b   *B
	all []*B
}

func (t *T) Free() { t.b.Free() }

func (t *T) All() []*B { return t.all }

func first() *T { return &T{b: Make()} }

func f() {
	t := first()
	t.all = append(t.all, t.b)
	d := t.All()
	t.Free() //F
	d[0].Use()
}
`, "its name is read"},
	{"a part of what is made", counted + `
func more(t *T) *T { return &T{Make(), t.n} }

func f(n int) {
	t := first()
	for range n {
		old := t //F
		t = more(t)
		old.Free() //F
	}
	t.b.Use()
	t.Free() //F
}
`, counted + `
func more(t *T) *T { return &T{Make(), number(t.b)} }

func f(n int) {
	t := first()
	for range n {
		old := t //F
		t = more(t)
		old.Free() //F
		use(t.n)
	}
}
`, "it is used by use"},
	{"a part that is stored again", "", counted + `
func more(t *T) *T {
	u := &T{Make(), t.n}
	p := &u.n
	*p = number(t.b)
	return u
}

func f() {
	t := first()
	u := more(t)
	t.Free() //F
	use(u.n)
	u.Free()
}
`, "it is used by use"},
	{"a part that a literal stores", "", counted + `
func more(t *T) *T {
	u := &T{Make(), t.n}
	func() { u.n = number(t.b) }()
	return u
}

func f() {
	t := first()
	u := more(t)
	t.Free() //F
	use(u.n)
	u.Free()
}
`, "it is used by use"},
	{"a part that a callee stores", "", counted + `
func set(u, t *T) { u.n = number(t.b) }

func more(t *T) *T {
	u := &T{Make(), t.n}
	set(u, t)
	return u
}

func f() {
	t := first()
	u := more(t)
	t.Free() //F
	use(u.n)
	u.Free()
}
`, "what is freed may be something that was not made here"},
	{"a part that a callee made", "", counted + `
func more(t *T) *T { return &T{Make(), number(t.b)} }

func most(t *T) *T { return more(t) }

func f() {
	t := first()
	u := most(t)
	t.Free() //F
	use(u.n)
	u.Free()
}
`, "it is used by use"},
	{"a part beside what a callee made", counted + `
type W struct {
	t *T
	n int
}

func (w *W) Close() { w.t.Free() }

func more(w *W) *W { return &W{first(), w.n} }

func f(n int) {
	w := &W{first(), n}
	w.t.b.Use()
	v := more(w)
	w.Close() //F
	println(v.n)
	v.Close() //F
}
`, counted + `
type W struct {
	t *T
	n int
}

func (w *W) Close() { w.t.Free() }

func more(w *W) *W { return &W{&T{Make(), number(w.t.b)}, w.n} }

func f(n int) {
	w := &W{first(), n}
	w.t.b.Use()
	v := more(w)
	w.Close() //F
	use(v.t.n)
	v.Close() //F
}
`, "it is used by use"},
	{"what a pointer leads to", `
func last(p *[]int) []int { return *p }

type T struct {
	b    *B
	dims []int
}

func (t *T) Free() { t.b.Free() }

func first() *T { return &T{Make(), []int{1, 2}} }

func f() {
	t := first()
	d := last(&t.dims)
	t.Free() //F
	println(d[0])
}
`, `
func last(p **B) *B { return *p }

type T struct{ b *B }

func (t *T) Free() { t.b.Free() }

func first() *T { return &T{Make()} }

func f() {
	t := first()
	b := last(&t.b)
	t.Free() //F
	b.Use()
}
`, "its name is read"},
	{"a whole that is copied", "", counted + `
func more(t *T) *T {
	u := &T{}
	*u = *t
	u.b = Make()
	return u
}

func f() {
	t := first()
	t.n = number(t.b)
	u := more(t)
	t.Free() //F
	use(u.n)
	u.Free()
}
`, "it is read or written"},
	{"a part by other means", "", counted + `
func more(t *T) *T {
	u := &T{Make(), t.n}
	p := (*[2]int)(unsafe.Pointer(u))
	p[1] = number(t.b)
	return u
}

func f() {
	t := first()
	u := more(t)
	t.Free() //F
	use(u.n)
	u.Free()
}
`, "what is freed may be something that was not made here"},
	{"a struct that is made of one by value", counted + `
type P struct {
	b *B
	n int
}

func one() P { return P{Make(), 3} }

func more(v P) P { return P{Make(), v.n} }

func f() {
	v := one()
	u := more(v)
	v.b.Free() //F
	println(u.n)
	u.b.Free() //F
}
`, counted + `
type P struct {
	b *B
	n int
}

func one() P { return P{Make(), 3} }

func more(v P) P { return P{Make(), v.n} }

func f() {
	v := one()
	v.n = number(v.b)
	u := more(v)
	v.b.Free() //F
	use(u.n)
	u.b.Free() //F
}
`, "its name is read"},
	{"a field that goes through two calls", counted + `
func (t *T) M() int { return t.N() }

func f() {
	t := first()
	n := t.N()
	t.Free() //F
	println(n)
}
`, counted + `
func (t *T) h() int { return number(t.b) }

func (t *T) M() int { return t.h() }

func f() {
	t := first()
	n := t.M()
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"a field of a pointer that is another one by then", "", counted + `
func last(t, u *T) int {
	t = u
	return t.n
}

func f() {
	t, u := first(), first()
	u.n = number(u.b)
	n := last(t, u)
	u.Free() //F
	use(n)
	t.Free()
}
`, "used by use"},
	{"a field of what a field leads to", "", counted + `
type W struct{ t *T }

func (w W) N() int { return w.t.n }

func f() {
	t := first()
	t.n = number(t.b)
	w := W{t}
	n := w.N()
	t.Free() //F
	use(n)
}
`, "it is used by use"},
	{"a field of an embedded one", counted + `
type W struct{ *T }

func f() {
	t := first()
	w := W{t}
	n := w.N()
	t.Free() //F
	println(n)
}
`, counted + `
type W struct{ *T }

func f() {
	t := first()
	w := W{t}
	w.n = number(w.b)
	n := w.N()
	t.Free() //F
	use(n)
}
`, "used by use"},
}
