package proof_test

// aliasPairs show two names for one: what a destructor, or a callee, writes in what another name leads to.
var aliasPairs = []pair{
	{"a function that forgets, beside what leads to its operand", forgets + `
func look(p *has) { println(p.n) }

func f() {
	p := &has{Make(), 1}
	o := &outer{p}
	apply(o, look)
	p.b.Free() //F
}
`, forgets + `
func forget(p *has) { p.b = nil }

func f() {
	p := &has{Make(), 1}
	o := &outer{p}
	apply(o, forget)
	p.b.Free() //F
}
`, "not made here"},
	{"a function that forgets, beside a slice", "", forgets + `
func less(p, q *has) int {
	p.b = nil
	return p.n - q.n
}

func f() {
	p := &has{Make(), 1}
	slices.SortFunc([]*has{p, p}, less)
	p.b.Free() //F
}
`, "not made here"},
	{"a part that is forgotten before it is freed, behind a pointer", turns + `
type nest struct{ g *rc }

func (n *nest) Close() {
	g := n.g
	g.second()
	g.first()
}

func f() {
	n := &nest{&rc{Make(), Make()}}
	n.g.a.Use()
	n.Close() //F
}
`, turns + `
type nest struct{ g *rc }

func (n *nest) Close() {
	g := n.g
	g.first()
	g.second()
}

func f() {
	n := &nest{&rc{Make(), Make()}}
	n.g.a.Use()
	n.Close() //F
}
`, "does more than free"},
	{"two fields that lead to the same", turns + `
type nest struct{ x, y *rc }

func (n *nest) Close() {
	n.y.second()
	n.x.first()
}

func f() {
	r := &rc{Make(), Make()}
	n := &nest{r, r}
	n.x.a.Use()
	n.Close() //F
}
`, turns + `
type nest struct{ x, y *rc }

func (n *nest) Close() {
	n.x.first()
	n.y.second()
}

func f() {
	r := &rc{Make(), Make()}
	n := &nest{r, r}
	n.x.a.Use()
	n.Close() //F
}
`, "does more than free"},
	{"a field that leads back", "", `
type node struct {
	a, b *B
	next *node
}

func (n *node) first() {
	n.a.Free()
	n.a, n.b = nil, nil
}

func (n *node) Close() {
	n.next.first()
	n.b.Free()
}

func f() {
	n := &node{a: Make(), b: Make()}
	n.next = n
	n.a.Use()
	n.Close() //F
}
`, "does more than free"},
	{"two parts that are one, which may be freed again but not be nil", again + `
func f() {
	n := &node{MakeP(), &node{b: MakeP()}}
	n.b.Use()
	n.Close() //F
}
`, again + `
func f() {
	n := &node{b: MakeP()}
	n.next = n
	n.b.Use()
	n.Close() //F
}
`, "freed twice"},
	{"a flag of a part, before another is freed", `
type rc struct {
	b      *B
	closed bool
}

func (r *rc) Close() {
	r.b.Free()
	r.closed = true
}

type nest struct{ x, y *rc }

func (n *nest) Close() {
	n.x.Close()
	n.y.Close()
}

func f() {
	n := &nest{&rc{Make(), false}, &rc{Make(), false}}
	n.x.b.Use()
	n.Close() //F
}
`, `
type rc struct {
	b      *B
	closed bool
}

func (r *rc) Close() {
	r.b.Free()
	r.closed = true
}

type nest struct{ x, y *rc }

func (n *nest) Close() {
	n.x.Close()
	n.y.Close()
}

func f() {
	r := &rc{Make(), false}
	n := &nest{r, r}
	n.x.b.Use()
	n.Close() //F
}
`, "freed twice"},
	{"elements that lead to the same", `
type bag struct{ list []*B }

func (p *bag) Close() {
	for _, b := range p.list {
		b.Free()
	}
}

func f() {
	p := &bag{[]*B{Make(), Make()}}
	println(p)
	p.Close() //F
}
`, `
type rc struct{ b *B }

type bag struct{ list []*rc }

func (r *rc) Close() { r.b.Free() }

func (p *bag) Close() {
	for _, r := range p.list {
		r.Close()
	}
}

func f() {
	r := &rc{Make()}
	p := &bag{[]*rc{r, r}}
	println(p)
	p.Close() //F
}
`, "two elements may lead to the same memory"},
	{"what a free that a line names leaves in a struct", lined + `
func f() {
	c := MakeP()
	h := &has{Make(), c}
	h.Close()
	c.Use()
	c.Free() //F
}
`, lined + `
func f() {
	h := &has{Make(), MakeP()}
	h.Close()
	h.c.Free() //F
}
`, "not made here"},
	{"a body that frees twice", `
func end(b *B) { b.Free() }

func f() {
	b := Make()
	b.Use()
	end(b) //F
}
`, `
func end(b *B) {
	b.Free()
	b.Free()
}

func f() {
	b := Make()
	b.Use()
	end(b) //F
}
`, "does more than free"},
	{"another one in a part of a part, before the free that is gone", parts + `
func f() {
	o := &outer{&inner{Make()}}
	o.in.b.Use()
	o.Close() //F
	println(1)
	o.Close() //O
}
`, parts + `
func f() {
	o := &outer{&inner{Make()}}
	in := o.in
	o.in.b.Use()
	o.Close() //F
	in.b = Make()
	o.Close() //O
}
`, "it is not shown that another free runs before"},
	{"what a free that a line names leaves beside what it is promoted from", lined + `
type outer struct {
	has
	d *P
}

func f() {
	o := &outer{has{Make(), MakeP()}, MakeP()}
	o.Close()
	o.d.Free() //F
}
`, lined + `
type outer struct {
	has
	d *P
}

func f() {
	o := &outer{has{Make(), MakeP()}, MakeP()}
	o.Close()
	o.c.Free() //F
}
`, "not made here"},
	{"what a free that a line names leaves in a part", "", lined + `
type outer struct{ h *has }

func (o *outer) Close() { o.h.Close() }

func f() {
	h := &has{Make(), MakeP()}
	o := &outer{h}
	o.Close()
	h.c.Free() //F
}
`, "not made here"},
}

const forgets = `
type has struct {
	b *B
	n int
}

type outer struct{ p *has }

func apply(o *outer, f func(*has)) { f(o.p) }
`

const parts = `
type inner struct{ b *B }

type outer struct{ in *inner }

func (i *inner) Close() { i.b.Free() }

func (o *outer) Close() { o.in.Close() }
`

const turns = `
type rc struct{ a, b *B }

func (r *rc) first() {
	r.a.Free()
	r.a, r.b = nil, nil
}

func (r *rc) second() { r.b.Free() }
`

// harmlessAgain is a resource that may be freed again, and whose nil may not.
const harmlessAgain = `
type P struct{ n int }

//lastuse:effect result 0 owned
func MakeP() *P

//lastuse:effect recv freed repeatable
func (p *P) Free()

//lastuse:effect recv borrowed
func (p *P) Use()
`

const again = harmlessAgain + `
type node struct {
	b    *P
	next *node
}

func (n *node) drop() {
	n.b.Free()
	n.b = nil
}

func (n *node) Close() {
	n.next.drop()
	n.b.Free()
}
`

const lined = harmlessAgain + `
var other *P

type has struct {
	b *B
	c *P
}

//lastuse:effect recv freed
func (h *has) Close() {
	h.b.Free()
	h.c = other
}
`
