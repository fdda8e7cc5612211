package plan

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// between moves frees behind a statement to where what it evaluates gets names in front of it: a buffer that
// is dead before the next one is made is freed there, where a second run would free it.
func (d *draft) between(s *spot) {
	stmt := s.at.Prev
	if s.at.Kind == rewrite.Return {
		stmt = s.at.Stmt
	}
	h := d.live[stmt]
	if h == nil {
		return
	}
	var left []string
	for k, text := range s.frees {
		item := -1
		for _, fr := range s.of[k] {
			j := d.itemOf(h, fr)
			if j < 0 || item >= 0 && item != j {
				item = -1
				break
			}
			item = j
		}
		if item < 0 {
			left = append(left, text)
			continue
		}
		if h.Frees == nil {
			h.Frees = map[int][]string{}
		}
		h.Frees[item] = append(h.Frees[item], text)
		s.part.hoists = append(s.part.hoists, stmt)
	}
	s.frees = left
}

// itemOf returns the expression of a hoist behind which a free may stand; -1 if it has to stand behind the
// statement.
func (d *draft) itemOf(h *rewrite.Hoist, fr *Free) int {
	if fr.After == nil || h.Items[0].Of > 0 {
		return -1
	}
	n := fr.Name
	if n.Result != nil && n.Var != nil || n.Result == nil && n.Save == nil && d.assigns(h.Stmt, n.Var) {
		return -1
	}
	if call, _ := d.u.call(n.Result); call != nil && within(h.Stmt, call.Pos()) && h.Named(call, 0) == "" {
		return -1
	}
	pos := fr.After.Pos()
	for k, x := range h.Items { // in the order in which they are evaluated
		if x.Names != nil {
			return -1
		}
		if within(x.Expr, pos) {
			return k
		}
	}
	return -1
}

// assigns reports whether a statement declares a variable, or gives it something, or who runs in it may.
func (d *draft) assigns(stmt ast.Stmt, v *types.Var) bool {
	return within(stmt, v.Pos()) || d.pkg.Vars.Assigns(stmt, v) || d.pkg.Vars.Changes(v)
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
