package escape

// Fields that own: what a method does to the resources that its receiver
// holds. A type whose destructor forgets one leaks it; a store over one that
// still owns loses it; a method that frees all of them is the type's free.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

type fieldState = uint8

const (
	fOwned fieldState = 1 << iota // what the field held on entry, or got since
	fFreed
	fNil
	fGone  // handed on, or not known
	fSince // beside fOwned: got since
)

// A fieldUse is what a function does to one field of one parameter.
type fieldUse struct {
	field  *types.Var
	exit   fieldState
	frees  bool
	repeat bool
	lost   []*value // stores over a field that owns
}

// A holding is what a struct type of the package owns through its fields.
type holding struct {
	named  *types.Named
	owned  map[string]int // stores of owned values, by field
	other  map[string]int // of anything else but nil
	free   *types.Func    // the destructor
	freed  map[string]bool
	forget []string // fields that it forgets
}

// closed reports whether the type has a free of its own and only what is owned is
// ever stored in the fields that it frees: whatever is stored, freeing is right.
func (h *holding) closed(p *pkg) bool {
	if h == nil || h.free == nil {
		return false
	}
	if _, ok := p.freeing[h.free]; !ok {
		return false
	}
	for name := range h.freed {
		if h.other[name] > 0 {
			return false
		}
	}
	return true
}

var destructorNames = map[string]bool{"Free": true, "Close": true, "Release": true, "Destroy": true, "Dispose": true, "Drop": true}

// structOf returns the named struct of this package that t is or points to.
func (p *pkg) structOf(t types.Type) (*types.Named, *types.Struct) {
	n, ok := types.Unalias(deref(t)).(*types.Named)
	if !ok || n.Obj().Pkg() != p.types {
		return nil, nil
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return nil, nil
	}
	return n.Origin(), s
}

// fieldUses follows the resource fields of parameter v through f.
func (w *flow) fieldUses(v *value) []*fieldUse {
	_, st := w.p.structOf(v.typ0())
	if st == nil {
		return nil
	}
	var out []*fieldUse
	for i := range st.NumFields() {
		if f := st.Field(i); w.p.isResource(f.Type()) {
			out = append(out, w.fieldUse(v, f))
		}
	}
	return out
}

func (w *flow) fieldUse(v *value, field *types.Var) *fieldUse {
	u := &fieldUse{field: field, repeat: true}
	isLoad := func(x *value) bool {
		x = origin(x)
		return x.op == opPart && (x.note == "field "+field.Name() || x.note == "."+field.Name()) && len(x.args) > 0 && origin(x.args[0]) == v
	}
	// leaves reports whether what was loaded goes somewhere that is not followed.
	var leaves func(x *value, depth int) bool
	leaves = func(x *value, depth int) bool {
		for _, y := range x.users {
			switch y.op {
			case opCall, opDefer, opCmp, opNot, opElem, opPart, opPure, opUse, opDiscard, opSet, opGap, opBound:
			case opCopy, opAddr:
				if depth > 8 || leaves(y, depth+1) {
					return true
				}
			case opStore:
				if y.args[0] == x && !(len(y.args) > 1 && origin(y.args[1]) == v) {
					return true
				}
			default:
				return true
			}
		}
		return false
	}
	fresh := w.p.fresh(w.f.obj, field)
	in := map[*block]fieldState{w.f.rpo[0]: fOwned}
	lost := map[*value]bool{}
	step := func(x *value, s fieldState) fieldState {
		switch x.op {
		case opPart:
			if isLoad(x) && leaves(x, 0) {
				return fGone
			}
		case opStore:
			if len(x.args) < 2 || origin(x.args[1]) != v || !strings.HasPrefix(x.note, "stored in field "+field.Name()+" of ") {
				return s
			}
			if s&fOwned != 0 && (s&fSince != 0 || !fresh) && !isLoad(x.args[0]) {
				lost[x] = true
			}
			if origin(x.args[0]).op == opNil {
				return fNil
			}
			return fOwned | fSince
		case opCall, opDefer:
			for j, a := range x.args {
				if x.call.params[j] < -1 {
					continue
				}
				e := x.call.sum.arg(x.call.params[j])
				switch {
				case isLoad(a):
					switch {
					case e.Freed.K == Always:
						u.frees = true
						u.repeat = u.repeat && e.Repeatable
						s = s&^(fOwned|fSince) | fFreed
					case e.Freed.K != Never || e.Escapes.K != Never:
						s = fGone
					}
				case origin(a) == v:
					switch {
					case e.Freed.K == Always, slices.Contains(e.Fields, field.Name()):
						u.frees = true
						s = s&^(fOwned|fSince) | fFreed
						if e.Resets {
							s = fNil
						}
					case e.Escapes.K != Never || e.Writes || e.Freed.K != Never, w.p.assignsField(x.fn, field, 3):
						s = fGone
					}
				}
			}
		case opReturn:
			u.exit |= s
		}
		return s
	}
	out := map[*block]fieldState{}
	for again, n := true, 0; again && n < 50; n++ {
		again = false
		u.exit = 0
		clear(lost)
		for _, b := range w.f.rpo {
			s := in[b]
			if s == 0 {
				continue
			}
			for _, x := range b.instrs {
				s = step(x, s)
			}
			if s != out[b] {
				out[b] = s
				again = true
			}
			for i, t := range b.succs {
				e := s
				if b.cond != nil && len(b.succs) == 2 {
					if x, ok := nilTest(b.cond); ok && (isLoad(x) || origin(x) == v) && (b.cond.tok == token.EQL) == (i == 0) {
						e = fNil // it holds nothing, or there is nothing to hold it
					}
				}
				if in[t]|e != in[t] {
					in[t] |= e
					again = true
				}
			}
		}
	}
	for x := range lost {
		u.lost = append(u.lost, x)
	}
	slices.SortFunc(u.lost, func(a, b *value) int { return cmp.Compare(a.pos, b.pos) })
	return u
}

