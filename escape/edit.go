package escape

// Edits: plan to text. A gap becomes an insertion that keeps every comment and
// the indentation around it.

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// lines indents statements, each of which may span lines, and joins them.
func lines(stmts []string, indent, nl string) string {
	var w strings.Builder
	for _, st := range stmts {
		for _, l := range strings.Split(st, "\n") {
			w.WriteString(nl + indent + l)
		}
	}
	return w.String()
}

// oneLine joins statements on one line.
func oneLine(stmts []string) string {
	var w strings.Builder
	for l := range strings.SplitSeq(strings.Join(stmts, "\n"), "\n") {
		l = strings.TrimLeft(l, "\t")
		switch {
		case w.Len() == 0:
		case strings.HasSuffix(w.String(), "{") || strings.HasPrefix(l, "}"):
			w.WriteString(" ")
		default:
			w.WriteString("; ")
		}
		w.WriteString(l)
	}
	return w.String()
}

// edits realizes the statements at gap g.
func (p *pkg) edits(s *source, f *fn, g *gap, stmts []string, h *hoist) ([]analysis.TextEdit, string) {
	nl := s.newline()
	switch g.kind {
	case gapStmt:
		if h != nil {
			return []analysis.TextEdit{p.inBlock(s, h, stmts, nl)}, ""
		}
		return p.insertStmt(s, g, stmts, nl), ""
	case gapElse:
		body := g.stmt.(*ast.IfStmt).Body
		o := s.off(body.Rbrace) + 1
		ind, _ := s.indent(s.off(body.Rbrace))
		return []analysis.TextEdit{s.edit(o, o, " else {"+lines(stmts, ind+"\t", nl)+nl+ind+"}")}, ""
	case gapElseIf:
		return p.wrapElseIf(s, g.stmt.(*ast.IfStmt), stmts, nl), ""
	case gapDefault:
		r := s.off(g.list.(*ast.BlockStmt).Rbrace)
		ind, first := s.indent(r)
		if !first {
			return []analysis.TextEdit{s.edit(r, r, nl+ind+"default:"+lines(stmts, ind+"\t", nl)+nl+ind)}, ""
		}
		b := s.lineStart(r)
		return []analysis.TextEdit{s.edit(b, b, ind+"default:"+lines(stmts, ind+"\t", nl)+nl)}, ""
	case gapReturn:
		return p.hoistReturn(s, f, g.stmt.(*ast.ReturnStmt), stmts, nl, h)
	}
	return nil, "no place in the source"
}

// hoistEdits realizes a hoist whose statement is not rewritten otherwise.
func (p *pkg) hoistEdits(s *source, h *hoist) []analysis.TextEdit {
	nl := s.newline()
	o := s.off(h.stmt.Pos())
	ind, first := s.indent(o)
	sep := nl + ind
	if !first {
		sep = "; "
	}
	if len(h.items) > 0 && h.items[0].of > 0 {
		// f(), or _, _ = f(), becomes b, _ := f().
		return []analysis.TextEdit{s.edit(o, s.off(h.stmt.End()), h.heads(s, first)[0])}
	}
	if as, ok := h.stmt.(*ast.AssignStmt); ok && len(as.Lhs) == 1 && len(h.items) > 0 && as.Rhs[0] == h.items[len(h.items)-1].expr {
		// _ = Make() becomes b := Make().
		heads := h.heads(s, first)
		return []analysis.TextEdit{s.edit(o, s.off(h.stmt.End()), strings.Join(heads, sep))}
	}
	if ex, ok := h.stmt.(*ast.ExprStmt); ok && ex.X == h.items[len(h.items)-1].expr {
		heads := h.heads(s, first)
		return []analysis.TextEdit{s.edit(o, s.off(h.stmt.End()), strings.Join(heads, sep))}
	}
	heads := strings.Join(h.heads(s, first), sep) + sep
	if _, ok := h.stmt.(*ast.LabeledStmt); ok && first { // whose label is indented less
		heads = "\t" + strings.Join(h.heads(s, first), sep+"\t") + sep
	}
	es := []analysis.TextEdit{s.edit(o, o, heads)}
	for _, x := range h.outermost() {
		es = append(es, s.edit(s.off(x.expr.Pos()), s.off(x.expr.End()), x.text()))
	}
	// A replacement at the very start of the statement joins the insertion.
	if len(es) > 1 && es[1].Pos == es[0].Pos {
		es[1].NewText = append(es[0].NewText, es[1].NewText...)
		es = es[1:]
	}
	return es
}

