package proof_test

import (
	"go/ast"
	"go/parser"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

// TestElsewhere is frees that are right in this build and wrong in another one, of which a file is left out.
func TestElsewhere(t *testing.T) {
	const shown = `
type T struct{ b *B }

func (t T) Size() int { t.b.Use(); return 1 }

func f() {
	b := Make()
	fmt.Println(T{b})
	b.Free() //F
}
`
	const own = `
type W struct{ b *B }

func NewW() *W       { return &W{Make()} }
func (w *W) Sum()    { w.b.Use() }
func (w *W) Close()  { end(w.b) }
func end(b *B)       { b.Free() }

func f() {
	w := NewW()
	w.Sum()
	w.Close() //F
}
`
	const noted = `
type T struct{ b *B }

func (t T) String() string { return note(t.b, 1) }
func note(b *B, n int) string { b.Use(); return "" }

func f() {
	b := Make()
	fmt.Println(T{b})
	b.Free() //F
}
`
	const closed = `
type doer interface{ do(b *B) }
type plain struct{}

func (plain) do(b *B) { b.Use() }

func f(d doer) {
	b := Make()
	d.do(b)
	b.Free() //F
}
`
	for _, tt := range []struct{ name, text, right, wrong, words string }{
		{"a method that the library asks for", shown, "func (t T) Other() string { return kept(t.b) }",
			"func (t T) String() string { return kept(t.b) }", "handed to somebody"},
		{"a type with such a method", shown, "type U struct{ fmt.Stringer }", "type T struct{ fmt.Stringer }", "handed to somebody"},
		{"a function that such a method calls", noted, `func note(*B, int) string { return "" }`,
			`func note(b *B, n int) string { return kept(b) }`, "handed to somebody"},
		{"one without a body", noted, "func other(b *B, n int) string", "func note(b *B, n int) string", "handed to somebody"},
		{"one with other operands", noted, `func note(_ *B, n int) string { return "" }`,
			`func note() string { return kept() }`, "handed to somebody"},
		{"what frees here", own, "func (w *W) Start() { println() }", "func (w *W) Close() { println() }", "more than free"},
		{"what frees", own, "func (w *W) Start() { println() }", "func (w *W) Close() { println(); w.b.Free() }", "more than free"},
		{"what that calls", own, "func ends(b *B) { println(); b.Free() }", "func end(b *B) { println(); b.Free() }", "more than free"},
		{"a method of an interface that is not exported", closed, "func (evil) does(b *B) { kept(b) }",
			"func (evil) do(b *B) { kept(b) }", "handed to somebody"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab()
			held := func(beside string) []proof.Verdict {
				f, err := parser.ParseFile(l.fset, "left.go", "package p\n"+beside, 0)
				require.NoError(t, err)
				in := l.input(t, tt.text)
				in.Left = []*ast.File{f}
				return proof.Check(in).Withheld()
			}
			assert.Empty(t, held(tt.right))
			wrong := held(tt.wrong)
			require.NotEmpty(t, wrong)
			assert.Contains(t, wrong[0].Why.Words, tt.words)
		})
	}
}

// TestAskedOfOthers is a value of a type that its package says is asked for more in other builds.
func TestAskedOfOthers(t *testing.T) {
	l := newLab()
	prove := func(name string) []proof.Verdict {
		return l.across(t, `
import "fmt"

type mine struct {
	lib.Pair
	b *lib.B
}

func f() {
	b := lib.Make()
	fmt.Println(mine{b: b})
	b.Free() //F
}
`, func(n *types.TypeName) bool { return n.Pkg().Path() == "lib" && n.Name() == name }).Withheld()
	}
	assert.Empty(t, prove("Cell"))
	held := prove("Pair")
	require.NotEmpty(t, held)
	assert.Contains(t, held[0].Why.Words, "handed to somebody")
}

// TestAskedElsewhere shows which types others are told of.
func TestAskedElsewhere(t *testing.T) {
	l := newLab()
	parse := func(text string) *ast.File {
		f, err := parser.ParseFile(l.fset, "p.go", "package p\n"+text, 0)
		require.NoError(t, err)
		return f
	}
	pkg, err := new(types.Config).Check("p", l.fset, []*ast.File{parse("type A struct{}; type B struct{}; type C struct{}; type D struct{}")}, nil)
	require.NoError(t, err)
	left := parse("func (*B) Error() string; func (C) Sum() int; type D = string; func String() string; func (E) String() string")
	var got []string
	for _, n := range proof.AskedElsewhere(pkg, []*ast.File{left}) {
		got = append(got, n.Name())
	}
	assert.Equal(t, []string{"B", "D"}, got)
}
