package escape

// All plans of a function as text, gap by gap.

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// deletions are the edits that remove the frees which the plans xs replace.
func (d *decider) deletions(xs []*decision) []analysis.TextEdit {
	var at []*value
	for _, x := range xs {
		at = append(at, x.deletes...)
	}
	if len(at) == 0 {
		return nil
	}
	var out []analysis.TextEdit
	for _, s := range d.takenOut(at) {
		out = append(out, d.src.Removal(s))
	}
	return out
}

// realize turns all plans of the function into text, gap by gap.
func (d *decider) realize() {
	d.gapEdits = map[*gap][]analysis.TextEdit{}
	d.at = map[*gap][]int{}
	type item struct {
		p planned
		x *decision
	}
	at := map[*gap][]item{}
	var gaps []*gap
	for i, x := range d.all {
		for _, p := range x.frees {
			g := p.gap.gap
			if at[g] == nil {
				gaps = append(gaps, g)
			}
			if is := d.at[g]; len(is) == 0 || is[len(is)-1] != i {
				d.at[g] = append(is, i)
			}
			at[g] = append(at[g], item{p, x})
		}
	}
	for _, g := range gaps {
		d.freed = append(d.freed, g.where().At())
	}
	slices.Sort(d.freed)
	refuse := func(why string) {
		for _, x := range d.all {
			if len(x.frees) > 0 {
				x.noEdit = why
			}
		}
		d.gapEdits = map[*gap][]analysis.TextEdit{}
	}
	if len(gaps) == 0 {
		return
	}
	if why := d.p.readOnly(d.f.node.Pos()); why != "" {
		refuse(why)
		return
	}
	if d.src == nil {
		refuse("the source cannot be read, or changed while lastuse ran: run it again")
		return
	}
	// Hoists of plans that stand.
	live := map[ast.Stmt]*rewrite.Hoist{}
	for _, x := range d.all {
		if len(x.frees) > 0 {
			for _, h := range x.hoists {
				live[h.Stmt] = h
			}
		}
	}
	// Those in literals first: a statement that moves takes them along.
	slices.SortStableFunc(gaps, func(a, b *gap) int { return cmp.Compare(min(len(b.inner), 1), min(len(a.inner), 1)) })
	d.src.Inner, d.src.Moved = nil, map[token.Pos]bool{}
	for _, g := range gaps {
		items := at[g]
		// Reverse order of making.
		slices.SortStableFunc(items, func(a, b item) int { return -cmpMade(a.p.obj, b.p.obj) })
		var h *rewrite.Hoist
		var of ast.Stmt
		switch {
		case g.kind == rewrite.Return:
			of = g.stmt
		case g.kind == rewrite.InList:
			of = g.prev
		case g.kind == rewrite.Head && d.hoists.HeadOf(g.stmt) != nil:
			of = d.hoists.HeadOf(g.stmt).Stmt
		}
		h = live[of]
		var stmts []string
		for _, it := range items {
			if h != nil && !slices.Contains(stmts, it.p.text) {
				k := len(h.Items) - 1 // what the loop starts with comes last
				if g.kind != rewrite.Head {
					k = d.behind(h, it.p)
				}
				if k >= 0 {
					if h.Frees == nil {
						h.Frees = map[int][]string{}
					}
					if !slices.Contains(h.Frees[k], it.p.text) {
						h.Frees[k] = append(h.Frees[k], it.p.text)
					}
					continue
				}
			}
			if !slices.Contains(stmts, it.p.text) {
				stmts = append(stmts, it.p.text)
			}
		}
		switch {
		case h != nil && (h.Braces || g.kind == rewrite.Return && len(stmts) > 0):
			delete(live, of)
		case len(stmts) == 0:
			continue // all of them stand in front of the statement
		default:
			h = nil
		}
		es, why := d.f.rewriter().Edits(d.src, g.where(), stmts, h)
		if why != "" {
			for _, it := range items {
				it.x.noEdit = why
			}
			continue
		}
		d.gapEdits[g] = es
		if len(g.inner) > 0 {
			for _, e := range es {
				d.src.Inner = rewrite.Insert(d.src.Inner, e)
			}
		}
	}
	for _, g := range gaps {
		for _, it := range at[g] {
			if it.x.noEdit == "" {
				continue
			}
			// A gap shared with a plan that cannot be realized cannot be either.
			for _, other := range at[g] {
				other.x.noEdit = it.x.noEdit
			}
		}
	}
	hoistEdits := map[*rewrite.Hoist][]analysis.TextEdit{}
	wanted := map[*rewrite.Hoist]bool{}
	for _, x := range d.all {
		for _, h := range x.hoists {
			wanted[h] = wanted[h] || x.noEdit == ""
		}
	}
	for _, h := range sortedHoists(live) {
		if wanted[h] {
			hoistEdits[h] = d.src.Hoist(h)
			d.out.Edits = append(d.out.Edits, hoistEdits[h]...)
		}
	}
	d.hoistEdits = hoistEdits
	for _, x := range d.all {
		if x.imports && len(x.frees) > 0 && x.noEdit == "" {
			d.out.Edits = append(d.out.Edits, d.src.Import("runtime")...)
			break
		}
	}
	if len(d.src.Moved) > 0 {
		for _, x := range d.all {
			if x.noEdit != "" {
				refuse(x.noEdit)
				return
			}
		}
		for _, g := range gaps {
			if es := d.gapEdits[g]; len(es) > 0 && len(g.inner) > 0 && d.src.Moved[es[0].Pos] {
				d.gapEdits[g] = nil // made where the statement went
			}
		}
	}
	for _, g := range gaps {
		if at[g][0].x.noEdit == "" {
			d.out.Edits = append(d.out.Edits, d.gapEdits[g]...)
		}
	}
	done := slices.DeleteFunc(slices.Clone(d.all), func(x *decision) bool { return len(x.frees) == 0 || x.noEdit != "" })
	d.out.Edits = append(d.out.Edits, d.deletions(done)...)
	rewrite.Sort(d.out.Edits)
	if why := d.src.Parses(d.out.Edits, d.f.node); why != "" {
		*d.bugs = append(*d.bugs, Bug{Name: d.f.name, Pos: d.f.node.Pos(), Text: why})
		d.out.Edits = nil
		refuse(why)
	}
}

func sortedHoists(m map[ast.Stmt]*rewrite.Hoist) []*rewrite.Hoist {
	var out []*rewrite.Hoist
	for _, h := range m {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *rewrite.Hoist) int { return cmp.Compare(a.Stmt.Pos(), b.Stmt.Pos()) })
	return out
}

// cmpMade orders objects by where they are made; a phi counts as made where its
// variable is declared.
func cmpMade(a, b *object) int {
	return cmp.Or(cmp.Compare(madeAt(a), madeAt(b)), cmp.Compare(a.id, b.id))
}

func madeAt(o *object) token.Pos {
	if o.def.op == opPhi && o.def.place != nil && o.def.place.root.obj != nil {
		return o.def.place.root.obj.Pos()
	}
	return o.def.pos
}
