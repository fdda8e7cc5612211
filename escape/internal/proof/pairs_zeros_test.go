package proof_test

// zeroPairs show where a part is zero that nobody stored.
var zeroPairs = []pair{
	{"a test for nil with nothing in it", `
func f() {
	b := Make()
	if b != nil {
	}
	b.Free() //F
}
`, `
func f() {
	b := Make()
	b.Free() //F
	if b != nil {
	}
}
`, "its name is read"},
	{"a field that a constructor leaves out on one path", `
type pair struct{ a, b *B }

func mk() *pair {
	a := Make()
	if next() == 1 {
		return &pair{a, Make()}
	}
	return &pair{a, Make()}
}

func f() {
	p := mk()
	p.a.Free() //F
	p.b.Use()
	p.b.Free() //F
}
`, `
type pair struct{ a, b *B }

func mk() *pair {
	a := Make()
	if next() == 1 {
		return &pair{a: a}
	}
	return &pair{a, Make()}
}

func f() {
	p := mk()
	p.a.Free()
	_ = p.b
	p.b.Free() //F
}
`, "it may be nil"},
	{"elements that a constructor leaves out on one path", `
func mk() []*B {
	if next() == 1 {
		return nil
	}
	return []*B{Make(), Make()}
}

func f() {
	s := mk()
	println(len(s))
	for _, b := range s { b.Free() } //F
}
`, `
func mk() []*B {
	if next() == 1 {
		return make([]*B, 2)
	}
	return []*B{Make(), Make()}
}

func f() {
	s := mk()
	println(len(s))
	for _, b := range s { b.Free() } //F
}
`, "it may be nil"},
	{"a field that is left out beside another result that was walked with before", `
type pair struct{ a, b *B }

func mk() (*B, *pair) {
	if next() == 1 {
		return Make(), nil
	}
	return Make(), &pair{Make(), Make()}
}

func f() {
	c, p := mk()
	c.Use()
	c.Free() //F
	if p == nil {
		return
	}
	p.b.Use()
	p.b.Free() //F
}
`, `
type pair struct{ a, b *B }

func mk() (*B, *pair) {
	if next() == 1 {
		return Make(), &pair{}
	}
	return Make(), &pair{Make(), Make()}
}

func f() {
	c, p := mk()
	c.Free()
	if p == nil {
		return
	}
	_ = p.b
	p.b.Free() //F
}
`, "it may be nil"},
	{"a field of a copy that the one it was copied from never had", halfPair + `
func f() {
	p := mk()
	p.b = Make()
	q := p
	q.b.Use()
	q.b.Free() //F
}
`, halfPair + `
func f() {
	p := mk()
	q := p
	if next() == 1 {
		q.b = Make()
	}
	_ = q.b
	q.b.Free() //F
}
`, "it may be nil"},
	{"a field of a copy of a copy", halfPair + `
func f() {
	p := mk()
	q := p
	r := q
	r.b = Make()
	r.b.Use()
	r.b.Free() //F
}
`, halfPair + `
func f() {
	p := mk()
	q := p
	r := q
	if next() == 1 {
		r.b = Make()
	}
	_ = r.b
	r.b.Free() //F
}
`, "it may be nil"},
	{"a struct that a literal gives", halfPair + `
func f() {
	get := func() pair { return mk() }
	p := get()
	p.b = Make()
	p.b.Use()
	p.b.Free() //F
}
`, halfPair + `
func f() {
	get := func() pair { return mk() }
	p := get()
	if next() == 1 {
		p.b = Make()
	}
	_ = p.b
	p.b.Free() //F
}
`, "it may be nil"},
	{"a field of a struct that a literal gives", halfPair + `
func f() {
	b := mk().a
	if next() == 1 {
		b.Free() //F
		return
	}
	b.Use()
	b.Free() //F
}
`, halfPair + `
func f() {
	get := func() pair { return mk() }
	b := get().b
	if next() == 1 {
		b = Make()
	}
	_ = b
	b.Free() //F
}
`, "it may be nil"},
	{"a struct in a slice", halfPair + `
func f() {
	var all []pair
	all = append(all, mk())
	p := all[0]
	p.b = Make()
	p.b.Use()
	p.b.Free() //F
}
`, halfPair + `
func f() {
	var all []pair
	all = append(all, mk())
	p := all[0]
	if next() == 1 {
		p.b = Make()
	}
	_ = p.b
	p.b.Free() //F
}
`, "it may be nil"},
	{"a struct behind a pointer in a struct", `
type pair struct{ a, b *B }

func mk() *struct{ p *pair } { return &struct{ p *pair }{&pair{a: Make()}} }

func f() {
	p := *mk().p
	p.b = Make()
	p.b.Use()
	p.b.Free() //F
}
`, `
type pair struct{ a, b *B }

func mk() *struct{ p *pair } { return &struct{ p *pair }{&pair{a: Make()}} }

func f() {
	p := *mk().p
	if next() == 1 {
		p.b = Make()
	}
	_ = p.b
	p.b.Free() //F
}
`, "it may be nil"},
}

// halfPair has a constructor that leaves a field nil.
const halfPair = `
type pair struct{ a, b *B }

func mk() pair { return pair{a: Make()} }
`