// fresh reports whether the field is empty, for all we know, when f is called: f
// sets values up, as testify's SetupTest does, or is a helper of functions that
// empty the field first.
func (p *pkg) fresh(f *types.Func, field *types.Var) bool {
	if f == nil {
		return true
	}
	for _, prefix := range []string{"setup", "init", "open", "start"} {
		if strings.HasPrefix(strings.ToLower(f.Name()), prefix) {
			return true
		}
	}
	if f.Exported() {
		return false
	}
	fresh := false
	for _, file := range p.files {
		for _, d := range file.Decls {
			caller, ok := d.(*ast.FuncDecl)
			if !ok || caller.Body == nil {
				continue
			}
			calls, other, empties := p.mentions(caller.Body, f, field)
			fresh = fresh || other || calls && empties
		}
	}
	return fresh
}

// mentions reports whether a body calls f, uses it in another way, and sets the
// field to nil.
func (p *pkg) mentions(body *ast.BlockStmt, f *types.Func, field *types.Var) (calls, other, empties bool) {
	called := map[*ast.Ident]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
				called[sel.Sel] = true
			}
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				sel, ok := ast.Unparen(l).(*ast.SelectorExpr)
				if ok && p.info.Uses[sel.Sel] == field && i < len(n.Rhs) && p.info.Types[n.Rhs[i]].IsNil() {
					empties = true
				}
			}
		case *ast.Ident:
			if g, ok := p.info.Uses[n].(*types.Func); ok && g.Origin() == f {
				calls = calls || called[n]
				other = other || !called[n]
			}
		}
		return true
	})
	return calls, other, empties
}

// assignsField reports whether f, or a function of this package that it calls,
// assigns the field.
func (p *pkg) assignsField(f *types.Func, field *types.Var, depth int) bool {
	if f == nil || p.decls[f] == nil || p.decls[f].Body == nil {
		return false
	}
	found := false
	ast.Inspect(p.decls[f].Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if sel, ok := ast.Unparen(l).(*ast.SelectorExpr); ok && p.info.Uses[sel.Sel] == field {
					found = true
				}
			}
		case *ast.CallExpr:
			if depth > 0 {
				sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
				if ok && p.info.Selections[sel] != nil {
					m, _ := p.info.Selections[sel].Obj().(*types.Func)
					found = found || m != nil && p.assignsField(m.Origin(), field, depth-1)
				}
			}
		}
		return !found
	})
	return found
}

