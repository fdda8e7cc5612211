package proof

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// A checker is one run over one package.
type checker struct {
	in     *Input
	off    map[Rule]bool
	fset   *token.FileSet
	files  []*file
	info   *types.Info
	pkg    *types.Package
	prog   *ssa.Program
	sums   map[*types.Func]*Summary // found so far
	diffs  []*differ
	report *Report
	answers
	trimmed
}

// answers are what was asked once.
type answers struct {
	funcs    []*types.Func // see decls
	effects  map[*types.Func]*Summary
	literals map[*ssa.Function]*Summary
	telling  typeutil.Map                    // see tells
	mocks    *bool                           // see mocked
	away     elsewhere                       // of the package
	found    map[search]*typeutil.Map        // bool by type: see finds
	sliced   map[*ssa.Function]*typeutil.Map // arrays of which slices are made, by type
	fams     map[*ssa.Function]*family
}

// trimmed is what need not be looked into: see memory.go.
type trimmed struct {
	known   map[string]*Summary   // what is known of functions before these are looked at
	need    map[ast.Decl]bool     // declarations that are looked into
	asKnown map[*ast.Ident]string // functions that are not looked into
	embeds  bool                  // see embedsTB
	initial initials
}

const maxFile = 8 << 20

func newChecker(in *Input) *checker {
	c := &checker{in: in, fset: token.NewFileSet(), off: map[Rule]bool{}, report: &Report{},
		sums: map[*types.Func]*Summary{}, answers: answers{fams: map[*ssa.Function]*family{},
			effects: map[*types.Func]*Summary{}, literals: map[*ssa.Function]*Summary{},
			found: map[search]*typeutil.Map{}, sliced: map[*ssa.Function]*typeutil.Map{}, away: elsewhereOf(in.Left)}}
	for _, r := range in.Without {
		c.off[r] = true
	}
	return c
}

// decls returns the functions that the package declares, in the order of the text.
func (c *checker) decls() []*types.Func {
	if c.funcs != nil {
		return c.funcs
	}
	for _, f := range c.files {
		for _, d := range f.tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if o, ok := c.info.Defs[d.Name].(*types.Func); ok {
					c.funcs = append(c.funcs, o)
				}
			}
		}
	}
	return c.funcs
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
	c.embeds = slices.ContainsFunc(c.trees(), embedsTB)
	c.initial = initialsOf(slices.Concat(c.trees(), in.Left))
	c.trim()
	if why := c.types(); why != nil {
		return nil, why
	}
	for id, name := range c.asKnown {
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

// types checks the types of the text that is proven.
func (c *checker) types() *Reason {
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{}}
	var first error
	cfg := types.Config{Importer: withRuntime{c.in.Import}, Sizes: c.in.Sizes, GoVersion: c.in.GoVersion,
		FakeImportC: true}
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

// build makes SSA of the package; of what it imports only what that declares, where it is named. Methods of
// other packages are made where they are met.
func (c *checker) build() {
	c.prog = ssa.NewProgram(c.fset, ssa.GlobalDebug|ssa.BareInits) // bare: inits of imports are no part of it
	c.prog.SetNoReturn(neverReturns)
	made := map[*types.Package]bool{nil: true, c.pkg: true}
	for _, o := range c.info.Uses {
		if p := o.Pkg(); !made[p] {
			made[p] = true
			c.prog.CreatePackage(p, nil, nil, true)
		}
	}
	c.prog.CreatePackage(c.pkg, c.trees(), c.info, false).Build()
	c.cutAll()
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
