package plan

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// A part is edits that are made together, with what they need elsewhere: the statements that give the names
// which they mention.
type part struct {
	edits  []analysis.TextEdit
	frees  []*Free
	hoists []ast.Stmt
	needs  []*part
}

// Parts are those of all edits.
type parts struct {
	of map[*Free]*part
	at map[token.Pos][]*part // by where an edit of theirs begins
	in map[*unit][]analysis.TextEdit

	imports importers
}

func (ps parts) add(u *unit, edits []analysis.TextEdit, list []*part) {
	ps.in[u] = edits
	for _, p := range list {
		for _, fr := range p.frees {
			ps.of[fr] = p
		}
		for _, e := range p.edits {
			ps.at[e.Pos] = append(ps.at[e.Pos], p)
		}
	}
}

// Fix returns the edits of some frees of a function so that they stand without others. The text at a place
// holds all that is freed there, so that edits of several fixes are the same where they meet.
func (r *Result) Fix(f *Func, frees []*Free) []analysis.TextEdit {
	all := r.Edits[r.ed.unit(f.SSA).src.Tree]
	var open []*part
	for _, fr := range frees {
		open = append(open, r.ed.parts.of[fr])
	}
	var out []analysis.TextEdit
	seen := map[*part]bool{nil: true}
	for ; len(open) > 0; open = open[1:] {
		p := open[0]
		if seen[p] {
			continue
		}
		seen[p] = true
		open = append(open, p.needs...)
		for _, e := range p.edits {
			in, taken := takes(all, e)
			if !taken {
				out = append(out, e)
				continue
			}
			open = append(open, r.ed.parts.at[in]...)
		}
	}
	rewrite.Sort(out)
	return out
}

// EditsOf returns the edits of a function, without those that another function's take along.
func (r *Result) EditsOf(f *Func) []analysis.TextEdit {
	u := r.ed.unit(f.SSA)
	return slices.DeleteFunc(slices.Clone(r.ed.parts.in[u]), func(e analysis.TextEdit) bool {
		_, taken := takes(r.Edits[u.src.Tree], e)
		return taken
	})
}

// takes reports whether an edit is in text that another edit moves, and where that begins.
func takes(edits []analysis.TextEdit, e analysis.TextEdit) (token.Pos, bool) {
	i, _ := slices.BinarySearchFunc(edits, e.Pos, func(x analysis.TextEdit, pos token.Pos) int { return cmp.Compare(x.Pos, pos) })
	for _, x := range edits[i:] {
		if x.Pos != e.Pos {
			break
		}
		if x.End == e.End && string(x.NewText) == string(e.NewText) {
			return token.NoPos, false
		}
	}
	if i == 0 {
		return token.NoPos, false
	}
	return edits[i-1].Pos, true
}
