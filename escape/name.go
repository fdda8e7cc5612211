package escape

// Names: which expression denotes an object at a gap, and the statement that
// frees it there.

import (
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// valueAt returns what place p holds before instruction i of b, nil if that
// depends on the path.
func (f *fn) valueAt(p *place, b *block, i int) *value {
	for k := i - 1; k >= 0; k-- {
		v := b.instrs[k]
		if v.op == opSet && v.place == p {
			return v.args[0]
		}
		if v.op == opPhi && v.place == p {
			return v
		}
	}
	v, _ := f.entryValue(p, b, map[*block]bool{})
	return v
}

// entryValue returns what p holds on entry of b: nil and true if every way in
// has been looked at already, nil and false if the ways differ.
func (f *fn) entryValue(p *place, b *block, seen map[*block]bool) (*value, bool) {
	seen[b] = true
	var same *value
	for _, q := range b.preds {
		v := q.defs[p]
		if v != nil {
			v = v.find()
		} else {
			if seen[q] {
				continue
			}
			if len(seen) > 500 {
				return nil, false
			}
			var ok bool
			if v, ok = f.entryValue(p, q, seen); !ok {
				return nil, false
			}
			if v == nil {
				continue
			}
		}
		if same != nil && v != same {
			return nil, false
		}
		same = v
	}
	return same, true
}

// A named place is a place and the expression that denotes it.
type named struct {
	place *place
	name  string
	via   string // the pointer that it is reached through, if that may be nil
	typ   types.Type
}

// reachable reports whether this package may name each field on the path.
func (p *pkg) reachable(t types.Type, path []int) bool {
	for _, f := range path {
		if a, ok := t.Underlying().(*types.Array); ok {
			t = a.Elem()
			continue
		}
		st, ok := deref(t).Underlying().(*types.Struct)
		if !ok {
			return false
		}
		v := st.Field(f)
		if v.Name() == "_" || !v.Exported() && v.Pkg() != p.types {
			return false
		}
		t = v.Type()
	}
	return true
}

// nameAt returns a variable, or a field of one, that holds o at the gap.
func (w *flow) nameAt(o *object, g *value) *named {
	try := func(p *place) *named {
		if v := w.f.valueAt(p, g.blk, g.at); v == nil || origin(v) != o.def || !w.pointsStill(v, g) {
			return nil
		}
		if !w.p.isResource(p.typ) && !(o.coll && w.p.collects(p.typ)) && !types.Identical(p.typ, o.def.typ0()) {
			return nil
		}
		if !w.p.reachable(p.root.typ, p.path) {
			return nil
		}
		if p.root.obj == nil {
			via, result := w.pointer(p.root, g)
			switch {
			case via == "":
				return nil
			case result:
				return &named{p, via + p.name, via, p.typ}
			}
			return &named{p, via + p.name, "", p.typ}
		}
		if !w.p.visible(p.root.obj, g.gap) {
			return nil
		}
		return &named{p, p.String(), "", p.typ}
	}
	o.put()
	for _, p := range o.places {
		if n := try(p); n != nil {
			return n
		}
	}
	return w.spread(o, g)
}

// pointsStill reports whether v, if it is the address of a variable, leads at the gap to what
// the variable held where it was taken.
func (w *flow) pointsStill(v, g *value) bool {
	for v = v.find(); v.op == opCopy; v = v.args[0].find() {
	}
	if v.op != opAddr {
		return true
	}
	for i, p := range v.place.root.under(v.place.path) {
		if now := w.f.valueAt(p, g.blk, g.at); now == nil || i >= len(v.args) || now.find() != v.args[i].find() {
			return false
		}
	}
	return true
}

// put lists the places that o is ever put into under its own name, and the variables
// that what leads to it is put into.
func (o *object) put() {
	if o.places != nil {
		return
	}
	o.places = []*place{}
	places, vars := map[*place]bool{}, map[*types.Var]bool{}
	add := func(p *place) {
		if p != nil && !places[p] {
			places[p] = true
			o.places = append(o.places, p)
		}
	}
	if o.def.op == opPhi {
		add(o.def.place)
	}
	for _, m := range o.order {
		own := origin(m) == o.def
		for _, u := range m.users {
			if u.op != opSet && u.op != opPhi || u.place == nil {
				continue
			}
			if own {
				add(u.place)
			}
			if v := u.place.root.obj; v != nil && !vars[v] {
				vars[v] = true
				o.vars = append(o.vars, v)
			}
		}
	}
}

// spread returns a variable that is followed field by field and holds all of o, a
// struct, at the gap.
func (w *flow) spread(o *object, g *value) *named {
	if _, ok := o.def.typ0().Underlying().(*types.Struct); !ok {
		return nil
	}
	tried := map[*root]bool{}
	for _, part := range o.def.users {
		for _, u := range part.users {
			if part.op != opPart || u.op != opSet || tried[u.place.root] {
				continue
			}
			r := u.place.root
			tried[r] = true
			if r.obj == nil || !types.Identical(r.typ, o.def.typ0()) || !w.p.visible(r.obj, g.gap) {
				continue
			}
			whole := true
			for _, leaf := range r.leaves {
				v := w.f.valueAt(leaf, g.blk, g.at)
				whole = whole && v != nil && (v.op == opPart || v.op == opElem) && v.names(report.Part, leaf.name) &&
					v.args[0] == o.def
			}
			if whole {
				return &named{r.leaves[0], r.name, "", r.typ}
			}
		}
	}
	return nil
}

// pointer returns a visible variable that points to the object r at the gap,
// and whether it got the pointer from a call.
func (w *flow) pointer(r *root, g *value) (name string, result bool) {
	for _, v := range w.pointersTo(r) {
		now := w.f.valueAt(v.place, g.blk, g.at)
		if now == nil {
			continue
		}
		if a := errRoot(now); a.op == opAddr && a.place.root == r && len(a.place.path) == 0 && w.p.visible(v.place.root.obj, g.gap) {
			return v.place.root.name, r.result != nil
		}
	}
	return "", false
}

// pointersTo lists the instructions that give a variable the address of r.
func (w *flow) pointersTo(r *root) []*value {
	if w.pointers == nil {
		w.pointers = map[*root][]*value{}
		for _, b := range w.f.rpo {
			for _, v := range b.instrs {
				if v.op != opSet || v.place.root.obj == nil || len(v.place.path) > 0 {
					continue
				}
				if a := errRoot(v.args[0]); a.op == opAddr && len(a.place.path) == 0 {
					w.pointers[a.place.root] = append(w.pointers[a.place.root], v)
				}
			}
		}
	}
	return w.pointers[r]
}

// visible reports whether the variable's name means it at g.
func (p *pkg) visible(v *types.Var, g *gap) bool { return p.rewriter().Visible(v, g.where()) }

// denotes reports whether name means o in a statement at g, and nothing that shadows it.
func (p *pkg) denotes(name string, o types.Object, g *gap) bool {
	return p.rewriter().Denotes(name, o, g.where())
}

// importName returns the name by which package q is called at g; "" if there is none.
func (p *pkg) importName(q *types.Package, g *gap) string {
	return p.rewriter().ImportName(p.file(g.scope), q, g.where())
}

// inScope reports whether a free of o may be left to gap g: whether one of the
// variables that ever hold o is visible there. A variable declared in the header of
// an if, a for or a switch is not, after the statement. Without variables it makes
// no difference.
func (w *flow) inScope(o *object, g *value) bool {
	if g == nil {
		return false
	}
	o.put()
	return len(o.vars) == 0 || slices.ContainsFunc(o.vars, func(v *types.Var) bool { return w.p.visible(v, g.gap) })
}

// inScope reports the same for all objects of the group.
func (pl *planner) inScope(g *value) bool {
	if g == nil {
		return false
	}
	for _, o := range pl.g.objs {
		if o.kind != objParam && !pl.g.w.inScope(o, g) {
			return false
		}
	}
	return true
}

// freeText returns the statement that frees name, of type t, at g, or why there is none.
func (w *flow) freeText(o *object, name string, t types.Type, mayNil bool, g *gap) (text, why string) {
	elem := w.elemName(name)
	if o.coll && w.p.collects(t) {
		e := elemType(t)
		inner, why := w.freeText(&object{def: o.def, armed: o.armed, group: o.group}, elem, e, true, g)
		if why != "" {
			return "", why
		}
		return "for _, " + elem + " := range " + name + " {\n\t" + strings.ReplaceAll(inner, "\n", "\n\t") + "\n}", ""
	}
	fr := w.freer(o, t)
	if fr == nil {
		return "", "no function is known to free " + w.p.typeName(t)
	}
	arg := name
	if !fr.recv {
		if fr.pointer && !isPointer(t) {
			arg = "&" + name
		}
		fn := fr.fn.Name()
		if fr.fn.Pkg() != w.p.types {
			q := w.p.importName(fr.fn.Pkg(), g)
			if q == "" {
				return "", "package " + fr.fn.Pkg().Path() + ", which frees it, is not imported here"
			}
			fn = q + "." + fn
		} else if !w.p.denotes(fn, fr.fn, g) {
			return "", fn + ", which frees it, means something else here"
		}
		text = fn + "(" + arg + ")"
	} else {
		text = name + "." + fr.fn.Name() + "()"
	}
	if mayNil && !nilable(t) && fr.insists {
		return "", "it may be empty, which " + fr.fn.Name() + " does not accept"
	}
	if mayNil && nilable(t) && !fr.nilOK {
		if !w.p.denotes("nil", types.Universe.Lookup("nil"), g) {
			return "", nilShadowed
		}
		text = "if " + name + " != nil {\n\t" + text + "\n}"
	}
	return text, ""
}

const nilShadowed = "it may be nil, and nil means something else here"

// elemName is the variable of a loop that frees the elements of name.
func (w *flow) elemName(name string) string {
	if name == "b" {
		return "x"
	}
	return "b"
}

func nilable(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return true
	case *types.Basic:
		return t.Underlying().(*types.Basic).Kind() == types.UnsafePointer
	}
	return false
}

// freer chooses how to free o, whose variable has type t.
func (w *flow) freer(o *object, t types.Type) *freer {
	for _, fr := range w.freersFor(o, t) {
		if !fr.usable {
			continue
		}
		if o.armed && !fr.repeatable && !fr.disarms {
			continue
		}
		return fr
	}
	return nil
}

func (w *flow) repeatable(o *object) bool {
	t := o.def.typ0()
	if o.coll {
		t = elemType(t)
	}
	if tt, ok := t.(*types.Tuple); ok && tt.Len() > 0 {
		t = tt.At(0).Type()
	}
	fs := w.freersFor(o, t)
	if len(fs) == 0 {
		return false
	}
	for _, f := range fs {
		if !f.repeatable {
			return false
		}
	}
	return true
}
