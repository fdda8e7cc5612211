package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadable is names of what is freed behind the free that no instruction reads, and such that may stand.
func TestReadable(t *testing.T) {
	const size = `
func f() int {
	b := Make()
	b.Free() //F
	return len([8]*B{b})
}
`
	tests := []struct {
		name  string
		right bool
		text  string
	}{
		{"a size", false, size},
		{"the length of an array", false, `
func f() int {
	a := [2]*B{Make(), Make()}
	defer a[1].Free()
	a[0].Free() //F
	return len(a)
}
`},
		{"the capacity behind a pointer", false, `
func f() int {
	p := &[1]*B{Make()}
	p[0].Free() //F
	return cap(p)
}
`},
		{"in the next round of a loop", false, `
func f() {
	b := Make()
	for i := 0; ; i++ {
		if i > 0 && len([8]*B{b}) > 4 {
			break
		}
		b.Free() //F
		b = Make()
	}
}
`},
		{"a literal that nobody calls", false, `
func f() {
	b := Make()
	b.Free() //F
	_ = func() { b.Use() }
}
`},
		{"a literal that names an element", false, `
func f(n int) {
	bs := []*B{Make(), Make()}
	for _, b := range bs { //F
		b.Free() //F
	} //F
	_ = func() { bs[n].Use() }
}
`},
		{"one behind a return", true, `
func f() {
	b := Make()
	if next() > 0 {
		b.Free() //F
		return
	}
	_ = func() { b.Use() }
	b.Free()
}
`},
		{"one behind a break", false, `
func f() {
	b := Make()
	for next() > 0 {
		b.Free() //F
		break
	}
	_ = func() { b.Use() }
}
`},
		{"one behind a return that may not be reached", false, `
func f() {
	b := Make()
	for {
		if next() > 0 {
			b.Free() //F
			if next() > 1 {
				break
			}
			return
		}
	}
	_ = func() { b.Use() }
}
`},
		{"one behind the return of a literal", false, `
func f() {
	b := Make()
	func() {
		b.Free() //F
		return
	}()
	_ = func() { b.Use() }
}
`},
		{"one behind a guard and a return", true, `
func f() {
	b, _ := Try()
	if next() > 0 {
		if b != nil { //F
			b.Free() //F
		} //F
		return
	}
	_ = func() { b.Use() }
	b.Free()
}
`},
		{"one in a loop that is returned from", true, `
func f() {
	for next() > 0 {
		b := Make()
		if next() > 0 {
			b.Free() //F
			return
		}
		_ = func() { b.Use() }
		b.Free()
	}
}
`},
		{"one with a name", false, `
func f() {
	b := Make()
	b.Free() //F
	g := func() { b.Use() }
	_ = g
}
`},
		{"a literal in a literal", false, `
func f() {
	b := Make()
	b.Free() //F
	_ = func() { _ = func() { b.Use() } }
}
`},
		{"behind the literal that frees", false, `
func f() int {
	b := Make()
	func() {
		b.Use()
		b.Free() //F
	}()
	return len([8]*B{b})
}
`},
		{"in front of the free", true, `
func f() {
	b := Make()
	n := len([8]*B{b})
	_ = func() { b.Use() }
	b.Free() //F
	print(n)
}
`},
		{"a constant of a function", false, `
func f() {
	b := Make()
	b.Free() //F
	const n = len([8]*B{b})
	print(n)
}
`},
		{"a type of a function", false, `
func f() {
	b := Make()
	b.Free() //F
	type t [len([8]*B{b})]byte
	print(len(t{}))
}
`},
		{"another name", false, `
func f() {
	b := Make()
	c := b
	b.Free() //F
	print(len([8]*B{c}))
}
`},
		{"an array that has it", false, `
func f() {
	b := Make()
	a := [2]*B{b}
	a[0].Use()
	b.Free() //F
	print(len(a))
}
`},
		{"another name in a literal that nobody calls", false, `
func f() {
	b := Make()
	c := b
	b.Free() //F
	_ = func() { c.Use() }
}
`},
		{"a literal that has another one by then", true, `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
	b = Make()
	_ = func() { b.Use() }
}
`},
		{"a literal that may have another one by then", false, `
func f(n int) {
	b := Make()
	b.Free() //F
	if n > 3 {
		b = Make()
	}
	_ = func() { b.Use() }
}
`},
		{"a literal on another way", true, `
func f(n int) {
	b := Make()
	if n > 3 {
		if n > 4 {
			b.Free() //F
			return
		}
		println(n)
	}
	_ = func() { b.Use() }
}
`},
		{"a literal with the field", false, `
func f(n int) {
	p := struct{ a, b *B }{Make(), Make()}
	p.b.Free()
	p.a.Free() //F
	p.b = Make()
	_ = func() { p.a.Use() }
}
`},
		{"a literal that folds it, and captures another", false, `
func f() {
	b, c := Make(), Make()
	b.Free() //F
	_ = func() {
		c.Use()
		print(len([8]*B{b}))
	}
}
`},
		{"a literal that folds it, and captures it", false, `
func f() {
	b := Make()
	b.Free() //F
	_ = func() {
		print(len([8]*B{b}))
		b.Use()
	}
}
`},
		{"a literal in a literal that is called", false, `
func f(n int) {
	b := Make()
	end := func() {
		b.Free() //F
	}
	end()
	func() {
		_ = func() { b.Use() }
	}()
}
`},
		{"in a literal that is deferred", false, `
func f() {
	b := Make()
	defer func() { print(len([8]*B{b})) }()
	b.Free() //F
}
`},
		{"in a literal that is called behind", false, `
func f() {
	b := Make()
	g := func() { print(len([8]*B{b})) }
	b.Free() //F
	g()
}
`},
		{"behind a jump", false, `
func f(n int) {
	b := Make()
again:
	print(len([8]*B{b}))
	if n > 1 {
		n = 0
		b.Free() //F
		b = Make()
		goto again
	}
}
`},
		{"of the next one", true, `
func f() {
	for range 3 {
		b := Make()
		print(len([8]*B{b}))
		_ = func() { b.Use() }
		b.Free() //F
	}
}
`},
	}
	l := newLab()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := l.prove(t, tt.text)
			require.NotEmpty(t, r.Edits)
			if tt.right {
				for _, v := range r.Withheld() {
					t.Errorf("%s: %v", v.Text, v.Why)
				}
				return
			}
			require.NotEmpty(t, r.Withheld())
			assert.Contains(t, r.Withheld()[0].Why.String(), "its name is read")
		})
	}
}
