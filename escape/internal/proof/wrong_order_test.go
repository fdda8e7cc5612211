package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWrongOrder is statements that read a variable and call who changes it. The compiler reads it behind the
// call, go/ssa before: either may be.
func TestWrongOrder(t *testing.T) {
	tests := []wrong{
		{"a variable", "its name is read", `
func f(o *B) {
	first := Make()
	cur := o
	swap := func() int { cur = first; return 1 }
	x, n := cur, swap()
	_ = n
	cur = nil
	first.Free() //F
	x.Use()
}
`},
		{"results of a literal", "its name is read", `
func f(o *B) {
	first := Make()
	cur := o
	swap := func() int { cur = first; return 1 }
	get := func() (*B, int) { return cur, swap() }
	x, _ := get()
	cur = nil
	first.Free() //F
	x.Use()
}
`},
		{"results", "it is returned", `
func f(o *B) (*B, int) {
	first := Make()
	cur := o
	swap := func() int { cur = first; return 1 }
	defer first.Free() //F
	defer func() { cur = nil }()
	return cur, swap()
}
`},
		{"an element", "its name is read", `
func f(o *B) {
	first := Make()
	cur := []*B{o}
	swap := func() int { cur[0] = first; return 1 }
	x, n := cur[0], swap()
	_ = n
	cur[0] = nil
	first.Free() //F
	x.Use()
}
`},
		{"a flag", "its name is read", `
func f(o *B) {
	b := Make()
	ok := false
	set := func() int { ok = true; return 1 }
	was, n := ok, set()
	_ = n
	b.Use()
	b.Free() //F
	if was {
		b.Use()
	}
}
`},
		{"a named result", "its name is read", `
func f(o *B) (out *B) {
	b := Make()
	out = o
	get := func() int { out = b; return 1 }
	x, n := out, get()
	out = nil
	_ = n
	b.Free() //F
	return x
}
`},
		{"a call on a condition", "its name is read", `
func f(o *B, c bool) *B {
	b := Make()
	cur := o
	get := func() bool { cur = b; return true }
	x, n := cur, c && get()
	cur = nil
	_ = n
	b.Free() //F
	return x
}
`},
		{"a struct literal", "its name is read", `
type P struct {
	b *B
	n int
}

func f(o *B) P {
	b := Make()
	cur := o
	get := func() int { cur = b; return 1 }
	p := P{cur, get()}
	cur = nil
	b.Free() //F
	return p
}
`},
		{"a slice literal", "it is returned", `
func f(o *B) []*B {
	b := Make()
	cur := o
	get := func() *B { cur = b; return nil }
	p := []*B{cur, get()}
	cur = nil
	b.Free() //F
	return p
}
`},
		{"a struct that is copied into a literal", "its name is read", `
type P struct{ b *B }
type Q struct {
	p P
	n int
}

func f(o *B) Q {
	b := Make()
	cur := P{o}
	get := func() int { cur = P{b}; return 1 }
	q := Q{cur, get()}
	cur = P{}
	b.Free() //F
	return q
}
`},
		{"a builtin function", "its name is read", `
func f(o *B) *B {
	b := Make()
	bs := []*B{o}
	src := []*B{b}
	q, _ := bs[0], copy(bs, src)
	bs[0] = nil
	src[0] = nil
	b.Free() //F
	return q
}
`},
		{"a builtin function that is done late", "it is read or written", `
func f() {
	b := Make()
	var cur *byte
	swap := func() int { cur = bytesOf(b); return 1 }
	s, _ := unsafe.String(cur, 1), swap()
	b.Free() //F
	print(s[0])
}

//lastuse:effect result 0 views arg 0
func bytesOf(b *B) *byte
`},
		{"a literal that has it twice", "freed twice", `
func f() {
	b := Make()
	var cur *B
	get := func() *B { cur = b; return b }
	s := []*B{cur, get()}
	_ = s
	for _, x := range s { //F
		x.Free() //F
	} //F
}
`},
		{"an address that was nil before", "its name is read", `
func f() {
	b := Make()
	var cur *int
	get := func() int { cur = new(int); return 1 }
	cur = nil
	p, n := cur, get()
	_ = n
	b.Free() //F
	if p != nil {
		b.Use()
	}
}
`},
		{"a method value", "it is used by Use", `
func f(o *B) {
	b := Make()
	cur := o
	swap := func() int { cur = b; return 1 }
	g, n := cur.Use, swap()
	_ = n
	cur = nil
	b.Free() //F
	g()
}
`},
		{"a value in an interface whose method keeps it", "handed to somebody", `
func f(o *B) {
	b := Make()
	cur := keeper{o}
	swap := func() int { cur = keeper{b}; return 1 }
	x, n := any(cur), swap()
	_ = n
	cur = keeper{}
	fmt.Println(x)
	x = nil
	b.Free() //F
}
`},
		{"a field beside a literal that frees", "it is read or written", `
func f() int {
	b := Make()
	_, n := b.n, func() int {
		b.Free() //F
		return 1
	}()
	return n
}
`},
		{"bytes that are copied beside a literal that frees", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte

func f() (string, int) {
	b := Make()
	v := b.Bytes()
	s, n := string(v), func() int {
		b.Free() //F
		return 1
	}()
	return s, n
}
`},
		{"a text that is compared beside a literal that frees", "it is read or written", `
//lastuse:effect result 0 views recv
func (b *B) Text() string

func f(o string) bool {
	b := Make()
	v := b.Text()
	return (v == o) == func() bool {
		b.Free() //F
		return true
	}()
}
`},
	}
	l := newLab()
	l.withholds(t, tests)
	t.Run("right", func(t *testing.T) {
		r := l.prove(t, `
func f() {
	b := Make()
	n := 0
	set := func() int { n++; return n }
	x, y := n, set()
	b.Use()
	b.Free() //F
	add(x, y)
}
`)
		require.NotEmpty(t, r.Edits)
		assert.Empty(t, r.Withheld())
	})
}
