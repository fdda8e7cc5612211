package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
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

// OneLine joins statements on one line.
func OneLine(stmts []string) string {
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

// Edits puts stmts at a place. A hoist is one whose statement is rewritten with them; nil if there is
// none. It returns why that cannot be, "" if it can.
func (hs *Hoists) Edits(g Place, stmts []string, h *Hoist) ([]analysis.TextEdit, string) {
	s := hs.src
	nl := s.newline()
	switch g.Kind {
	case InList:
		if h != nil {
			return []analysis.TextEdit{s.inBlock(h, stmts, nl)}, ""
		}
		return s.insert(g, stmts, nl), ""
	case Else:
		body := g.Stmt.(*ast.IfStmt).Body
		o := s.Off(body.Rbrace) + 1
		ind, _ := s.Indent(s.Off(body.Rbrace))
		return []analysis.TextEdit{s.edit(o, o, " else {"+lines(stmts, ind+"\t", nl)+nl+ind+"}")}, ""
	case ElseIf:
		return s.wrapElseIf(g.Stmt.(*ast.IfStmt), stmts, nl), ""
	case Default:
		r := s.Off(g.List.(*ast.BlockStmt).Rbrace)
		ind, first := s.Indent(r)
		if !first {
			return []analysis.TextEdit{s.edit(r, r, nl+ind+"default:"+lines(stmts, ind+"\t", nl)+nl+ind)}, ""
		}
		b := s.lineStart(r)
		return []analysis.TextEdit{s.edit(b, b, ind+"default:"+lines(stmts, ind+"\t", nl)+nl)}, ""
	case Return:
		return hs.hoistReturn(g.Stmt.(*ast.ReturnStmt), stmts, nl, h)
	}
	return nil, "no place in the source"
}

// Hoist realizes a hoist whose statement is not rewritten otherwise.
func (s *Source) Hoist(h *Hoist) []analysis.TextEdit {
	nl := s.newline()
	o := s.Off(h.Stmt.Pos())
	ind, first := s.Indent(o)
	sep := nl + ind
	if !first {
		sep = "; "
	}
	if h.replaces() {
		return []analysis.TextEdit{s.edit(o, s.Off(h.Stmt.End()), strings.Join(h.statements(s, first), sep))}
	}
	heads := strings.Join(h.statements(s, first), sep) + sep
	if _, ok := h.Stmt.(*ast.LabeledStmt); ok && first { // whose label is indented less
		heads = "\t" + strings.Join(h.statements(s, first), sep+"\t") + sep
	}
	es := []analysis.TextEdit{s.edit(o, o, heads)}
	for _, x := range h.outermost() {
		es = append(es, s.edit(s.Off(x.Expr.Pos()), s.Off(x.Expr.End()), x.text()))
	}
	// A replacement at the very start of the statement joins the insertion.
	if len(es) > 1 && es[1].Pos == es[0].Pos {
		es[1].NewText = append(es[0].NewText, es[1].NewText...)
		es = es[1:]
	}
	return es
}

// replaces reports whether the names stand for the whole statement: f(), or _, _ = f(), becomes b, _ := f(),
// and _ = f() becomes b := f().
func (h *Hoist) replaces() bool {
	last := h.Items[len(h.Items)-1].Expr
	switch stmt := h.Stmt.(type) {
	case *ast.AssignStmt:
		return h.Items[0].Of > 0 || len(stmt.Lhs) == 1 && stmt.Rhs[0] == last
	case *ast.ExprStmt:
		return h.Items[0].Of > 0 || stmt.X == last
	}
	return false
}

// inBlock puts the statement of h into a block of its own, behind what gives the
// names and before the frees.
func (s *Source) inBlock(h *Hoist, stmts []string, nl string) analysis.TextEdit {
	from, to := h.Stmt.Pos(), h.Stmt.End()
	body := h.statements(s, true)
	if !h.replaces() {
		body = append(body, h.text(s, from, to))
	}
	ind, _ := s.Indent(s.Off(from))
	return s.edit(s.Off(from), s.Off(to), "{"+lines(append(body, stmts...), ind+"\t", nl)+nl+ind+"}")
}

func (s *Source) insert(g Place, stmts []string, nl string) []analysis.TextEdit {
	o := s.Off(g.Anchor)
	end, clean := s.RestIsComment(o)
	ind, first := "", false
	switch {
	case g.Prev != nil:
		// A labelled statement's own line may be indented less.
		at := g.Prev.Pos()
		for {
			l, ok := g.Prev.(*ast.LabeledStmt)
			if !ok {
				break
			}
			at = l.Stmt.Pos()
			break
		}
		ind, first = s.Indent(s.Off(at))
		if _, ok := g.Prev.(*ast.LabeledStmt); ok && !first {
			first = true
			ind += "\t"
		}
	case g.Next != nil:
		ind, first = s.Indent(s.Off(g.Next.Pos()))
		if _, ok := g.Next.(*ast.LabeledStmt); ok {
			l, _ := s.Indent(o)
			ind = l + "\t"
		}
	default:
		l, _ := s.Indent(o)
		ind, first = l+"\t", true
	}
	if clean && first {
		return []analysis.TextEdit{s.edit(end, end, lines(stmts, ind, nl))}
	}
	if g.Prev == nil {
		text := " " + OneLine(stmts)
		if g.Next != nil {
			text += ";"
		} else {
			text += " "
		}
		return []analysis.TextEdit{s.edit(o, o, text)}
	}
	return []analysis.TextEdit{s.edit(o, o, "; "+OneLine(stmts))}
}

// wrapElseIf turns "else if" into "else { …; if }".
func (s *Source) wrapElseIf(f *ast.IfStmt, stmts []string, nl string) []analysis.TextEdit {
	from, to := s.Off(f.Pos()), s.Off(f.End())
	ind, _ := s.Indent(from)
	es := []analysis.TextEdit{s.edit(from, from, "{"+lines(stmts, ind+"\t", nl)+nl+ind+"\t")}
	// Lines of the inner statement move in by one, except inside raw strings
	// and comments that span lines, and line directives.
	skip := map[int]bool{}
	mark := func(a, b token.Pos) {
		for l := s.Line(a) + 1; l <= s.Line(b); l++ {
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
				skip[s.Line(c.Pos())] = true // it counts at the head of a line only
			}
		}
	}
	for l := s.Line(f.Pos()) + 1; l <= s.Line(f.End()-1); l++ {
		if o := s.Off(s.File.LineStart(l)); !skip[l] && s.Text[o] != '\n' && s.Text[o] != '\r' {
			es = append(es, s.edit(o, o, "\t"))
		}
	}
	return append(es, s.edit(to, to, nl+ind+"}"))
}

