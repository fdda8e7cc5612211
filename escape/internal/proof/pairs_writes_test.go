package proof_test

// writePairs show what a destructor writes beside what it frees: before it reads that, further down, or
// where a line names it.
var writePairs = []pair{
	{"a destructor that forgets before it frees", `
type has struct{ b *B }

func (p *has) Close() {
	b := p.b
	p.b = nil
	b.Free()
}

func f() {
	p := &has{Make()}
	p.b.Use()
	p.Close() //F
}
`, `
type has struct{ b *B }

func (p *has) Close() {
	p.b = nil
	p.b.Free()
}

func f() {
	p := &has{Make()}
	p.b.Use()
	p.Close() //F
}
`, "does more than free"},
	{"a destructor that may forget before it frees", "", `
type has struct {
	b      *B
	shared bool
}

func (p *has) Close() {
	if p.shared {
		p.b = nil
	}
	p.b.Free()
}

func f() {
	p := &has{Make(), true}
	p.b.Use()
	p.Close() //F
}
`, "does more than free"},
	{"a destructor of a copy that forgets before it frees", "", `
type two struct{ a, b *B }

func (p two) Free() {
	p = two{}
	p.a.Free()
	p.b.Free()
}

func f() {
	p := two{Make(), Make()}
	p.a.Use()
	p.Free() //F
}
`, "does more than free"},
	{"a destructor that calls what forgets another field", "", `
type has struct{ x, y *B }

func (p *has) first() {
	p.x.Free()
	p.x, p.y = nil, nil
}

func (p *has) Close() {
	p.first()
	p.y.Free()
}

func f() {
	p := &has{Make(), Make()}
	p.x.Use()
	p.Close() //F
}
`, "does more than free"},
	{"a pointer that is forgotten before what it points to is freed", "", `
type one struct{ a *B }

func (o *one) Free() { o.a.Free() }

type nest struct{ g *one }

func (n *nest) Close() {
	n.g = nil
	n.g.Free()
}

func f() {
	n := &nest{&one{Make()}}
	n.g.a.Use()
	n.Close() //F
}
`, "does more than free"},
	{"a variable of the name of a parameter", "", `
type two struct{ a, b *B }

func (p two) Free() {
	x := p
	{
		var p two
		p.a.Free()
		p.b.Free()
		p = x
	}
}

func f() {
	p := two{Make(), Make()}
	p.a.Use()
	p.Free() //F
}
`, "does more than free"},
	{"a flag of a part that another has", closing + `
func f() {
	n := &nest{&rc{Make(), false}}
	println(n)
	n.Close() //F
}
`, closing + `
func f() {
	g := &rc{Make(), false}
	n := &nest{g}
	h := &nest{g}
	println(n)
	n.Close() //F
	if h.g.closed {
		panic("closed")
	}
}
`, "is read"},
	{"a flag of a part that a line frees", "", `
type rc struct {
	b    *B
	open bool
}

//lastuse:effect recv freed
func (r *rc) Close() {
	r.b.Free()
	r.open = false
}

type nest struct{ g *rc }

func (n *nest) Close() { n.g.Close() }

func f() {
	g := &rc{Make(), true}
	n := &nest{g}
	h := &nest{g}
	println(n)
	n.Close() //F
	if !h.g.open {
		panic("closed")
	}
}
`, "is read"},
	{"a number of a part that a line frees", "", `
type rc struct {
	b *B
	n int
}

//lastuse:effect recv freed
func (r *rc) Close() {
	r.b.Free()
	r.n = 1
}

type nest struct{ g *rc }

func (n *nest) Close() { n.g.Close() }

func f() int {
	g := &rc{Make(), 5}
	n := &nest{g}
	h := &nest{g}
	println(n)
	n.Close() //F
	return h.g.n
}
`, ""},
	{"what a destructor that a line names forgets", "", `
type has struct{ b, c *B }

//lastuse:effect recv freed
func (p *has) Close() {
	p.b.Free()
	p.b, p.c = nil, nil
}

func f() {
	g := &has{Make(), Make()}
	g.c.Use()
	g.Close()
	g.c.Free() //F
}
`, "nil"},
	{"a flag beside a handle", `
type holds struct {
	h    H
	used bool
}

func (x *holds) use() {
	x.h.Use()
	x.used = true
}

func f() {
	x := &holds{h: MakeH()}
	x.use()
	x.h.Free() //F
}
`, `
type holds struct {
	h    H
	used bool
}

func (x *holds) wipe() { x.h = H{} }

func f() {
	x := &holds{h: MakeH()}
	x.wipe()
	x.h.Free() //F
}
`, "handed to somebody"},
	{"a deferred free that a line names and that recovers", `
//lastuse:effect arg 0 freed
func end(b *B) {
	recover()
	b.Free()
}

func f() {
	b := Make()
	b.Use()
	end(b) //F
}
`, `
//lastuse:effect arg 0 freed
func end(b *B) {
	recover()
	b.Free()
}

func f() {
	b := Make()
	defer end(b) //F
	b.Use()
}
`, "does more than free"},
	{"what is freed again behind a free that forgets it", twiceFreed + `
func f() {
	p := &has{MakeP()}
	p.b.Use()
	p.end() //F
	println(1)
}
`, twiceFreed + `
func f() {
	p := &has{MakeP()}
	defer p.end()
	p.b.Use()
	p.Close() //F
}
`, "is used by end"},
	{"a free that a line names and that recovers", recovering + `
func f() {
	b := Make()
	func() {
		x := mkrc()
		defer x.Close()
		next()
		b.Use()
	}()
	b.Use()
	b.Free() //F
}
`, recovering + `
func f() {
	b := Make()
	func() {
		x := mkrc()
		defer x.Close()
		next()
		b.Use()
		b.Free() //F
		panic(1)
	}()
	b.Use()
}
`, "is read"},
}

const twiceFreed = harmlessAgain + `
type has struct{ b *P }

func (p *has) Close() {
	p.b.Free()
	p.b = nil
}

func (p *has) end() { p.b.Free() }
`

const closing = `
type rc struct {
	b      *B
	closed bool
}

func (r *rc) Close() {
	r.b.Free()
	r.closed = true
}

type nest struct{ g *rc }

func (n *nest) Close() { n.g.Close() }
`

const recovering = `
type rc struct{ b *B }

//lastuse:effect recv freed
func (r *rc) Close() {
	recover()
	r.b.Free()
}

//lastuse:effect result 0 owned
func mkrc() *rc
`