// inBlock puts the statement of h into a block of its own, behind what gives the
// names and before the frees.
func (p *pkg) inBlock(s *source, h *hoist, stmts []string, nl string) analysis.TextEdit {
	from, to := h.stmt.Pos(), h.stmt.End()
	body := h.heads(s, true)
	if x, ok := h.stmt.(*ast.ExprStmt); h.items[0].of == 0 && (!ok || x.X != h.items[len(h.items)-1].expr) {
		body = append(body, h.text(s, from, to))
	}
	ind, _ := s.indent(s.off(from))
	return s.edit(s.off(from), s.off(to), "{"+lines(append(body, stmts...), ind+"\t", nl)+nl+ind+"}")
}

func (p *pkg) insertStmt(s *source, g *gap, stmts []string, nl string) []analysis.TextEdit {
	o := s.off(g.anchor)
	end, clean := s.restIsComment(o)
	ind, first := "", false
	switch {
	case g.prev != nil:
		// A labelled statement's own line may be indented less.
		at := g.prev.Pos()
		for {
			l, ok := g.prev.(*ast.LabeledStmt)
			if !ok {
				break
			}
			at = l.Stmt.Pos()
			break
		}
		ind, first = s.indent(s.off(at))
		if _, ok := g.prev.(*ast.LabeledStmt); ok && !first {
			first = true
			ind += "\t"
		}
	case g.next != nil:
		ind, first = s.indent(s.off(g.next.Pos()))
		if _, ok := g.next.(*ast.LabeledStmt); ok {
			l, _ := s.indent(o)
			ind = l + "\t"
		}
	default:
		l, _ := s.indent(o)
		ind, first = l+"\t", true
	}
	if clean && first {
		return []analysis.TextEdit{s.edit(end, end, lines(stmts, ind, nl))}
	}
	if g.prev == nil {
		text := " " + oneLine(stmts)
		if g.next != nil {
			text += ";"
		} else {
			text += " "
		}
		return []analysis.TextEdit{s.edit(o, o, text)}
	}
	return []analysis.TextEdit{s.edit(o, o, "; "+oneLine(stmts))}
}

// wrapElseIf turns "else if" into "else { …; if }".
func (p *pkg) wrapElseIf(s *source, f *ast.IfStmt, stmts []string, nl string) []analysis.TextEdit {
	from, to := s.off(f.Pos()), s.off(f.End())
	ind, _ := s.indent(from)
	es := []analysis.TextEdit{s.edit(from, from, "{"+lines(stmts, ind+"\t", nl)+nl+ind+"\t")}
	// Lines of the inner statement move in by one, except inside raw strings
	// and comments that span lines, and line directives.
	skip := map[int]bool{}
	mark := func(a, b token.Pos) {
		for l := s.line(a) + 1; l <= s.line(b); l++ {
			skip[l] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING && strings.HasPrefix(b.Value, "`") {
			mark(b.Pos(), b.End())
		}
		return true
	})
	for _, g := range s.comments(f.Pos(), f.End()) {
		for _, c := range g.List {
			if c.Pos() < f.Pos() || c.End() > f.End() {
				continue
			}
			switch {
			case strings.HasPrefix(c.Text, "/*"):
				mark(c.Pos(), c.End())
			case strings.HasPrefix(c.Text, "//line "):
				skip[s.line(c.Pos())] = true // it counts at the head of a line only
			}
		}
	}
	for l := s.line(f.Pos()) + 1; l <= s.line(f.End()-1); l++ {
		if o := s.off(s.file.LineStart(l)); !skip[l] && s.text[o] != '\n' && s.text[o] != '\r' {
			es = append(es, s.edit(o, o, "\t"))
		}
	}
	return append(es, s.edit(to, to, nl+ind+"}"))
}

