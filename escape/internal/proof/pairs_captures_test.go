package proof_test

// apart is what is owned by itself and needs what it was made of.
const apart = `
type Head struct{ p uintptr }

//lastuse:effect recv borrowed, result 0 owned, result 0 views recv
func (b *B) Header() *Head

//lastuse:effect recv borrowed, result 0 owned, result 0 views recv
func (h *Head) Header() *Head

//lastuse:effect recv borrowed
func (h *Head) Use()

//lastuse:effect recv freed
func (h *Head) Free()

//lastuse:effect result 0 owned on success, result 0 views arg f
func capture(f func() error) (*Head, error)
`

// capturePairs show what views a literal, and with it what that captures, and where literals go back to.
var capturePairs = []pair{
	{"a header that the program frees", apart + `
func f() {
	b := Make()
	h := b.Header()
	h.Free()
	b.Use()
	b.Free() //F
}
`, `
type Head struct{ b *B }

//lastuse:effect result 0 owned
func head(b *B) *Head { return &Head{b} }

//lastuse:effect recv freed
func (h *Head) Free() { h.b.Free() }

func f() {
	b := Make()
	h := head(b)
	h.Free()
	b.Free() //F
}
`, ""},
	{"what a literal captures is needed as long as what it was given to", apart + `
func f() {
	b := Make()
	g, err := capture(func() error {
		b.Use()
		return nil
	})
	if err != nil {
		b.Free() //F
		return
	}
	for range 3 {
		g.Use()
	}
	g.Free() //F
	b.Free() //F
}
`, apart + `
func f() {
	b := Make()
	g, err := capture(func() error {
		b.Use()
		return nil
	})
	if err != nil {
		return
	}
	for range 3 {
		g.Use()
		b.Free() //F
	}
	g.Free()
}
`, "used by"},
	{"that is freed by a deferred call", apart + `
func f() {
	b := Make()
	g, err := capture(func() error {
		b.Use()
		return nil
	})
	if err != nil {
		b.Free() //F
		return
	}
	defer b.Free() //F
	defer g.Free()
	g.Use()
}
`, apart + `
func f() {
	b := Make()
	g, err := capture(func() error {
		b.Use()
		return nil
	})
	if err != nil {
		return
	}
	defer g.Free()
	defer b.Free() //F
	g.Use()
}
`, "used by Free"},
	{"a variable that a literal captures is given something else behind it", apart + `
func f() {
	b := Make()
	g, _ := capture(func() error {
		b.Use()
		return nil
	})
	if g == nil {
		return
	}
	c := Make()
	c.Use()
	c.Free() //F
	g.Use()
	g.Free()
}
`, apart + `
func f() {
	b := Make()
	g, _ := capture(func() error {
		b.Use()
		return nil
	})
	if g == nil {
		return
	}
	c := Make()
	c.Use()
	b = c
	c.Free() //F
	g.Use()
	g.Free()
}
`, "used by Use"},
	{"a header is kept in a struct", apart + `
type s struct{ h *Head }

func f() {
	b := Make()
	x := &s{b.Header()}
	x.h.Use()
	b.Free() //F
}
`, apart + `
type s struct{ h *Head }

func f() {
	b := Make()
	x := &s{b.Header()}
	b.Free() //F
	x.h.Use()
}
`, "used by Use"},
	{"a literal goes back to the call that ran it", `
func f(fail bool) {
	b := Make()
	read := func() { b.Use() }
	read()
	if fail {
		b.Free() //F
		return
	}
	defer b.Free() //F
	defer read()
	read()
}
`, `
func f(fail bool) {
	b := Make()
	read := func() { b.Use() }
	for {
		read()
		if fail {
			b.Free() //F
		}
		read()
	}
}
`, "its name is read"},
}
