package escape

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is said into testdata/explained")

// TestExplained compares what is said of each buffer, and the edits. What the rooms say on the way has
// goldens of its own, in internal/plan.
func TestExplained(t *testing.T) {
	paths, err := filepath.Glob("testdata/explained/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			require.Equal(t, "p.go", ar.Files[0].Name)
			c := tried(t, string(ar.Files[0].Data))
			res := c.proven()
			got := []txtar.File{ar.Files[0], {Name: "plan", Data: []byte(c.plan(res))}, {Name: "edit", Data: []byte(c.edited(t, res))}}
			if *update {
				ar.Files = got
				require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
				return
			}
			require.Len(t, ar.Files, len(got))
			for i, f := range got {
				require.Equal(t, string(ar.Files[i].Data), string(f.Data), f.Name)
			}
		})
	}
}

// plan prints what becomes of each buffer, and each finding.
func (c *trial) plan(res *Result) string {
	var w strings.Builder
	for _, f := range res.Funcs {
		for _, b := range f.Buffers {
			fmt.Fprintf(&w, "%d %s: %s %s\n", c.lineOf(b.Site), b.Name, b.Verdict, b.Reason)
			for _, fr := range b.Frees {
				fmt.Fprintf(&w, "\t%d %s: %s\n", c.lineOf(fr.Pos), strings.ReplaceAll(fr.Text, "\n", " "), fr.Why)
			}
		}
		for _, fd := range f.Findings {
			fmt.Fprintf(&w, "%d %s: %s\n", c.lineOf(fd.Pos), fd.Category, fd.Message)
		}
	}
	return w.String()
}
