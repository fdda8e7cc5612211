package proof

// The texts of a package: they are read, compared, and the frees that were taken out are put back.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A file is one file of the package, in the text that is proven: the new one, with the
// frees that were taken out put back, since what they stand for has to be shown there.
type file struct {
	name    string
	old     *ast.File // nil if it is not edited
	text    []byte
	tree    *ast.File
	put     []put
	deleted []*edit // of put, in its order
}

// A put is text that was put back: in front of which offset of the new text.
type put struct {
	at   int
	text string
}

// newOffset returns the offset in the new text of an offset in the text that is proven.
func (f *file) newOffset(n int) int {
	for _, p := range f.put {
		if n < p.at+len(p.text) {
			return min(n, p.at)
		}
		n -= len(p.text)
	}
	return n
}

// read parses a file and finds its edits.
func (c *checker) read(in File) *Reason {
	f := &file{name: in.Name, text: in.New}
	fail := func(err error) *Reason {
		return &Reason{Rule: Same, Words: fmt.Sprintf("%s: %v", path.Base(in.Name), err)}
	}
	if in.New == nil {
		f.text = in.Old
	}
	if len(f.text) > maxFile {
		return fail(fmt.Errorf("larger than %d bytes", maxFile))
	}
	const mode = parser.ParseComments | parser.SkipObjectResolution
	var err error
	if f.tree, err = parser.ParseFile(c.fset, in.Name, f.text, mode); err != nil {
		return fail(err)
	}
	if imports(f.tree, "C") {
		return &Reason{Rule: Limits, Words: "a file that uses cgo is not proven"}
	}
	c.files = append(c.files, f)
	if in.New == nil || string(in.New) == string(in.Old) {
		return nil
	}
	if f.old, err = parser.ParseFile(c.fset, in.Name, in.Old, mode); err != nil {
		return fail(err)
	}
	if ast.IsGenerated(f.old) || imports(f.old, "C") {
		return &Reason{Rule: Limits, Words: "a file that is generated, or that uses cgo, is not proven"}
	}
	diffs, why := c.compare(f, in)
	if why != nil {
		return why
	}
	for _, d := range diffs {
		for _, e := range d.edits {
			if e.kind == Deleted {
				f.deleted = append(f.deleted, e)
			}
		}
	}
	if len(f.deleted) == 0 {
		c.diffs = append(c.diffs, diffs...)
		return nil
	}
	c.putBack(f, in)
	if f.tree, err = parser.ParseFile(c.fset, in.Name, f.text, mode); err != nil {
		return fail(err)
	}
	if diffs, why = c.compare(f, in); why != nil {
		return why
	}
	c.diffs = append(c.diffs, diffs...)
	return c.findBack(f)
}

// putBack puts the frees that were taken out into the text again.
func (c *checker) putBack(f *file, in File) {
	tf, of := c.fset.File(f.tree.FileStart), c.fset.File(f.old.FileStart)
	at := func(e *edit) int { return tf.Offset(token.Pos(e.at)) }
	sort.SliceStable(f.deleted, func(i, j int) bool { return at(f.deleted[i]) < at(f.deleted[j]) })
	var out []byte
	from := 0
	for _, e := range f.deleted {
		text := string(in.Old[of.Offset(e.stmt.Pos()):of.Offset(e.stmt.End())]) + "; "
		if e.tail {
			text = "; " + strings.TrimSuffix(text, "; ")
		}
		f.put = append(f.put, put{at(e), text})
		out = append(append(out, f.text[from:at(e)]...), text...)
		from = at(e)
	}
	f.text = append(out, f.text[from:]...)
}

