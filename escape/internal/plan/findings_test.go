package plan

import (
	"cmp"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// TestFindings shows what is wrong with buffers: kind, occasion and state of each finding, with its places,
// and its words.
func TestFindings(t *testing.T) {
	paths, err := filepath.Glob("testdata/findings/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { findings(t, path) })
	}
}

func findings(t *testing.T, path string) {
	ar, err := txtar.ParseFile(path)
	require.NoError(t, err)
	require.Len(t, ar.Files, 2)
	head, src := headed(string(ar.Files[0].Data))
	in := check(t, src)
	r := Run(in)
	lines := strings.Count(head, "\n")
	line := func(pos token.Pos) string { return fmt.Sprintf("line %d", in.Fset.Position(pos).Line-lines) }
	var out strings.Builder
	for _, f := range r.Funcs {
		for _, fd := range f.Findings {
			if f.Kept[fd.Site] != "" {
				continue // nothing is said of it
			}
			fmt.Fprintf(&out, "%s: line %d: %s: %s", f.SSA.Name(), in.Fset.Position(fd.Pos).Line-lines, fd.Kind, fd)
			if fd.Other.IsValid() {
				fmt.Fprintf(&out, ", with line %d", in.Fset.Position(fd.Other).Line-lines)
			}
			text, _ := report.Words(r.Why.Finding(f.Own.Func, fd), line)
			fmt.Fprintf(&out, "\n\t%s\n", text)
		}
	}
	for _, fd := range r.Fields {
		kind := "leak"
		if fd.Early.IsValid() {
			kind = "use-after-free"
		}
		fmt.Fprintf(&out, "%s: %s", line(cmp.Or(fd.Lost, fd.Method.Pos())), kind)
		if fd.Made.IsValid() {
			fmt.Fprintf(&out, ", with %s", line(fd.Made))
		}
		text, _ := report.Words(report.OfFields(fd), line)
		fmt.Fprintf(&out, "\n\t%s\n", text)
	}
	if *update {
		ar.Files[1].Data = []byte(out.String())
		require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
		return
	}
	require.Equal(t, string(ar.Files[1].Data), out.String())
}
