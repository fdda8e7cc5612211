package escape

// What the bodies of a package say of its functions and of fields. Each body is
// walked once: the questions are asked for every field of every parameter, and a
// walk for each would take time by the square of the package's size.

import (
	"go/ast"
	"go/types"
)

// mentions is what one body says. It includes the literals in the body.
type mentions struct {
	empties map[*types.Var]bool // fields that it sets to nil
	assigns map[*types.Var]bool // fields that it assigns
	methods []*types.Func       // methods that it calls, each once

	within map[*types.Var]bool // fields assigned here or in what is called; nil: not asked yet
}

// A mentioner is a body that names a function.
type mentioner struct {
	in    *mentions
	calls bool // by a selector: x.f()
	other bool // in any other way
}

// bodyIndex is the mentions of all bodies of a package.
type bodyIndex struct {
	of map[*types.Func]*mentions
	by map[*types.Func][]*mentioner
}

// bodies returns the index of the package, which is made when it is first asked for.
func (p *pkg) bodies() *bodyIndex {
	if p.index != nil {
		return p.index
	}
	p.index = &bodyIndex{of: map[*types.Func]*mentions{}, by: map[*types.Func][]*mentioner{}}
	for f, d := range p.decls {
		if d.Body != nil {
			p.index.of[f] = p.readBody(d.Body)
		}
	}
	return p.index
}

func (p *pkg) readBody(body *ast.BlockStmt) *mentions {
	m := &mentions{empties: map[*types.Var]bool{}, assigns: map[*types.Var]bool{}}
	called := map[*ast.Ident]bool{}
	seen := map[*types.Func]bool{}
	names := map[*types.Func]*mentioner{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if !ok {
				break
			}
			called[sel.Sel] = true
			if s := p.info.Selections[sel]; s != nil {
				if f, ok := s.Obj().(*types.Func); ok && !seen[f.Origin()] {
					seen[f.Origin()] = true
					m.methods = append(m.methods, f.Origin())
				}
			}
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				sel, ok := ast.Unparen(l).(*ast.SelectorExpr)
				if !ok {
					continue
				}
				v, ok := p.info.Uses[sel.Sel].(*types.Var)
				if !ok {
					continue
				}
				m.assigns[v] = true
				if i < len(n.Rhs) && p.info.Types[n.Rhs[i]].IsNil() {
					m.empties[v] = true
				}
			}
		case *ast.Ident:
			f, ok := p.info.Uses[n].(*types.Func)
			if !ok || f.Pkg() != p.types {
				break
			}
			x := names[f.Origin()]
			if x == nil {
				x = &mentioner{in: m}
				names[f.Origin()] = x
				p.index.by[f.Origin()] = append(p.index.by[f.Origin()], x)
			}
			x.calls = x.calls || called[n]
			x.other = x.other || !called[n]
		}
		return true
	})
	return m
}

// emptiedBefore reports whether some function that calls f empties the field, or
// some function uses f in another way than by calling it.
func (p *pkg) emptiedBefore(f *types.Func, field *types.Var) bool {
	for _, x := range p.bodies().by[f] {
		if x.other || x.calls && x.in.empties[field] {
			return true
		}
	}
	return false
}

// assignDepth is how many calls deep an assignment is looked for.
const assignDepth = 3

// assignsField reports whether f, or a method of this package that it calls,
// assigns the field.
func (p *pkg) assignsField(f *types.Func, field *types.Var) bool {
	m := p.bodies().of[f]
	if m == nil {
		return false
	}
	if m.within == nil {
		m.within = map[*types.Var]bool{}
		seen := map[*mentions]bool{m: true}
		level := []*mentions{m}
		for range assignDepth + 1 {
			var next []*mentions
			for _, x := range level {
				for v := range x.assigns {
					m.within[v] = true
				}
				for _, callee := range x.methods {
					if y := p.index.of[callee]; y != nil && !seen[y] {
						seen[y] = true
						next = append(next, y)
					}
				}
			}
			level = next
		}
	}
	return m.within[field]
}

// naming returns the declarations in which an identifier stands.
func (p *pkg) naming(name string) []ast.Decl {
	if p.named == nil {
		p.named = map[string][]ast.Decl{}
		for _, f := range p.files {
			for _, d := range f.Decls {
				seen := map[string]bool{}
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
						seen[id.Name] = true
						p.named[id.Name] = append(p.named[id.Name], d)
					}
					return true
				})
			}
		}
	}
	return p.named[name]
}

// inspectPath calls do for each node below n, with the path that leads to it.
func inspectPath(n ast.Node, do func(path []ast.Node)) {
	var path []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		do(path)
		return true
	})
}
