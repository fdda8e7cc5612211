package proof_test

// grownPairs show what a method does that appends to a slice in its receiver.
var grownPairs = []pair{
	{"what a method puts into a slice of its receiver is there", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f(n int) {
	s := &stack{}
	for range n {
		b, err := Try()
		if err != nil {
			break
		}
		s.push(b)
	}
	for _, b := range s.list {
		b.Use()
	}
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f(n int) {
	s := &stack{}
	for range n {
		b, err := Try()
		if err != nil {
			break
		}
		s.push(b)
	}
	for _, b := range s.list {
		b.Use()
	}
	var last *B
	for _, b := range s.list {
		last = b
	}
	for _, b := range s.list { //F
		b.Free() //F
	} //F
	last.Use()
}
`, "its name is read"},
	{"what a constructor puts there by a method is its caller's", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) free() {
	for _, b := range s.list {
		b.Free()
	}
}

func build(n int) *stack {
	s := &stack{}
	for range n {
		s.push(Make())
	}
	return s
}

func f() {
	s := build(3)
	s.list[0].Use()
	s.free() //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) free() {
	for _, b := range s.list {
		b.Free()
	}
}

var all []*B

func build(n int) *stack {
	s := &stack{}
	for range n {
		s.push(Make())
	}
	all = s.list
	return s
}

func f() {
	s := build(3)
	s.list[0].Use()
	s.free() //F
}
`, "may be something that was not made here"},
	{"one that is put there twice", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(b)
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "freed twice"},
	{"one that the program frees as well", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
	b.Free()
}
`, "its name is read"},
	{"what was there before moves along", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	b := Make()
	s := &stack{list: []*B{b}}
	s.push(Make())
	b.Use()
	old := s.list
	s.push(Make())
	old[0].Free()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "may have freed it before"},
	{"two slices of the same array", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	t := &stack{list: s.list}
	c := Make()
	t.push(c)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
	c.Use()
}
`, "its name is read"},
	{"a method that does more than append", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b); last = b }

var last *B

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"a method that begins anew", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list[:0], b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"a method of which a line says that it keeps what it gets", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

//lastuse:effect arg 0 escapes
func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"a receiver that somebody else has", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func take(s *stack)

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	take(s)
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"what is put there when the function ends", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	defer s.push(b)
	s.push(Make())
	b.Use()
	b.Free() //F
}
`, "used by push"},
	{"what a goroutine puts there", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	go s.push(b)
	s.push(Make())
	b.Use()
	b.Free() //F
}
`, "handed"},
	{"a caller that puts it into a slice of an operand", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func addTo(s *stack, b *B) { s.push(b) }

func f() {
	s := &stack{}
	b := Make()
	addTo(s, b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"all of another slice", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) other(xs []*B) { s.list = append(s.list, xs...) }

func f() {
	s := &stack{}
	b := Make()
	s.other([]*B{b, b})
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"a part of another slice", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) other(xs []*B) { s.list = append(s.list, xs[:]...) }

func f() {
	s := &stack{}
	b := Make()
	s.other([]*B{b, b})
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"what is appended to another slice", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) other(xs []*B, b *B) { _ = s.list; s.list = append(xs, b) }

func f() {
	s := &stack{}
	b := Make()
	s.other([]*B{b}, b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"what is appended and not put back", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) other(xs []*B, b *B) { ys := append(s.list, b); _ = ys; s.list = xs }

func f() {
	s := &stack{}
	b := Make()
	s.other([]*B{b, b}, b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"nil beside it", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) other(b *B) { s.list = append(s.list, b, nil) }

func f() {
	s := &stack{}
	b := Make()
	s.other(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"one that is there twice at once", `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func f() {
	s := &stack{}
	b := Make()
	s.push(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

func (s *stack) other(b *B) { s.list = append(s.list, b, b) }

func f() {
	s := &stack{}
	b := Make()
	s.other(b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"one of several methods, of which some append", ``, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

type pusher interface{ push(b *B) }

type looker struct{ list []*B }

func (l *looker) push(b *B) { b.Use() }

type other struct{ list []*B }

func (o *other) push(b *B) { o.list = append(o.list, b) }

func give(p pusher, b *B) { p.push(b) }

func f() {
	s := &stack{}
	b := Make()
	give(s, b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"one of several methods, of which one keeps", ``, `
type stack struct{ list []*B }

func (s *stack) push(b *B) { s.list = append(s.list, b) }

type pusher interface{ push(b *B) }

type looker struct{ list []*B }

func (l *looker) push(b *B) { b.Use() }

type other struct{ list []*B }

func (o *other) push(b *B) { o.list = append(o.list, b) }

func give(p pusher, b *B) { p.push(b) }

type keeper2 struct{ list []*B }

func (k *keeper2) push(b *B) { kept = b }

type third struct{ list []*B }

func (t *third) push(b *B) { t.list = append(t.list, b) }

var kept *B

func f() {
	s := &stack{}
	b := Make()
	give(s, b)
	s.push(Make())
	b.Use()
	for _, b := range s.list { //F
		b.Free() //F
	} //F
}
`, "not made here"},
	{"a free that was taken out behind another one", ``, `
type heap struct{ list []*B }

func (h *heap) push(b *B) { h.list = append(h.list, b) }

func (h *heap) Close() {
	for _, b := range h.list {
		b.Free()
	}
	h.list = nil
}

func f() {
	h := &heap{}
	h.push(Make())
	h.Close() //F
	h.push(Make())
	h.Close() //O
}
`, "used by push"},
}
