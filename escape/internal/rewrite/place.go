package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
)

// A Kind says what a statement needs around it at a place.
type Kind uint8

const (
	InList  Kind = iota // nothing: it stands behind Anchor, in a list of statements
	Else                // an else that is not written
	ElseIf              // a block between else and if
	Default             // a default that is not written
	Return              // names for the results of a return, which are evaluated before it
	Head                // a name for what the header of a loop starts with
	None                // there is no such place in the source
)

// A Place is where a statement is put.
type Place struct {
	Kind   Kind
	Anchor token.Pos // InList: behind this position
	List   ast.Node  // the block or clause
	Prev   ast.Stmt  // statement before, nil at the head
	Next   ast.Stmt  // statement after, nil at the end
	Stmt   ast.Stmt  // if, switch, return, loop
	Scope  token.Pos // where names are looked up
}

// In returns the place in a list of statements, a block or a clause, in front of the one that
// begins at pos, be it behind a label, or behind the last of them.
func In(list ast.Node, pos token.Pos) Place {
	g := Place{Kind: InList, List: list}
	switch l := list.(type) {
	case *ast.BlockStmt:
		g.Anchor = l.Lbrace + 1
	case *ast.CaseClause:
		g.Anchor = l.Colon + 1
	case *ast.CommClause:
		g.Anchor = l.Colon + 1
	}
	stmts := stmtsOf(list)
	i := sort.Search(len(stmts), func(i int) bool { return stmts[i].End() > pos })
	if i > 0 {
		g.Prev, g.Anchor = stmts[i-1], stmts[i-1].End()
	}
	if i < len(stmts) {
		g.Next = stmts[i]
	}
	for g.Next != nil && g.Next.Pos() < pos {
		l, ok := g.Next.(*ast.LabeledStmt)
		if !ok {
			break
		}
		g.Prev, g.Next, g.Anchor = nil, l.Stmt, l.Colon+1
	}
	g.Scope = g.Anchor
	return g
}

// At is where a statement is put there, roughly: behind what comes before it, or in it.
func (g Place) At() token.Pos {
	switch g.Kind {
	case InList:
		return g.Anchor
	case Else:
		return g.Stmt.End()
	case Default:
		return g.List.End()
	}
	return g.Stmt.Pos()
}

// Visible reports whether the variable's name means it at g.
func (p *Package) Visible(v *types.Var, g Place) bool {
	if v.Name() == "_" || v.Name() == "" {
		return false
	}
	return p.Denotes(v.Name(), v, g)
}

// Denotes reports whether name means o in a statement at g, and nothing that shadows it.
func (p *Package) Denotes(name string, o types.Object, g Place) bool {
	s := p.scopeOf(g)
	if s == nil {
		return false
	}
	_, found := s.LookupParent(name, g.Scope)
	return found == o
}

// scopeOf returns the scope that a statement at g is in. A clause ends where
// its last statement does, so its position alone would be outside.
func (p *Package) scopeOf(g Place) *types.Scope {
	switch g.List.(type) {
	case *ast.CaseClause, *ast.CommClause:
		if g.Kind == InList {
			return p.Info.Scopes[g.List]
		}
	}
	return p.Innermost(g.Scope)
}

// Imports lists the names that file f has for package q.
func (p *Package) Imports(f *ast.File, q *types.Package) (names []*types.PkgName) {
	if f == nil || q == nil {
		return nil
	}
	for _, im := range f.Imports {
		n := p.Info.PkgNameOf(im)
		if n != nil && n.Imported() == q && n.Name() != "_" && n.Name() != "." {
			names = append(names, n)
		}
	}
	return names
}

// ImportName returns the name by which package q is called at g, in the file f; "" if there is none.
func (p *Package) ImportName(f *ast.File, q *types.Package, g Place) string {
	for _, n := range p.Imports(f, q) {
		if p.Denotes(n.Name(), n, g) {
			return n.Name()
		}
	}
	return ""
}
