package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// views are what the programs below read and write through.
const views = `
//lastuse:effect result 0 views recv
func (b *B) Data() []float32

//lastuse:effect result 0 views recv
func (b *B) Text() string

//lastuse:effect result 0 views recv
func (b *B) Ptr() uintptr
`

// TestWithheld is wrong frees, each with what stands in the way. A program that reads or writes memory of
// what was freed need not call anybody for that, nor copy what it reads.
func TestWithheld(t *testing.T) {
	tests := []struct{ name, words, text string }{
		{"an element is compared", "it is read", `
func f() {
	b := Make()
	v := b.Data()
	b.Free() //F
	if v[0] > 1 {
		next()
	}
}
`},
		{"elements are ranged over", "it is read", `
func f() (n int) {
	b := Make()
	v := b.Data()
	b.Free() //F
	for _, x := range v {
		if x > 1 {
			n++
		}
	}
	return n
}
`},
		{"a float is written", "it is read or written", `
func f() {
	b := Make()
	v := b.Data()
	b.Free() //F
	v[0] = 1
}
`},
		{"elements are copied", "it is read", `
func f(dst []float32) {
	b := Make()
	v := b.Data()
	b.Free() //F
	copy(v, dst)
}
`},
		{"elements are cleared", "it is read or written", `
func f() {
	b := Make()
	v := b.Data()
	b.Free() //F
	clear(v)
}
`},
		{"a text is printed", "it is read", `
func f() {
	b := Make()
	s := b.Text()
	b.Free() //F
	println(s)
}
`},
		{"a text is printed at the end", "used by println", `
func f() {
	b := Make()
	defer println(b.Text())
	b.Free() //F
}
`},
		{"a text is a key", "it is read", `
func f(m map[string]int) int {
	b := Make()
	s := b.Text()
	b.Free() //F
	return m[s]
}
`},
		{"a text is a key that is deleted", "it is read", `
func f(m map[string]int) {
	b := Make()
	s := b.Text()
	b.Free() //F
	delete(m, s)
}
`},
		{"a text is compared as an interface", "it is read", `
func f(x any) bool {
	b := Make()
	var s any = b.Text()
	b.Free() //F
	return x == s
}
`},
		{"a struct with a text is compared", "it is read", `
type named struct{ s string }

func f(x named) bool {
	b := Make()
	s := named{b.Text()}
	b.Free() //F
	return x == s
}
`},
		{"a number of it is compared", "it is read", `
func f() {
	b := Make()
	at := b.Ptr()
	b.Free() //F
	c := Make()
	if c.Ptr() == at {
		next()
	}
	c.Free()
}
`},
		{"a number of it is a key", "it is read", `
func f() {
	b := Make()
	seen := map[uintptr]bool{b.Ptr(): true}
	b.Free() //F
	c := Make()
	if seen[c.Ptr()] {
		next()
	}
	c.Free()
}
`},
		{"memory has two types", "its name is read", `
func f() {
	x, y := Make(), Make()
	p := &struct{ x, y *B }{x, y}
	q := (*struct{ all [2]*B })(unsafe.Pointer(p))
	y.Free() //F
	q.all[1].Use()
}
`},
		{"fields are made elements", "its name is read", `
func f() {
	x, y := Make(), Make()
	p := &struct{ x, y *B }{x, y}
	all := unsafe.Slice(&p.x, 2)
	y.Free() //F
	all[1].Use()
}
`},
		{"an array that is a part of a slice is written", "its name is read", `
func f() {
	x, y := Make(), Make()
	all := []*B{x, y, y}
	*(*[2]*B)(all[1:]) = [2]*B{}
	x.Free() //F
	all[0].Use()
}
`},
		{"a goroutine finds it later", "a goroutine that runs may use it", `
func f() {
	var shared *V
	gate := make(chan bool)
	go func() {
		<-gate
		shared.Use()
	}()
	b := Make()
	v := b.View()
	b.Free() //F
	shared = v
	close(gate)
}
`},
		{"elements of a slice that was made", "may be nil", `
func f(n int) {
	bs := make([]*B, n)
	bs[0] = Make()
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`},
		{"elements behind the end of a slice", "may be nil", `
func f() {
	var bs []*B
	for range 3 {
		bs = append(bs, Make())
	}
	bs = bs[:cap(bs)]
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`},
		{"an element is read before it is stored", "may be nil", `
func f(c bool) {
	var bs [1]*B
	b := bs[0]
	bs[0] = Make()
	if c {
		b = bs[0]
	}
	_ = b
	b.Free() //F
}
`},
		{"a loop in a loop", "may run again", `
func f() {
	bs := []*B{Make(), Make()}
	_ = bs
	for range 2 {
		for _, b := range bs { //F
			b.Free() //F
		} //F
	}
}
`},
		{"a callee recovers", "used by Use", `
//lastuse:effect args borrowed
func run(f func())

func f() {
	b := Make()
	var v *V
	run(func() {
		v = b.View()
		next()
		v = nil
	})
	b.Free() //F
	if v != nil {
		v.Use()
	}
}
`},
		{"a goroutine ends itself", "handed to somebody", `
func f(t *testing.T) {
	b := Make()
	v := b.View()
	var last *V
	var wg sync.WaitGroup
	wg.Go(func() {
		last = v
		t.FailNow()
	})
	wg.Wait()
	b.Free() //F
	last.Use()
}
`},
		{"an assertion failed", "may be nil", `
type P struct{ b *B }

type Q struct{ b *B }

func f(c bool) {
	var x any = &P{Make()}
	if c {
		x = &Q{Make()}
	}
	p, _ := x.(*P)
	_ = p
	p.b.Free() //F
}
`},
		{"the body of a range over a function defers", "used by Use", `
func twice(yield func(int) bool) {
	_ = yield(1) && yield(2)
}

func f() {
	b := Make()
	v := b.View()
	for range twice {
		defer v.Use()
	}
	b.Free() //F
}
`},
		{"a field of a handle", "a view of something", `
type K struct{ b *B }

//lastuse:effect result 0 owned
func MakeK() K

func f() {
	k := MakeK()
	k.b.Use()
	k.b.Free() //F
}
`},
	}
	l := newLab()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			held := l.prove(t, views+tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}
