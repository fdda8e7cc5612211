package plan

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// between puts frees where what a statement evaluates gets names in front of it: a buffer that is dead before
// the next one is made is freed there, where a second run would free it. It returns why that cannot be
// written.
func (d *draft) between() (why string) {
	type room struct {
		h    *rewrite.Hoist
		item int
	}
	rooms := map[*place.Since]room{}
	found := map[*place.Since]int{}
	for _, s := range d.order {
		for _, list := range s.of {
			for _, fr := range list[:1] {
				if h, k := d.itemOf(fr); k >= 0 {
					rooms[fr.Since] = room{h, k}
					found[fr.Since]++
				}
			}
		}
	}
	done := map[*place.Since]bool{}
	for _, s := range d.order {
		var frees []string
		for k, list := range s.of {
			of := list[0]
			others := slices.ContainsFunc(list, func(fr *Free) bool { return fr.Since != of.Since })
			if of.Since == nil || others || found[of.Since] < of.Since.Spots {
				frees = append(frees, s.frees[k])
				continue
			}
			r := rooms[of.Since]
			s.part.hoists = append(s.part.hoists, r.h.Stmt)
			for _, fr := range list {
				fr.Pos, fr.Edge = r.h.Stmt.Pos(), false
			}
			if done[of.Since] {
				continue
			}
			done[of.Since] = true
			free := of.Free
			free.Guard, free.Holes = of.Since.Guard, of.Since.Holes
			text, why := d.statement(d.u, free, d.called(of.Name, s), s)
			if why != "" {
				return why
			}
			r.h.Free(r.item, text)
		}
		s.frees = frees
	}
	return ""
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }

// itemOf returns the hoist, and the expression of it, behind which a free may stand; -1 if it has to stand
// where it is planned.
func (d *draft) itemOf(fr *Free) (*rewrite.Hoist, int) {
	if fr.Since == nil || fr.Name.Result != nil && fr.Name.Var != nil {
		return nil, -1
	}
	pos := fr.Since.After.Pos()
	for _, h := range d.live {
		if !within(h.Stmt, pos) || h.Items[0].Of > 0 {
			continue
		}
		if call, _ := d.u.call(fr.Name.Result); call != nil && within(h.Stmt, call.Pos()) && h.Named(call, 0) == "" {
			return nil, -1
		}
		for k, x := range h.Items { // in the order in which they are evaluated
			if within(x.Expr, pos) {
				return h, k
			}
		}
	}
	return nil, -1
}
