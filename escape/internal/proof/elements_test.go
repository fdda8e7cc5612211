package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// freesAll frees each element of what make returns.
const freesAll = `
func f() {
	xs := build()
	next()
	_ = xs
	for _, x := range xs { //F
		x.Free() //F
	} //F
}
`

// closes frees a stack as a whole.
const closes = `
type stack struct{ list []*B }

func (s *stack) Close() {
	for _, x := range s.list {
		x.Free()
	}
}

func f() {
	s := build()
	next()
	_ = s
	s.Close() //F
}
`

// TestElements has what a callee hands back in a slice, or in a struct with one: its elements are the
// caller's.
func TestElements(t *testing.T) {
	right := map[string]string{
		"a literal": freesAll + `
func build() []*B { return []*B{Make(), Make()} }
`,
		"appended in a loop": `
func build(n int) ([]*B, error) {
	var xs []*B
	for range n {
		x, err := Try()
		if err != nil {
			for _, y := range xs {
				y.Free()
			}
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

func f(n int) {
	xs, err := build(n)
	if err != nil {
		return
	}
	for _, x := range xs {
		x.Use()
	}
	for _, x := range xs { //F
		x.Free() //F
	} //F
}
`,
		"in a struct": `
type stack struct{ list []*B }

func build() *stack { return &stack{list: []*B{Make(), Make()}} }

func f() {
	s := build()
	next()
	_ = s
	for _, x := range s.list { //F
		x.Free() //F
	} //F
}
`,
		"freed as a whole": closes + `
func build() *stack { return &stack{list: []*B{Make(), Make()}} }
`,
		"a slice that grows behind the call": `
func build() []H { return []H{MakeH()} }

func f() {
	xs := build()
	xs = append(xs, MakeH())
	for _, x := range xs {
		x.Use()
	}
	for _, x := range xs { //F
		x.Free() //F
	} //F
}
`,
	}
	l := newLab()
	for name, text := range right {
		t.Run(name, func(t *testing.T) {
			r := l.prove(t, text)
			require.NotEmpty(t, r.Edits)
			for _, v := range r.Withheld() {
				t.Errorf("%s: %v", v.Text, v.Why)
			}
		})
	}
	for _, tt := range wrongElements {
		t.Run(tt.name, func(t *testing.T) {
			held := l.prove(t, tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}

// wrongElements is each way in which what is in a slice is not the caller's, or not once.
var wrongElements = []struct{ name, words, text string }{
	{"the callee keeps the slice", "not made here", freesAll + `
var kept []*B

func build() []*B {
	kept = []*B{Make()}
	return kept
}
`},
	{"the callee keeps an element", "not made here", freesAll + `
func build() []*B {
	xs := []*B{Make(), Make()}
	global = xs[1]
	return xs
}
`},
	{"the caller's slice is appended to", "not made here", `
func build(xs []*B) []*B { return append(xs, Make()) }

func f(ys []*B) {
	xs := build(ys)
	next()
	_ = xs
	for _, x := range xs { //F
		x.Free() //F
	} //F
}
`},
	{"an element is an operand", "", `
func build(b *B) []*B { return []*B{Make(), b} }

func f(b *B) {
	xs := build(b)
	next()
	_ = xs
	for _, x := range xs { //F
		x.Free() //F
	} //F
}
`},
	{"an element is nil", "may be nil", freesAll + `
func build() []*B {
	xs := make([]*B, 2)
	xs[0] = Make()
	return xs
}
`},
	{"the same element twice", "not made here", freesAll + `
func build() []*B {
	x := Make()
	return []*B{x, x}
}
`},
	{"one element of a loop twice", "not made here", freesAll + `
func build() (xs []*B) {
	for range 2 {
		x := Make()
		xs = append(xs, x)
		xs = append(xs, x)
	}
	return xs
}
`},
	{"the same struct twice", "not made here", `
type holder struct{ b *B }

func build() []holder {
	x := holder{Make()}
	return []holder{x, x}
}

func f() {
	xs := build()
	next()
	_ = xs
	for _, x := range xs { //F
		x.b.Free() //F
	} //F
}
`},
	{"a slice of it in another result", "not made here", `
func build() ([]*B, []*B) {
	xs := []*B{Make(), Make()}
	return xs, xs[1:]
}

func f() {
	xs, ys := build()
	next()
	_ = xs
	for _, x := range xs { //F
		x.Free() //F
	} //F
	ys[0].Use()
}
`},
	{"a slice of it in another field", "may be nil", `
type both struct{ all, some []*B }

func build() *both {
	xs := []*B{Make(), Make()}
	return &both{xs, xs[1:]}
}

func f() {
	s := build()
	next()
	for _, x := range s.all { //F
		x.Free() //F
	} //F
	s.some[0].Use()
}
`},
	{"an element in another field", "may be nil", `
type first struct {
	all []*B
	one *B
}

func build() *first {
	x := Make()
	return &first{[]*B{x, Make()}, x}
}

func f() {
	s := build()
	next()
	for _, x := range s.all { //F
		x.Free() //F
	} //F
	s.one.Use()
}
`},
	{"a pointer to the same struct twice", "not made here", `
type holder struct{ b *B }

func build() []*holder {
	x := &holder{Make()}
	return []*holder{x, x}
}

func f() {
	xs := build()
	next()
	_ = xs
	for _, x := range xs { //F
		if x != nil { //F
			x.b.Free() //F
		} //F
	} //F
}
`},
	{"a literal has the slice", "not made here", `
func build() ([]*B, func()) {
	xs := []*B{Make()}
	return xs, func() { xs[0].Use() }
}

func f() {
	xs, use := build()
	next()
	_ = xs
	for _, x := range xs { //F
		x.Free() //F
	} //F
	use()
}
`},
	{"a goroutine has the slice", "not made here", freesAll + `
func build() []*B {
	xs := []*B{Make()}
	go func() { xs[0].Use() }()
	return xs
}
`},
	{"an element was freed", "not made here", freesAll + `
func build() []*B {
	xs := []*B{Make(), Make()}
	xs[0].Free()
	return xs
}
`},
	{"an element behind the end is another result", "not made here", `
func build() ([]*B, *B) {
	xs := []*B{Make(), Make()}
	return xs[:1], xs[1]
}

func f() {
	xs, y := build()
	next()
	_ = xs
	for _, x := range xs { //F
		x.Free() //F
	} //F
	y.Use()
}
`},
	{"a deferred call stores an element", "not made here", freesAll + `
func build() (xs []*B) {
	defer func() { global = xs[0] }()
	xs = []*B{Make()}
	return xs
}
`},
	{"an element is used behind", "its name is read", `
func build() []*B { return []*B{Make(), Make()} }

func f() {
	xs := build()
	y := xs[1]
	for _, x := range xs { //F
		x.Free() //F
	} //F
	y.Use()
}
`},
	{"the slice is stored", "not made here", `
func build() []*B { return []*B{Make(), Make()} }

var kept []*B

func f() {
	xs := build()
	kept = xs[:1]
	next()
	for _, x := range xs { //F
		x.Free() //F
	} //F
}
`},
	{"it is freed as a whole and one by one", "its name is read", closes + `
func build() *stack { return &stack{list: []*B{Make(), Make()}} }

func g() {
	s := build()
	next()
	s.Close() //F
	for i := range s.list {
		s.list[i].Free()
	}
}
`},
	{"the whole has an element twice", "freed twice", `
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
	{"a destructor that frees one element many times", "more than free", `
type stack struct{ list []*B }

func (s *stack) Close() {
	for range s.list {
		s.list[0].Free()
	}
}

func f() {
	s := &stack{}
	s.list = append(s.list, Make(), Make())
	s.Close() //F
}
`},
	{"a destructor that goes round twice", "more than free", `
type stack struct{ list []*B }

func (s *stack) Close() {
	for n := 0; n < 2; n++ {
		for _, x := range s.list {
			x.Free()
		}
	}
}

func f() {
	s := &stack{}
	s.list = append(s.list, Make(), Make())
	s.Close() //F
}
`},
	{"a destructor that frees a field in a loop", "more than free", `
type stack struct {
	b    *B
	list []int
}

func (s *stack) Close() {
	for range s.list {
		s.b.Free()
	}
}

func f() {
	s := &stack{b: Make()}
	s.list = append(s.list, 1, 2)
	s.Close() //F
}
`},
	{"a destructor that counts down and up", "more than free", `
type stack struct{ list []*B }

func (s *stack) Close() {
	i := 0
	for i < len(s.list) {
		s.list[i].Free()
		if i == 1 {
			i = 0
		} else {
			i++
		}
	}
}

func f() {
	s := &stack{}
	s.list = append(s.list, Make(), Make())
	s.Close() //F
}
`},
	{"a destructor that takes the slice for longer", "more than free", `
type stack struct{ list []*B }

func (s *stack) Close() { s.list[0].Free() }

func f(c bool) {
	s := &stack{}
	if c {
		s.list = append(s.list, Make())
	}
	s.Close() //F
}
`},
	{"a destructor that ranges over another slice", "more than free", `
type stack struct{ list, other []*B }

func (s *stack) Close() {
	for i := range s.other {
		s.list[i].Free()
	}
}

func f(c bool) {
	s := &stack{}
	s.list = append(s.list, Make())
	s.other = make([]*B, 2)
	s.Close() //F
}
`},
	{"a destructor of slices in a slice", "more than free", `
type stack struct{ lists [][]*B }

func (s *stack) Close() {
	for i := range s.lists {
		s.lists[i][0].Free()
	}
}

func f() {
	xs := []*B{Make()}
	s := &stack{}
	s.lists = append(s.lists, xs, xs)
	s.Close() //F
}
`},
}
