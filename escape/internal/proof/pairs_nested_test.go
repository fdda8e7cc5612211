package proof_test

// nestedPairs show what a destructor frees that calls that of what a field points to.
var nestedPairs = []pair{
	{"a destructor of a part", nested + `
func f() {
	p := newNest()
	p.g.a.Use()
	p.Close() //F
}
`, nested + `
func f() {
	p := newNest()
	a := p.g.a
	p.Close() //F
	a.Use()
}
`, "its name is read"},
	{"a part under another name", "", nested + `
func f() {
	p := newNest()
	g := p.g
	p.Close() //F
	g.a.Use()
}
`, "its name is read"},
	{"a part that is made here", nested + `
func f() {
	p := &nest{newOne()}
	p.g.a.Use()
	p.Close() //F
}
`, nested + `
func f(g *one) {
	p := &nest{g}
	p.g.a.Use()
	p.Close() //F
}
`, "a parameter"},
	{"a part of two", nested + `
func f() {
	p := &nest{newOne()}
	q := &nest{newOne()}
	p.g.a.Use()
	p.Close() //F
	q.g.a.Use()
	q.Close() //F
}
`, nested + `
func f() {
	g := newOne()
	p := &nest{g}
	q := &nest{g}
	p.g.a.Use()
	p.Close() //F
	q.g.a.Use()
	q.Close() //F
}
`, "its name is read"},
	{"a part that is given another", "", nested + `
func f() {
	p := newNest()
	g := p.g
	p.g = newOne()
	p.Close() //F
	g.a.Use()
	p.g.a.Use()
}
`, "its name is read"},
	{"a part that is nil on one path", "", nested + `
func some(c bool) *nest {
	n := &nest{}
	if c {
		n.g = newOne()
	}
	return n
}

func f(c bool) {
	p := some(c)
	if c {
		p.g.a.Use()
	}
	p.Close() //F
}
`, "may be nil"},
	{"a part that is nil", "", nested + `
func f(c bool) {
	p := &nest{}
	if c {
		p.g = newOne()
	}
	println(p)
	p.Close() //F
}
`, "may be nil"},
	{"a part that may not be made", nested + `
func try() (*nest, error) {
	b, err := Try()
	if err != nil {
		return nil, err
	}
	return &nest{&one{b}}, nil
}

func f() {
	p, err := try()
	if err != nil {
		return
	}
	p.g.a.Use()
	p.Close() //F
}
`, nested + `
func try() (*nest, error) {
	b, err := Try()
	return &nest{&one{b}}, err
}

func f() {
	p, err := try()
	println(err, p)
	p.Close() //F
}
`, "may be nil"},
	{"what a destructor tolerates", `
type one struct{ a *B }

func (p *one) Free() {
	if p == nil || p.a == nil {
		return
	}
	p.a.Free()
}

type nest struct{ g *one }

func (p *nest) Close() { p.g.Free() }

func f() {
	p := &nest{&one{Make()}}
	p.g.a.Use()
	p.Close() //F
}
`, `
type one struct{ a *B }

func (p *one) Free() {
	if p.a == nil {
		return
	}
	p.a.Free()
}

type nest struct{ g *one }

func (p *nest) Close() { p.g.Free() }

func f(c bool) {
	p := &nest{}
	if c {
		p.g = &one{Make()}
	}
	println(p)
	p.Close() //F
}
`, "may be nil"},
	{"a part that a constructor keeps", "", nested + `
var kept *one

func other() *nest {
	n := &nest{newOne()}
	kept = n.g
	return n
}

func f() {
	p := other()
	p.g.a.Use()
	p.Close() //F
}
`, "not made here"},
	{"a part of a part that a constructor keeps", "", nested + `
func other() *nest {
	n := &nest{newOne()}
	global = n.g.a
	return n
}

func f() {
	p := other()
	p.g.a.Use()
	p.Close() //F
}
`, "not made here"},
	{"one in two parts", "", nested + `
type pair struct{ g, h *one }

func (p *pair) Close() {
	p.g.Free()
	p.h.Free()
}

func newPair() *pair {
	g := newOne()
	return &pair{g, g}
}

func f() {
	p := newPair()
	p.g.a.Use()
	p.Close() //F
}
`, "not made here"},
	{"one resource in two parts", "", nested + `
type pair struct{ g, h *one }

func (p *pair) Close() {
	p.g.Free()
	p.h.Free()
}

func f() {
	b := Make()
	p := &pair{&one{b}, &one{b}}
	p.g.a.Use()
	p.Close() //F
}
`, "freed twice"},
	{"a destructor that forgets in a part that another has", "", forgetful + `
func f() {
	g := &one{Make()}
	h := &nest{g}
	p := &nest{g}
	p.g.a.Use()
	p.Close() //F
	println(h.g.a == nil)
}
`, "is read"},
	{"a goroutine that reads what a destructor forgets", "", forgetful + `
func f() {
	g := &one{Make()}
	p := &nest{g}
	p.g.a.Use()
	c := make(chan bool)
	go func() {
		println(g.a == nil)
		c <- true
	}()
	p.Close() //F
	<-c
}
`, "goroutine"},
	{"a destructor that forgets in a part", forgetful + `
func f() {
	p := newNest()
	p.g.a.Use()
	p.Close() //F
}
`, forgetful + `
func f(c bool) {
	p := newNest()
	if c {
		p.Close()
	}
	p.Close() //F
}
`, "may have freed it before"},
	{"a callee that forgets in a part", "", forgetful + `
func (p *nest) forget() { p.g.forget() }

func (p *one) forget() { p.a = nil }

func f() {
	p := &nest{&one{Make()}}
	p.g.a.Use()
	p.forget()
	p.g.a.Free() //F
}
`, "may be nil"},
	{"a callee that writes in a resource further down", "", nested + `
func (b *B) wipe() { b.n = 0 }

func (p *one) wipe() { p.a.wipe() }

func (p *nest) wipe() { p.g.wipe() }

func f() {
	p := newNest()
	p.wipe()
	p.Close() //F
}
`, "handed to somebody"},
	{"a destructor that hands nil on", softly + `
func (s *soft) Close() { s.close() }

func f(c bool) {
	var s *soft
	if c {
		s = &soft{Make()}
	}
	println(s)
	s.Close() //F
}
`, softly + `
func (s *soft) Close() {
	println(s.b)
	s.close()
}

func f(c bool) {
	var s *soft
	if c {
		s = &soft{Make()}
	}
	println(s)
	s.Close() //F
}
`, "does more than free"},
	{"a destructor that hands nil on, and reads it", "", softly + `
func (s *soft) Close() {
	if s.b == nil {
		return
	}
	s.close()
}

func f(c bool) {
	var s *soft
	if c {
		s = &soft{Make()}
	}
	println(s)
	s.Close() //F
}
`, "may be nil"},
	{"a destructor that a line names", `
type said struct{ b *B }

//lastuse:effect recv freed
func (s *said) Free() { s.b.Free() }

func newSaid() *said { return &said{Make()} }

func f() {
	s := newSaid()
	println(s)
	s.Free() //F
}
`, `
type said struct{ b, lent *B }

//lastuse:effect recv freed
func (s *said) Free() {
	s.b.Free()
	s.lent.Free()
}

func newSaid(b *B) *said { return &said{Make(), b} }

func f(b *B) {
	s := newSaid(b)
	println(s)
	s.Free() //F
}
`, "a parameter"},
	{"a destructor that a line names, and that does more", "", `
type said struct{ b *B }

//lastuse:effect recv freed
func (s *said) Free() {
	s.b.Free()
	println(1)
}

func f() {
	b := Make()
	s := &said{b}
	println(s)
	s.Free() //F
	b.Use()
}
`, ""},
	{"a goroutine that has a part", "", nested + `
func f() {
	p := newNest()
	g := p.g
	go func() { g.a.Use() }()
	p.Close() //F
}
`, "goroutine"},
	{"a part that the program frees", "", nested + `
func f(c bool) {
	p := newNest()
	if c {
		p.g.Free()
	}
	p.Close() //F
}
`, "may have freed it before"},
	{"a part further down", "", nested + `
type deep struct{ n *nest }

func (d *deep) Close() { d.n.Close() }

func newDeep() *deep { return &deep{newNest()} }

func f() {
	d := newDeep()
	g := d.n.g
	d.Close() //F
	g.a.Use()
}
`, "not made here"},
	{"what a callee puts there", "", nested + `
func (p *nest) set(g *one) { p.g = g }

func f(g *one) {
	p := newNest()
	p.set(g)
	p.Close() //F
}
`, "not made here"},
	{"a part of an operand", "", nested + `
func with(g *one) *nest { return &nest{g} }

func f() {
	g := newOne()
	p := with(g)
	println(p)
	p.Close() //F
	g.a.Use()
}
`, "a view of something"},
}

const forgetful = `
type one struct{ a *B }

func (p *one) Free() {
	p.a.Free()
	p.a = nil
}

type nest struct{ g *one }

func (p *nest) Close() { p.g.Free() }

func newNest() *nest { return &nest{&one{Make()}} }
`

const nested = `
type one struct{ a *B }

func (p *one) Free() { p.a.Free() }

func newOne() *one { return &one{Make()} }

type nest struct{ g *one }

func (p *nest) Close() { p.g.Free() }

func newNest() *nest { return &nest{newOne()} }
`

const softly = `
type soft struct{ b *B }

func (s *soft) close() {
	if s != nil && s.b != nil {
		s.b.Free()
	}
}
`
