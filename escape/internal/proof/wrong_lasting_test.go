package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWrongLasting is literals that others call when they like, also while one runs: what one run leaves in a
// variable that it captures, the next one finds.
func TestWrongLasting(t *testing.T) {
	const body = `func() {
		if b != nil {
			b.Use()
		}
		b = Make()
		b.Use()
		b.Free() //F
	}`
	tests := map[string]string{
		"a literal that is returned": `
func f() func() {
	var b *B
	return ` + body + `
}
`,
		"one in a struct": `
type ops struct{ run func() }

func f() ops {
	var b *B
	return ops{` + body + `}
}
`,
		"one in an interface": `
type run func()

func (run) String() string { return "" }

func f() fmt.Stringer {
	var b *B
	return run(` + body + `)
}
`,
		"one that such a literal returns": `
func f(n int) func() func() {
	return func() func() {
		print(n)
		var b *B
		return ` + body + `
	}
}
`,
		"one that a literal returns which captures nothing": `
func f() func() func() {
	return func() func() {
		var b *B
		return ` + body + `
	}
}
`,
		"a map": `
func f() func(int) {
	m := map[int]*B{}
	return func(n int) {
		if b := m[n]; b != nil {
			b.Use()
		}
		b := Make()
		m[n] = b
		b.Free() //F
	}
}
`,
		"what a literal stores that it calls": `
func f() func() {
	var b *B
	set := func(c *B) { b = c }
	return func() {
		if b != nil {
			b.Use()
		}
		c := Make()
		set(c)
		c.Free() //F
	}
}
`,
		"memory that it is lent, or has": `
func f(c bool) func(*struct{ b *B }) {
	return func(s *struct{ b *B }) {
		p := s
		if c {
			p = &struct{ b *B }{}
		}
		b := Make()
		p.b = b
		b.Free() //F
	}
}
`,
		"elements of a slice that it is lent": `
func f() func([]*B) {
	return func(s []*B) {
		b := Make()
		_ = append(s[:0], b)
		b.Free() //F
	}
}
`,
		"the same of one that a callee calls": `
func lendCall(func([]*B))

func f() {
	lendCall(func(s []*B) {
		b := Make()
		_ = append(s[:0], b)
		b.Free() //F
	})
}
`,
		"the same of the body of a range": `
func f(all func(func([]*B) bool)) {
	for s := range all {
		b := Make()
		_ = append(s[:0], b)
		b.Free() //F
	}
}
`,
		"a run in a run": `
func f() func(func(int) bool) {
	var b *B
	return func(yield func(int) bool) {
		b = Make()
		b.Use()
		yield(1)
		b.Free() //F
	}
}
`,
	}
	l := newLab()
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			held := l.prove(t, text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, "handed to somebody")
		})
	}
	for _, v := range l.prove(t, `
func f() func() {
	return func() {
		b := Make()
		use := func() { b.Use() }
		use()
		b.Free() //F
	}
}
`).Withheld() {
		t.Errorf("%s: %v", v.Text, v.Why)
	}
}
