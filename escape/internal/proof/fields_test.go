package proof_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFields is calls through fields, which may do anything, whatever the package is seen to store there, and
// of methods of interfaces, which do what those of that name do, if others than the package can have none.
func TestFields(t *testing.T) {
	const use = `
func f(k kernels) {
	b := Make()
	k.run(b)
	b.Free() //F
}
`
	const kernel = `
type kernels struct{ run func(*B) }

func one() kernels {
	n := next()
	return kernels{run: func(b *B) { b.Use(); next(); _ = n }}
}
`
	const layers = `
type layer interface{ run(b *B) }

type once struct{}

func (once) run(b *B) { b.Use() }

type twice struct{ n int }

func (t *twice) run(b *B) { b.Use(); t.n++; b.Use() }

func f(l layer) {
	b := Make()
	l.run(b)
	b.Free() //F
}
`
	const kept = "handed to somebody who may keep it"
	tests := []struct{ name, words, text string }{
		{"literals and functions that are seen", kept, kernel + use + `
func two() *kernels { return &kernels{used} }

func three(k *kernels) { k.run = used; k.run = nil }

func used(b *B) { b.Use() }
`},
		{"of a copy, and by a goroutine", kept, kernel + `
func f(all []kernels) {
	b := Make()
	for _, k := range all {
		k.run(b)
	}
	c := all[0]
	c.run(b)
	b.Free() //F
}
`},
		{"a literal that keeps", kept, kernel + use + `
func two() kernels { return kernels{func(b *B) { held = b }} }

var held *B
`},
		{"a literal that keeps in what it captures", kept, kernel + use + `
func two(to *[]*B) kernels { return kernels{func(b *B) { *to = append(*to, b) }} }
`},
		{"a literal that starts a goroutine", kept, kernel + use + `
func two() kernels { return kernels{func(b *B) { go b.Use() }} }
`},
		{"a literal that frees", kept, kernel + use + `
func two() kernels { return kernels{func(b *B) { b.Free() }} }
`},
		{"a function that nobody knows", kept, kernel + use + `
func two(run func(*B)) kernels { return kernels{run} }
`},
		{"a variable", kept, kernel + use + `
func two() kernels { return kernels{chosen} }

var chosen = func(b *B) { print(b.n) }
`},
		{"an address", kept, kernel + use + `
func two(k *kernels) { set(&k.run) }

func set(*func(*B))
`},
		{"a field of another struct that is converted", kept, kernel + use + `
type others struct{ run func(*B) }

func two() kernels { return kernels(others{func(b *B) { held = b }}) }

var held *B
`},
		{"a field of an embedded struct", kept, `
type base struct{ run func(*B) }

type kernels struct{ base }

func two() kernels { return kernels{base{func(b *B) { held = b }}} }

var held *B
` + use},
		{"a field that others may set", kept, `
type kernels struct{ Run func(*B) }

func one() kernels { return kernels{func(b *B) { b.Use() }} }

func f(k kernels) {
	b := Make()
	k.Run(b)
	b.Free() //F
}
`},
		{"a struct of the package's variables", kept, kernel + use + `
var table = map[string]kernels{"a": {func(b *B) { held = b }}}

var held *B
`},
		{"in a generic type", kept, `
type kernels = of[*B]

type of[T any] struct{ run func(T) }

func (o *of[T]) set(all *[]T) { o.run = func(x T) { *all = append(*all, x) } }
` + use},
		{"a literal that calls who calls it", kept, kernel + use + `
func two() kernels { return kernels{func(b *B) { f(kernels{}); held = b }} }

var held *B
`},
		{"memory that is written as another type", kept, kernel + use + `
func two(k *kernels, f func(*B)) { *(*func(*B))(unsafe.Pointer(k)) = f }
`},
		{"a type that leads to itself through an array", kept,
			strings.Replace(kernel, "func(*B) }", "func(*B); more [2]*kernels }", 1) + use + `
func two(k *kernels, f func(*B)) { *(*func(*B))(unsafe.Pointer(k)) = f }
`},
		{"memory that leads to a slice of them, written as another type", kept, kernel + use + `
func two(all []kernels, f func(*B)) { **(**func(*B))(unsafe.Pointer(&all)) = f }
`},
		{"memory that has a pointer to one, written as another type", kept, kernel + use + `
func two(h *struct{ k *kernels }, f func(*B)) { **(**func(*B))(unsafe.Pointer(h)) = f }
`},
		{"memory beside a field", kept, `
type kernels struct {
	a   func(*B)
	run func(*B)
}

func one() kernels { return kernels{run: func(b *B) { b.Use() }} }

func two(k *kernels, keep func(*B)) { unsafe.Slice(&k.a, 2)[1] = keep }

func f(k kernels) {
	b := Make()
	k.run(b)
	b.Free() //F
}
`},
		{"memory beside a field, written as another type", kept, `
type kernels struct {
	n   int
	run func(*B)
}

func one() kernels { return kernels{run: func(b *B) { b.Use() }} }

func two(k *kernels, keep [2]uintptr) { *(*[2]uintptr)(unsafe.Pointer(&k.n)) = keep }

func f(k kernels) {
	b := Make()
	k.run(b)
	b.Free() //F
}
`},
		{"a literal of the same function", kept, kernel + `
func f(k *kernels) {
	b := Make()
	var held *B
	k.run = func(b *B) { held = b }
	k.run(b)
	b.Free() //F
	held.Use()
}
`},
	}
	tests = append(tests, []struct{ name, words, text string }{
		{"an unexported method of an interface", "", layers},
		{"one that another interface has, too", "", layers + `
type named interface {
	layer
	name() string
}

func (once) name() string { return "once" }

func g(l named) {
	b := Make()
	l.run(b)
	b.Free() //F
	print(l.name())
}
`},
		{"one whose receiver is a function", kept, layers + `
type fn func(*B)

func (f fn) run(b *B) { f(b) }
`},
		{"one whose receiver leads to a function", kept, layers + `
type fn func(*B)

func (f *fn) run(b *B) { (*f)(b) }
`},
		{"one that hands a function of its receiver on", kept, layers + `
type some struct{ do func(*B) }

func (s some) run(b *B) { call(s.do, b) }

func call(do func(*B), b *B) { do(b) }
`},
		{"one that starts a goroutine", kept, layers + `
type starts struct{}

func (starts) run(b *B) { go b.Use() }
`},
		{"one that frees", "freed it before", layers + `
type frees struct{}

func (frees) run(b *B) { b.Free() }
`},
		{"one that keeps it in its receiver", kept, layers + `
type keepsIt struct{ b *B }

func (k *keepsIt) run(b *B) { k.b = b }
`},
		{"one that keeps", kept, layers + `
func (keeps) run(b *B) { held = b }

type keeps struct{}

var held *B
`},
		{"one that keeps, promoted", kept, layers + `
type both struct{ keeps }

func (keeps) run(b *B) { held = b }

type keeps struct{}

var held *B
`},
		{"one of a generic type", kept, layers + `
func (k *keeps[T]) run(b T) { k.held = b }

type keeps[T any] struct{ held T }
`},
		{"one without a body", kept, layers + `
func (keeps) run(b *B)

type keeps struct{}
`},
		{"one that has another signature", kept, layers + `
func (keeps) run(b *B, n int) { held = b }

type keeps struct{}

var held *B
`},
		{"one that calls it again", kept, layers + `
func (a all) run(b *B) {
	for _, l := range a {
		l.run(b)
	}
}

type all []layer
`},
		{"an exported method", kept, strings.ReplaceAll(layers, "run", "Run")},
	}...)
	l := newLab()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := l.prove(t, tt.text)
			require.NotEmpty(t, r.Edits)
			if tt.words == "" {
				require.Empty(t, r.Withheld())
				return
			}
			require.NotEmpty(t, r.Withheld())
			assert.Contains(t, r.Withheld()[0].Why.String(), tt.words)
		})
	}
}
