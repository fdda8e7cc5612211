package proof_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// TestFailed makes the proof panic in one function, over a fact that cannot be read: the function is taken
// for the worst and named, others are not concerned.
func TestFailed(t *testing.T) {
	const text = `package p

import "strings"

type B struct{}

//lastuse:effect result 0 owned
func Make() *B

//lastuse:effect recv freed repeatable
func (b *B) Free()

func bad(b *B) { strings.ToUpper("") }

func good(b *B) {}

func f() {
	b := Make()
	bad(b)
`
	const end = "}\n\nfunc g() {\n\tb := Make()\n\tgood(b)\n"
	const free = "\tb.Free()\n"
	old, edited := text+end+"}\n", text+free+end+free+"}\n"
	l := newLab()
	f, err := parser.ParseFile(l.fset, "p.go", old, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	conf := &types.Config{Importer: l.imports, Error: func(error) {}}
	pkg, err := conf.Check("p", l.fset, []*ast.File{f}, info)
	require.NoError(t, err)
	lines, err := spec.Directives(l.fset, f, info)
	require.NoError(t, err)
	set := &spec.Set{}
	for _, l := range lines {
		set.AddLine(l, spec.Directive)
	}
	facts := func(f *types.Func) *proof.Summary {
		if f.FullName() == "strings.ToUpper" {
			panic("no such fact")
		}
		return nil
	}
	sums, err := proof.SummarizeSource(&proof.Source{Fset: l.fset, Files: []*ast.File{f}, Types: pkg, Info: info,
		Specs: set, Facts: facts})
	require.NoError(t, err)
	failed := map[string]string{}
	for f, s := range sums {
		if s.Failed != "" {
			failed[f.Name()] = s.Failed
		}
	}
	require.Equal(t, map[string]string{"bad": "no such fact"}, failed)

	r := proof.Check(&proof.Input{Path: "p", Import: l.imports, Specs: set, Facts: facts,
		Files: []proof.File{{Name: "p.go", Old: []byte(old), New: []byte(edited)}}})
	require.Len(t, r.Edits, 2)
	require.False(t, r.Edits[0].Accepted())
	require.Contains(t, r.Edits[0].Why.String(), "the proof of bad, which it calls, failed: no such fact")
	require.True(t, r.Edits[1].Accepted(), "%v", r.Edits[1].Why)

	_, err = proof.SummarizeSource(&proof.Source{Fset: token.NewFileSet(), Types: pkg, Files: []*ast.File{f}})
	require.ErrorContains(t, err, "the proof of package p failed")
}
