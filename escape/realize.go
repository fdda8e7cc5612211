package escape

// All plans of a function as text, gap by gap.

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
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
		out = append(out, d.removal(s))
	}
	return out
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

func sortEdits(es []analysis.TextEdit) { slices.SortStableFunc(es, orderEdits) }

// insertEdit puts e into sorted edits, behind its equals.
func insertEdit(es []analysis.TextEdit, e analysis.TextEdit) []analysis.TextEdit {
	i, _ := slices.BinarySearchFunc(es, e, func(x, e analysis.TextEdit) int {
		if orderEdits(x, e) <= 0 {
			return -1
		}
		return 1
	})
	return slices.Insert(es, i, e)
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
		d.freed = append(d.freed, g.at())
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
	live := map[ast.Stmt]*hoist{}
	for _, x := range d.all {
		if len(x.frees) > 0 {
			for _, h := range x.hoists {
				live[h.stmt] = h
			}
		}
	}
	// Those in literals first: a statement that moves takes them along.
	slices.SortStableFunc(gaps, func(a, b *gap) int { return cmp.Compare(min(len(b.inner), 1), min(len(a.inner), 1)) })
	d.src.inner, d.src.moved = nil, map[token.Pos]bool{}
	for _, g := range gaps {
		items := at[g]
		// Reverse order of making.
		slices.SortStableFunc(items, func(a, b item) int { return -cmpMade(a.p.obj, b.p.obj) })
		var h *hoist
		var of ast.Stmt
		switch {
		case g.kind == gapReturn:
			of = g.stmt
		case g.kind == gapStmt:
			of = g.prev
		case g.kind == gapHead && d.heads[g] != nil:
			of = d.heads[g].stmt
		}
		h = live[of]
		var stmts []string
		for _, it := range items {
			if h != nil && !slices.Contains(stmts, it.p.text) {
				k := len(h.items) - 1 // what the loop starts with comes last
				if g.kind != gapHead {
					k = d.behind(h, it.p)
				}
				if k >= 0 {
					if h.frees == nil {
						h.frees = map[int][]string{}
					}
					if !slices.Contains(h.frees[k], it.p.text) {
						h.frees[k] = append(h.frees[k], it.p.text)
					}
					continue
				}
			}
			if !slices.Contains(stmts, it.p.text) {
				stmts = append(stmts, it.p.text)
			}
		}
		switch {
		case h != nil && (h.braces || g.kind == gapReturn && len(stmts) > 0):
			delete(live, of)
		case len(stmts) == 0:
			continue // all of them stand in front of the statement
		default:
			h = nil
		}
		es, why := d.p.edits(d.src, d.f, g, stmts, h)
		if why != "" {
			for _, it := range items {
				it.x.noEdit = why
			}
			continue
		}
		d.gapEdits[g] = es
		if len(g.inner) > 0 {
			for _, e := range es {
				d.src.inner = insertEdit(d.src.inner, e)
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
	hoistEdits := map[*hoist][]analysis.TextEdit{}
	wanted := map[*hoist]bool{}
	for _, x := range d.all {
		for _, h := range x.hoists {
			wanted[h] = wanted[h] || x.noEdit == ""
		}
	}
	for _, h := range sortedHoists(live) {
		if wanted[h] {
			hoistEdits[h] = d.p.hoistEdits(d.src, h)
			d.out.Edits = append(d.out.Edits, hoistEdits[h]...)
		}
	}
	d.hoistEdits = hoistEdits
	for _, x := range d.all {
		if x.imports && len(x.frees) > 0 && x.noEdit == "" {
			d.out.Edits = append(d.out.Edits, d.p.importEdit(d.src, "runtime")...)
			break
		}
	}
	if len(d.src.moved) > 0 {
		for _, x := range d.all {
			if x.noEdit != "" {
				refuse(x.noEdit)
				return
			}
		}
		for _, g := range gaps {
			if es := d.gapEdits[g]; len(es) > 0 && len(g.inner) > 0 && d.src.moved[es[0].Pos] {
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
	sortEdits(d.out.Edits)
	if why := d.src.parses(d.out.Edits, d.f.node); why != "" {
		*d.bugs = append(*d.bugs, Bug{Name: d.f.name, Pos: d.f.node.Pos(), Text: why})
		d.out.Edits = nil
		refuse(why)
	}
}

func sortedHoists(m map[ast.Stmt]*hoist) []*hoist {
	var out []*hoist
	for _, h := range m {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *hoist) int { return cmp.Compare(a.stmt.Pos(), b.stmt.Pos()) })
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