// findBack finds the calls of the frees that were put back.
func (c *checker) findBack(f *file) *Reason {
	tf := c.fset.File(f.tree.FileStart)
	stmts := map[int]ast.Stmt{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.ExprStmt, *ast.IfStmt:
			stmts[tf.Offset(s.Pos())] = s.(ast.Stmt)
		}
		return true
	})
	shift := 0
	for i, e := range f.deleted {
		o := f.put[i].at + shift
		if e.tail {
			o += len("; ")
		}
		shift += len(f.put[i].text)
		s := stmts[o]
		if s == nil {
			return &Reason{Rule: Same, Words: "a free that was taken out is not found again"}
		}
		es := freeing(s)
		if len(es) != 1 {
			return &Reason{Rule: Same, Words: "a free that was taken out is not found again"}
		}
		e.free, e.what, e.stmt, e.pos = es[0].free, es[0].what, s, es[0].free.Lparen
		for _, d := range c.diffs {
			if d.decl.Pos() <= s.Pos() && s.End() <= d.decl.End() && c.fset.File(d.decl.Pos()) == tf {
				e.decl = d.decl
				d.edits = append(d.edits, e)
			}
		}
	}
	return nil
}

// compare finds the edits of each declaration of a file.
func (c *checker) compare(f *file, in File) ([]*differ, *Reason) {
	old, new := withoutImports(f.old), withoutImports(f.tree)
	if len(old) != len(new) || f.old.Name.Name != f.tree.Name.Name || !sameImports(f.old, f.tree) ||
		!c.off[Same] && !slices.Equal(orders(f.old), orders(f.tree)) {
		return nil, &Reason{Rule: Same, Words: path.Base(f.name) + ": not only statements differ"}
	}
	var all []*differ
	of, nf := c.fset.File(f.old.FileStart), c.fset.File(f.tree.FileStart)
	for i := range old {
		a := in.Old[of.Offset(old[i].Pos()):of.Offset(old[i].End())]
		b := f.text[nf.Offset(new[i].Pos()):nf.Offset(new[i].End())]
		if string(a) == string(b) {
			continue
		}
		d := &differ{decl: new[i], texts: [2]string{f.name + ": " + string(a), string(b)}, lax: c.off[Same]}
		if !d.same(old[i], new[i]) {
			why := &Reason{Rule: Same, Words: "the new text differs from the old one in more than frees"}
			d.edits = []*edit{{kind: Whole, decl: new[i], why: why}}
		}
		all = append(all, d)
	}
	return all, nil
}

func withoutImports(f *ast.File) []ast.Decl {
	return slices.DeleteFunc(slices.Clone(f.Decls), func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.IMPORT
	})
}

// sameImports reports whether new imports what old does, and runtime at most, if it names that.
func sameImports(old, new *ast.File) bool {
	list := func(f *ast.File) map[string]bool {
		m := map[string]bool{}
		for _, s := range f.Imports {
			name := ""
			if s.Name != nil {
				name = s.Name.Name
			}
			m[name+" "+s.Path.Value] = true
		}
		return m
	}
	a, b := list(old), list(new)
	ast.Inspect(new, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && types.ExprString(s.X) == "runtime" && !a[` "runtime"`] {
			delete(b, ` "runtime"`)
		}
		return true
	})
	return maps.Equal(a, b)
}

// orders returns the comments that are for tools, the compiler among them, each with how many declarations,
// and parts of these, begin and end before it.
func orders(f *ast.File) (out []string) {
	var began, ended []token.Pos
	for _, d := range withoutImports(f) {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n.(type) {
			case ast.Decl, ast.Spec, *ast.Field:
				began, ended = append(began, n.Pos()), append(ended, n.End())
			}
			return true
		})
	}
	slices.Sort(ended)
	before := func(list []token.Pos, pos token.Pos) int { n, _ := slices.BinarySearch(list, pos); return n }
	for _, g := range f.Comments {
		for _, c := range g.List {
			if order.MatchString(c.Text) {
				out = append(out, fmt.Sprint(before(began, c.Pos()), before(ended, c.Pos()+1), c.Text))
			}
		}
	}
	return out
}

var order = regexp.MustCompile(`^//(line |export |extern |[a-z0-9]+:[a-z0-9]|\s*\+build)|^/\*line `)

func imports(f *ast.File, want string) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool {
		p, _ := strconv.Unquote(s.Path.Value)
		return p == want
	})
}
