package proof_test

// clearPairs show what a destructor that puts nothing into fields, or any callee that does, leaves behind.
var clearPairs = []pair{
	{"a destructor that forgets what it freed", holder + `
func f() {
	p := newHas()
	p.b.Use()
	p.Close() //F
}
`, holder + `
func f(c bool) {
	p := newHas()
	if c {
		p.Close()
	}
	p.b.Use()
	p.Close() //F
}
`, "may have freed it before"},
	{"a field is read behind it", holder + `
func f() {
	p := newHas()
	p.b.Use()
	if p.b != nil {
		println(1)
	}
	p.Close() //F
}
`, holder + `
func f() {
	p := newHas()
	p.b.Use()
	p.Close() //F
	if p.b != nil {
		println(1)
	}
}
`, "read"},
	{"another field is read behind it, under another name", "", holder + `
func f() *int {
	p := newHas()
	q := p
	p.b.Use()
	p.Close() //F
	return q.note
}
`, "read"},
	{"an address of a field is read behind it", "", holder + `
func f() {
	p := newHas()
	n := &p.note
	p.b.Use()
	p.Close() //F
	println(*n)
}
`, "read"},
	{"somebody may read a field", "", holder + `
var notes *has

func f() {
	p := newHas()
	notes = p
	p.Close() //F
}
`, "something that was not made here"},
	{"what a callee forgets is nil", forgetting + `
func f() {
	p := newHas()
	b := p.b
	p.forget()
	b.Use()
	b.Free() //F
}
`, forgetting + `
func f() {
	p := newHas()
	p.b.Use()
	p.forget()
	p.b.Free() //F
}
`, "may be nil"},
	{"what a callee of a callee forgets is nil", forgetting + `
func (p *has) reset() { p.forget() }

func f() {
	p := newHas()
	b := p.b
	p.reset()
	b.Use()
	b.Free() //F
}
`, forgetting + `
func (p *has) reset() { p.forget() }

func f() {
	p := newHas()
	p.b.Use()
	p.reset()
	p.b.Free() //F
}
`, "may be nil"},
	{"what is forgotten further down", "", holder + `
type outer struct{ p *has }

func (o *outer) forget() { o.p.b = nil }

func f() {
	p := newHas()
	o := &outer{p}
	o.forget()
	p.b.Free() //F
}
`, "something that was not made here"},
	{"what a deferred callee forgets", "", forgetting + `
func f() {
	p := newHas()
	defer func() {
		p.b.Free() //F
	}()
	defer p.forget()
	p.b.Use()
}
`, "may be nil"},
	{"a variable that a callee sets to nil", `
func drop(b **B) { *b = nil }

func f() {
	b := Make()
	c := b
	drop(&b)
	c.Use()
	c.Free() //F
}
`, `
func drop(b **B) { *b = nil }

func f() {
	b := Make()
	b.Use()
	drop(&b)
	b.Free() //F
}
`, "may be nil"},
	{"a handle of which a callee clears a part", "", `
func (h *H) wipe() { h.n = 0 }

func f() {
	h := MakeH()
	h.wipe()
	h.Free() //F
}
`, "handed to somebody"},
	{"a handle of which a callee clears the whole", "", `
func wipe(h *H) { *h = H{} }

func f() {
	h := MakeH()
	h.Use()
	wipe(&h)
	h.Free() //F
}
`, "handed to somebody"},
	{"a resource of which a callee clears a part", "", `
func (b *B) wipe() { b.n = 0 }

func f() {
	b := Make()
	b.wipe()
	b.Free() //F
}
`, "handed to somebody"},
	{"a part of a resource that is cleared through its holder", "", holder + `
func (p *has) wipe() { p.b.n = 0 }

func f() {
	p := newHas()
	p.wipe()
	p.Close() //F
}
`, "something that was not made here"},
	{"a part of a holder that is a value", "", holder + `
type big struct{ has }

func (p *big) wipe() { p.has = has{} }

func f() {
	p := &big{has{Make(), nil}}
	p.b.Use()
	p.wipe()
	p.b.Free() //F
}
`, "may be nil"},
	{"something else than nothing", holder + `
func (p *has) forget() { p.b, p.note = nil, nil }

func f() {
	p := newHas()
	b := p.b
	p.forget()
	b.Use()
	b.Free() //F
}
`, holder + `
func (p *has) forget(c bool, b *B) {
	p.b = nil
	if c {
		p.b = b
	}
}

func f(c bool, d *B) {
	p := newHas()
	p.forget(c, d)
	p.Close() //F
}
`, "something that was not made here"},
	{"an element", "", `
type many struct{ bs []*B }

func (m *many) forget() { m.bs[0] = nil }

func f() {
	m := &many{[]*B{Make(), Make()}}
	m.forget()
	for _, b := range m.bs { //F
		b.Free() //F
	} //F
}
`, "something that was not made here"},
	{"a slice", "", `
type many struct{ bs []*B }

func (m *many) forget() { m.bs = nil }

func f() {
	m := &many{[]*B{Make(), Make()}}
	m.forget()
	m.bs[0].Free() //F
}
`, "which may be shorter"},
	{"a goroutine that forgets", "", forgetting + `
func f() {
	p := newHas()
	p.b.Use()
	go p.forget()
	p.Close() //F
}
`, "something that was not made here"},
	{"a literal that forgets", "", holder + `
func f() {
	p := newHas()
	func() { p.b = nil }()
	p.b.Free() //F
}
`, "may be nil"},
	{"an interface whose method forgets", "", holder + `
type forgets interface{ forget() }

func (p *has) forget() { p.b = nil }

func f() {
	p := newHas()
	var i forgets = p
	i.forget()
	p.b.Free() //F
}
`, "something that was not made here"},
	{"a method that others call forgets", "", holder + `
func (p *has) String() string {
	p.b = nil
	return ""
}

func f() {
	p := newHas()
	fmt.Println(p)
	p.b.Free() //F
}
`, "something that was not made here"},
	{"a constructor that forgets", holder + `
func (p *has) reset() { p.b = nil }

func make2() *has {
	p := &has{}
	p.reset()
	p.b = Make()
	return p
}

func f() {
	p := make2()
	p.b.Use()
	p.Close() //F
}
`, holder + `
func (p *has) reset() { p.b = nil }

func make2() *has {
	p := &has{}
	p.b = Make()
	p.reset()
	return p
}

func f() {
	p := make2()
	println(p)
	p.Close() //F
}
`, "may be nil"},
	{"a free that is moved over what forgets", "", forgetting + `
func f() {
	p := newHas()
	p.b.Use()
	p.b.Free() //F
	p.forget()
	println(2)
	p.b.Free() //O
}
`, "it is used by forget"},
	{"a test of what was forgotten", "", forgetting + `
func f() {
	p := newHas()
	if p.b != nil {
		p.forget()
		p.b.Free() //F
	}
}
`, "may be nil"},
	{"elements of a slice that a line says is freed", `
//lastuse:effect arg 0 freed
func freeAll(s []*B)

func f(c bool) {
	s := make([]*B, 1)
	b := Make()
	if c {
		freeAll(s)
	} else {
		s[0] = b
	}
	for _, x := range s { //F
		if x != nil { //F
			x.Free() //F
		} //F
	} //F
}
`, `
//lastuse:effect arg 0 freed
func freeAll(s []*B) { s[0] = global }

func f(c bool) {
	s := make([]*B, 1)
	b := Make()
	if c {
		freeAll(s)
	} else {
		s[0] = b
	}
	for _, x := range s { //F
		if x != nil { //F
			x.Free() //F
		} //F
	} //F
}
`, "not made here"},
	{"fields of a part that a line says is freed", "", `
type in struct{ b *B }

type out struct{ in in }

func (o *out) part() *in { return &o.in }

//lastuse:effect recv freed
func (i *in) Free()

func f(c bool) {
	s := &out{}
	b := Make()
	if c {
		s.part().Free()
	} else {
		s.in.b = b
	}
	if s.in.b != nil { //F
		s.in.b.Free() //F
	} //F
}
`, "not made here"},
	{"fields of elements that a line says are freed", "", `
type in struct{ b *B }

//lastuse:effect arg 0 freed
func freeAll(s []in)

func f(c bool) {
	s := make([]in, 1)
	b := Make()
	if c {
		freeAll(s)
	} else {
		s[0].b = b
	}
	for _, x := range s { //F
		if x.b != nil { //F
			x.b.Free() //F
		} //F
	} //F
}
`, "not made here"},
	{"elements of an array that a line says is freed", "", `
type list [2]*B

//lastuse:effect recv freed
func (l *list) Free()

func f(c bool) {
	s := &list{}
	b := Make()
	if c {
		s.Free()
	} else {
		s[0] = b
	}
	if s[0] != nil { //F
		s[0].Free() //F
	} //F
}
`, "not made here"},
}

const holder = `
type has struct {
	b    *B
	note *int
}

func newHas() *has { return &has{b: Make()} }

func (p *has) Close() error {
	if p == nil {
		return nil
	}
	p.b.Free()
	p.b, p.note = nil, nil
	return nil
}
`

// forgetting is a holder with a callee that forgets what it has.
const forgetting = holder + `
func (p *has) forget() { p.b = nil }
`
