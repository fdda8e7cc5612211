package proof_test

import (
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

var said strings.Builder

func good(b *B) {}

func f() {
	b := Make()
	bad(b)
`
	const end = "}\n\nfunc g() {\n\tb := Make()\n\tgood(b)\n"
	const free = "\tb.Free()\n"
	old, edited := text+end+"}\n", text+free+end+free+"}\n"
	l := newLab()
	p := l.source(t, "p", old)
	lines, err := spec.Directives(l.fset, p.Files[0], p.Info)
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
	p.Specs, p.Facts = set, facts
	sums, err := proof.SummarizeSource(p)
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

	_, err = proof.SummarizeSource(&proof.Source{Fset: token.NewFileSet(), Types: p.Types, Files: p.Files})
	require.ErrorContains(t, err, "the proof of package p failed")

	p.Away = func(types.Object) proof.Away { panic("no such fact") }
	all, err := proof.Elsewhere(p)
	require.EqualError(t, err, "the proof of package p failed: no such fact")
	require.Equal(t, proof.Away{Declared: true, Varies: true}, all[p.Types.Scope().Lookup("good")])
	require.NotContains(t, all, nil)
}
