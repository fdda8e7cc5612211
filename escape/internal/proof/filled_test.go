package proof_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// whole is a program of another kind.
type whole struct{ name, words, text string }

// A filling is a program that fills a slice or a map and frees all of it: how it puts things in, if not
// plainly, what it does then, and behind the frees. Words is why the frees
// are withheld; none: they are accepted.
type filling struct{ name, words, put, then, behind string }

const (
	twice  = "it may be in what is freed twice"
	anew   = "it may be freed again"
	handed = "it was handed to somebody who may keep it"
	theirs = "what is freed may be something that was not made here"
	named  = "its name is read"
	empty  = "it may be nil"
	gone   = "the program may have freed it before"
	runs   = "a goroutine that can reach it may still run"
	read   = "it is read or written"
	used   = "it is used by Use"
)

const filledLayers = `
type layer struct{ w, b *B }

var gl []layer
var gw *B
var gi any

func keep(any)

func f(n int) {
	var ls []layer
	for range n {
		l := layer{Make(), Make()}
		%s
	}
	%s
	for _, l := range ls {
		l.w.Use()
	}
	for _, l := range ls { //F
		l.w.Free() //F
		l.b.Free() //F
	} //F
	%s
	next()
}
`

// TestFilled has slices of structs, each field with a resource, and maps: what is in them is freed once,
// and nobody has it else.
func TestFilled(t *testing.T) {
	l := newLab()
	for _, kind := range []struct {
		text, put string
		list      []filling
	}{{filledLayers, "ls = append(ls, l)", layers}, {filledMap, "m[n] = b", entries}} {
		for _, tt := range kind.list {
			t.Run(tt.name, func(t *testing.T) {
				put := kind.put
				if tt.put != "" {
					put = tt.put
				}
				withheld(t, l, fmt.Sprintf(kind.text, put, tt.then, tt.behind), tt.words)
			})
		}
	}
	for _, tt := range slices.Concat(layersElse, mapsElse) {
		t.Run(tt.name, func(t *testing.T) { withheld(t, l, tt.text, tt.words) })
	}
}

// withheld proves a text, whose frees are withheld with words; none: accepted.
func withheld(t *testing.T, l *lab, text, words string) {
	r := l.prove(t, text)
	require.NotEmpty(t, r.Edits)
	held := r.Withheld()
	if words == "" {
		assert.Empty(t, held)
		return
	}
	require.NotEmpty(t, held)
	assert.Contains(t, held[0].Why.Words, words)
}

// layers are what is done to a slice of structs.
var layers = []filling{
	{"plain", "", "", "", ""},
	{"swap fields", "", "l.w, l.b = l.b, l.w; ls = append(ls, l)", "", ""},
	{"concat", "", "", "var ms []layer; ms = append(ms, ls...); ls = ms", ""},
	{"copy read", "", "", "l := ls[0]; l.w.Use()", ""},
	{"same in both", "it may be freed again", "l.b = l.w; ls = append(ls, l)", "", ""},
	{"appended twice", twice, "ls = append(ls, l, l)", "", ""},
	{"appended twice 2", twice, "ls = append(ls, l); ls = append(ls, l)", "", ""},
	{"kept", handed, "ls = append(ls, l); gw = l.w", "", ""},
	{"kept elem", handed, "", "gw = ls[0].b", ""},
	{"kept slice", theirs, "", "gl = ls", ""},
	{"kept slice part", theirs, "", "gl = ls[1:]", ""},
	{"kept copies", handed, "", "gl = append(gl, ls...)", ""},
	{"kept copies 2", handed, "", "copy(gl, ls)", ""},
	{"kept any", handed, "", "gi = ls[0]", ""},
	{"alias after b", empty, "", "ms := ls[:1]", "ms[0].b.Use()"},
	{"struct copy after", named, "", "l := ls[0]", "l.b.Use()"},
	{"field copy after", named, "", "b := ls[0].b", "b.Use()"},
	{"pointer after", named, "", "p := &ls[0]", "p.b.Use()"},
	{"copy after", named, "", "ms := make([]layer, len(ls)); copy(ms, ls)", "ms[0].b.Use()"},
	{"append after", named, "", "ms := append([]layer(nil), ls...)", "ms[0].w.Use()"},
	{"freed by program", gone, "", "ls[0].w.Free()", ""},
	{"freed after", named, "", "", "for _, l := range ls { l.b.Free() }"},
	{"shared across", twice, "if len(ls) > 0 { l.b = ls[0].b }; ls = append(ls, l)", "", ""},
	{"element in element", twice, "", "ls[0].w = ls[1].w", ""},
	{"element in element 2", "it may be freed again", "", "ls[0] = ls[1]", ""},
	{"element in other field", "it may be freed again", "", "ls[0].w = ls[1].b", ""},
	{"spare capacity", named, "", "xs := append(ls[:0:9], layer{Make(), Make()}); _ = xs", "xs[0].b.Use()"},
	{"spare capacity 2", named, "",
		"xs, ys := append(ls, layer{Make(), Make()}), append(ls, layer{Make(), Make()}); ls = xs",
		"ys[0].b.Use()"},
	{"clear", empty, "", "clear(ls)", ""},
	{"made", empty, "", "ls = append(ls, make([]layer, 2)...)", ""},
	{"zero field", empty, "", "ls = append(ls, layer{w: Make()})", ""},
	{"zero lit", empty, "", "ls = append(ls, layer{})", ""},
	{"zero var", empty, "", "var z layer; ls = append(ls, z)", ""},
	{"zero set", empty, "", "ls[0].b = nil", ""},
	{"goroutine", runs, "", "go func() { ls[0].b.Use() }()", ""},
	{"goroutine 2", runs, "", "x := ls[0]; go func() { x.b.Use() }()", ""},
	{"deferred", named, "", "defer func() { ls[0].b.Use() }()", ""},
	{"deferred 2", used, "", "defer ls[0].b.Use()", ""},
	{"returned fn", theirs, "", "gi = func() { ls[0].b.Use() }", ""},
	{"channel", named, "", "c := make(chan layer, 1); c <- ls[0]", "x := <-c; x.b.Use()"},
	{"map", named, "", "m := map[int]layer{}; m[0] = ls[0]", "m[0].b.Use()"},
	{"view", used, "", "v := ls[0].b.View()", "v.Use()"},
	{"unknown fn", theirs, "", "keep(ls)", ""},
	{"unknown fn 2", handed, "", "keep(ls[0])", ""},
	{"unknown ptr", theirs, "", "keep(&ls[0])", ""},
	{"insert", twice, "", "ls = append(ls[:1], append([]layer{ls[0]}, ls[1:]...)...)", ""},
	{"array", named, "", "a := [1]layer{ls[0]}", "a[0].b.Use()"},
	{"array slice", named, "", "a := [1]layer{ls[0]}; ms := a[:]", "ms[0].b.Use()"},
	{"nested", named, "", "o := struct{ l layer }{ls[0]}", "o.l.b.Use()"},
	{"nested 2", named, "", "o := struct{ ls []layer }{ls}", "o.ls[0].b.Use()"},
}

