package escape

// The text of a file, and edits of it.

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// source is a file's text.
type source struct {
	file *token.File
	text []byte
	tree *ast.File

	inner []analysis.TextEdit // in literals, which may be in text that moves
	moved map[token.Pos]bool  // of these, what was made in moved text
}

// copied returns the text between two positions, with the edits inside it.
func (s *source) copied(from, to token.Pos) string {
	var w strings.Builder
	first, _ := slices.BinarySearchFunc(s.inner, from+1, func(e analysis.TextEdit, p token.Pos) int { return cmp.Compare(e.Pos, p) })
	for _, e := range s.inner[first:] {
		if e.Pos >= to {
			break
		}
		if e.Pos <= from || e.End >= to {
			continue
		}
		w.Write(s.text[s.off(from):s.off(e.Pos)])
		w.Write(e.NewText)
		from = e.End
		s.moved[e.Pos] = true
	}
	w.Write(s.text[s.off(from):s.off(to)])
	return w.String()
}

func (s *source) off(p token.Pos) int { return s.file.Offset(p) }

// comments lists the groups of comments of which a part lies between two positions.
func (s *source) comments(from, to token.Pos) []*ast.CommentGroup {
	all := s.tree.Comments
	i, _ := slices.BinarySearchFunc(all, from, func(g *ast.CommentGroup, p token.Pos) int { return cmp.Compare(g.End(), p) })
	j, _ := slices.BinarySearchFunc(all, to, func(g *ast.CommentGroup, p token.Pos) int { return cmp.Compare(g.Pos(), p) })
	return all[i:max(i, j)]
}

// line returns p's line in the text itself, whatever a line directive calls it.
func (s *source) line(p token.Pos) int { return s.file.PositionFor(p, false).Line }

// lineStart returns the offset of the first byte of the line of offset o.
func (s *source) lineStart(o int) int {
	for o > 0 && s.text[o-1] != '\n' {
		o--
	}
	return o
}

// indent returns the white space that begins the line of offset o, and whether
// only that stands before o.
func (s *source) indent(o int) (string, bool) {
	b := s.lineStart(o)
	i := b
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	return string(s.text[b:i]), i >= o
}

// restIsComment reports whether nothing but white space and comments follows
// offset o on its line; end is then the end of the line.
func (s *source) restIsComment(o int) (end int, ok bool) {
	i := o
	for i < len(s.text) {
		switch {
		case s.text[i] == '\n':
			if i > o && s.text[i-1] == '\r' {
				return i - 1, true
			}
			return i, true
		case s.text[i] == ' ' || s.text[i] == '\t' || s.text[i] == '\r':
			i++
		case strings.HasPrefix(string(s.text[i:min(i+2, len(s.text))]), "//"):
			for i < len(s.text) && s.text[i] != '\n' {
				i++
			}
		case strings.HasPrefix(string(s.text[i:min(i+2, len(s.text))]), "/*"):
			j := strings.Index(string(s.text[i:]), "*/")
			if j < 0 || strings.Contains(string(s.text[i:i+j]), "\n") {
				return 0, false
			}
			i += j + 2
		default:
			return 0, false
		}
	}
	return i, true
}

func (s *source) newline() string {
	if i := slices.Index(s.text, '\n'); i > 0 && s.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func (s *source) edit(from, to int, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: s.file.Pos(from), End: s.file.Pos(to), NewText: []byte(text)}
}

// apply returns the text with edits, which must be sorted and not overlap.
func (s *source) apply(es []analysis.TextEdit) (string, bool) {
	return s.applyWithin(es, 0, len(s.text))
}

// applyWithin returns the text between two offsets with edits that all lie there.
func (s *source) applyWithin(es []analysis.TextEdit, begin, end int) (string, bool) {
	var w strings.Builder
	at := begin
	for _, e := range es {
		from, to := s.off(e.Pos), s.off(e.End)
		if from < at || to > end {
			return "", false
		}
		w.Write(s.text[at:from])
		w.Write(e.NewText)
		at = to
	}
	w.Write(s.text[at:end])
	return w.String(), true
}

// parses reports why the file does not parse with the edits; "" if it does. Where they all lie in in, a function
// or a literal, or in one declaration, that is all it parses: the whole around it once for each of its functions
// would take time by the square of its length.
func (s *source) parses(es []analysis.TextEdit, in ast.Node) string {
	if len(es) == 0 {
		return ""
	}
	begin, end, head := 0, len(s.text), ""
	first, last := es[0].Pos, es[len(es)-1].End
	lit, _ := in.(*ast.FuncLit)
	switch d := s.declAt(first); {
	case lit != nil && lit.Pos() < first && last <= lit.End():
		begin, end, head = s.off(lit.Pos()), s.off(lit.End()), "package p\nvar _ = "
	case d != nil && last <= d.End():
		begin, end, head = s.off(d.Pos()), s.off(d.End()), "package p\n"
	}
	text, ok := s.applyWithin(es, begin, end)
	if !ok {
		return "its edits overlap"
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "edited.go", head+text, parser.SkipObjectResolution); err != nil {
		return "the edited text does not parse: " + err.Error()
	}
	return ""
}

// declAt returns the last declaration that begins at pos or before it, nil if there is none.
func (s *source) declAt(pos token.Pos) ast.Decl {
	i, _ := slices.BinarySearchFunc(s.tree.Decls, pos+1, func(d ast.Decl, p token.Pos) int { return cmp.Compare(d.Pos(), p) })
	if i == 0 {
		return nil
	}
	return s.tree.Decls[i-1]
}
