package plan

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/stdtest"
)

// TestFacts shows what packages say of themselves, and the texts of those that import them.
// Each is analyzed alone, with the facts of the others as they are stored for it.
func TestFacts(t *testing.T) {
	const path = "testdata/facts/packages.txtar"
	ar, err := txtar.ParseFile(path)
	require.NoError(t, err)
	stored := map[string][]byte{}
	known := map[string]*types.Package{}
	fset, std := stdtest.Types()
	get := func(q *types.Package) *effect.Fact {
		if stored[q.Path()] == nil {
			return nil
		}
		var f effect.Fact
		require.NoError(t, gob.NewDecoder(bytes.NewReader(stored[q.Path()])).Decode(&f))
		return &f
	}
	var out strings.Builder
	for _, file := range ar.Files {
		name, ok := strings.CutSuffix(file.Name, ".go")
		if !ok {
			continue
		}
		in := checkAs(t, fset, name, string(file.Data), imports(func(path string) (*types.Package, error) {
			if p := known[path]; p != nil {
				return p, nil
			}
			return std.Import(path)
		}))
		in.Facts = effect.NewFacts(get)
		r := Run(in)
		var b bytes.Buffer
		require.NoError(t, gob.NewEncoder(&b).Encode(r.Fact))
		known[name], stored[name] = in.Types, b.Bytes()
		fmt.Fprintf(&out, "package %s\n%s", name, get(in.Types))
		for _, f := range r.Funcs {
			for _, fr := range f.Frees {
				for _, s := range fr.Sites {
					fmt.Fprintf(&out, "\t%s: what line %d makes is freed in line %d\n", f.SSA.Name(),
						fset.Position(s.Pos()).Line, fset.Position(fr.At.Pos()).Line)
				}
			}
		}
	}
	last := &ar.Files[len(ar.Files)-1]
	require.Equal(t, "facts", last.Name)
	if *update {
		last.Data = []byte(out.String())
		require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
		return
	}
	require.Equal(t, string(last.Data), out.String())
}

type imports func(path string) (*types.Package, error)

func (f imports) Import(path string) (*types.Package, error) { return f(path) }
