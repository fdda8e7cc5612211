package rewrite

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/vars"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestGoldens asks for one edit after the other. A line of the file ask is
//
//	LINE KIND [call TEXT RESULT | header VARIABLE] : STATEMENT
//
// where $ in the statement is the name that the result of a call gets, or the variable of a header.
// The answer is the function as it is with the edit alone, or why there can be none.
func TestGoldens(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			w := newWorkshop(t, string(ar.Files[0].Data))
			var out strings.Builder
			for ask := range strings.Lines(string(ar.Files[1].Data)) {
				ask = strings.TrimSpace(ask)
				fmt.Fprintf(&out, "# %s\n%s\n", ask, w.answer(t, ask))
			}
			if *update {
				ar.Files = append(ar.Files[:2:2], txtar.File{Name: "answer", Data: []byte(out.String())})
				require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
			}
			require.Len(t, ar.Files, 3)
			require.Equal(t, string(ar.Files[2].Data), out.String())
		})
	}
}

// A workshop has one file.
type workshop struct {
	fset *token.FileSet
	file *ast.File
	text string
	pkg  *Package
}

func newWorkshop(t *testing.T, text string) *workshop {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{}}
	conf := types.Config{Importer: importer.Default(), GoVersion: "go1.26"}
	tp, err := conf.Check("p", fset, []*ast.File{f}, info)
	require.NoError(t, err)
	free := func(t types.Type) bool {
		o, _, _ := types.LookupFieldOrMethod(t, true, nil, "Free")
		return o != nil
	}
	frees := func(call *ast.CallExpr) bool {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Free"
	}
	p := &Package{Info: info, Types: tp, Vars: vars.New(info, []*ast.File{f}), Resource: free, Frees: frees}
	return &workshop{fset, f, text, p}
}

func (w *workshop) line(p token.Pos) int { return w.fset.Position(p).Line }

// answer does what a line asks for.
func (w *workshop) answer(t *testing.T, ask string) string {
	what, stmt, _ := strings.Cut(ask, " : ")
	words := strings.Fields(what)
	line, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	src := &Source{File: w.fset.File(w.file.FileStart), Text: []byte(w.text), Tree: w.file}
	var decl *ast.FuncDecl
	for _, d := range w.file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && w.line(d.Pos()) <= line && line <= w.line(d.End()) {
			decl = d
		}
	}
	require.NotNil(t, decl, ask)
	sig := w.pkg.Info.Defs[decl.Name].(*types.Func).Signature()
	f := NewFunc(w.pkg, decl, sig, strings.Contains(w.text[src.Off(decl.Pos()):src.Off(decl.End())], "goto "))
	es, why := w.edits(t, f, src, line, words[1:], stmt)
	if why != "" {
		return "refused: " + why
	}
	Sort(es)
	require.Empty(t, src.Parses(es, decl), ask)
	text, ok := src.applyWithin(es, src.Off(decl.Pos()), src.Off(decl.End()))
	require.True(t, ok, ask)
	return text
}

func (w *workshop) edits(t *testing.T, f *Func, src *Source, line int, words []string, stmt string) (
	[]analysis.TextEdit, string) {
	if words[0] == "remove" {
		var calls []ast.Expr
		ast.Inspect(f.Node, func(n ast.Node) bool {
			if ex, ok := n.(*ast.ExprStmt); ok && w.line(ex.Pos()) == line {
				calls = append(calls, ex.X)
			}
			return true
		})
		out := f.TakenOut(src, calls, nil)
		if name := f.OnlyIn(out, nil); name != "" {
			return nil, name + " is read there alone"
		}
		if !f.Removable(src, calls[0]) {
			return nil, "it does not stand alone"
		}
		var es []analysis.TextEdit
		for _, s := range out {
			es = append(es, src.Removal(s))
		}
		return es, ""
	}
	at := w.place(t, f, line, words[0])
	hs := NewHoists(f, src)
	var h *Hoist
	switch {
	case at.Kind == Head:
		if h = hs.Head(at.Stmt); h == nil {
			return nil, "the loop starts with nothing that can move"
		}
		h.Free(len(h.Items)-1, strings.ReplaceAll(stmt, "$", h.Items[len(h.Items)-1].text()))
		return src.Hoist(h), ""
	case len(words) > 1 && words[1] == "call":
		result, err := strconv.Atoi(words[3])
		require.NoError(t, err)
		call := w.call(t, f, src, line, words[2])
		var why string
		if h, why = hs.Call(call, result); why != "" {
			return nil, why
		}
		if !f.Within(h, at) {
			return nil, "the name is not visible there"
		}
		stmt = strings.ReplaceAll(stmt, "$", h.Named(call, result))
	case len(words) > 1:
		var name string
		v := w.variable(words[2])
		_, as := f.declaredInHeader(v)
		if h, name = hs.Header(v, as.Rhs[0].Pos(), v.Pos(), at); h == nil {
			return nil, "the header is not evaluated in front of its statement"
		}
		stmt = strings.ReplaceAll(stmt, "$", name)
	}
	if h != nil && !h.Braces && at.Kind != Return {
		es, why := hs.Edits(at, []string{stmt}, nil)
		return append(es, src.Hoist(h)...), why
	}
	return hs.Edits(at, []string{stmt}, h)
}

