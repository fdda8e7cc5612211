package proof_test

import "github.com/lastuse/lastuse/escape/internal/proof"

// Frees of what is not owned, is kept, used or freed again.
var freedRules = []ruleTest{
	{proof.Fresh, "a parameter", `
func f(b *B) {
	b.Use()
	b.Free() //F
}
`},
	{proof.Confined, "not made here", freesAll + `
func build() []*B {
	xs := []*B{Make(), Make()}
	global = xs[1]
	return xs
}
`},
	{proof.Once, "not made here", freesAll + `
func build() []*B {
	x := Make()
	return []*B{x, x}
}
`},
	{proof.Once, "freed twice", `
type stack struct{ list []*B }

func (s *stack) Close() {
	for _, x := range s.list {
		x.Free()
	}
}

func f() {
	s := &stack{}
	x := Make()
	s.list = append(s.list, x, x)
	s.Close() //F
}
`},
	{proof.Confined, "handed to somebody", `
func f() {
	b := Make()
	global = b
	b.Free() //F
}
`},
	{proof.Once, "freed by Free", `
func f() {
	b := Make()
	free := b.Free
	defer free()
	b.Use()
	b.Free() //F
}
`},
	{proof.Confined, "handed to somebody", `
func (b *B) become() { *b = *global }

func f() {
	b := Make()
	b.become()
	b.Free() //F
}
`},
	{proof.Confined, "handed to somebody", `
func f() {
	b := Make()
	b.n = 7
	b.Free() //F
}
`},
	{proof.Dead, "used by Use", `
func f() {
	b := Make()
	v := b.View()
	b.Free() //F
	v.Use()
}
`},
	{proof.Dead, "used by Use", `
func f() {
	b := Make()
	var w wide
	w.k = b.View()
	w.b = nil
	b.Free() //F
	w.k.Use()
}

type wide struct{ a, b, c, d, e, f, g, h, i, j, k *V }
`},
	{proof.Dead, "used by Use", `
func f() {
	b := Make()
	var w deep
	w.a.a.a.a.a.a.b = b.View()
	w.a.a.a.a.a.a.a = nil
	b.Free() //F
	w.a.a.a.a.a.a.b.Use()
}

type deep struct {
	a struct {
		a struct {
			a struct {
				a struct {
					a struct {
						a struct{ a, b *V }
					}
				}
			}
		}
	}
}
`},
	{proof.Dead, "others may use it", `
func f() {
	b := Make()
	v := b.View()
	b.Free() //F
	kept = v
}

var kept *V
`},
	{proof.Dead, "used by Use", `
func f() {
	kept = func() {
		b := Make()
		v := b.View()
		b.Free() //F
		v.Use()
	}
}

var kept func()
`},
	{proof.Dead, "used by Use", `
func both() (*B, error) {
	b := Make()
	return b, fmt.Errorf("")
}

func f() {
	if b, err := both(); err != nil && b != nil {
		v := b.View()
		b.Free() //F
		v.Use()
	}
}
`},
	{proof.Fresh, "nothing that was made here", `
func f() {
	b := Make()
	g := func() {
		b.Free() //F
	}
	_ = g
	b.Use()
}
`},
	{proof.Once, "freed again", `
func f(c bool) {
	b := Make()
	b.Use()
	if c {
		b.Free() //F
	}
	b.Free() //F
}
`},
	{proof.Silent, "more than free", `
func f() {
	l := NewLoud()
	_ = l
	l.Close() //F
}
`},
	{proof.Silent, "more than free", `
type counted struct {
	n     int
	stats *struct{ live int }
}

//lastuse:effect result 0 owned
func NewCounted() *counted

func (c *counted) Close() {
	release(c.n)
	c.stats.live = 0
}

func f() {
	c := NewCounted()
	_ = c
	c.Close() //F
}
`},
	{proof.Readable, "its name is read", `
func f(c bool) { // nothing is freed where it is read, but who reads it does not see that
	var h H
	if c {
		h = MakeH()
	}
	h.Use()
	h.Free() //F
	if !c {
		h.Use()
	}
}
`},
	{proof.Readable, "its name is read", `
func f() {
	b := Make()
	b.Free() //F
	_ = b
}
`},
	{proof.Dead, "used by each", `
func each(v *V, f func()) {
	f()
	v.Use()
}

func f() {
	h := MakeH()
	each(h.View(), func() {
		h.Free() //F
		h = H{}
	})
}
`},
	{proof.Dead, "used by Use", `
func two(f, g func()) {
	f()
	g()
}

func f() {
	h := MakeH()
	v := h.View()
	two(func() {
		h.Free() //F
		h = H{}
	}, func() { v.Use() })
}
`},
	{proof.Confined, "handed to somebody", `
func bySize(x, y *B) int {
	global = y
	return x.Sum() - y.Sum()
}

func f(c *B) bool {
	b := Make()
	sorted := slices.IsSortedFunc([]*B{b, c}, bySize)
	b.Free() //F
	return sorted
}
`},
	{proof.Fresh, "may be nil", `
func f() {
	bs := []*B{Make(), Make()}
	clear(bs[1:])
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`},
	{proof.Fresh, "may be nil", `
func f() {
	bs := []*B{Make(), Make()}
	rest := slices.Delete(bs, 0, 1)
	_ = rest
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`},
	{proof.Limits, "may call itself", `
func f() {
	var run func(n int, last *B)
	run = func(n int, last *B) {
		b := Make()
		if n > 0 {
			run(n-1, b)
			b.Use()
		} else if last != nil {
			last.Free() //F
		}
	}
	run(1, nil)
}
`},
	{proof.Dead, "used by Use", `
type N uint32

//lastuse:effect result 0 owned
func MakeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

func f() {
	b := MakeN()
	c := MakeN()
	c.Use()
	c.Free() //F
	(b + 1).Use()
	b.Free()
}
`},
	{proof.Once, "freed twice", `
type pair struct{ a, b *B }

func (p *pair) Close() {
	p.a.Free()
	p.b.Free()
}

func f() {
	b := Make()
	p := pair{a: b, b: b}
	p.a.Use()
	p.Close() //F
}
`},
}
