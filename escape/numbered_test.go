package escape

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/stdtest"
)

// TestNumbersAreHandles takes the programs of testdata/rewrite with buffers that are values: with
// a number for a handle they are rewritten as with a pointer.
func TestNumbersAreHandles(t *testing.T) {
	files, err := filepath.Glob("testdata/rewrite/*.txtar")
	require.NoError(t, err)
	fset, imp := stdtest.Types()
	pointer := regexp.MustCompile(`\*Buf\b`)
	functions := 0
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		require.NoError(t, err)
		src := string(a.Files[0].Data)
		head := bufType
		if strings.HasPrefix(src, "import") {
			imports, rest, _ := strings.Cut(src, "\n\n")
			head, src = strings.Replace(bufType, "package p\n", "package p\n\n"+imports+"\n", 1), rest
		}
		src = pointer.ReplaceAllString(head+src, "Buf")
		src = strings.NewReplacer("Put(nil)", "Put(Buf{})", "return nil, err", "return Buf{}, err", "b = nil", "b = Buf{}", "b == nil", "b == (Buf{})", "b != nil", "b != (Buf{})").Replace(src)
		const pointers, numbers = "type Buf struct{ p int; q *byte }", "type Buf struct{ p int; q byte }"
		handle, n := thatCompile(t, fset, imp, strings.Replace(src, "type Buf struct{ p uintptr }", pointers, 1))
		functions += n
		number := strings.Replace(handle, pointers, numbers, 1)
		require.NotEqual(t, handle, number)
		want, wantText := planText(t, handle)
		got, gotText := planText(t, number)
		if want != got {
			t.Errorf("%s: as a pointer:\n%s\nas a number:\n%s", filepath.Base(file), wantText, gotText)
		}
	}
	require.Greater(t, functions, 400, "functions that compile with values")
}

// thatCompile takes out of src the functions that do not type-check, and counts the others.
func thatCompile(t *testing.T, fset *token.FileSet, imp types.Importer, src string) (string, int) {
	for {
		f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
		require.NoError(t, err)
		var bad token.Pos
		conf := types.Config{GoVersion: "go1.26", Importer: imp, Error: func(err error) {
			if e := err.(types.Error); !bad.IsValid() {
				bad = e.Pos
			}
		}}
		_, _ = conf.Check("p", fset, []*ast.File{f}, nil)
		if !bad.IsValid() {
			return src, len(f.Decls)
		}
		at := func(p token.Pos) int { return fset.Position(p).Offset }
		taken := false
		for _, d := range f.Decls {
			if d.Pos() <= bad && bad < d.End() {
				src, taken = src[:at(d.Pos())]+src[at(d.End()):], true
				break
			}
		}
		require.True(t, taken, "%v", fset.Position(bad))
	}
}

// planText returns the edits of src without regard to the handle's type, and the text after them.
func planText(t *testing.T, src string) (edits, text string) {
	p, fns := checked(t, "p.go", src)
	res := &Result{}
	read := func(string) ([]byte, error) { return []byte(src), nil }
	p.reports(fns, res, read)
	p.fieldFindings(fns, p.held, res, read)
	tf := p.fset.File(p.files[0].Pos())
	var w, out strings.Builder
	at := 0
	for _, f := range res.Funcs {
		for _, e := range f.Edits {
			w.WriteString(p.line(e.Pos) + " " + string(e.NewText) + "\n")
		}
	}
	for _, f := range res.Funcs {
		for _, e := range f.Edits {
			if tf.Offset(e.Pos) >= at {
				out.WriteString(src[at:tf.Offset(e.Pos)])
				out.Write(e.NewText)
				at = tf.Offset(e.End)
			}
		}
	}
	out.WriteString(src[at:])
	return w.String(), out.String()
}
