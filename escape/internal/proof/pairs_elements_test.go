package proof_test

// elementPairs show which element of a container is freed, and that a number is the handle that it was.
var elementPairs = []pair{
	{"elements of an array in another order", `
func f() {
	a, b := Make(), Make()
	x := [2]*B{a, b}
	slices.Reverse([]int{1, 2})
	last(x)
	if x[0] != nil { //F
		x[0].Free() //F
	} //F
	b.Use()
}

//lastuse:effect args borrowed
func last(x [2]*B)
`, `
func f() {
	a, b := Make(), Make()
	x := [2]*B{a, b}
	slices.Reverse(x[:])
	last(x)
	if x[0] != nil { //F
		x[0].Free() //F
	} //F
	b.Use()
}

//lastuse:effect args borrowed
func last(x [2]*B)
`, "read"},
	{"the same through unsafe", `
func f() {
	a, b := Make(), Make()
	x := [2]*B{a, b}
	runtime.KeepAlive(&x[0])
	last(x)
	if x[0] != nil { //F
		x[0].Free() //F
	} //F
	b.Use()
}

//lastuse:effect args borrowed
func last(x [2]*B)
`, `
func f() {
	a, b := Make(), Make()
	x := [2]*B{a, b}
	slices.Reverse(unsafe.Slice(&x[0], 2))
	last(x)
	if x[0] != nil { //F
		x[0].Free() //F
	} //F
	b.Use()
}

//lastuse:effect args borrowed
func last(x [2]*B)
`, "read"},
	{"elements that lead to the same memory", `
func f() {
	s := box{Make()}
	list := []box{s}
	_ = list
	for _, x := range list { //F
		if x.b != nil { //F
			x.b.Free() //F
		} //F
	} //F
}

type box struct{ b *B }
`, `
func f() {
	s := &box{Make()}
	list := []*box{s, s}
	_ = list
	for _, x := range list { //F
		if x != nil && x.b != nil { //F
			x.b.Free() //F
		} //F
	} //F
}

type box struct{ b *B }
`, "the same memory"},
	{"elements that are freed as a whole, and lead to the same memory", `
func f() {
	s := &two{Make(), Make()}
	list := []*two{s, s}
	_ = list
	s.Close() //F
}

type two struct{ a, b *B }

func (t *two) Close() { t.a.Free(); t.b.Free() }
`, `
func f() {
	s := &two{Make(), Make()}
	list := []*two{s, s}
	_ = list
	for _, x := range list { //F
		if x != nil { //F
			x.Close() //F
		} //F
	} //F
}

type two struct{ a, b *B }

func (t *two) Close() { t.a.Free(); t.b.Free() }
`, "the same memory"},
	{"a number that is converted", numbers(`N(int64(n))`), numbers(`N(int8(n))`), "a view"},
	{"a number that was another", numbers(`N(int64(n))`), numbers(`N(float32(n))`), "a view"},
	{"a number that a callee converts", numbers(`same(n)`) + conv, numbers(`conv[int8](n)`) + conv,
		"not made here"},
	{"memory that is freed as what it is", `
func f() {
	b := Make()
	p := b
	_ = p
	p.Free() //F
}
`, `
func f() {
	b := Make()
	p := unsafe.Pointer(b)
	_ = p
	release2(p) //F
}

//lastuse:effect arg 0 freed
func release2(p unsafe.Pointer)
`, "a view"},
	{"a number that is read at once", `
func f() int {
	b := Make()
	x := uint64(uintptr(unsafe.Pointer(b.View())))
	y := atomic.LoadUint64(&x)
	if *(*int)(unsafe.Pointer(uintptr(y))) > 0 {
		next()
	}
	b.Free() //F
	return next()
}
`, `
func f() int {
	b := Make()
	x := uint64(uintptr(unsafe.Pointer(b.View())))
	y := atomic.LoadUint64(&x)
	b.Free() //F
	return *(*int)(unsafe.Pointer(uintptr(y)))
}
`, "read or written"},
	{"an address that is added to", `
func f() int {
	b := Make()
	v := b.View()
	v.Use()
	b.Free() //F
	p := unsafe.Add(unsafe.Pointer(new(int)), 0)
	return *(*int)(p)
}
`, `
func f() int {
	b := Make()
	v := b.View()
	p := unsafe.Add(nil, int(uintptr(unsafe.Pointer(v))))
	b.Free() //F
	return *(*int)(p)
}
`, "read or written"},
}

const conv = `
func conv[T ~int8 | ~int64](n N) N { return N(T(n)) }

func same(n N) N { return N(int64(n)) }
`

// numbers is a program that frees a number made of another.
func numbers(made string) string {
	return `
type N int64

//lastuse:effect result 0 owned
func MakeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

func f() {
	n := MakeN()
	n.Use()
	m := ` + made + `
	m.Use()
	m.Free() //F
}
`
}
