package ir

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"

	"golang.org/x/tools/go/ssa"
)

// An Input is a package that was type-checked without errors. Nothing in it is changed.
type Input struct {
	Fset   *token.FileSet
	Files  []*ast.File
	Types  *types.Package
	Info   *types.Info
	Frees  func(*types.Func) bool // whether a function is known to free, and to do no more; may be nil
	Follow func(types.Type) bool  // whether variables of a type get marks
	Heads  func(ast.Stmt) bool    // whether a loop may have a place in its header; may be nil
	All    bool                   // mark all variables at all places, to check that fewer will do
	mode   ssa.BuilderMode        // of go/ssa, for tests
}

// A Package is a package in SSA with its places.
type Package struct {
	SSA    *ssa.Package
	Funcs  []*ssa.Function        // with places: declared, then the literals in each, in the text's order
	Places []*Place               // by number
	frees  func(*types.Func) bool // as in Input
	gap    *gaps
	marked map[*types.Var][]*Place
	pass   map[ast.Node]ast.Node // copy → what it is a copy of

	heads   map[ssa.Instruction]*Place // in headers of loops
	order   map[ssa.Instruction]int    // of places in their block
	byBlock map[*types.Var]map[*ssa.BasicBlock][]standing
}

// Syntax returns the pass's syntax of a function: a *ast.FuncDecl or *ast.FuncLit, or
// the *ast.RangeStmt whose body it is.
func (p *Package) Syntax(f *ssa.Function) ast.Node {
	if n := p.pass[f.Syntax()]; n != nil {
		return n
	}
	return f.Syntax()
}

// Build returns the SSA of a package with its places. Functions that have nothing of a
// type to follow are built from the pass's syntax, and have none.
func Build(in *Input) *Package {
	p := &Package{frees: in.Frees, gap: newGaps(), marked: map[*types.Var][]*Place{}, pass: map[ast.Node]ast.Node{},
		heads: map[ssa.Instruction]*Place{}, order: map[ssa.Instruction]int{}, byBlock: map[*types.Var]map[*ssa.BasicBlock][]standing{}}
	info := *in.Info
	info.Types = maps.Clone(in.Info.Types)
	info.Uses = maps.Clone(in.Info.Uses)
	info.Implicits = maps.Clone(in.Info.Implicits)
	info.Selections = maps.Clone(in.Info.Selections)
	info.FileVersions = maps.Clone(in.Info.FileVersions)
	m := &marker{p: p, in: in, info: &info, follow: map[types.Type]bool{}}
	var decls []*ast.FuncDecl
	files := make([]*ast.File, len(in.Files))
	for i, f := range in.Files {
		g := *f
		g.Decls = make([]ast.Decl, len(f.Decls))
		for j, d := range f.Decls {
			g.Decls[j] = d
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && m.concerns(d.Body) {
				c := m.decl(d)
				g.Decls[j] = c
				decls = append(decls, c)
			}
		}
		files[i] = &g
		if v, ok := info.FileVersions[f]; ok {
			info.FileVersions[&g] = v
		}
	}
	prog := ssa.NewProgram(in.Fset, in.mode)
	prog.SetNoReturn(NeverReturns)
	for _, q := range in.Types.Imports() {
		prog.CreatePackage(q, nil, nil, true)
	}
	p.gap.create(prog)
	p.SSA = prog.CreatePackage(in.Types, files, &info, false)
	p.SSA.Build()
	for _, d := range decls {
		p.add(prog.FuncValue(info.Defs[d.Name].(*types.Func)))
	}
	for _, h := range m.heads {
		p.addHead(h)
	}
	return p
}

// add lists a function and its literals, and finds its places.
func (p *Package) add(f *ssa.Function) {
	p.Funcs = append(p.Funcs, f)
	for _, b := range f.Blocks {
		for k, i := range b.Instrs {
			call, v := p.mark(i)
			if call == nil {
				continue
			}
			pl := p.place(call)
			if v == nil {
				pl.Block, pl.At = b, call
				p.order[call] = k
				continue
			}
			for k := range pl.Marks {
				if pl.Marks[k].Var == v {
					pl.Marks[k].Call = call
				}
			}
		}
	}
	for _, a := range f.AnonFuncs {
		p.add(a)
	}
}

func (p *Package) place(call *ssa.Call) *Place {
	n, _ := constant.Int64Val(call.Call.Args[0].(*ssa.Const).Value)
	return p.Places[n]
}

// mark returns the call that i is if it is one to package gap, and the variable it names.
func (p *Package) mark(i ssa.Instruction) (*ssa.Call, *types.Var) {
	call, ok := i.(*ssa.Call)
	if !ok {
		return nil, nil
	}
	f, ok := call.Call.Value.(*ssa.Function)
	if !ok || f.Pkg != p.gap.ssa {
		return nil, nil
	}
	return call, p.gap.of[f.Object().(*types.Func)]
}

// gaps is the package of the functions that marks call.
type gaps struct {
	pkg   *types.Package
	ssa   *ssa.Package
	place *types.Func
	funcs map[*types.Var]*types.Func
	of    map[*types.Func]*types.Var
	file  *ast.File
	info  *types.Info
}

func newGaps() *gaps {
	g := &gaps{pkg: types.NewPackage("gap", "gap"), file: &ast.File{Name: ast.NewIdent("gap")},
		funcs: map[*types.Var]*types.Func{}, of: map[*types.Func]*types.Var{},
		info: &types.Info{Defs: map[*ast.Ident]types.Object{}}}
	g.place = g.declare("place")
	return g
}

// declare adds a function of a place's number and further parameters.
func (g *gaps) declare(name string, params ...*types.Var) *types.Func {
	params = append([]*types.Var{types.NewParam(token.NoPos, g.pkg, "n", types.Typ[types.Int])}, params...)
	sig := types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), nil, false)
	f := types.NewFunc(token.NoPos, g.pkg, name, sig)
	id := ast.NewIdent(name)
	g.info.Defs[id] = f
	d := &ast.FuncDecl{Name: id, Type: &ast.FuncType{Params: &ast.FieldList{}}}
	g.file.Decls = append(g.file.Decls, d)
	return f
}

func (g *gaps) named(v *types.Var) *types.Func {
	f := g.funcs[v]
	if f == nil {
		f = g.declare(v.Name(), types.NewParam(token.NoPos, g.pkg, "x", v.Type()))
		g.funcs[v], g.of[f] = f, v
	}
	return f
}

func (g *gaps) create(prog *ssa.Program) {
	g.ssa = prog.CreatePackage(g.pkg, []*ast.File{g.file}, g.info, false)
}