// call returns the call that is written as text, without its blanks: that of the line if it has one.
func (w *workshop) call(t *testing.T, f *Func, src *Source, line int, text string) *ast.CallExpr {
	var found *ast.CallExpr
	ast.Inspect(f.Node, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && strings.ReplaceAll(w.text[src.Off(call.Pos()):src.Off(call.End())], " ", "") == text {
			if found == nil || w.line(call.Pos()) == line {
				found = call
			}
		}
		return true
	})
	require.NotNil(t, found, text)
	return found
}

func (w *workshop) variable(name string) *types.Var {
	for id, o := range w.pkg.Info.Defs {
		if v, ok := o.(*types.Var); ok && id.Name == name {
			return v
		}
	}
	return nil
}

// place finds the place of a kind at a line.
func (w *workshop) place(t *testing.T, f *Func, line int, kind string) Place {
	var at *Place
	ast.Inspect(f.Node, func(n ast.Node) bool {
		if n == nil || at != nil {
			return false
		}
		list := stmtsOf(n)
		if b, ok := n.(*ast.BlockStmt); ok && kind == "first" && w.line(b.Lbrace) == line {
			at = &Place{Anchor: b.Lbrace + 1, List: n, Scope: b.Lbrace + 1}
			if len(list) > 0 {
				at.Next = list[0]
			}
		}
		i := slices.IndexFunc(list, func(s ast.Stmt) bool {
			_, clause := s.(*ast.CaseClause)
			return w.line(s.End()) == line && !clause
		})
		if i >= 0 && kind == "after" {
			at = &Place{Anchor: list[i].End(), List: n, Prev: list[i], Scope: list[i].End()}
			if i+1 < len(list) {
				at.Next = list[i+1]
			}
		}
		if s, ok := n.(ast.Stmt); ok && w.line(s.Pos()) == line {
			at = special(s, kind, at)
		}
		return true
	})
	require.NotNil(t, at, "%d %s", line, kind)
	return *at
}

// special returns the place of a kind that s has, or at.
func special(s ast.Stmt, kind string, at *Place) *Place {
	switch s := s.(type) {
	case *ast.IfStmt:
		if e, ok := s.Else.(*ast.IfStmt); ok && kind == "elseif" {
			return &Place{Kind: ElseIf, Stmt: e, Scope: s.Body.Lbrace}
		} else if kind == "else" {
			return &Place{Kind: Else, Stmt: s, Scope: s.Body.Lbrace}
		}
	case *ast.SwitchStmt:
		if kind == "default" {
			return &Place{Kind: Default, Stmt: s, List: s.Body, Scope: s.Body.Lbrace}
		}
	case *ast.ReturnStmt:
		if kind == "return" {
			return &Place{Kind: Return, Stmt: s, Scope: s.Pos()}
		}
	case *ast.ForStmt, *ast.RangeStmt:
		if kind == "head" {
			return &Place{Kind: Head, Stmt: s, Scope: s.Pos()}
		}
	}
	return at
}

// TestNames asks what names mean at places.
func TestNames(t *testing.T) {
	w := newWorkshop(t, `package p

import (
	"os"
	fs "io/fs"
)

func f(b *os.File, c fs.FileInfo) {
	if b != nil {
		b := 1
		os := b
		_ = os
	}
	switch {
	case c != nil:
		b := 2
		_ = b
	}
}
`)
	f := NewFunc(w.pkg, w.file.Decls[1].(*ast.FuncDecl), nil, false)
	b := w.pkg.Info.Defs[f.Node.(*ast.FuncDecl).Type.Params.List[0].Names[0]].(*types.Var)
	pkgOf := func(path string) *types.Package {
		i := slices.IndexFunc(w.pkg.Types.Imports(), func(q *types.Package) bool { return q.Path() == path })
		return w.pkg.Types.Imports()[i]
	}
	for _, tt := range []struct {
		line    int
		kind    string
		visible bool
		os, fs  string
	}{
		{9, "first", true, "os", "fs"},
		{10, "after", false, "os", "fs"},
		{12, "after", false, "", "fs"},
		{13, "after", true, "os", "fs"},
		{17, "after", false, "os", "fs"},
	} {
		at := w.place(t, f, tt.line, tt.kind)
		require.Equal(t, tt.visible, w.pkg.Visible(b, at), "line %d", tt.line)
		require.Equal(t, tt.os, w.pkg.ImportName(w.file, pkgOf("os"), at), "line %d", tt.line)
		require.Equal(t, tt.fs, w.pkg.ImportName(w.file, pkgOf("io/fs"), at), "line %d", tt.line)
	}
}

// TestImport adds an import of "m" to files with other imports.
func TestImport(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"none", "package p\n", "package p\n\nimport \"m\"\n"},
		{"single", "package p\n\nimport \"a\"\n", "package p\n\nimport \"a\"\nimport \"m\"\n"},
		{"in order", "package p\n\nimport (\n\t\"a\"\n\t\"z\"\n)\n", "package p\n\nimport (\n\t\"a\"\n\t\"m\"\n\t\"z\"\n)\n"},
		{"into the first group", "package p\n\nimport (\n\t\"a\"\n\n\t\"b\"\n)\n", "package p\n\nimport (\n\t\"a\"\n\t\"m\"\n\n\t\"b\"\n)\n"},
		{"there already", "package p\n\nimport \"m\"\n", "package p\n\nimport \"m\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, "p.go", tt.src, parser.ParseComments)
			require.NoError(t, err)
			s := &Source{File: fset.File(f.FileStart), Text: []byte(tt.src), Tree: f}
			got, ok := s.Apply(s.Import("m"))
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
}
