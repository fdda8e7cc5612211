package escape

// Findings about fields: what a destructor forgets, what a store loses.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// fieldFindings reports what destructors forget and what stores lose.
func (p *pkg) fieldFindings(fns []*fn, hs map[*types.Named]*holding, res *Result, read func(string) ([]byte, error)) {
	outs := map[token.Pos]*Func{}
	for _, o := range res.Funcs {
		outs[o.Pos] = o
	}
	known := len(res.Funcs)
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
			d.src = &rewrite.Source{File: tf, Text: text, Tree: p.file(f.node.Pos())}
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
		out := outs[f.node.Pos()]
		if out == nil {
			out = &Func{Name: f.name, Pos: f.node.Pos(), Filename: tf.Name()}
			outs[out.Pos] = out
			res.Funcs = append(res.Funcs, out)
		}
		if why := p.deniedAt(f.node).why; why != "" {
			for _, fd := range found {
				if len(fd.Edits) > 0 {
					fd.Edits, fd.Fix = nil, ""
					fd.Message += "; no fix: " + why
					out.withheld++
				}
			}
		}
		for _, fd := range found {
			out.Findings = append(out.Findings, fd)
			out.Edits = append(out.Edits, fd.Edits...)
		}
		rewrite.Sort(out.Edits)
		slices.SortStableFunc(out.Findings, func(a, b *Finding) int { return cmp.Compare(a.Pos, b.Pos) })
	}
	if len(res.Funcs) > known {
		slices.SortStableFunc(res.Funcs, func(a, b *Func) int { return cmp.Compare(a.Pos, b.Pos) })
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
	var g *gap
	for _, b := range d.f.rpo {
		for _, i := range b.gaps {
			if x := b.instrs[i].gap; x.kind == rewrite.InList && x.list == ast.Node(decl.Body) {
				if r, ok := x.next.(*ast.ReturnStmt); x.next == nil || ok && len(r.Results) == 0 {
					g = x
				}
			}
		}
	}
	if g == nil {
		return fd
	}
	st := h.named.Underlying().(*types.Struct)
	var stmts []string
	for _, name := range h.forget {
		for i := range st.NumFields() {
			if f := st.Field(i); f.Name() == name {
				if why := d.p.outlasts(h, f); why != "" {
					fd.Message += "; no fix: " + why
					return fd
				}
				text, why := d.w.freeText(&object{def: &value{typ: f.Type()}}, recv+"."+name, f.Type(), true, g)
				if why != "" {
					return fd
				}
				stmts = append(stmts, text)
			}
		}
	}
	if es, why := d.f.rewriter().Edits(d.src, g.where(), stmts, nil); why == "" && d.src.Parses(es, d.f.node) == "" {
		fd.Fix, fd.Edits = "free the fields that are forgotten", es
	}
	return fd
}

// lost reports a store over a field that still owns.
func (d *decider) lost(h *holding, field *types.Var, at *value) *Finding {
	fd := &Finding{Category: CategoryLeak, Pos: at.pos, End: at.pos,
		Message: fmt.Sprintf("field %s of %s is overwritten while it owns", field.Name(), h.named.Obj().Name())}
	sel, ok := at.expr.(*ast.SelectorExpr)
	if !ok {
		return fd
	}
	fd.End = sel.End()
	if decl, ok := d.f.node.(*ast.FuncDecl); ok && h.free == d.f.obj {
		fd.Pos, fd.End = decl.Name.Pos(), decl.Name.End()
		fd.Message = fmt.Sprintf("%s does not free field %s of %s: it is overwritten at %s", decl.Name.Name, field.Name(), h.named.Obj().Name(), report.At(at.pos))
	}
	if _, ok := ast.Unparen(sel.X).(*ast.Ident); !ok || d.src == nil {
		return fd // what leads to the field would be evaluated once more
	}
	var g *gap
	for _, b := range d.f.rpo {
		for _, i := range b.gaps {
			x := b.instrs[i].gap
			if as, ok := x.next.(*ast.AssignStmt); ok && x.kind == rewrite.InList && as.Pos() <= sel.Pos() && sel.End() <= as.End() && len(as.Lhs) == 1 {
				if _, isCall := ast.Unparen(as.Rhs[0]).(*ast.CallExpr); !isCall {
					g = x
				}
			}
		}
	}
	if g == nil {
		return fd
	}
	name := string(d.src.Text[d.src.Off(sel.Pos()):d.src.Off(sel.End())])
	text, why := d.w.freeText(&object{def: &value{typ: field.Type()}}, name, field.Type(), true, g)
	if why != "" {
		return fd
	}
	var es []analysis.TextEdit
	if es, why = d.f.rewriter().Edits(d.src, g.where(), []string{text}, nil); why == "" && d.src.Parses(es, d.f.node) == "" {
		fd.Fix, fd.Edits = "free what the field holds before", es
	}
	return fd
}
