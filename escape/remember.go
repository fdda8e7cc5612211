package escape

// Buffers whose variable is assigned again while they are in use: a variable of
// their own takes them while it still holds them.

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// remembered frees fp's buffer through a variable of its own, which takes it as soon
// as another one holds it. Each path from where the buffer comes from to the free has
// to pass there; the gaps of blocks between the two by dominance are those.
func (d *decider) remembered(x *decision, fp freePoint) (planned, bool) {
	o := fp.obj
	if o.kind == objParam {
		return planned{}, false
	}
	for _, at := range d.between(o, fp.gap) {
		g := at.gap
		if g.kind != rewrite.InList || len(g.inner) > 0 || d.f.inLiteral(g.anchor) {
			continue
		}
		if fp.gap.gap.scope < g.anchor || fp.gap.gap.scope >= endOf(g.list) || d.f.rewriter().JumpedOver(g.anchor, g.list) {
			continue // not visible there
		}
		pl := d.w.nameAt(o, at)
		if pl == nil || pl.via != "" {
			continue
		}
		k := gapKey{o, at}
		name := x.names[k]
		if name == "" {
			if x.names == nil {
				x.names = map[gapKey]string{}
			}
			name = d.hoists.Fresh("old")
			x.names[k] = name
		}
		text, why := d.w.freeText(o, name, pl.typ, fp.isNil, fp.gap.gap)
		if why != "" {
			return planned{}, false
		}
		save := &planned{freePoint: freePoint{obj: o, gap: at}, text: name + " := " + pl.name, save: true}
		return planned{freePoint: fp, text: text, name: name, repeatable: x.pl.repeats[o], before: save}, true
	}
	return planned{}, false
}

// between lists the gaps behind the definition of o and before g through which every
// path from the one to the other leads, in that order. The last time such a path
// meets them it meets them after the definition: a way from there to g around one of
// them would, with a way to the definition, be a way to g around it.
func (d *decider) between(o *object, g *value) []*value {
	if o.def.blk == nil || o.def.blk.order < 0 || g.blk.order < 0 {
		return nil
	}
	if d.idom == nil {
		d.idom = d.f.dominators()
	}
	var chain []*block // from g's up to the definition's
	for b := g.blk; ; b = d.idom[b.order] {
		chain = append(chain, b)
		if b == o.def.blk {
			break
		}
		if b.order <= o.def.blk.order {
			return nil // the definition does not dominate g
		}
	}
	var out []*value
	for k := len(chain) - 1; k >= 0; k-- {
		b := chain[k]
		from, to := 0, len(b.gaps)
		if b == o.def.blk {
			from, _ = slices.BinarySearch(b.gaps, o.def.at+1)
		}
		if b == g.blk {
			to, _ = slices.BinarySearch(b.gaps, g.at)
		}
		for _, i := range b.gaps[from:max(from, to)] {
			out = append(out, b.instrs[i])
		}
	}
	return out
}

// endOf is where the names declared in a list of statements end.
func endOf(list ast.Node) token.Pos {
	if b, ok := list.(*ast.BlockStmt); ok {
		return b.Rbrace + 1
	}
	return list.End() + 1
}
