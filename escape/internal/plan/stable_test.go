package plan

import (
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// TestStable runs the rooms over what they made of the goldens: a second run changes nothing.
func TestStable(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			_, src := headed(string(ar.Files[0].Data))
			once := settled(t, src)
			assert.Equal(t, once, settled(t, once))
		})
	}
}

// settled returns a file with the edits that the proof accepts.
func settled(t *testing.T, src string) string {
	in := check(t, src)
	r := Run(in)
	r.Settle(&Asker{GoVersion: "go1.26", Sizes: types.SizesFor("gc", "amd64")})
	return r.Text(in.Files[0])
}
