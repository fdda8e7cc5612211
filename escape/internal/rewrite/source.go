package rewrite

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// A Source is a file's text.
type Source struct {
	File *token.File
	Text []byte
	Tree *ast.File

	Inner []analysis.TextEdit // in literals, which may be in text that moves
	Moved map[token.Pos]bool  // of these, what was made in moved text
}

// copied returns the text between two positions, with the edits inside it.
func (s *Source) copied(from, to token.Pos) string {
	var w strings.Builder
	first := sort.Search(len(s.Inner), func(i int) bool { return s.Inner[i].Pos > from })
	for _, e := range s.Inner[first:] { // one may begin where that before it ends
		if e.Pos >= to {
			break
		}
		if e.End >= to {
			continue
		}
		w.Write(s.Text[s.Off(from):s.Off(e.Pos)])
		w.Write(e.NewText)
		from = e.End
		s.Moved[e.Pos] = true
	}
	w.Write(s.Text[s.Off(from):s.Off(to)])
	return w.String()
}

// Off returns the offset of p.
func (s *Source) Off(p token.Pos) int { return s.File.Offset(p) }

// comments lists the groups of comments of which a part lies between two positions.
func (s *Source) comments(from, to token.Pos) []*ast.CommentGroup {
	all := s.Tree.Comments
	i := sort.Search(len(all), func(i int) bool { return all[i].End() >= from })
	j := sort.Search(len(all), func(i int) bool { return all[i].Pos() >= to })
	return all[i:max(i, j)]
}

// Line returns p's line in the text itself, whatever a line directive calls it.
func (s *Source) Line(p token.Pos) int { return s.File.PositionFor(p, false).Line }

// lineStart returns the offset of the first byte of the line of offset o.
func (s *Source) lineStart(o int) int {
	for o > 0 && s.Text[o-1] != '\n' {
		o--
	}
	return o
}

// Indent returns the white space that begins the line of offset o, and whether
// only that stands before o.
func (s *Source) Indent(o int) (string, bool) {
	b := s.lineStart(o)
	i := b
	for i < len(s.Text) && (s.Text[i] == ' ' || s.Text[i] == '\t') {
		i++
	}
	return string(s.Text[b:i]), i >= o
}

// RestIsComment reports whether nothing but white space and comments follows
// offset o on its line; end is then the end of the line.
func (s *Source) RestIsComment(o int) (end int, ok bool) {
	i := o
	for i < len(s.Text) {
		switch {
		case s.Text[i] == '\n':
			if i > o && s.Text[i-1] == '\r' {
				return i - 1, true
			}
			return i, true
		case s.Text[i] == ' ' || s.Text[i] == '\t' || s.Text[i] == '\r':
			i++
		case strings.HasPrefix(string(s.Text[i:min(i+2, len(s.Text))]), "//"):
			for i < len(s.Text) && s.Text[i] != '\n' {
				i++
			}
		case strings.HasPrefix(string(s.Text[i:min(i+2, len(s.Text))]), "/*"):
			j := strings.Index(string(s.Text[i:]), "*/")
			if j < 0 || strings.Contains(string(s.Text[i:i+j]), "\n") {
				return 0, false
			}
			i += j + 2
		default:
			return 0, false
		}
	}
	return i, true
}

func (s *Source) newline() string {
	if i := slices.Index(s.Text, '\n'); i > 0 && s.Text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func (s *Source) edit(from, to int, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: s.File.Pos(from), End: s.File.Pos(to), NewText: []byte(text)}
}

// Take adds edits to those that a statement takes along when it moves, and drops what they took along
// themselves.
func (s *Source) Take(es []analysis.TextEdit) {
	s.Inner = slices.DeleteFunc(s.Inner, func(e analysis.TextEdit) bool { return s.Moved[e.Pos] })
	clear(s.Moved)
	for _, e := range es {
		s.Inner = Insert(s.Inner, e)
	}
}

