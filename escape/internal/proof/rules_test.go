package proof_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// library is what the programs below are written against. Its functions have no bodies: what
// they do, the directives say.
const library = `package p

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sync/errgroup"
)

var _ = fmt.Sprint
var _ = log.Print
var _ = slices.Max[[]int]
var _ errgroup.Group
var _ = errors.Is
var _ io.Reader
var _ = json.Marshal
var _ atomic.Bool
var _ *testing.T
var _ unsafe.Pointer
var _ sync.WaitGroup

type B struct{ n int }

//lastuse:effect result 0 owned
func Make() *B

//lastuse:effect result 0 owned on success
func Try() (*B, error)

//lastuse:effect recv freed
func (b *B) Free()

//lastuse:effect recv borrowed
func (b *B) Use()

//lastuse:effect recv borrowed
func (b *B) Sum() int

//lastuse:effect result 0 views recv
func (b *B) View() *V

type V struct{ n int }

//lastuse:effect recv borrowed
func (v *V) Use()

//lastuse:effect args borrowed
func add(a, b int) int

func next() int
func unknown(b *B)

var global *B

// H is a handle whose zero may be freed.
type H struct{ n int }

//lastuse:effect result 0 owned
func MakeH() H

//lastuse:effect recv freed repeatable
func (h H) Free()

//lastuse:effect recv borrowed
func (h H) Use()

//lastuse:effect result 0 views recv
func (h H) View() *V

type Loud struct{ n int }

//lastuse:effect result 0 owned
func NewLoud() *Loud

//lastuse:effect arg 0 freed
func release(n int)

func (l *Loud) Close() {
	release(l.n)
	global = nil
}

type keeper struct{ b *B }

func (k keeper) String() string {
	global = k.b
	return ""
}

`

// A lab reads the standard library once.
type lab struct {
	fset    *token.FileSet
	imports types.Importer
}

func newLab() *lab {
	fset := token.NewFileSet()
	return &lab{fset, importer.ForCompiler(fset, "source", nil)}
}

