package proof_test

// Numbers, texts and tables: what tells a handle from another, and what may be another one of it.

const dataKinds = `
//lastuse:effect result 0 views recv
func (b *B) Chan() chan *V

type N int

//lastuse:effect result 0 owned
func NewN() N

//lastuse:effect recv freed
func (n *N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

type S string

//lastuse:effect result 0 owned
func NewS() S

//lastuse:effect recv freed
func (s S) Free()

//lastuse:effect recv borrowed
func (s S) Use()

type A [4]byte

//lastuse:effect result 0 owned
func NewA() A

//lastuse:effect recv freed
func (a A) Free()

//lastuse:effect recv borrowed
func (a A) Use()

//lastuse:effect arg 0 borrowed
func using(x interface{ Use() })

//lastuse:effect result 0 views arg 0
func at(b *B) uintptr

type M struct{ n *int }

//lastuse:effect result 0 owned
func NewM() M

//lastuse:effect recv freed
func (m *M) Free()

//lastuse:effect recv borrowed
func (m *M) Use()
`

// usesLast is a function in which a handle of a kind is freed before the statements that follow.
func usesLast(made, then string) string {
	return dataKinds + "\nfunc f(other chan int) {\n\tx := " + made + "\n\tx.Use()\n" + then + "}\n"
}

var dataPairs = []pair{
	{
		"a select receives from a channel that views",
		usesLast("Make()", `
	select {
	case v := <-x.Chan():
		v.Use()
	case <-other:
	}
	x.Free() //F
`),
		usesLast("Make()", `
	var v *V
	select {
	case v = <-x.Chan():
	case <-other:
		return
	}
	x.Free() //F
	v.Use()
`), "it is used by Use",
	},
	{
		"the difference of addresses",
		usesLast("Make()", `
	n := at(x) - 8
	x.Free() //F
	print(n == 8)
`),
		usesLast("Make()", `
	n := at(x) - 8
	x.Free() //F
	y := Make()
	print(at(y)-n == 8)
	global = y
`), "told from another",
	},
	{
		"which address is the larger one", "",
		usesLast("Make()", `
	n := at(x) - 8
	x.Free() //F
	y := Make()
	if at(y) > n {
		next()
	}
	global = y
`), "told from another",
	},
	{
		"a table says what was where",
		usesLast("NewN()", `
	var seen [8]bool
	print(seen[x])
	x.Free() //F
	print(seen[1])
`),
		usesLast("NewN()", `
	var seen [8]bool
	seen[x] = true
	x.Free() //F
	y := NewN()
	if seen[y] {
		next()
	}
	y.Free() //F
`), "read or written",
	},
	{
		"a field of what a table has", "",
		usesLast("NewN()", `
	seen := make([]struct{ n int }, 8)
	seen[x].n++
	x.Free() //F
	y := NewN()
	if seen[y].n > 0 {
		next()
	}
	y.Free() //F
`), "read or written",
	},
	{
		"an address that is a part of a complex number", "",
		usesLast("Make()", `
	c := complex(float64(at(x)), 0)
	x.Free() //F
	(*B)(unsafe.Pointer(uintptr(real(c)))).Use()
`), "it is used by Use",
	},
	{
		"a handle that is a text, of bytes",
		usesLast("NewS()", `
	y := S([]byte(x))
	y.Use()
	x.Free() //F
`),
		usesLast("NewS()", `
	y := S([]byte(x))
	x.Free() //F
	y.Use()
`), "it is used by Use",
	},
	{
		"a handle that is an array, of a text", "",
		usesLast("NewA()", `
	var y A
	copy(y[:], string(x[:]))
	x.Free() //F
	y.Use()
`), "it is used by Use",
	},
	{
		"a handle that is a struct of a number",
		usesLast("MakeH()", `
	y := MakeH()
	x.Free() //F
	y.Use()
	y.Free() //F
`),
		usesLast("MakeH()", `
	y := H{next()}
	x.Free() //F
	y.Use()
`), "it is used by Use",
	},
	{
		"the address of a handle that is a number", "",
		dataKinds + `
//lastuse:effect arg 0 borrowed
func bump(n *N)

func f() {
	x := NewN()
	x.Use()
	y := N(next())
	x.Free() //F
	bump(&y)
}
`, "it is used by bump",
	},
	{
		"an interface of a handle that is a number", "",
		usesLast("NewN()", `
	y := N(next())
	x.Free() //F
	using(y)
`), "it is used by using",
	},
	{
		"a deferred copy",
		dataKinds + `
func f(dst []*B) {
	src := make([]*B, 1)
	defer clear(src)
	b := Make()
	src[0] = b
	b.Use()
	b.Free() //F
}
`, dataKinds + `
func f(dst []*B) {
	src := make([]*B, 1)
	defer copy(dst, src)
	b := Make()
	src[0] = b
	b.Use()
	b.Free() //F
}
`, "it is put where others may use it",
	},
	{
		"a deferred delete looks at keys", "",
		dataKinds + `
func f(o *B) {
	m := map[*B]int{}
	defer delete(m, o)
	b := Make()
	m[b] = 1
	b.Use()
	b.Free() //F
}
`, "it is read or written",
	},
	{
		"a variable that got another one before the free that is gone",
		usesLast("NewM()", `
	y := NewM()
	x.Free() //F
	y.Use()
	y.Free() //F
	x.Free() //O
`),
		usesLast("NewM()", `
	x.Free() //F
	x = NewM()
	x.Use()
	x.Free() //O
`), "it is not shown that another free runs before",
	},
	{
		"a literal gives the variable another one before the free that is gone", "",
		usesLast("NewM()", `
	renew := func() { x = NewM() }
	x.Free() //F
	renew()
	x.Use()
	x.Free() //O
`), "it is not shown that another free runs before",
	},
}
