package proof_test

import (
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// neighbor is a package that the programs below import. What its functions do they know from facts.
const neighbor = `package lib

import (
	"iter"
	"sync"
)

type B struct{ n int }

//lastuse:effect result 0 owned
func Make() *B

//lastuse:effect recv freed
func (b *B) Free()

//lastuse:effect recv borrowed
func (b *B) Use()

//lastuse:effect arg 0 freed
func Release(b *B)

func Put[T any](m map[int]T, v T) { m[0] = v }

func Set[T any](p *T, v T) { *p = v }

type Holder struct{ b *B }

func New(b *B) *Holder        { return &Holder{b} }
func (h *Holder) B() *B       { return h.b }
func (h *Holder) Swap(b *B) *B { o := h.b; h.b = b; return o }

var hook func()

func OnExit(f func()) { hook = f }
func Run()            { hook() }

type settings struct {
	near  float64
	exact bool
}

type Setting func(*settings)

//lastuse:effect args borrowed
func Near(b *B, set ...Setting) bool

type tuning struct {
	exact bool
	b     *B
}

type Tune func(*tuning)

//lastuse:effect args borrowed
func Tuned(b *B, set ...Tune) bool

//lastuse:effect args borrowed
func Told(b *B, f func(float64)) bool

const Level = 2

//lastuse:effect arg 0 borrowed, arg 0 freed if arg 1 is true
func Mean(b *B, del bool)

type Pair struct{ A, Z *B }

func NewPair() *Pair      { return &Pair{Make(), Make()} }
func (p *Pair) Close()    { p.A.Free(); p.Z.Free() }
func (p *Pair) Register() { last = p }

type Cpu struct{ B *B }
type Dev = Cpu
type Box struct{ Dev }
type Devs []Dev

func (Cpu) Put(b *B) { b.Use() }
func (Cpu) Done()    {}

type Guard struct{ lock }
type lock struct{ n int }

func (*lock) Lock()     { next() }
func (*lock) Try() bool { return next() == 0 }

var last *Pair

func Last() *Pair { return last }

var Hook = func(b *B) {}

func CallHook(b *B) { Hook(b) }

func Async(b *B) { go b.Use() }

type Cell[T any] struct{ v T }

func (c *Cell[T]) Set(v T) { c.v = v }
func (c *Cell[T]) Get() T  { return c.v }

func All(h *Holder) iter.Seq[*B] { return func(y func(*B) bool) { y(h.b) } }

type S struct{ f func(*B) }

func NewS(f func(*B)) *S { return &S{f} }
func (s *S) Do(b *B)     { s.f(b) }

type D struct{ f func(*B) }

func NewD() *D       { return &D{func(b *B) { b.Use() }} }
func (d *D) Do(b *B) { d.f(b) }

func Each(f func(*B), bs ...*B) {
	for _, b := range bs {
		f(b)
	}
}

func Try(f func()) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = x.(error)
		}
	}()
	f()
	return nil
}

type Node interface {
	keep(*B)
	Next() Node
}
type leaf struct{ b *B }

func (l *leaf) keep(b *B)  { l.b = b }
func (l *leaf) Next() Node { return l }
func Leaf() Node           { return &leaf{} }
func Keep(n Node, b *B)    { n.keep(b) }

type Opt func(*Pair)

func NewWith(opts ...Opt) *Pair {
	p := &Pair{A: Make(), Z: Make()}
	for _, o := range opts {
		o(p)
	}
	return p
}

func Move(dst, src *Holder) { dst.b = src.b }
func Clone(h *Holder) *Holder { c := *h; return &c }

type List struct{ items []*B }

func (l *List) Add(b *B)      { l.items = append(l.items, b) }
func (l *List) At(i int) *B   { return l.items[i] }
func NewList(n int) *List {
	l := &List{}
	for range n {
		l.items = append(l.items, Make())
	}
	return l
}
func (l *List) Close() {
	for _, b := range l.items {
		b.Free()
	}
}

var Default = NewPair()

func Shared() *Pair { return Default }

func Either(own bool) *B {
	if own {
		return Make()
	}
	return Default.A
}

func Chan(b *B) <-chan *B { c := make(chan *B, 1); c <- b; return c }
func Fn(b *B) func() *B   { return func() *B { return b } }
func Arr(b *B) [1]*B      { return [1]*B{b} }
func Any(b *B) any        { return b }
func Err(b *B) error      { return &E{b} }

type E struct{ B *B }

func (e *E) Error() string { return "" }

// The lines for NewTab and the methods of Tab are embedded.
type Tab interface {
	Size() int
	Release()
}
type tab struct{ n int }

func (t *tab) Size() int
func (t *tab) Release()
func NewTab() Tab
func Same() Tab { return NewTab() }

type loud tab

func (l *loud) Size() int { return 0 }
func (l *loud) Release() { println("gone") }
func guard(t Tab) {
	defer func() { recover() }()
	t.Size()
}

type busy struct{ b *B }

func (b busy) Release() {}
func (b busy) Size() int {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.b.Use()
	}()
	n := next()
	wg.Wait()
	return n
}

func next() int
func Busy(b *B) { guard(busy{b}) }

type calm struct{ b *B }

func (c calm) Release()  {}
func (c calm) Size() int { c.b.Use(); return next() }
func Calm(b *B)          { guard(calm{b}) }

func Loud() Tab          { return (*loud)(NewTab().(*tab)) }
`

// besides imports lib beside what it imports otherwise.
type besides struct {
	types.Importer
	lib *types.Package
}

func (b besides) Import(path string) (*types.Package, error) {
	if path == "lib" {
		return b.lib, nil
	}
	return b.Importer.Import(path)
}

// across proves functions of a package that imports neighbor. Lines that end in //F are put in, lines that
// end in //O taken out.
func (l *lab) across(t *testing.T, text string, away ...func(types.Object) proof.Away) *proof.Report {
	t.Helper()
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	lib := l.source(t, "lib", neighbor)
	lines, err := spec.Directives(l.fset, lib.Files[0], lib.Info)
	require.NoError(t, err)
	for _, l := range lines {
		set.AddLine(l, spec.Directive)
	}
	embedded, err := spec.Parse("lib.spec", []byte("lib.NewTab result 0 owned\n(lib.Tab).Release recv freed\n"+
		"(lib.Tab).Size recv borrowed\n"))
	require.NoError(t, err)
	set.Add(embedded, spec.Embedded)
	lib.Specs = set
	sums, err := proof.SummarizeSource(lib)
	require.NoError(t, err)
	var old, new strings.Builder
	for line := range strings.Lines("package p\n\nimport \"lib\"\n\n" + text + "\nvar global *lib.B\n") {
		if !strings.HasSuffix(line, "//O\n") {
			new.WriteString(line)
		}
		if !strings.HasSuffix(line, "//F\n") {
			old.WriteString(line)
		}
	}
	in := &proof.Input{Path: "p", Import: besides{l.imports, lib.Types}, Specs: set,
		Facts: func(f *types.Func) *proof.Summary { return sums[f] },
		Files: []proof.File{{Name: "p.go", Old: []byte(old.String()), New: []byte(new.String())}}}
	if len(away) > 0 {
		in.Away = away[0]
	}
	return proof.Check(in)
}

// TestAcross is wrong edits in which functions of another package have what is freed, or gave it.
func TestAcross(t *testing.T) {
	tests := []struct{ name, words, text string }{
		{"stored by a generic function", "handed to somebody", `
func f() {
	b := lib.Make()
	m := map[int]*lib.B{}
	lib.Put(m, b)
	b.Free() //F
	m[0].Use()
}
`},
		{"swapped out of a field", "not made here", `
func f() { b, c := lib.Make(), lib.Make(); h := lib.New(b); o := h.Swap(c)
	o.Free() //F
	b.Use()
	_ = o
}
`},
		{"captured by a function that is kept", "not made here", `
func f() {
	b := lib.Make()
	lib.OnExit(func() { b.Use() })
	b.Free() //F
	lib.Run()
}
`},
		{"a field that is overwritten", "a parameter", `
func f(o *lib.B) {
	p := lib.NewPair()
	p.A = o
	p.Close() //F
}
`},
		{"kept by a method of what was made", "not made here", `
func f() {
	p := lib.NewPair()
	p.Register()
	p.Close() //F
	lib.Last().A.Use()
}
`},
		{"handed to a variable that anybody assigns", "handed to somebody", `
func f() {
	b := lib.Make()
	lib.CallHook(b)
	b.Free() //F
}
`},
		{"handed to a function that was stored", "handed to somebody", `
func f() {
	b := lib.Make()
	s := lib.NewS(func(x *lib.B) { global = x })
	s.Do(b)
	b.Free() //F
}
`},
		{"kept by an unexported method of an interface", "handed to somebody", `
func f() {
	b := lib.Make()
	n := lib.Leaf()
	lib.Keep(n, b)
	b.Free() //F
}
`},
		{"a field overwritten by an option", "not made here", `
func f(o *lib.B) {
	p := lib.NewWith(func(x *lib.Pair) { x.A = o })
	_ = p
	p.Close() //F
}
`},
		{"an option with room for it", "handed to somebody", `
func f(set ...lib.Tune) {
	b := lib.Make()
	lib.Tuned(b, set...)
	b.Free() //F
}
`},
		{"a function that anybody may have written", "handed to somebody", `
func f(tell func(float64)) {
	b := lib.Make()
	lib.Told(b, tell)
	b.Free() //F
}
`},
		{"moved between two objects", "handed to somebody", `
func f() {
	b := lib.Make()
	h, g := lib.New(b), lib.New(nil)
	lib.Move(g, h)
	b.Free() //F
	g.B().Use()
}
`},
		{"in a copy of an object", "used by B", `
func f() {
	b := lib.Make()
	h := lib.New(b)
	g := lib.Clone(h)
	b.Free() //F
	g.B().Use()
}
`},
		{"an element that is not owned", "may be a parameter", `
func f(b *lib.B) {
	l := lib.NewList(3)
	l.Add(b)
	l.Close() //F
}
`},
		{"an element that is there twice", "not made here", `
func f() {
	l := lib.NewList(3)
	l.Add(l.At(0))
	l.Close() //F
}
`},
		{"owned on a condition", "not made here", `
func f() {
	b := lib.Either(true)
	_ = b
	b.Free() //F
}
`},
		{"captured by a function that is returned", "not known", `
func f() {
	b := lib.Make()
	c := lib.Fn(b)
	b.Free() //F
	c().Use()
}
`},
		{"in an error", "handed to somebody", `
func f() {
	b := lib.Make()
	c := lib.Err(b)
	b.Free() //F
	c.(*lib.E).B.Use()
}
`},
		{"a field that is another one by then", "not made here", `
func f() {
	p := lib.NewPair()
	lib.Set(&p.A, p.Z)
	p.Close() //F
}
`},
		{"an import that only the free names which was taken out", "only what was taken out reads", `
import again "lib"

func f() {
	b := lib.Make()
	b.Use()
	lib.Release(b) //F
	print()
	again.Release(b) //O
}
`},
		{"what is asked the size of, by a name of its own", "a value is computed that was not", `
import . "unsafe"

func f[T any](p *struct{ v [2]T }) uintptr {
	b := lib.Make()
	b.Use()
	v := p.v //F
	b.Free() //F
	return Sizeof(v) //F
	return Sizeof(p.v) //O
}
`},
		{"a goroutine of a method that panics", "handed to somebody", `
func f() {
	b := lib.Make()
	lib.Busy(b)
	b.Free() //F
}
`},
		{"a table as another type", "more than free", `
func f() {
	t := lib.Loud()
	_ = t
	t.Release() //F
}
`},
		{"a field overwritten as another type", "not made here", `
type mine lib.Pair
func f() {
	p := lib.NewPair()
	q := (*mine)(p)
	q.A = global
	p.Close() //F
}
`},
	}
	l := newLab()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			held := l.across(t, tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
	right := l.across(t, `
func f() {
	p := lib.NewPair()
	p.A.Use()
	l := lib.NewList(3)
	l.At(1).Use()
	l.Close() //F
	p.Close() //F
	t := lib.Same()
	_ = t
	t.Release() //F
	b := lib.Make()
	lib.Calm(b)
	b.Free() //F
}

func settings(one lib.Setting, set []lib.Setting) {
	b := lib.Make()
	lib.Near(b, one)
	lib.Near(b, set...)
	b.Free() //F
}
`)
	require.Len(t, right.Edits, 5)
	assert.Empty(t, right.Withheld())
}