// holdings finds out which fields of the package's structs own, and which
// methods free them.
func (p *pkg) holdings(fns []*fn) map[*types.Named]*holding {
	hs := map[*types.Named]*holding{}
	get := func(t types.Type) *holding {
		n, _ := p.structOf(t)
		if n == nil || p.isDeclared(n) || !p.holdsResource(n) {
			return nil
		}
		h := hs[n]
		if h == nil {
			h = &holding{named: n, owned: map[string]int{}, other: map[string]int{}, freed: map[string]bool{}}
			hs[n] = h
		}
		return h
	}
	note := func(w *flow, h *holding, field string, v *value) {
		v = origin(v)
		switch o := w.byDef[v]; {
		case v.op == opNil:
		case o != nil && o.kind != objParam:
			h.owned[field]++
		default:
			h.other[field]++
		}
	}
	for _, f := range fns {
		if f.flow == nil || f.declined != "" {
			continue
		}
		for _, b := range f.rpo {
			for _, v := range b.instrs {
				switch {
				case v.op == opSet && len(v.place.path) == 1:
					if h := get(v.place.root.typ); h != nil && v.args[0].op != opPart {
						note(f.flow, h, strings.TrimPrefix(v.place.name, "."), v.args[0])
					}
				case v.op == opStore && len(v.args) == 2:
					sel, ok := v.expr.(*ast.SelectorExpr)
					if !ok {
						continue
					}
					if h := get(p.typeOf(sel.X)); h != nil {
						note(f.flow, h, sel.Sel.Name, v.args[0])
					}
				}
			}
		}
	}
	for _, f := range fns {
		if f.obj == nil || f.flow == nil || f.declined != "" || f.sig.Recv() == nil || f.sig.Params().Len() > 0 || len(f.params) == 0 {
			continue
		}
		h := get(f.sig.Recv().Type())
		if h == nil {
			continue
		}
		var uses []*fieldUse
		if !p.guarded(f, func() { uses = f.flow.fieldUses(f.params[0]) }) {
			continue
		}
		any := slices.ContainsFunc(uses, func(u *fieldUse) bool { return u.frees })
		if !any && !destructorNames[f.obj.Name()] || h.free != nil && !any {
			continue
		}
		freed := map[string]bool{}
		var forget []string
		repeat, resets := true, true
		for _, u := range uses {
			name := u.field.Name()
			switch {
			case u.frees && u.exit&^(fFreed|fNil) == 0:
				freed[name] = true
				repeat = repeat && (u.repeat || u.exit == fNil)
				resets = resets && u.exit == fNil
			case !u.frees && u.exit&fOwned != 0 && u.exit&fGone == 0 && h.owned[name] > 0 && h.other[name] == 0:
				forget = append(forget, name)
			}
		}
		if resets && !destructorNames[f.obj.Name()] {
			continue // it makes room, and does not end the life of its receiver
		}
		if h.free != nil && len(freed) <= len(h.freed) {
			continue
		}
		h.free, h.freed, h.forget = f.obj, freed, forget
		complete := len(freed) > 0 && len(forget) == 0
		for name := range h.owned {
			complete = complete && freed[name]
		}
		if complete {
			p.freeing[f.obj] = ArgEffect{Freed: When{K: Always}, Repeatable: repeat, Resets: resets, NilOK: isPointer(f.sig.Recv().Type()) && p.toleratesNil(f, f.params[0])}
		}
	}
	return hs
}

// isDeclared reports whether a spec or directive says how to free t.
func (p *pkg) isDeclared(t types.Type) bool {
	return slices.ContainsFunc(p.freersOf(t), func(f *freer) bool { return f.declared })
}

// fieldFindings reports what destructors forget and what stores lose.
func (p *pkg) fieldFindings(fns []*fn, hs map[*types.Named]*holding, res *Result, read func(string) ([]byte, error)) {
	for _, f := range fns {
		if f.obj == nil || f.flow == nil || f.declined != "" || len(f.params) == 0 {
			continue
		}
		n, _ := p.structOf(f.params[0].typ0())
		h := hs[n]
		if h == nil || h.free == nil {
			continue
		}
		d := &decider{p: p, f: f, w: f.flow}
		tf := p.fset.File(f.node.Pos())
		if tf == nil {
			continue
		}
		if text, err := read(tf.Name()); err == nil && len(text) == tf.Size() && p.readOnly(f.node.Pos()) == "" {
			d.src = &source{file: tf, text: text, tree: p.file(f.node.Pos())}
		}
		var found []*Finding
		if h.free == f.obj {
			if fd := d.forgotten(h); fd != nil {
				found = append(found, fd)
			}
		}
		for _, u := range f.flow.fieldUses(f.params[0]) {
			name := u.field.Name()
			if !h.freed[name] && !(h.free == f.obj && h.owned[name] > 0) || h.other[name] > 0 || h.owned[name] == 0 {
				continue
			}
			for _, at := range u.lost {
				found = append(found, d.lost(h, u.field, at))
			}
		}
		if len(found) == 0 {
			continue
		}
		var out *Func
		for _, o := range res.Funcs {
			if o.Pos == f.node.Pos() {
				out = o
			}
		}
		if out == nil {
			out = &Func{Name: f.name, Pos: f.node.Pos(), Filename: tf.Name()}
			res.Funcs = append(res.Funcs, out)
			slices.SortStableFunc(res.Funcs, func(a, b *Func) int { return cmp.Compare(a.Pos, b.Pos) })
		}
		for _, fd := range found {
			out.Findings = append(out.Findings, fd)
			out.Edits = append(out.Edits, fd.Edits...)
		}
		sortEdits(out.Edits)
		slices.SortStableFunc(out.Findings, func(a, b *Finding) int { return cmp.Compare(a.Pos, b.Pos) })
	}
}