// hoistReturn evaluates results into temporaries, frees, and returns them.
func (hs *Hoists) hoistReturn(r *ast.ReturnStmt, stmts []string, nl string, h *Hoist) ([]analysis.TextEdit, string) {
	f, s := hs.f, hs.src
	for _, g := range s.comments(r.Pos(), r.End()) {
		if g.Pos() > r.Pos() && g.End() < r.End() {
			return nil, "a comment stands inside the returned expression"
		}
	}
	temps, vals, rets := hs.returned(r, h)
	if len(temps) == 0 {
		return nil, "nothing in the return reads it"
	}
	ind, first := s.Indent(s.Off(r.Pos()))
	head := strings.Join(temps, ", ") + " := " + strings.Join(vals, ", ")
	tail := "return " + strings.Join(rets, ", ")
	var out string
	if h != nil {
		sep := nl + ind
		switch {
		case !first:
			sep = "; "
		case f.Gotos:
			sep += "\t"
		}
		head = strings.Join(append(h.statements(s, first), head), sep)
	}
	switch {
	case first && f.Gotos:
		// A goto must not jump over the declaration of a variable.
		out = "{" + nl + ind + "\t" + head + lines(append(stmts, tail), ind+"\t", nl) + nl + ind + "}"
	case first:
		out = head + lines(stmts, ind, nl) + nl + ind + tail
	default:
		out = head + "; " + OneLine(stmts) + "; " + tail
	}
	return []analysis.TextEdit{s.edit(s.Off(r.Pos()), s.Off(r.End()), out)}, ""
}

// returned names what r returns: the temporaries, what they get, and what is returned then.
func (hs *Hoists) returned(r *ast.ReturnStmt, h *Hoist) (temps, vals, rets []string) {
	f, s := hs.f, hs.src
	fresh := func(name string) string {
		for slices.Contains(temps, name) || !hs.free(name) {
			name += "_"
		}
		return name
	}
	text := func(e ast.Expr) string {
		if h != nil {
			for _, x := range h.Items {
				if x.Expr == ast.Unparen(e) {
					return x.Name
				}
			}
		}
		return h.text(s, e.Pos(), e.End())
	}
	n := f.Sig.Results().Len()
	if len(r.Results) == 1 && n > 1 {
		for i := range n {
			temps = append(temps, fresh(tempName(n, i)))
		}
		return temps, []string{text(r.Results[0])}, temps
	}
	hoisted := 0
	for _, e := range r.Results {
		if !f.stays(e) {
			hoisted++
		}
	}
	for i, e := range r.Results {
		if f.stays(e) {
			rets = append(rets, text(e))
			continue
		}
		t := fresh(tempName(hoisted, len(temps)))
		temps = append(temps, t)
		v := text(e)
		if b, ok := f.Info.TypeOf(e).(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			v = types.TypeString(f.Sig.Results().At(i).Type(), f.qualifier) + "(" + v + ")"
		}
		vals = append(vals, v)
		rets = append(rets, t)
	}
	return temps, vals, rets
}

func tempName(n, i int) string {
	if n > 1 {
		return "r" + strconv.Itoa(i)
	}
	return "r"
}

// Settled reports whether all that r returns may be evaluated after the frees.
func (f *Func) Settled(r *ast.ReturnStmt) bool {
	return !slices.ContainsFunc(r.Results, func(e ast.Expr) bool { return !f.stays(e) })
}

// stays reports whether a returned expression may be evaluated after the frees. These write nothing that
// others read.
func (f *Func) stays(e ast.Expr) bool {
	if tv := f.Info.Types[e]; tv.Value != nil || tv.IsNil() {
		return true
	}
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		_, ok := f.Info.Uses[x].(*types.Var)
		return ok
	case *ast.SelectorExpr:
		_, field := f.Info.Selections[x]
		_, ok := f.Info.Uses[x.Sel].(*types.Var)
		return ok && !field
	case *ast.FuncLit:
		return true
	}
	return false
}
