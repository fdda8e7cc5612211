package proof

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

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// A checker is one run over one package.
type checker struct {
	in    *Input
	off   map[Rule]bool
	fset  *token.FileSet
	files []*file
	info  *types.Info
	pkg   *types.Package
	prog  *ssa.Program
	sums  map[*types.Func]*Summary // found so far

	effects  map[*types.Func]*Summary
	literals map[*ssa.Function]*Summary
	telling  typeutil.Map
	handing  typeutil.Map
	diffs    []*differ
	known    map[string]*Summary     // what is known of functions before these are looked at
	stores   map[string]*fieldStores // by name of the field
	fields   map[string]*Summary     // what functions in fields do
	opened   typeutil.Map            // types that code without types may lead to
	need     map[ast.Decl]bool       // declarations that are looked into
	trimmed  map[*ast.Ident]string   // functions whose bodies were taken out

	fams   map[*ssa.Function]*family
	report *Report
}

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

const maxFile = 8 << 20

func newChecker(in *Input) *checker {
	c := &checker{in: in, fset: token.NewFileSet(), off: map[Rule]bool{}, report: &Report{}, fams: map[*ssa.Function]*family{},
		sums: map[*types.Func]*Summary{}, effects: map[*types.Func]*Summary{},
		literals: map[*ssa.Function]*Summary{}, fields: map[string]*Summary{}}
	for _, r := range in.Without {
		c.off[r] = true
	}
	return c
}

// decls returns the functions that the package declares, in the order of the text.
func (c *checker) decls() []*types.Func {
	var out []*types.Func
	for _, f := range c.files {
		for _, d := range f.tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if o, ok := c.info.Defs[d.Name].(*types.Func); ok {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// load reads and compares the texts, checks the types of the new ones and builds SSA.
func load(in *Input, known map[string]*Summary) (*checker, *Reason) {
	c := newChecker(in)
	c.known = known
	for _, f := range in.Files {
		why := c.read(f)
		if why != nil {
			return nil, why
		}
	}
	if len(in.Files) == 0 {
		return nil, &Reason{Rule: Limits, Words: "the package has no files"}
	}
	c.trim()
	if why := c.types(); why != nil {
		return nil, why
	}
	for id, name := range c.trimmed {
		if s := c.known[name]; s != nil {
			c.sums[c.info.Defs[id].(*types.Func)] = s
		}
	}
	c.build()
	return c, nil
}

func (c *checker) trees() (out []*ast.File) {
	for _, f := range c.files {
		out = append(out, f.tree)
	}
	return out
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
			d.edits = []*edit{{kind: Whole, decl: new[i], why: &Reason{Rule: Same, Words: "the new text differs from the old one in more than frees"}}}
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

// sameImports reports whether new imports what old does, and runtime at most.
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
	delete(b, ` "runtime"`)
	delete(a, ` "runtime"`)
	return maps.Equal(a, b)
}

// orders returns the comments that are for tools, the compiler among them.
func orders(f *ast.File) []string {
	var out []string
	for _, g := range f.Comments {
		for _, c := range g.List {
			if order.MatchString(c.Text) {
				out = append(out, c.Text)
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

// types checks the types of the text that is proven.
func (c *checker) types() *Reason {
	c.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	var first error
	cfg := types.Config{Importer: withRuntime{c.in.Import}, Sizes: c.in.Sizes, GoVersion: c.in.GoVersion, FakeImportC: true}
	if cfg.Sizes == nil {
		cfg.Sizes = types.SizesFor("gc", "amd64")
	}
	cfg.Error = func(err error) {
		// Without their bodies functions use no imports.
		if e, ok := err.(types.Error); first == nil && !(ok && e.Soft && !c.needed(e.Pos)) {
			first = err
		}
	}
	c.pkg, _ = cfg.Check(c.in.Path, c.fset, c.trees(), c.info)
	if first != nil {
		why := &Reason{Rule: Same, Words: "the new text does not compile: " + first.Error()}
		if e, ok := first.(types.Error); ok {
			why.Words = "the new text does not compile: " + e.Msg
			why.At = c.position(e.Pos)
		}
		return why
	}
	return nil
}

// needed reports whether pos is in a declaration that is looked into.
func (c *checker) needed(pos token.Pos) bool {
	for d := range c.need {
		if d.Pos() <= pos && pos < d.End() {
			return true
		}
	}
	return false
}

// withRuntime imports package runtime where the original did not: an edit may add its import.
// All that is needed of it then is KeepAlive.
type withRuntime struct{ types.Importer }

func (w withRuntime) Import(path string) (*types.Package, error) {
	p, err := w.Importer.Import(path)
	if err == nil || path != "runtime" {
		return p, err
	}
	p = types.NewPackage("runtime", "runtime")
	x := types.NewVar(token.NoPos, p, "x", types.Universe.Lookup("any").Type())
	sig := types.NewSignatureType(nil, nil, nil, types.NewTuple(x), nil, false)
	p.Scope().Insert(types.NewFunc(token.NoPos, p, "KeepAlive", sig))
	p.MarkComplete()
	return p, nil
}

// build makes SSA of the package; of what it imports only what that declares. Methods of other
// packages are made where they are met.
func (c *checker) build() {
	c.prog = ssa.NewProgram(c.fset, ssa.GlobalDebug)
	c.prog.SetNoReturn(neverReturns)
	for _, p := range c.pkg.Imports() {
		c.prog.CreatePackage(p, nil, nil, true)
	}
	c.prog.CreatePackage(c.pkg, c.trees(), c.info, false).Build()
}

// neverReturns reports whether a call of f is taken for a panic: it may run what is deferred, and nothing
// runs behind it. A method of an interface may be anybody's, and is none.
func neverReturns(f *types.Func) bool {
	switch f.FullName() {
	case "os.Exit", "runtime.Goexit", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "log.Panicln",
		"(*log.Logger).Fatal", "(*log.Logger).Fatalf", "(*log.Logger).Fatalln",
		"(*log.Logger).Panic", "(*log.Logger).Panicf", "(*log.Logger).Panicln",
		"(*testing.common).Fatal", "(*testing.common).Fatalf", "(*testing.common).FailNow",
		"(*testing.common).Skip", "(*testing.common).Skipf", "(*testing.common).SkipNow":
		return true
	}
	return false
}

// position returns where pos stands in the new text.
func (c *checker) position(pos token.Pos) token.Position {
	if !pos.IsValid() {
		return token.Position{}
	}
	p := c.fset.PositionFor(pos, false)
	for _, f := range c.files {
		if f.name == p.Filename && c.fset.File(pos) == c.fset.File(f.tree.FileStart) {
			n := f.newOffset(p.Offset)
			p.Column -= p.Offset - n
			p.Offset = n
		}
	}
	p.Column = max(p.Column, 1)
	return p
}

func (c *checker) text(n ast.Node) string {
	for _, f := range c.files {
		if tf := c.fset.File(f.tree.FileStart); tf == c.fset.File(n.Pos()) {
			return strings.Join(strings.Fields(string(f.text[tf.Offset(n.Pos()):tf.Offset(n.End())])), " ")
		}
	}
	return ""
}
