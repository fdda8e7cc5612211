package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWrongLines is wrong edits about callees of which a spec line, or a directive, says a part, and about
// functions that are handed to others.
func TestWrongLines(t *testing.T) {
	tests := []struct{ name, words, text string }{
		{"an operand that is borrowed on a condition", "handed to somebody", `
//lastuse:effect arg 0 borrowed if arg 1 is true
func put(b *B, c bool)

func f() {
	b := Make()
	put(b, false)
	b.Free() //F
}
`},
		{"an operand that is borrowed on success", "handed to somebody", `
//lastuse:effect arg 0 borrowed on success
func put(b *B) error

func f() {
	b := Make()
	put(b)
	b.Free() //F
}
`},
		{"owned on a condition that is not looked at", "not made here", `
//lastuse:effect result 0 owned if arg own is true
func cast(b *B, own bool) *B

func f(b *B, own bool) {
	c := cast(b, own)
	c.Use()
	if c != nil {
		c.Free() //F
	}
}
`},
		{"the same with a body", "not made here", `
//lastuse:effect result 0 owned if arg own is true
func cast(b *B, own bool) *B {
	if own {
		return Make()
	}
	return b
}

func f(b *B) {
	c := cast(b, false)
	c.Use()
	c.Free() //F
}
`},
		{"what is owned has an operand", "handed to somebody", `
type holder struct{ b *B }

//lastuse:effect result 0 owned
func wrap(b *B) *holder { return &holder{b} }

//lastuse:effect recv freed
func (h *holder) Close()

func f() {
	b := Make()
	h := wrap(b)
	b.Free() //F
	h.b.Use()
	h.Close()
}
`},
		{"borrowed by who hands it to a function", "handed to somebody", `
//lastuse:effect arg 0 borrowed
func each(b *B, f func(*B)) { f(b) }

func f() {
	b := Make()
	each(b, func(x *B) { global = x })
	b.Free() //F
}
`},
		{"the same, which may keep the function", "handed to somebody", `
//lastuse:effect arg 0 borrowed
func each(b *B, f func(*B))

func f() {
	b := Make()
	var c *B
	each(b, func(x *B) { c = x })
	b.Free() //F
	c.Use()
}
`},
		{"a function that is handed on leaves a goroutine behind", "handed to somebody", `
func both(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	next()
	wg.Wait()
}

func do(f func(*B), b *B) { f(b) }

func f() {
	b := Make()
	defer b.Free() //F
	do(both, b)
}
`},
		{"freed on a condition, and else by a function that is handed on", "freed it before", `
func free(b *B) { b.Free() }

func do(f func(*B), b *B) { f(b) }

func drop(b *B, yes bool) {
	if yes {
		b.Free()
	} else {
		do(free, b)
	}
}

func f() {
	b := Make()
	drop(b, false)
	b.Free() //F
}
`},
		{"a function is kept that the free may call", "not made here", `
//lastuse:effect result 0 owned
func adopt(release func()) *B

func f() {
	a := Make()
	b := adopt(func() { a.Free() })
	b.Use()
	b.Free() //F
	a.Use()
}
`},
	}
	l := newLab()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			held := l.prove(t, tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}
