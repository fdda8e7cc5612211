package escape

import (
	"flag"
	"go/format"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/internal/shadow"
)

var updateRewrites = flag.Bool("update-rewrites", false, "write what the analyzer does into testdata/rewrite and testdata/proven")

// TestRewrites holds what the oracle's random programs taught, shrunk: each file
// of testdata/rewrite says in its head what must be, and has functions over the
// type Buf of bufType, whose frees must not be repeated, before and after.
func TestRewrites(t *testing.T) {
	rewrites(t, "testdata/rewrite", func(p *pkg, fns []*fn, res *Result, read func(string) ([]byte, error)) {
		p.reports(fns, res, read)
		p.fieldFindings(fns, p.held, res, read)
	})
}

// TestProven does the same where the proof has a say.
func TestProven(t *testing.T) {
	rewrites(t, "testdata/proven", func(p *pkg, fns []*fn, res *Result, read func(string) ([]byte, error)) {
		pass := &analysis.Pass{TypesSizes: types.SizesFor("gc", "amd64"), ImportObjectFact: func(types.Object, analysis.Fact) bool { return false }}
		p.proofs, _ = p.summarizeProofs(pass)
		p.decideProven(pass, fns, res, read)
	})
}

// A deciding decides all functions of a package.
type deciding func(p *pkg, fns []*fn, res *Result, read func(string) ([]byte, error))

func rewrites(t *testing.T, dir string, decide deciding) {
	files, err := filepath.Glob(dir + "/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.NotEmpty(t, strings.TrimSpace(string(a.Comment)), "a reason")
			require.NotEmpty(t, a.Files)
			require.Equal(t, "orig.go", a.Files[0].Name)
			orig := string(a.Files[0].Data)
			got := rewritten(t, orig, decide)
			if *updateRewrites {
				a.Files = append(a.Files[:1], txtar.File{Name: "fixed.go", Data: []byte(got)})
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
				return
			}
			require.Len(t, a.Files, 2)
			require.Equal(t, string(a.Files[1].Data), got)
			require.Equal(t, got, rewritten(t, got, decide), "a second run changes it")
		})
	}
}

// rewritten applies the edits to functions over bufType.
func rewritten(t *testing.T, src string, decide deciding) string {
	head := bufType
	if strings.HasPrefix(src, "import") {
		imports, rest, ok := strings.Cut(src, "\n\n")
		require.True(t, ok)
		head, src = strings.Replace(bufType, "package p\n", "package p\n\n"+imports+"\n", 1), rest
	}
	text := head + src
	p, fns := checked(t, "p.go", text)
	res := &Result{}
	read := func(string) ([]byte, error) { return []byte(text), nil }
	decide(p, fns, res, read)
	require.Empty(t, res.Bugs)
	for _, s := range res.Skipped {
		require.NotContains(t, s.Reason, shadow.InternalError, "%s", s.Name)
	}
	var edits []analysis.TextEdit
	for _, f := range res.Funcs {
		edits = append(edits, f.Edits...)
	}
	rewrite.Sort(edits)
	tf := p.fset.File(p.files[0].Pos())
	var w strings.Builder
	at := 0
	for _, e := range edits {
		w.WriteString(text[at:tf.Offset(e.Pos)])
		w.Write(e.NewText)
		at = tf.Offset(e.End)
	}
	w.WriteString(text[at:])
	out, err := format.Source([]byte(w.String()))
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
	p, fns := checked(t, "p.go", strings.Replace(bufType, "recv freed", "recv freed repeatable", 1)+`
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
	res := &Result{}
	p.reports(fns, res, func(string) ([]byte, error) { return nil, nil })
	var frees []Free
	for _, f := range res.Funcs {
		if f.Name == "p.caller" {
			for _, b := range f.Buffers {
				frees = append(frees, b.Frees...)
			}
		}
	}
	for _, f := range frees {
		require.Contains(t, []string{"where this path needs it no longer", "on the edge where it is dead"}, f.Why, "%s: before the function that reads it", p.line(f.Pos))
	}
}
