package escape

// Variables that change behind the back of the function that declares them: a literal
// that captures them assigns them, or somebody has their address. Whether such a literal
// or address goes where it is not followed is known when everything is lowered; until
// then each read of such a variable is a copy that remembers whose content it is.

import (
	"go/token"
	"go/types"
)

// opaque reports whether copy v reads a variable that others may have assigned since: it
// need not hold what it was given last, nor what the last read found.
func (v *value) opaque() bool {
	return v.op == opCopy && v.from != nil && (v.from.exposed != "" || v.from.aliased)
}

// reread notes that v was read from variable o, if others may assign it.
func (l *lower) reread(v *value, o *types.Var, r *root, pos token.Pos) *value {
	if !l.p.vars().Changes(o) {
		return v
	}
	switch o.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
		return v // read part by part
	}
	c := l.emit(opCopy, o.Type(), pos, v)
	c.from = r
	return c
}

// readLeaf reads a leaf of r. What is no buffer may have been assigned by whoever has a
// pointer to r.
func (l *lower) readLeaf(r *root, p *place, pos token.Pos) *value {
	v := l.readPlace(p)
	if !l.p.tested(p.typ) || r.obj != nil && !l.p.vars().Changes(r.obj) {
		return v
	}
	c := l.emit(opCopy, p.typ, pos, v)
	c.from = r
	return c
}

// tested reports whether t is no buffer's type, but one that branches depend on.
func (p *pkg) tested(t types.Type) bool {
	return (isBool(t) || nilable(t)) && !p.isResource(t) && !p.collects(t)
}

// changed notes that a call which got the address of r may have assigned the parts of it
// that branches depend on.
func (l *lower) changed(r *root, path []int, pos token.Pos) {
	for _, p := range r.leaves {
		if (hasPrefix(p.path, path) || hasPrefix(path, p.path)) && l.p.tested(p.typ) && l.readPlace(p).op != opAddr {
			x := l.emit(opCopy, p.typ, pos, l.readPlace(p))
			x.from = &root{name: r.name, aliased: true}
			l.f.write(p, l.cur, x)
		}
	}
}