// layersElse are other programs that fill a slice, and are wrong.
var layersElse = []whole{
	{"outside", twice, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	var l layer
	l.b = Make()
	for range n {
		l.w = Make()
		ls = append(ls, l)
	}
	for _, l := range ls { //F
		l.w.Free() //F
		l.b.Free() //F
	} //F
}
`},
	{"outside only b", twice, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	var l layer
	l.b = Make()
	for range n {
		l.w = Make()
		ls = append(ls, l)
	}
	for _, l := range ls { //F
		l.b.Free() //F
	} //F
}
`},
	{"stale var", twice, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	var l layer
	for i := range n {
		if i%2 == 0 {
			l.w = Make()
		}
		l.b = Make()
		ls = append(ls, l)
	}
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
}
`},
	{"loop used again", "the loop that frees it may run again", `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	for range n {
		ls = append(ls, layer{Make(), Make()})
		for _, l := range ls { //F
			l.w.Free() //F
		} //F
	}
}
`},
	{"freed then used field", named, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	for range n {
		ls = append(ls, layer{Make(), Make()})
	}
	for i := range ls {
		ls[i].w, ls[i].b = ls[i].b, ls[i].w
	}
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
	for _, l := range ls {
		l.w.Use()
	}
}
`},
	{"wrong field", named, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	for range n {
		ls = append(ls, layer{Make(), Make()})
	}
	x := ls[0]
	x.w, x.b = x.b, x.w
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
	x.b.Use()
}
`},
	{"copied with another shape", named, `
type layer struct{ w, b *B }
type other struct{ w, b *B }

func f(n int) {
	var ls []layer
	for range n {
		ls = append(ls, layer{Make(), Make()})
	}
	x := other(ls[0])
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
	x.w.Use()
}
`},
	{"pass through pointer", twice, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	for range n {
		l := &layer{Make(), Make()}
		ls = append(ls, *l, *l)
	}
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
}
`},
	{"pointer loaded again", twice, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	p := &layer{Make(), Make()}
	for range n {
		ls = append(ls, *p)
	}
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
}
`},
	{"pointer variable", named, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	var p *layer
	for range n {
		p = &layer{Make(), Make()}
		ls = append(ls, *p)
	}
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
	if p != nil {
		p.w.Use()
	}
}
`},
	{"load before store", named, `
type layer struct{ w, b *B }

func f(n int) {
	var ls []layer
	a, b := layer{Make(), Make()}, layer{Make(), Make()}
	for range n {
		a, b = b, a
	}
	ls = append(ls, a)
	for _, l := range ls { //F
		l.w.Free() //F
	} //F
	a.w.Use()
	b.b.Use()
}
`},
	{"half copies", twice, `
type layer struct{ w, b *B }

func f(n int) {
	a := []layer{{Make(), Make()}}
	b := []layer{{Make(), Make()}}
	a[0], b[0] = b[0], a[0]
	a[0].w = b[0].w
	for _, l := range a { //F
		l.w.Free() //F
	} //F
	for _, l := range b { //F
		l.w.Free() //F
	} //F
}
`},
	{"arrays", twice, `
func f(n int) {
	var ls [][2]*B
	for range n {
		x := Make()
		ls = append(ls, [2]*B{x, x})
	}
	for _, l := range ls { //F
		l[0].Free() //F
		l[1].Free() //F
	} //F
}
`},
}
