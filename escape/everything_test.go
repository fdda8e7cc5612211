package escape

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape/internal/plan"
	"github.com/lastuse/lastuse/escape/spec"
	"github.com/lastuse/lastuse/internal/tier"
)

var everything = flag.String("everything", "", "analyze these `packages`, separated by spaces, although they reach no resource")

// TestEverything analyzes code that was not written for it, with
// every file's handle taken for a resource: it must neither panic nor hang, and
// the edits it proposes must not overlap.
func TestEverything(t *testing.T) {
	patterns := strings.Fields(*everything)
	if len(patterns) == 0 {
		patterns = []string{"bufio", "io", "text/template", "net/textproto"}
		if tier.Long {
			patterns = append(patterns, "os", "encoding/json", "go/types")
		}
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, patterns...)
	require.NoError(t, err)
	lines, err := spec.Parse("everything.spec", []byte("os.Open result 0 owned\nos.Create result 0 owned\nos.OpenFile result 0 owned\n(*os.File).Close recv freed\n"+
		"go/types.NewScope result 0 owned\n(*go/types.Scope).Close recv freed\n"))
	require.NoError(t, err)
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	for _, pk := range pkgs {
		if len(pk.Errors) > 0 || pk.Types == nil {
			continue
		}
		start := time.Now()
		fork := set.Fork()
		fork.Add(lines, spec.Flag)
		c := &trial{subject: newSubject(pk.Fset, pk.Syntax, pk.TypesInfo, pk.Types, fork)}
		c.read = os.ReadFile
		res := c.proven()
		var findings int
		for _, f := range res.Funcs {
			findings += len(f.Findings)
			for i := 1; i < len(f.Edits); i++ {
				require.LessOrEqual(t, f.Edits[i-1].End, f.Edits[i].Pos, "%s: edits overlap", f.Name)
			}
			for _, fd := range f.Findings {
				if *everything != "" {
					t.Logf("%s: %s: %s", pk.Fset.Position(fd.Pos), fd.Category, fd.Message)
				}
			}
		}
		require.Empty(t, res.Bugs, "%s", pk.PkgPath)
		for _, s := range res.Skipped {
			require.NotContains(t, s.Reason, plan.InternalError, "%s", s.Name)
		}
		if d := time.Since(start); *everything != "" && (d > 2*time.Second || findings > 0 || len(res.Skipped) > 0) {
			t.Logf("%s: %v, %d findings, skipped %v", pk.PkgPath, d.Round(time.Millisecond), findings, res.Skipped)
		}
	}
}
