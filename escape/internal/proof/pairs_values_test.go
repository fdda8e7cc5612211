package proof_test

// valuePairs show what a destructor of a struct that it gets by value frees.
var valuePairs = []pair{
	{"a destructor of a copy", byValue + `
func f() {
	p := newTwo()
	p.a.Use()
	p.Free() //F
}
`, byValue + `
func f() {
	p := newTwo()
	a := p.a
	p.Free() //F
	a.Use()
}
`, "its name is read"},
	{"a destructor of what a call gives", byValue + `
//lastuse:effect args borrowed
func look(p two)

func f() {
	p := newTwo()
	look(p)
	p.Free() //F
}
`, byValue + `
func g() two { return two{Make(), global} }

func f() {
	p := g()
	p.b.Use()
	p.Free() //F
}
`, "not made here"},
	{"one in both fields", byValue + `
func f() {
	p := two{Make(), Make()}
	p.a.Use()
	p.Free() //F
}
`, byValue + `
func f() {
	b := Make()
	p := two{b, b}
	p.a.Use()
	p.Free() //F
}
`, "freed twice"},
	{"one in both fields, in a register", "", byValue + `
func g() two {
	b := Make()
	return two{b, b}
}

func f() {
	p := g()
	p.a.Use()
	p.Free() //F
}
`, "not made here"},
	{"nothing in a field", "", byValue + `
func f() {
	p := two{a: Make()}
	p.a.Use()
	p.Free() //F
}
`, "may be nil"},
	{"nothing in a field, in a register", "", byValue + `
func g() two { return two{a: Make()} }

func f() {
	p := g()
	p.a.Use()
	p.Free() //F
}
`, "may be nil"},
	{"nothing in a field that a call gives", "", `
type two struct{ a, b *B }

func (p *two) Free() {
	p.a.Free()
	p.b.Free()
}

func g() two { return two{a: Make()} }

func f() {
	p := g()
	p.a.Use()
	p.Free() //F
}
`, "may be nil"},
	{"another copy", byValue + `
func f() {
	p := newTwo()
	q := p
	p.a.Use()
	q.a.Use()
	q.Free() //F
}
`, byValue + `
func f() {
	p := newTwo()
	q := p
	q.a.Use()
	q.Free() //F
	p.b.Use()
}
`, "its name is read"},
	{"a copy that was given another", byValue + `
func f() {
	p := newTwo()
	q := p
	p.a = Make()
	p.Free() //F
	q.a.Use()
}
`, byValue + `
func f() {
	p := newTwo()
	q := p
	p.a = Make()
	p.Free() //F
	q.b.Use()
}
`, "its name is read"},
	{"a field that is given another", byValue + `
func f() {
	p := newTwo()
	p.a.Free()
	p.a = Make()
	p.a.Use()
	p.Free() //F
}
`, byValue + `
func f() {
	p := newTwo()
	b := p.b
	p.a = Make()
	p.Free() //F
	b.Use()
}
`, "its name is read"},
	{"a field that somebody keeps", "", byValue + `
func f() {
	p := newTwo()
	global = p.a
	p.Free() //F
}
`, "handed to somebody"},
	{"a copy that somebody keeps", "", byValue + `
var kept two

func f() {
	p := newTwo()
	kept = p
	p.Free() //F
}
`, "not made here"},
	{"what is not made here", "", byValue + `
func f(b *B) {
	p := two{Make(), b}
	p.a.Use()
	p.Free() //F
}
`, "a parameter"},
	{"an operand", "", byValue + `
func f(p two) {
	p.a.Use()
	p.Free() //F
}
`, "a parameter"},
	{"a deferred one, which has what was there before", "", byValue + `
func f() {
	p := newTwo()
	defer p.Free() //F
	p.a.Free()
	p.a = Make()
	p.a.Use()
}
`, "is not known"},
	{"a destructor that the program calls", "", byValue + `
func f(c bool) {
	p := newTwo()
	if c {
		p.Free()
	}
	p.Free() //F
}
`, "may have freed it before"},
	{"a destructor that frees one of two", freesOne + `
func f() {
	b := Make()
	p := two{Make(), b}
	p.a.Use()
	p.Free() //F
	b.Use()
	b.Free()
}
`, freesOne + `
func f() {
	b := Make()
	p := two{b, Make()}
	p.a.Use()
	p.Free() //F
	b.Use()
}
`, "its name is read"},
	{"a struct in a struct", byValue + `
type outer struct {
	in two
	n  int
}

func (o outer) Free() { o.in.Free() }

func f() {
	o := outer{newTwo(), 1}
	o.in.a.Use()
	o.Free() //F
}
`, byValue + `
type outer struct {
	in two
	n  int
}

func (o outer) Free() { o.in.Free() }

func f() {
	o := outer{newTwo(), 1}
	in := o.in
	o.Free() //F
	in.a.Use()
}
`, "its name is read"},
	{"a struct behind a pointer in a struct", "", byValue + `
type outer struct {
	in *two
	n  int
}

func (o outer) Free() { o.in.Free() }

func f() {
	o := outer{&two{Make(), Make()}, 1}
	in := o.in
	o.Free() //F
	in.a.Use()
}
`, "does more than free"},
	{"a holder behind a pointer in a struct", "", holder + `
type outer struct {
	n  *B
	in *has
}

func (o outer) Free() { o.in.Close() }

func f() {
	b := Make()
	o := outer{b, newHas()}
	o.Free() //F
	o.in.b.Use()
}
`, "not made here"},
	{"a destructor that changes its copy", changing + `
func f() {
	p := two{Make(), Make()}
	p.b.Use()
	p.Free() //F
}
`, changing + `
func f() {
	p := two{Make(), Make()}
	p.Free() //F
	if p.a != nil {
		p.b.Use()
	}
}
`, "its name is read"},
	{"a destructor that frees what it was not given", "", `
type two struct{ a, b *B }

func (p two) Free() {
	p = two{global, global}
	p.a.Free()
	p.b.Free()
}

func f() {
	p := two{Make(), Make()}
	p.a.Use()
	p.Free() //F
}
`, "does more than free"},
	{"a destructor that swaps", "", `
type two struct{ a, b *B }

func (p two) Free() {
	p.a, p.b = p.b, p.a
	p.a.Free()
}

func f() {
	b := Make()
	p := two{b, Make()}
	p.a.Use()
	p.Free() //F
	b.Use()
}
`, "does more than free"},
	{"elements of a slice", "", byValue + `
func f() {
	ps := []two{newTwo(), newTwo()}
	ps = append(ps, ps[0])
	for _, p := range ps { //F
		p.Free() //F
	} //F
}
`, "freed twice"},
	{"a variable that a literal writes", "", byValue + `
func f() {
	p := newTwo()
	set := func() { p.a = global }
	p.a.Use()
	set()
	p.Free() //F
}
`, "not made here"},
}

const byValue = `
type two struct{ a, b *B }

func (p two) Free() {
	p.a.Free()
	p.b.Free()
}

func newTwo() two { return two{Make(), Make()} }
`

// changing has a destructor that writes its copy.
const changing = `
type two struct{ a, b *B }

func (p two) Free() {
	p.a.Free()
	p.b.Free()
	p.a = nil
}
`

// freesOne has a destructor that leaves one field alone.
const freesOne = `
type two struct{ a, b *B }

func (p two) Free() { p.a.Free() }
`
