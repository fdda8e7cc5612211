package escape

import (
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var updateRewrites = flag.Bool("update-rewrites", false, "write what the analyzer does into testdata/rewrite")

// TestRewrites holds what random programs and readings of the proof taught, shrunk: each file
// of testdata/rewrite says in its head what must be, and has functions over the
// type Buf of bufType, whose frees must not be repeated, before and after.
func TestRewrites(t *testing.T) {
	files, err := filepath.Glob("testdata/rewrite/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.NotEmpty(t, strings.TrimSpace(string(a.Comment)), "a reason")
			require.NotEmpty(t, a.Files)
			require.Equal(t, "orig.go", a.Files[0].Name)
			got := rewritten(t, string(a.Files[0].Data))
			if *updateRewrites {
				a.Files = append(a.Files[:1], txtar.File{Name: "fixed.go", Data: []byte(got)})
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
				return
			}
			require.Len(t, a.Files, 2)
			require.Equal(t, string(a.Files[1].Data), got)
			require.Equal(t, got, rewritten(t, got), "a second run changes it")
		})
	}
}

// rewritten applies the edits to functions over bufType.
func rewritten(t *testing.T, src string) string {
	head := bufType
	if strings.HasPrefix(src, "import") {
		imports, rest, ok := strings.Cut(src, "\n\n")
		require.True(t, ok)
		head, src = strings.Replace(bufType, "package p\n", "package p\n\n"+imports+"\n", 1), rest
	}
	c := tried(t, head+src)
	out, err := format.Source([]byte(c.edited(t, c.proven())))
	require.NoError(t, err)
	got := strings.TrimPrefix(string(out), head)
	require.NotEqual(t, string(out), got)
	if head != bufType {
		imports, _, _ := strings.Cut(strings.TrimPrefix(head, "package p\n\n"), "\n\ntype Buf")
		got = strings.TrimRight(imports, "\n") + "\n\n" + got
	}
	return got
}

// TestConsumedIsUsed has a buffer whose free may be repeated go to a function that
// reads it before it frees it: that is a use, however often it is freed.
func TestConsumedIsUsed(t *testing.T) {
	c := tried(t, strings.Replace(bufType, "recv freed", "recv freed repeatable", 1)+`
func consume(b *Buf) {
	b.Put(b)
	b.Free()
}

func caller(c bool) {
	b := Must(1)
	b.Put(b)
	println(1)
	if c {
		consume(b)
	}
	println(2)
}
`)
	for _, f := range c.proven().Funcs {
		if f.Name != "p.caller" {
			continue
		}
		for _, b := range f.Buffers {
			for _, fr := range b.Frees {
				require.Equal(t, "where this path needs it no longer", fr.Why, "line %d: before the function that reads it", c.lineOf(fr.Pos))
			}
		}
	}
}
