package plan

import (
	"fmt"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// TestReasons shows in words what becomes of each buffer, and where.
func TestReasons(t *testing.T) {
	const path = "testdata/reasons/kept.txtar"
	ar, err := txtar.ParseFile(path)
	require.NoError(t, err)
	require.Len(t, ar.Files, 2)
	in := check(t, header+string(ar.Files[0].Data))
	r := Run(in)
	line := func(pos token.Pos) string {
		return fmt.Sprintf("p.go:%d", in.Fset.Position(pos).Line-strings.Count(header, "\n"))
	}
	var out strings.Builder
	for _, f := range r.Funcs {
		for _, v := range f.Verdicts {
			why := r.Why.Of(f.Own.Func, &v)
			text, _ := report.Words(why.String(), line)
			require.NotEmpty(t, text)
			require.NotEmpty(t, why.String())
			fmt.Fprintf(&out, "%s: %s: %s\n", f.SSA.Name(), line(v.Site.Pos()), text)
			for _, s := range why.Path {
				fmt.Fprintf(&out, "\t%s: %s\n", line(s.Pos), s.Text)
			}
			if v.Site.Moves != nil {
				fmt.Fprintf(&out, "\t%s: here it leaves\n", line(why.Pos))
			}
		}
	}
	if *update {
		ar.Files[1].Data = []byte(out.String())
		require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
		return
	}
	require.Equal(t, string(ar.Files[1].Data), out.String())
}