// hoistReturn evaluates results into temporaries, frees, and returns them.
func (p *pkg) hoistReturn(s *source, f *fn, r *ast.ReturnStmt, stmts []string, nl string, h *hoist) ([]analysis.TextEdit, string) {
	for _, g := range s.comments(r.Pos(), r.End()) {
		if g.Pos() > r.Pos() && g.End() < r.End() {
			return nil, "a comment stands inside the returned expression"
		}
	}
	used, written := map[string]bool{}, f.walked().names
	fresh := func(name string) string {
		for used[name] || written[name] || p.types.Scope().Lookup(name) != nil || types.Universe.Lookup(name) != nil {
			name += "_"
		}
		used[name] = true
		return name
	}
	text := func(e ast.Expr) string {
		if h != nil {
			for _, x := range h.items {
				if x.expr == ast.Unparen(e) {
					return x.name
				}
			}
		}
		return h.text(s, e.Pos(), e.End())
	}
	if h != nil {
		for _, x := range h.items {
			used[x.name] = true
		}
	}
	sig := f.sig
	n := sig.Results().Len()
	var temps, vals, rets []string
	if len(r.Results) == 1 && n > 1 {
		for i := range n {
			temps = append(temps, fresh(tempName(n, i)))
		}
		vals = []string{text(r.Results[0])}
		rets = temps
	} else {
		hoisted := 0
		for _, e := range r.Results {
			if !p.stays(e) {
				hoisted++
			}
		}
		for i, e := range r.Results {
			if p.stays(e) {
				rets = append(rets, text(e))
				continue
			}
			t := fresh(tempName(hoisted, len(temps)))
			temps = append(temps, t)
			v := text(e)
			if b, ok := p.info.TypeOf(e).(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
				v = types.TypeString(sig.Results().At(i).Type(), p.qualifier) + "(" + v + ")"
			}
			vals = append(vals, v)
			rets = append(rets, t)
		}
	}
	if len(temps) == 0 {
		return nil, "nothing in the return reads it"
	}
	ind, first := s.indent(s.off(r.Pos()))
	head := strings.Join(temps, ", ") + " := " + strings.Join(vals, ", ")
	tail := "return " + strings.Join(rets, ", ")
	var out string
	if h != nil {
		sep := nl + ind
		switch {
		case !first:
			sep = "; "
		case f.gotos:
			sep += "\t"
		}
		head = strings.Join(append(h.heads(s, first), head), sep)
	}
	switch {
	case first && f.gotos:
		// A goto must not jump over the declaration of a variable.
		out = "{" + nl + ind + "\t" + head + lines(append(stmts, tail), ind+"\t", nl) + nl + ind + "}"
	case first:
		out = head + lines(stmts, ind, nl) + nl + ind + tail
	default:
		out = head + "; " + oneLine(stmts) + "; " + tail
	}
	return []analysis.TextEdit{s.edit(s.off(r.Pos()), s.off(r.End()), out)}, ""
}

func tempName(n, i int) string {
	if n > 1 {
		return "r" + itoa(i)
	}
	return "r"
}

// stays reports whether a returned expression may be evaluated after the frees.
func (p *pkg) stays(e ast.Expr) bool {
	if tv := p.info.Types[e]; tv.Value != nil || tv.IsNil() {
		return true
	}
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := p.info.Uses[x].(*types.Var)
		return ok && v.Parent() != p.types.Scope()
	case *ast.FuncLit:
		return true
	}
	return false
}
