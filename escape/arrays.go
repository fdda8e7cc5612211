package escape

// Arrays that are as good as several variables: local ones whose elements are named
// by constant indices only. They are followed element by element.

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// maxElements bounds the arrays that are followed element by element.
const maxElements = 16

// apart reports whether the array v is followed element by element.
func (l *lower) apart(v *types.Var) bool {
	t, ok := v.Type().Underlying().(*types.Array)
	return ok && t.Len() <= maxElements && l.p.holdsResource(t.Elem()) && l.p.vars().Elements(v, l.f.body)
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
	if !ok || !l.apart(v) {
		return nil, nil, false
	}
	i, ok := constant.Int64Val(constant.ToInt(l.p.info.Types[x.Index].Value))
	if r := l.root(v); ok && r != nil {
		return r, []int{int(i)}, true
	}
	return nil, nil, false
}