// prove proves functions. Lines that end in //F are put in, lines that end in //O taken out.
func (l *lab) prove(t *testing.T, text string, without ...proof.Rule) *proof.Report {
	t.Helper()
	var old, new strings.Builder
	for line := range strings.Lines(library + text) {
		if !strings.HasSuffix(line, "//F\n") {
			old.WriteString(line)
		}
		if !strings.HasSuffix(line, "//O\n") {
			new.WriteString(line)
		}
	}
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	fset, imports := l.fset, l.imports
	f, err := parser.ParseFile(fset, "p.go", old.String(), parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	_, err = (&types.Config{Importer: imports}).Check("p", fset, []*ast.File{f}, info)
	require.NoError(t, err)
	lines, err := spec.Directives(fset, f, info)
	require.NoError(t, err)
	for _, l := range lines {
		set.AddLine(l, spec.Directive)
	}
	return proof.Check(&proof.Input{Path: "p", Import: imports, Specs: set, Without: without,
		Files: []proof.File{{Name: "p.go", Old: []byte(old.String()), New: []byte(new.String())}}})
}

// TestRules shows of each rule a wrong free that no other rule withholds.
func TestRules(t *testing.T) {
	tests := []struct {
		rule  proof.Rule
		words string
		text  string
	}{
		{proof.Same, "a call comes before", `
func f() int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return add(next(), r) //F
	return add(next(), b.Sum()) //O
}
`},
		{proof.Same, "what a pointer leads to", `
func f(v *V) int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return v.n + r //F
	return v.n + b.Sum() //O
}
`},
		{proof.Same, "may panic", `
func f(x, y any) bool {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return (x == y) == (r == 1) //F
	return (x == y) == (b.Sum() == 1) //O
}
`},
		{proof.Same, "a part of one", `
func f(c bool) int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	if c {
		return 1
	} else if r > 0 { //F
	} else if b.Sum() > 0 { //O
		return 2
	}
	return 3
}
`},
		{proof.Same, "a part of one", `
func f(x int) int {
	b := Make()
	r := add(b.Sum(), x) //F
	b.Free() //F
	if x := 3; r > x { //F
	if x := 3; add(b.Sum(), x) > x { //O
		return 2
	}
	return x
}
`},
		{proof.Same, "a constant", `
func f() float64 {
	b := Make()
	b.Use()
	r := 0.1 //F
	b.Free() //F
	return r + 0.2 //F
	return 0.1 + 0.2 //O
}
`},
		{proof.Same, "in more than frees", `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
	next() //O
}
`},
		{proof.Same, "may be nil", `
type holder struct{ b *B }

func f(h *holder) {
	b := Make()
	b.Use()
	if h.b != nil { //F
		b.Free() //F
	} //F
}
`},
		{proof.Same, "may do more than free", `
func f() {
	b := Make()
	all := func(yield func(int, *B) bool) { yield(next(), b) }
	_ = all
	for _, x := range all { //F
		x.Free() //F
	} //F
}
`},
		{proof.Same, "not only statements", `
//go:noinline //O
func f() {
	b := Make()
	b.Use()
	b.Free() //F
}
`},
		{proof.Fresh, "a parameter", `
func f(b *B) {
	b.Use()
	b.Free() //F
}
`},
		{proof.Confined, "handed to somebody", `
func f() {
	b := Make()
	global = b
	b.Free() //F
}
`},
		{proof.Once, "freed by Free", `
func f() {
	b := Make()
	free := b.Free
	defer free()
	b.Use()
	b.Free() //F
}
`},
		{proof.Confined, "handed to somebody", `
func (b *B) become() { *b = *global }

func f() {
	b := Make()
	b.become()
	b.Free() //F
}
`},
		{proof.Confined, "handed to somebody", `
func f() {
	b := Make()
	b.n = 7
	b.Free() //F
}
`},
		{proof.Dead, "used by Use", `
func f() {
	b := Make()
	v := b.View()
	b.Free() //F
	v.Use()
}
`},
		{proof.Dead, "used by Use", `
func f() {
	b := Make()
	var w wide
	w.k = b.View()
	w.b = nil
	b.Free() //F
	w.k.Use()
}

type wide struct{ a, b, c, d, e, f, g, h, i, j, k *V }
`},
		{proof.Dead, "used by Use", `
func f() {
	b := Make()
	var w deep
	w.a.a.a.a.a.a.b = b.View()
	w.a.a.a.a.a.a.a = nil
	b.Free() //F
	w.a.a.a.a.a.a.b.Use()
}

type deep struct {
	a struct {
		a struct {
			a struct {
				a struct {
					a struct {
						a struct{ a, b *V }
					}
				}
			}
		}
	}
}
`},
		{proof.Dead, "others may use it", `
func f() {
	b := Make()
	v := b.View()
	b.Free() //F
	kept = v
}

var kept *V
`},
		{proof.Dead, "used by Use", `
func f() {
	kept = func() {
		b := Make()
		v := b.View()
		b.Free() //F
		v.Use()
	}
}

var kept func()
`},
		{proof.Dead, "used by Use", `
func both() (*B, error) {
	b := Make()
	return b, fmt.Errorf("")
}

func f() {
	if b, err := both(); err != nil && b != nil {
		v := b.View()
		b.Free() //F
		v.Use()
	}
}
`},
		{proof.Fresh, "nothing that was made here", `
func f() {
	b := Make()
	g := func() {
		b.Free() //F
	}
	_ = g
	b.Use()
}
`},
		{proof.Once, "freed again", `
func f(c bool) {
	b := Make()
	b.Use()
	if c {
		b.Free() //F
	}
	b.Free() //F
}
`},
		{proof.Silent, "more than free", `
func f() {
	l := NewLoud()
	_ = l
	l.Close() //F
}
`},
		{proof.Silent, "more than free", `
type counted struct {
	n     int
	stats *struct{ live int }
}

//lastuse:effect result 0 owned
func NewCounted() *counted

func (c *counted) Close() {
	release(c.n)
	c.stats.live = 0
}

func f() {
	c := NewCounted()
	_ = c
	c.Close() //F
}
`},
		{proof.Readable, "its name is read", `
func f() {
	b := Make()
	b.Free() //F
	_ = b
}
`},
		{proof.Panics, "used by Use", `
func f() {
	v := Make()
	w := v.View()
	defer func() { w.Use() }()
	v.Free() //F
	for {
		next()
	}
}
`},
		{proof.Deferred, "used by Use", `
func f() {
	b := Make()
	v := b.View()
	defer v.Use()
	b.Free() //F
}
`},
		{proof.Joins, "goroutine", `
func f() {
	b := Make()
	go func() { b.Use() }()
	b.Free() //F
}
`},
		{proof.Joins, "handed to somebody", `
func start(b *B) {
	go func() { b.Use() }()
}

func f() {
	b := Make()
	start(b)
	b.Free() //F
}
`},
		{proof.Joins, "handed to somebody", `
func both(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	next()
	wg.Wait()
}

func f() {
	b := Make()
	defer b.Free() //F
	both(b)
}
`},
		{proof.Callbacks, "handed to somebody", `
func f() {
	b := Make()
	fmt.Println(keeper{b})
	b.Free() //F
}
`},
		{proof.Callbacks, "handed to somebody", `
type writer struct{ b *B }

func (w *writer) Write(p []byte) (int, error) {
	global = w.b
	return len(p), nil
}

func f() {
	b := Make()
	fmt.Fprint(&writer{b}, "")
	b.Free() //F
}
`},
		{proof.Dead, "used by each", `
func each(v *V, f func()) {
	f()
	v.Use()
}

func f() {
	h := MakeH()
	each(h.View(), func() {
		h.Free() //F
		h = H{}
	})
}
`},
		{proof.Dead, "used by Use", `
func two(f, g func()) {
	f()
	g()
}

func f() {
	h := MakeH()
	v := h.View()
	two(func() {
		h.Free() //F
		h = H{}
	}, func() { v.Use() })
}
`},
		{proof.Joins, "a goroutine may get another one", `
func f() {
	var x *B
	ch := make(chan bool)
	go func() {
		<-ch
		v := x
		if v == nil {
			v = Make()
		}
		v.Use()
		v.Free() //F
		ch <- true
	}()
	b := Make()
	x = b
	ch <- true
	<-ch
	b.Use()
	b.Free()
}
`},
		{proof.Joins, "a goroutine that can reach it", `
func f(c bool) {
	var x H
	ch := make(chan bool)
	go func() {
		<-ch
		y := MakeH()
		x = y
		ch <- true
		<-ch
		y.Use()
	}()
	x = H{}
	ch <- true
	<-ch
	if c {
		x = MakeH()
	}
	x.Use()
	x.Free() //F
	ch <- true
}
`},
		{proof.Joins, "a goroutine that can reach it", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	func() { defer wg.Done() }()
	wg.Wait()
	b.Free() //F
}
`},
		{proof.Callbacks, "handed to somebody", `
type matcher struct{}

func (matcher) Error() string { return "" }

func (matcher) Is(err error) bool {
	last = err
	return false
}

var last error

type held struct{ b *B }

func (held) Error() string { return "" }

func f() bool {
	b := Make()
	is := errors.Is(matcher{}, held{b})
	b.Free() //F
	return is
}
`},
		{proof.Callbacks, "handed to somebody", `
type held struct{ b *B }

func (held) Error() string { return "" }

func f(err error) bool {
	b := Make()
	is := errors.Is(err, held{b})
	b.Free() //F
	return is
}
`},
		{proof.Confined, "handed to somebody", `
func bySize(x, y *B) int {
	global = y
	return x.Sum() - y.Sum()
}

func f(c *B) bool {
	b := Make()
	sorted := slices.IsSortedFunc([]*B{b, c}, bySize)
	b.Free() //F
	return sorted
}
`},
		{proof.Callbacks, "handed to somebody", `
type held struct{ b *B }

func (held) Error() string { return "" }

type wrapped struct{ err error }

func (w wrapped) Error() string { return "" }
func (w wrapped) Unwrap() error { return w.err }

func f(err error) bool {
	b := Make()
	is := errors.Is(wrapped{err}, held{b})
	b.Free() //F
	return is
}
`},
		{proof.Callbacks, "handed to somebody", `
func show[T any](x T) string { return fmt.Sprint(x) }

func f() string {
	b := Make()
	text := show(keeper{b})
	b.Free() //F
	return text
}
`},
		{proof.Callbacks, "handed to somebody", `
func show[T any](x T) string { return fmt.Sprint([]T{x}) }

func f() string {
	b := Make()
	text := show(keeper{b})
	b.Free() //F
	return text
}
`},
		{proof.Callbacks, "handed to somebody", `
func text[T fmt.Stringer](x T) bool { return x.String() == "" }

func f() bool {
	b := Make()
	empty := text(keeper{b})
	b.Free() //F
	return empty
}
`},
		{proof.Callbacks, "handed to somebody", `
type field struct{ b *B }

func (f field) IsZero() bool {
	global = f.b
	return true
}

type doc struct{ F field }

func f() []byte {
	b := Make()
	text, _ := json.Marshal(doc{field{b}})
	b.Free() //F
	return text
}
`},
		{proof.Callbacks, "not made here", `
type doc struct{ B *B }

func f(text []byte) {
	d := doc{Make()}
	d.B.Use()
	json.Unmarshal(text, &d)
	d.B.Free() //F
}
`},
		{proof.Callbacks, "not made here", `
type N uint32

//lastuse:effect result 0 owned
func MakeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

func f(other uint32) {
	b := MakeN()
	b.Use()
	atomic.StoreUint32((*uint32)(&b), other)
	b.Free() //F
}
`},
		{proof.Callbacks, "handed to somebody", `
type source struct{ b *B }

type failed struct{ b *B }

func (f failed) Error() string { return "" }

func (s source) Read([]byte) (int, error) { return 0, failed{s.b} }

func f() error {
	b := Make()
	_, err := io.ReadAll(source{b})
	b.Free() //F
	return err
}
`},
		{proof.Joins, "handed to somebody", `
func f() {
	var wg sync.WaitGroup
	gate := make(chan bool)
	var shared, last *B
	wg.Go(func() {
		<-gate
		last = shared
	})
	b := Make()
	shared = b
	close(gate)
	wg.Wait()
	b.Free() //F
	last.Use()
}
`},
		{proof.Joins, "handed to somebody", `
type failed struct{ v *V }

func (e failed) Error() string { return "" }

func f() error {
	b := Make()
	var g errgroup.Group
	g.Go(func() error { return failed{b.View()} })
	err := g.Wait()
	b.Free() //F
	return err
}
`},
		{proof.Fresh, "may be nil", `
func f() {
	bs := []*B{Make(), Make()}
	clear(bs[1:])
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`},
		{proof.Fresh, "may be nil", `
func f() {
	bs := []*B{Make(), Make()}
	rest := slices.Delete(bs, 0, 1)
	_ = rest
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`},
		{proof.Limits, "may call itself", `
func f() {
	var run func(n int, last *B)
	run = func(n int, last *B) {
		b := Make()
		if n > 0 {
			run(n-1, b)
			b.Use()
		} else if last != nil {
			last.Free() //F
		}
	}
	run(1, nil)
}
`},
		{proof.Dead, "used by Use", `
type N uint32

//lastuse:effect result 0 owned
func MakeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

func f() {
	b := MakeN()
	c := MakeN()
	c.Use()
	c.Free() //F
	(b + 1).Use()
	b.Free()
}
`},
		{proof.Once, "freed twice", `
type pair struct{ a, b *B }

func (p *pair) Close() {
	p.a.Free()
	p.b.Free()
}

func f() {
	b := Make()
	p := pair{a: b, b: b}
	p.a.Use()
	p.Close() //F
}
`},
		{proof.Bodies, "handed to somebody", `
func f() {
	b := Make()
	unknown(b)
	b.Free() //F
}
`},
	}
	l := newLab()
	for _, tt := range tests {
		t.Run(string(tt.rule), func(t *testing.T) {
			held := l.prove(t, tt.text).Withheld()
			require.NotEmpty(t, held)
			assert.Contains(t, held[0].Why.Words, tt.words)
			r := l.prove(t, tt.text, tt.rule)
			require.NotEmpty(t, r.Edits)
			for _, v := range r.Withheld() {
				t.Errorf("without the rule: %s: %v", v.Text, v.Why)
			}
		})
	}
}

// TestDifferent is what puts in more than frees, although the statements alone might not show it.
func TestDifferent(t *testing.T) {
	tests := map[string]string{
		"a case falls through into the new default": `
func f(n int) {
	b := Make()
	b.Use()
	switch n {
	case 1:
		next()
		fallthrough
	default: //F
		b.Free() //F
	case 2:
		next()
		b.Free() //F
	}
}
`,
	}
	l := newLab()
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			edits := l.prove(t, text).Edits
			require.Len(t, edits, 1)
			require.NotNil(t, edits[0].Why)
			assert.Equal(t, proof.Same, edits[0].Why.Rule)
		})
	}
}

// TestRight is what must be accepted.
func TestRight(t *testing.T) {
	tests := map[string]string{
		"last use": `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
}
`,
		"in a case that was not there": `
func f(n int) {
	b := Make()
	switch n {
	case 1:
		b.Use()
		b.Free() //F
	default: //F
		b.Free() //F
	}
}
`,
		"in a loop": `
func f(n int) {
	for range n {
		b := Make()
		b.Use()
		b.Free() //F
	}
}
`,
		"after a failure there is nothing": `
func f() error {
	b, err := Try()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}
`,
		"result computed first": `
func f() int {
	b := Make()
	r := b.Sum() //F
	b.Free() //F
	return r //F
	return b.Sum() //O
}
`,
		"joined by a callee": `
func start(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	next()
	wg.Wait()
}

func f() {
	b := Make()
	start(b)
	b.Free() //F
}
`,
		"joined": `
func f() {
	b := Make()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { b.Use() })
	}
	wg.Wait()
	b.Free() //F
}
`,
		"moved": `
func f() {
	b := Make()
	b.Use()
	b.Free() //F
	next()
	b.Free() //O
}
`,
		"of an older one": `
func f(n int) {
	b := Make()
	b.Use()
	for range n {
		old := b //F
		b = Make()
		old.Free() //F
	}
	b.Free() //F
}
`,
		"elements": `
func f(n int) {
	var bs []*B
	for range n {
		bs = append(bs, Make())
	}
	for _, b := range bs { //F
		b.Free() //F
	} //F
}
`,
	}
	l := newLab()
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			r := l.prove(t, text)
			require.NotEmpty(t, r.Edits)
			for _, v := range r.Withheld() {
				t.Errorf("%s: %v", v.Text, v.Why)
			}
		})
	}
}
