package proof_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// TestAgain asks twice: what was accepted in one file says nothing of the same text in another, which imports
// something else.
func TestAgain(t *testing.T) {
	const text = `package p

import k %q

func init() {
	b := Make()
	_, _ = k.Marshal(b)
	b.Free() //F
}
`
	l := newLab()
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	in := &proof.Input{Path: "p", Import: l.imports, Specs: set, Memory: &proof.Memory{}}
	var trees []*ast.File
	for i, s := range []string{library, fmt.Sprintf(text, "encoding/xml"), fmt.Sprintf(text, "encoding/json")} {
		f := proof.File{Name: fmt.Sprintf("%d.go", i), New: []byte(s)}
		f.Old = []byte(strings.Replace(s, "\tb.Free() //F\n", "", 1))
		tree, err := parser.ParseFile(l.fset, f.Name, s, parser.ParseComments)
		require.NoError(t, err)
		in.Files, trees = append(in.Files, f), append(trees, tree)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	_, err = (&types.Config{Importer: l.imports}).Check("p", l.fset, trees, info)
	require.NoError(t, err)
	lines, err := spec.Directives(l.fset, trees[0], info)
	require.NoError(t, err)
	for _, line := range lines {
		set.AddLine(line, spec.Directive)
	}
	for range 2 {
		r := proof.Check(in)
		require.Len(t, r.Edits, 2)
		require.NotNil(t, r.Edits[0].Why)
		assert.Contains(t, r.Edits[0].Why.Words, "handed to somebody")
		assert.Nil(t, r.Edits[1].Why)
	}
}
