package plan

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

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
				if fr.Since == nil {
					continue
				}
				if h, k := d.itemOf(fr.Since.After, fr.Name); k >= 0 {
					rooms[fr.Since] = room{h, k}
					found[fr.Since]++
				}
			}
		}
	}
	texts := map[*place.Since]string{}
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
			if texts[of.Since] == "" {
				free := of.Free
				free.Guard, free.Holes = of.Since.Guard, of.Since.Holes
				text, why := d.statement(d.u, free, d.called(of.Name, s), s)
				if why != "" {
					return why
				}
				texts[of.Since] = text
				r.h.Free(r.item, text)
			}
			for _, fr := range list {
				fr.Text, fr.Pos, fr.Edge = texts[of.Since], r.h.Stmt.Pos(), false
			}
		}
		s.frees = frees
	}
	return ""
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }

// rooms drafts the names of frees once it is asked.
func (s scribe) rooms(frees []*Free) place.Rooms {
	var d *draft
	return func(after ssa.Instruction, n place.Name) ast.Expr {
		if d == nil {
			d = newDraft(s.editor, s.unit(s.f))
			for _, fr := range frees {
				if fr.In == nil {
					d.names(fr.Name, d.spot(fr.At))
				}
			}
		}
		h, k := d.itemOf(after, n)
		if k < 0 {
			return nil
		}
		return h.Items[k].Expr
	}
}

// itemOf returns the hoist, and the expression of it, behind which a free by a name may stand that is due
// since an instruction; -1 if it has to stand where it is planned.
func (d *draft) itemOf(after ssa.Instruction, n place.Name) (*rewrite.Hoist, int) {
	if n.Result != nil && n.Var != nil {
		return nil, -1
	}
	pos := after.Pos()
	var in *rewrite.Hoist // of the innermost statement
	for stmt, h := range d.live {
		if within(stmt, pos) && (in == nil || in.Stmt.Pos() < stmt.Pos()) {
			in = h
		}
	}
	if in == nil || in.Items[0].Of > 0 {
		return nil, -1
	}
	if call, _ := d.u.call(n.Result); call != nil && within(in.Stmt, call.Pos()) && in.Named(call, 0) == "" {
		return nil, -1
	}
	// They are in the order in which they are evaluated.
	return in, slices.IndexFunc(in.Items, func(x rewrite.Item) bool { return within(x.Expr, pos) })
}