// Apply returns the text with edits, which must be sorted and not overlap.
func (s *Source) Apply(es []analysis.TextEdit) (string, bool) {
	return s.applyWithin(es, 0, len(s.Text))
}

// applyWithin returns the text between two offsets with edits that all lie there.
func (s *Source) applyWithin(es []analysis.TextEdit, begin, end int) (string, bool) {
	var w strings.Builder
	at := begin
	for _, e := range es {
		from, to := s.Off(e.Pos), s.Off(e.End)
		if from < at || to > end {
			return "", false
		}
		w.Write(s.Text[at:from])
		w.Write(e.NewText)
		at = to
	}
	w.Write(s.Text[at:end])
	return w.String(), true
}

// Parses reports why the file does not parse with the edits; "" if it does. Where they all lie in in,
// a function or a literal, or in one declaration, that is all it parses: the whole around it once for
// each of its functions would take time by the square of its length.
func (s *Source) Parses(es []analysis.TextEdit, in ast.Node) string {
	if len(es) == 0 {
		return ""
	}
	begin, end, head := 0, len(s.Text), ""
	first, last := es[0].Pos, es[len(es)-1].End
	lit, _ := in.(*ast.FuncLit)
	switch d := s.declAt(first); {
	case lit != nil && lit.Pos() < first && last <= lit.End():
		begin, end, head = s.Off(lit.Pos()), s.Off(lit.End()), "package p\nvar _ = "
	case d != nil && last <= d.End():
		begin, end, head = s.Off(d.Pos()), s.Off(d.End()), "package p\n"
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
func (s *Source) declAt(pos token.Pos) ast.Decl {
	i := sort.Search(len(s.Tree.Decls), func(i int) bool { return s.Tree.Decls[i].Pos() > pos })
	if i == 0 {
		return nil
	}
	return s.Tree.Decls[i-1]
}

// Import adds an import of path to the file; nil if it has one.
func (s *Source) Import(path string) []analysis.TextEdit {
	quoted := `"` + path + `"`
	for _, im := range s.Tree.Imports {
		if im.Path.Value == quoted {
			return nil
		}
	}
	nl := s.newline()
	for _, d := range s.Tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if !g.Lparen.IsValid() {
			o := s.Off(g.End())
			return []analysis.TextEdit{s.edit(o, o, nl+"import "+quoted)}
		}
		// Into the first group, in order.
		at := s.Off(g.Lparen) + 1
		for i, sp := range g.Specs {
			im := sp.(*ast.ImportSpec)
			if i > 0 && s.Line(im.Pos()) > s.Line(g.Specs[i-1].End())+1 || im.Path.Value > quoted {
				break
			}
			at = s.Off(im.End())
		}
		return []analysis.TextEdit{s.edit(at, at, nl+"\t"+quoted)}
	}
	o := s.Off(s.Tree.Name.End())
	return []analysis.TextEdit{s.edit(o, o, nl+nl+"import "+quoted)}
}

// orderEdits compares edits by where they stand.
func orderEdits(a, b analysis.TextEdit) int {
	// An else belongs to the statement that ends here; what follows the
	// statement comes after it.
	rank := func(e analysis.TextEdit) int {
		if bytes.HasPrefix(e.NewText, []byte(" else {")) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.End, b.End), cmp.Compare(rank(a), rank(b)))
}

// Sort puts edits in the order in which they stand.
func Sort(es []analysis.TextEdit) { slices.SortStableFunc(es, orderEdits) }

// Insert puts e into sorted edits, behind its equals.
func Insert(es []analysis.TextEdit, e analysis.TextEdit) []analysis.TextEdit {
	i, _ := slices.BinarySearchFunc(es, e, func(x, e analysis.TextEdit) int {
		if orderEdits(x, e) <= 0 {
			return -1
		}
		return 1
	})
	return slices.Insert(es, i, e)
}
