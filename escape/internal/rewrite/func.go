package rewrite

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/vars"
)

// A Package is what a rewriter has to know of a package.
type Package struct {
	Info     *types.Info
	Types    *types.Package
	Vars     *vars.Index
	Resource func(t types.Type) bool       // whether a t holds what must be freed
	Frees    func(call *ast.CallExpr) bool // whether call frees something, or keeps it alive

	scopes scopes
}

func (p *Package) typeOf(e ast.Expr) types.Type {
	if t := p.Info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

func (p *Package) under(e ast.Expr) types.Type {
	if t := p.Info.TypeOf(e); t != nil {
		return t.Underlying()
	}
	return nil
}

func (p *Package) qualifier(q *types.Package) string {
	if q == p.Types {
		return ""
	}
	return q.Name()
}

// A Func is a function, with lookups in its syntax. They are made in one walk: a walk for each question
// would take time by the square of a function's size. They include the literals inside.
type Func struct {
	*Package
	Node  ast.Node // *ast.FuncDecl or *ast.FuncLit
	Sig   *types.Signature
	Gotos bool // a goto is in it

	up      map[ast.Node]ast.Node // node → the node that it is part of
	names   map[string]bool       // all identifiers
	jumps   map[string]token.Pos  // label → the first goto that leads there
	marks   map[ast.Node][]mark   // list of statements → its labels
	headers []header              // outermost ones, in the order of the source
}

// A header is the assignment with which a statement begins.
type header struct {
	stmt ast.Stmt
	as   *ast.AssignStmt
}

// A mark is a label in a list of statements.
type mark struct {
	pos   token.Pos
	first token.Pos // the first goto that leads to this label or to a later one of the list
}

// NewFunc looks through the function node; gotos says whether a goto is in it.
func NewFunc(p *Package, node ast.Node, sig *types.Signature, gotos bool) *Func {
	f := &Func{Package: p, Node: node, Sig: sig, Gotos: gotos,
		up: map[ast.Node]ast.Node{}, names: map[string]bool{}, jumps: map[string]token.Pos{}, marks: map[ast.Node][]mark{}}
	var path []ast.Node
	ast.Inspect(f.Node, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		if len(path) > 0 {
			f.up[n] = path[len(path)-1]
		}
		path = append(path, n)
		if st, ok := n.(ast.Stmt); ok {
			if as, ok := initOf(st).(*ast.AssignStmt); ok && as.Tok == token.DEFINE {
				if k := len(f.headers); k == 0 || f.headers[k-1].as.End() <= as.Pos() {
					f.headers = append(f.headers, header{st, as})
				}
			}
		}
		switch n := n.(type) {
		case *ast.Ident:
			f.names[n.Name] = true
		case *ast.BranchStmt:
			if at, ok := f.jumps[labelOf(n)]; n.Tok == token.GOTO && (!ok || n.Pos() < at) {
				f.jumps[labelOf(n)] = n.Pos()
			}
		}
		return true
	})
	return f
}

func labelOf(b *ast.BranchStmt) string {
	if b.Label == nil {
		return ""
	}
	return b.Label.Name
}

// Up returns the node that n is part of.
func (f *Func) Up(n ast.Node) ast.Node { return f.up[n] }

// PathTo lists the nodes from the function down to n; nil if n is no part of it.
func (f *Func) PathTo(n ast.Node) []ast.Node {
	if n != f.Node && f.up[n] == nil {
		return nil
	}
	var path []ast.Node
	for ; n != nil; n = f.up[n] {
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// labels lists the labels of a list of statements in the order of the source.
func (f *Func) labels(list ast.Node) []mark {
	if ms, ok := f.marks[list]; ok {
		return ms
	}
	var ms []mark
	for _, st := range stmtsOf(list) {
		for l, ok := st.(*ast.LabeledStmt); ok; l, ok = l.Stmt.(*ast.LabeledStmt) {
			ms = append(ms, mark{pos: l.Pos(), first: f.jumps[l.Label.Name]})
		}
	}
	for i := len(ms) - 2; i >= 0; i-- {
		if next := ms[i+1].first; next.IsValid() && (!ms[i].first.IsValid() || next < ms[i].first) {
			ms[i].first = next
		}
	}
	f.marks[list] = ms
	return ms
}

// firstJump returns the first goto that leads to a label of the list at pos or behind it.
func (f *Func) firstJump(list ast.Node, pos token.Pos) token.Pos {
	ms := f.labels(list)
	i, _ := slices.BinarySearchFunc(ms, pos, func(m mark, p token.Pos) int { return cmp.Compare(m.pos, p) })
	if i == len(ms) {
		return token.NoPos
	}
	return ms[i].first
}
