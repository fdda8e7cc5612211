package escape

// Arrays that are as good as several variables: local ones whose elements are named
// by constant indices only. They are followed element by element.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// maxElements bounds the arrays that are followed element by element.
const maxElements = 16

// indexedByConstants lists the array variables declared in body that are used in no
// other way than x[CONSTANT], len(x), range x, and assignment of a literal that
// lists its elements.
func (p *pkg) indexedByConstants(body *ast.BlockStmt) map[*types.Var]bool {
	found := map[*types.Var]bool{}
	fine := map[*ast.Ident]bool{} // uses that are understood
	array := func(e ast.Expr) (*ast.Ident, *types.Var) {
		id, ok := ast.Unparen(e).(*ast.Ident)
		if !ok {
			return nil, nil
		}
		v, ok := p.info.ObjectOf(id).(*types.Var)
		if !ok || v.IsField() {
			return nil, nil
		}
		if t, ok := v.Type().Underlying().(*types.Array); !ok || t.Len() > maxElements || !p.holdsResource(t.Elem()) {
			return nil, nil
		}
		return id, v
	}
	initial := func(lhs, rhs ast.Expr) {
		id, v := array(lhs)
		if v == nil || rhs != nil && !p.listsElements(rhs) {
			return
		}
		fine[id] = true
		if p.info.Defs[id] != nil {
			found[v] = true
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) == 1 && len(n.Rhs) == 1 && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
				initial(n.Lhs[0], n.Rhs[0])
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				switch len(n.Values) {
				case 0:
					initial(id, nil)
				case 1:
					initial(id, n.Values[0])
				}
			}
		case *ast.RangeStmt:
			if id, v := array(n.X); v != nil {
				fine[id] = true
			}
		case *ast.IndexExpr:
			if id, v := array(n.X); v != nil && p.info.Types[n.Index].Value != nil {
				fine[id] = true
			}
		case *ast.UnaryExpr:
			// The address of an element may be moved along the array.
			if x, ok := ast.Unparen(n.X).(*ast.IndexExpr); ok && n.Op == token.AND {
				if _, v := array(x.X); v != nil {
					delete(found, v)
					return false
				}
			}
		case *ast.CallExpr:
			if f, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && len(n.Args) == 1 {
				if b, ok := p.info.Uses[f].(*types.Builtin); ok && b.Name() == "len" {
					if id, v := array(n.Args[0]); v != nil {
						fine[id] = true
					}
				}
			}
		}
		return true
	})
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !fine[id] {
			if v, ok := p.info.ObjectOf(id).(*types.Var); ok {
				delete(found, v)
			}
		}
		return true
	})
	return found
}

// listsElements reports whether e is an array literal without keys.
func (p *pkg) listsElements(e ast.Expr) bool {
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return false
	}
	if _, ok := p.typeOf(lit).Underlying().(*types.Array); !ok {
		return false
	}
	for _, el := range lit.Elts {
		if _, keyed := el.(*ast.KeyValueExpr); keyed {
			return false
		}
	}
	return true
}

// elements adds the leaves of an array that is followed element by element.
func (p *pkg) elements(t *types.Array, add func([]int, types.Type, string)) {
	for i := range int(t.Len()) {
		p.leaves(t.Elem(), 1, []int{i}, "["+itoa(i)+"]", add)
	}
}

// listInto assigns the elements of an array literal to those of r.
func (l *lower) listInto(r *root, lit *ast.CompositeLit) {
	var vals []*value
	for _, el := range lit.Elts {
		vals = append(vals, l.expr(el))
	}
	l.writeRoot(r, l.nilValue(r.typ, lit.Pos()), lit.Pos())
	for i, v := range vals {
		l.writeUnder(r, []int{i}, v.find(), lit.Elts[i].Pos())
	}
}

// elementPlace finds the element that x denotes of an array that is followed element
// by element.
func (l *lower) elementPlace(x *ast.IndexExpr) (*root, []int, bool) {
	id, ok := ast.Unparen(x.X).(*ast.Ident)
	if !ok {
		return nil, nil, false
	}
	v, ok := l.p.info.ObjectOf(id).(*types.Var)
	if !ok || !l.arrays[v] {
		return nil, nil, false
	}
	i, ok := constant.Int64Val(constant.ToInt(l.p.info.Types[x.Index].Value))
	if r := l.root(v); ok && r != nil {
		return r, []int{int(i)}, true
	}
	return nil, nil, false
}
