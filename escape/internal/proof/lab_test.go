package proof_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/internal/stdtest"
	"github.com/lastuse/lastuse/escape/spec"
)

// library is what the programs below are written against. Its functions have no bodies: what
// they do, the directives say.
const library = `package p

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sync/errgroup"
)

var _ bufio.Writer
var _ bytes.Buffer
var _ context.Context
var _ = fmt.Sprint
var _ = log.Print
var _ = maps.Clone[map[int]int]
var _ = runtime.GC
var _ = slices.Max[[]int]
var _ errgroup.Group
var _ = errors.Is
var _ io.Reader
var _ = hex.Encode
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

// Arr is an interface of a library: the lines for its methods, and for NewArr, are embedded.
type Arr interface {
	Release()
	Size() int
	Part() *V
	Add(b *B)
}

func NewArr() Arr
func TryArr() (Arr, error)
func NewArrWith(b *B, opts ...option) Arr
func WithSize(n int) option
func WithB(b *B) option

type config struct{ n int }
type option func(*config)

type Wider interface {
	Arr
	Wide() *V
}

// Lib is what the library has behind it.
type Lib struct{ n int }

func (l *Lib) Release()
func (l *Lib) Size() int
func NewLib() *Lib

func (l *Lib) Ints() []int64
func (l *Lib) Part() *V
func (l *Lib) Add(b *B)

type keeper struct{ b *B }

func (k keeper) String() string {
	global = k.b
	return ""
}

`

// A lab has what all proofs of tests are made with.
type lab struct {
	fset    *token.FileSet
	imports types.Importer
}

func newLab() *lab {
	fset, imports := stdtest.Types()
	return &lab{fset, imports}
}

// prove proves functions. Lines that end in //F are put in, lines that end in //O taken out.
func (l *lab) prove(t *testing.T, text string, without ...proof.Rule) *proof.Report {
	t.Helper()
	in := l.input(t, text)
	in.Without = without
	return proof.Check(in)
}

// input is what prove asks about.
func (l *lab) input(t *testing.T, text string) *proof.Input {
	t.Helper()
	var old, new strings.Builder
	for line := range strings.Lines(library + text) {
		put, gone := strings.HasSuffix(line, "//F\n"), strings.HasSuffix(line, "//O\n")
		if strings.HasPrefix(line, "//") { // a comment for tools
			line = strings.TrimSuffix(strings.TrimSuffix(line, " //F\n"), " //O\n")
			line = strings.TrimSuffix(line, "\n") + "\n"
		}
		if !put {
			old.WriteString(line)
		}
		if !gone {
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
	globs, err := spec.Parse("p.spec", []byte("p.lend* args borrowed\n"))
	require.NoError(t, err)
	set.Add(globs, spec.Module)
	torn, err := spec.ParseClauses(token.Position{}, "result 0 owned")
	require.NoError(t, err)
	set.AddLine(&spec.Line{Name: "p.Torn", Clauses: torn, Torn: "another file says something else"}, spec.Module)
	embedded, err := spec.Parse("lib.spec", []byte("p.NewArr result 0 owned\np.TryArr result 0 owned\n"+
		"p.NewArrWith args borrowed, result 0 owned\np.With* args borrowed\n(p.Arr).Release recv freed\n"+
		"(p.Arr).Size recv borrowed\n(p.Arr).Part recv borrowed, result 0 views recv\n"+
		"(p.Arr).Add recv borrowed, arg 0 borrowed\n"+
		"(p.Wider).Wide recv borrowed, result 0 views recv\n"+
		"p.NewLib result 0 owned\n(*p.Lib).Ints result 0 views recv\n"+
		"(*p.Lib).Release recv freed\n(*p.Lib).* recv borrowed, args borrowed\n"))
	require.NoError(t, err)
	set.Add(embedded, spec.Embedded)
	return &proof.Input{Path: "p", Import: imports, Specs: set,
		Files: []proof.File{{Name: "p.go", Old: []byte(old.String()), New: []byte(new.String())}}}
}

// source returns a package of one file with its types.
func (l *lab) source(t *testing.T, path, text string) *proof.Source {
	t.Helper()
	f, err := parser.ParseFile(l.fset, path+".go", text, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{}}
	pkg, err := (&types.Config{Importer: l.imports}).Check(path, l.fset, []*ast.File{f}, info)
	require.NoError(t, err)
	return &proof.Source{Fset: l.fset, Files: []*ast.File{f}, Types: pkg, Info: info}
}
