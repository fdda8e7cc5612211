package proof_test

// memoryPairs show what memory, elements and numbers may hold.
var memoryPairs = []pair{
	{"two names that are swapped", `
func f(n int) {
	a, b := Make(), Make()
	for range n {
		a.Use()
		a, b = b, a
	}
	b.Free() //F
	a.Use()
	a.Free() //F
}
`, `
func f(n int) {
	a, b := Make(), Make()
	v := a.View()
	for range n {
		a.Use()
		a, b = b, a
	}
	b.Free() //F
	v.Use()
}
`, "used by Use"},
	{"bytes of a string", `
func f() int {
	b := Make()
	n := int(b.Text()[0])
	b.Free() //F
	return n
}

//lastuse:effect result 0 views recv
func (b *B) Text() string
`, `
func f() int {
	b := Make()
	text := b.Text()
	b.Free() //F
	if text == "x" {
		return 1
	}
	return 0
}

//lastuse:effect result 0 views recv
func (b *B) Text() string
`, "it is read"},
	{"bytes that are stored into a view", `
func f() {
	b := Make()
	fill(b, 7)
	b.Free() //F
}

func fill(b *B, x byte) {
	p := b.Bytes()
	p[0] = x
}

//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte
`, `
func f() {
	b := Make()
	fill(b, 7)
	b.Free() //F
}

func fill(b *B, x int) { b.n = x }
`, "handed to somebody"},
	{"memory that is made anew", `
type P struct{ b *B }

func (p *P) use() *P { p.b.Use(); return nil }

func f() {
	var old *P
	for range 3 {
		b := Make()
		p := &P{b}
		if old != nil {
			old.use()
		}
		old = p.use()
		b.Free() //F
	}
}
`, `
type P struct{ b *B }

func (p *P) use() *P { p.b.Use(); return p }

func f() {
	var old *P
	for range 3 {
		b := Make()
		p := &P{b}
		if old != nil {
			old.use()
		}
		old = p.use()
		b.Free() //F
	}
}
`, "it is used by use"},
	{"a pointer in an interface", `
func f() {
	b := Make()
	b.Use()
	var a any = &keeper{}
	b.Free() //F
	if a == nil {
		b.Use()
	}
}
`, `
func f() {
	b := Make()
	b.Use()
	var a any = Make()
	b.Free() //F
	if a == nil {
		b.Use()
	}
}
`, "its name is read"},
	{"elements of an array", `
func f() {
	a := [2]*B{Make(), Make()}
	a[0].Use()
	a[0].Free() //F
	a[1].Use()
	a[1].Free() //F
}
`, `
func f(n int) {
	a := [2]*B{Make(), Make()}
	a[0].Free() //F
	a[n].Use()
	a[1].Free()
}
`, "its name is read"},
	{"one element in two places", `
func f() {
	a := [2]*B{Make(), Make()}
	a[0].Use()
	for _, b := range a { //F
		b.Free() //F
	} //F
}
`, `
func f() {
	b := Make()
	a := [2]*B{b, b}
	a[0].Use()
	for _, b := range a { //F
		b.Free() //F
	} //F
}
`, "freed twice"},
	{"an element that is assigned", `
func f() {
	a := [2]*B{Make(), Make()}
	b := a[0]
	a[0] = a[1]
	b.Use()
	b.Free() //F
	a[0].Use()
	a[1].Free()
}
`, `
func f() {
	a := [2]*B{Make(), Make()}
	b := a[0]
	a[1] = a[0]
	b.Use()
	b.Free() //F
	s := a[1:]
	s[0].Use()
}
`, "its name is read"},
	{"elements that are structs of another package, and of this one", `
//lastuse:effect result 0 owned
func Start() io.SectionReader

//lastuse:effect arg 0 freed
func Stop(t io.SectionReader)

func f() {
	a := [2]io.SectionReader{Start(), Start()}
	t := a[0]
	a[0] = Start()
	look(t)
	Stop(t) //F
	last(a)
	Stop(a[0]) //F
	Stop(a[1]) //F
}

//lastuse:effect args borrowed
func look(t io.SectionReader)

//lastuse:effect args borrowed
func last(a [2]io.SectionReader)
`, `
type S struct{ n int }

//lastuse:effect result 0 owned
func Start() S

//lastuse:effect arg 0 freed
func Stop(s S)

func f() {
	a := [2]S{Start(), Start()}
	s := a[0]
	a[0] = Start()
	look(s)
	Stop(s) //F
	last(a)
}

//lastuse:effect args borrowed
func look(s S)

//lastuse:effect args borrowed
func last(a [2]S)
`, "its name is read"},
	{"a field of an element", `
type holds struct{ b *B }

func f(n int) {
	b := Make()
	a := [2]holds{}
	a[0].b.Use()
	b.Use()
	b.Free() //F
}
`, `
type holds struct{ b *B }

func f(n int) {
	b := Make()
	a := [2]holds{}
	a[n].b = b
	b.Free() //F
	a[0].b.Use()
}
`, "its name is read"},
	{"an element that clear empties", `
func f() {
	a := [1]*B{Make()}
	a[0].Use()
	a[0].Free() //F
	clear(a[:])
}
`, `
func f() {
	a := [1]*B{Make()}
	a[0].Use()
	clear(a[:])
	a[0].Free() //F
}
`, "may be nil"},
	{"a constant index", `
func f() {
	a := [1]*B{Make()}
	a[0].Use()
	a[0].Free() //F
}
`, `
func f() {
	a := []*B{Make()}
	a[0].Use()
	a[0].Free() //F
}
`, "may be shorter"},
	{"another field of what has a handle", `
type K struct {
	p *int
	n int
}

//lastuse:effect result 0 owned
func MakeK() K

//lastuse:effect recv freed repeatable
func (k K) Free()

type box struct {
	K
	q *int
}

func f() {
	b := box{K: MakeK()}
	b.q = nil
	b.K.Free() //F
}
`, `
type K struct {
	p *int
	n int
}

//lastuse:effect result 0 owned
func MakeK() K

//lastuse:effect recv freed repeatable
func (k K) Free()

type box struct{ K }

func f() {
	b := box{MakeK()}
	b.p = nil
	b.Free() //F
}
`, "handed to somebody"},
	{"a part of a handle", `
type K struct {
	p *int
	n int
}

//lastuse:effect result 0 owned
func MakeK() K

//lastuse:effect recv freed repeatable
func (k K) Free()

//lastuse:effect recv borrowed
func (k K) Use()

func f() {
	k := MakeK()
	k.Use()
	k.Free() //F
}
`, `
type in struct{ a, b int }

type K struct {
	p in
	n int
}

//lastuse:effect result 0 owned
func MakeK() K

//lastuse:effect recv freed repeatable
func (k K) Free()

func f() {
	k := MakeK()
	k.p = in{}
	k.Free() //F
}
`, "handed to somebody"},
	{"a part of a handle that is cleared", `
type K struct {
	p *int
	n int
}

//lastuse:effect result 0 owned
func MakeK() K

//lastuse:effect recv freed repeatable
func (k K) Free()

//lastuse:effect recv borrowed
func (k K) Use()

func f() {
	k := MakeK()
	k.Use()
	k.Free() //F
}
`, `
type K struct {
	p [2]*int
	n int
}

//lastuse:effect result 0 owned
func MakeK() K

//lastuse:effect recv freed repeatable
func (k K) Free()

func f() {
	k := MakeK()
	clear(k.p[:])
	k.Free() //F
}
`, "handed to somebody"},
	{"structs in a slice", `
type holder struct{ c *B }

func f() {
	var x, y holder
	x.c = Make()
	y.c = Make()
	xs := []holder{x, y}
	_ = xs
	for _, y := range xs { //F
		if y.c != nil { //F
			y.c.Free() //F
		} //F
	} //F
}
`, `
type holder struct{ c *B }

func f() {
	var x, y holder
	x.c = Make()
	y.c = x.c
	xs := []holder{x, y}
	_ = xs
	for _, y := range xs { //F
		if y.c != nil { //F
			y.c.Free() //F
		} //F
	} //F
}
`, "freed twice"},
	{"a variable that is given another one behind the free", `
type M struct{ p *int }

//lastuse:effect result 0 owned
func MakeM() M

//lastuse:effect recv freed
func (m *M) Close()

//lastuse:effect recv borrowed
func (m *M) Use()

func f(c bool) {
	var m M
	for {
		m = MakeM()
		m.Use()
		m.Close() //F
	}
}
`, `
type M struct{ p *int }

//lastuse:effect result 0 owned
func MakeM() M

//lastuse:effect recv freed
func (m *M) Close()

//lastuse:effect recv borrowed
func (m *M) Use()

func f(c bool) {
	var m M
	for {
		m = MakeM()
		m.Use()
		m.Close() //F
		if c {
			m = M{}
		}
		println(m.p)
	}
}
`, "it is read or written"},
	{"a free, and a literal that has to do with what another one frees", `
type M struct{ p *int }

//lastuse:effect result 0 owned
func MakeM(n int) M

//lastuse:effect recv freed
func (m *M) Close()

//lastuse:effect recv borrowed
func (m *M) Sum() int

func f() {
	o, b := MakeM(1), MakeM(2)
	old := b
	grow := func() { b = MakeM(b.Sum()) }
	grow()
	fmt.Println(o.Sum(), b.Sum())
	was := b //F
	o.Close() //F
	grow()
	was.Close() //F
	fmt.Println(b.Sum(), old.Sum())
	b.Close() //F
	old.Close() //F
}
`, `
type M struct{ p *int }

//lastuse:effect result 0 owned
func MakeM(n int) M

//lastuse:effect recv freed
func (m *M) Close()

//lastuse:effect recv borrowed
func (m *M) Sum() int

func f() {
	o, b := MakeM(1), MakeM(2)
	old := b
	grow := func() { b = MakeM(b.Sum()) }
	grow()
	fmt.Println(o.Sum(), b.Sum())
	was := b //F
	o.Close() //F
	grow()
	was.Close() //F
	fmt.Println(b.Sum(), old.Sum(), o.Sum())
	b.Close() //F
	old.Close() //F
}
`, "it is used by Sum"},
}