// forgotten reports the fields that destructor d.f leaves.
func (d *decider) forgotten(h *holding) *Finding {
	decl, ok := d.f.node.(*ast.FuncDecl)
	if !ok || len(h.forget) == 0 {
		return nil
	}
	slices.Sort(h.forget)
	fd := &Finding{Category: CategoryLeak, Pos: decl.Name.Pos(), End: decl.Name.End(),
		Message: fmt.Sprintf("%s does not free field %s of %s", decl.Name.Name, strings.Join(h.forget, ", "), h.named.Obj().Name())}
	recv := ""
	if r := decl.Recv; r != nil && len(r.List) == 1 && len(r.List[0].Names) == 1 {
		recv = r.List[0].Names[0].Name
	}
	if len(h.freed) == 0 {
		// By its name alone. Whoever calls it may go on with the value.
		fd.Message += "; it frees nothing today, so a person has to say that it ends the value's life"
		return fd
	}
	if d.src == nil || recv == "" || recv == "_" || len(d.f.exits) != 1 {
		return fd
	}
	st := h.named.Underlying().(*types.Struct)
	var stmts []string
	for _, name := range h.forget {
		for i := range st.NumFields() {
			if f := st.Field(i); f.Name() == name {
				text, why := d.w.freeText(&object{def: &value{typ: f.Type()}}, recv+"."+name, f.Type(), true, decl.Body.Rbrace)
				if why != "" {
					return fd
				}
				stmts = append(stmts, text)
			}
		}
	}
	var g *gap
	for _, b := range d.f.rpo {
		for _, i := range b.gaps {
			if x := b.instrs[i].gap; x.kind == gapStmt && x.list == ast.Node(decl.Body) {
				if r, ok := x.next.(*ast.ReturnStmt); x.next == nil || ok && len(r.Results) == 0 {
					g = x
				}
			}
		}
	}
	if g == nil {
		return fd
	}
	if es, why := d.p.edits(d.src, d.f, g, stmts, nil); why == "" && d.src.parses(es) == "" {
		fd.Fix, fd.Edits = "free the fields that are forgotten", es
	}
	return fd
}

// lost reports a store over a field that still owns.
func (d *decider) lost(h *holding, field *types.Var, at *value) *Finding {
	fd := &Finding{Category: CategoryLeak, Pos: at.pos, End: at.pos,
		Message: fmt.Sprintf("field %s of %s is overwritten while it owns", field.Name(), h.named.Obj().Name())}
	sel, ok := at.expr.(*ast.SelectorExpr)
	if !ok || d.src == nil {
		return fd
	}
	fd.End = sel.End()
	if decl, ok := d.f.node.(*ast.FuncDecl); ok && h.free == d.f.obj {
		fd.Pos, fd.End = decl.Name.Pos(), decl.Name.End()
		fd.Message = fmt.Sprintf("%s does not free field %s of %s: it is overwritten at %s", decl.Name.Name, field.Name(), h.named.Obj().Name(), d.p.line(at.pos))
	}
	var g *gap
	for _, b := range d.f.rpo {
		for _, i := range b.gaps {
			x := b.instrs[i].gap
			if as, ok := x.next.(*ast.AssignStmt); ok && x.kind == gapStmt && as.Pos() <= sel.Pos() && sel.End() <= as.End() && len(as.Lhs) == 1 {
				if _, isCall := ast.Unparen(as.Rhs[0]).(*ast.CallExpr); !isCall {
					g = x
				}
			}
		}
	}
	if g == nil {
		return fd
	}
	name := string(d.src.text[d.src.off(sel.Pos()):d.src.off(sel.End())])
	text, why := d.w.freeText(&object{def: &value{typ: field.Type()}}, name, field.Type(), true, g.scope)
	if why != "" {
		return fd
	}
	var es []analysis.TextEdit
	if es, why = d.p.edits(d.src, d.f, g, []string{text}, nil); why == "" && d.src.parses(es) == "" {
		fd.Fix, fd.Edits = "free what the field holds before", es
	}
	return fd
}
