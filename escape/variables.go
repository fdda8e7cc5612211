package escape

// Source to flow form: variables, their parts, and what they hold.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

func (l *lower) param(v *types.Var, i int) {
	x := l.emit(opParam, v.Type(), v.Pos())
	x.index = len(l.f.params)
	l.f.params = append(l.f.params, x)
	if v.Name() == "" || v.Name() == "_" {
		return
	}
	l.writeRoot(l.declare(v), x, v.Pos())
}

// declare makes the places of a new local variable.
func (l *lower) declare(v *types.Var) *root {
	r := l.newRoot(v, v.Name(), v.Type())
	l.roots[v] = r
	return r
}

func (l *lower) newRoot(v *types.Var, name string, t types.Type) *root {
	r := &root{obj: v, name: name, typ: t, depth: l.depth}
	add := func(path []int, t types.Type, name string) {
		r.leaves = append(r.leaves, &place{root: r, path: path, typ: t, name: name})
	}
	if a, ok := t.Underlying().(*types.Array); ok && v != nil && l.apart(v) {
		l.p.elements(a, add)
	} else if !(l.flags[v] && !l.p.splits(t) && fields(t, add)) {
		l.p.leaves(t, 0, nil, "", add)
	}
	l.f.roots = append(l.f.roots, r)
	return r
}

// leaves calls add for each part of a variable of type t that is followed
// apart: structs are split down to fields if they hold a resource and are
// none themselves.
func (p *pkg) leaves(t types.Type, depth int, path []int, name string, add func([]int, types.Type, string)) {
	if st, ok := t.Underlying().(*types.Struct); ok && depth < 3 && st.NumFields() <= 32 && p.splits(t) {
		for i := range st.NumFields() {
			p.leaves(st.Field(i).Type(), depth+1, append(path[:len(path):len(path)], i), name+"."+st.Field(i).Name(), add)
		}
		return
	}
	add(path, t, name)
}

// root returns the variable's root, nil for package-level variables.
func (l *lower) root(v *types.Var) *root {
	if r := l.roots[v]; r != nil {
		return r
	}
	if v.IsField() || v.Parent() == nil || v.Parent() == l.p.types.Scope() || v.Pkg() != l.p.types {
		return nil
	}
	// A variable of an enclosing function, or one that goto jumped over.
	r := l.declare(v)
	if v.Pos() < l.f.node.Pos() || v.Pos() > l.f.node.End() {
		r.outer = true
		r.exposed, r.sink = "stored in captured variable "+v.Name(), v.Pos()
	}
	return r
}

// readRoot returns the value of the whole variable.
func (l *lower) readRoot(r *root, pos token.Pos) *value {
	if len(r.leaves) == 1 && len(r.leaves[0].path) == 0 {
		return l.readPlace(r.leaves[0])
	}
	return l.pack(r, nil, r.typ, pos)
}

// pack gathers the leaves under path.
func (l *lower) pack(r *root, path []int, t types.Type, pos token.Pos) *value {
	v := l.f.newValue(opPack, t)
	v.pos = pos
	for _, p := range r.leaves {
		if hasPrefix(p.path, path) {
			v.args = append(v.args, l.readLeaf(r, p, pos))
		}
	}
	v.note.Kind = report.Struct
	v.place = &place{root: r, path: path, typ: t}
	l.add(v)
	return v
}

func hasPrefix(p, prefix []int) bool {
	if len(p) < len(prefix) {
		return false
	}
	for i := range prefix {
		if p[i] != prefix[i] {
			return false
		}
	}
	return true
}

func (l *lower) readPlace(p *place) *value {
	if l.cur == nil {
		l.cur = l.f.newBlock("dead")
		l.cur.sealed = true
	}
	return l.f.read(p, l.cur)
}

func (l *lower) writePlace(p *place, v *value, pos token.Pos) {
	v = l.box(v, p.typ, pos)
	s := l.emit(opSet, p.typ, pos, v)
	s.place = p
	l.f.write(p, l.cur, v)
}

func (l *lower) writeRoot(r *root, v *value, pos token.Pos) {
	if x := v.find(); r.obj != nil && x.op == opClosure && l.once(r.obj) {
		l.lits[r.obj] = x
	}
	l.writeUnder(r, nil, v, pos)
}

// writeUnder assigns v to the part of r at path.
func (l *lower) writeUnder(r *root, path []int, v *value, pos token.Pos) {
	var under []*place
	for _, p := range r.leaves {
		if hasPrefix(p.path, path) {
			under = append(under, p)
		}
	}
	if len(under) == 1 && len(under[0].path) == len(path) {
		l.writePlace(under[0], v, pos)
		return
	}
	v = v.find()
	if v.op == opPack && v.note.Kind == report.Struct && len(v.args) == len(under) {
		for i, p := range under {
			l.writePlace(p, v.args[i], pos)
		}
		return
	}
	for _, p := range under {
		if v.op == opNil {
			l.writePlace(p, l.nilValue(p.typ, pos), pos)
			continue
		}
		x := l.emit(opPart, p.typ, pos, v)
		x.note = report.Note{Kind: report.Part, Name: p.name}
		l.writePlace(p, x, pos)
	}
}

func (l *lower) nilValue(t types.Type, pos token.Pos) *value {
	return l.emit(opNil, t, pos)
}

func (l *lower) constBool(b bool) *value {
	v := l.emit(opConst, types.Typ[types.Bool], token.NoPos)
	v.index = 0
	if b {
		v.index = 1
	}
	v.note.Kind = report.Bool
	return v
}

// fix notes what a variable holds for good, so that a read in a loop need not
// wait for the end of the loop.
func (l *lower) fix(v *types.Var, x *value) {
	if r := l.roots[v]; l.once(v) && len(r.leaves) == 1 && len(r.leaves[0].path) == 0 {
		l.fixed[v] = x
	}
}

// settled returns what v, which was read from the variable e in a loop that is not lowered
// to its end, turns out to be: for others than fixed ones that is not known yet.
func (l *lower) settled(e ast.Expr, v *value) *value {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok || v.op != opPhi {
		return v
	}
	o, _ := l.p.info.Uses[id].(*types.Var)
	if only := l.fixed[o]; only != nil {
		return only.find()
	}
	return v
}

// declareAgain declares v, or finds its root where the same declaration is
// lowered a second time (a loop has one root for all iterations; a literal
// may be spliced twice).
func (l *lower) declareAgain(v *types.Var) *root {
	if r := l.roots[v]; r != nil {
		return r
	}
	return l.declare(v)
}
