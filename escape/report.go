package escape

// Findings and the edits that they carry.

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

func (d *decider) whyHere(p planned) string {
	if p.deferred {
		return "before the deferred call that reads it is registered, so that it runs after it"
	}
	switch p.gap.gap.kind {
	case rewrite.Else, rewrite.ElseIf, rewrite.Default:
		return "where this path needs it no longer"
	case rewrite.Return:
		return "after the returned expression is evaluated"
	case rewrite.Head:
		return "after its last use"
	}
	if p.gap.gap.prev == nil {
		return "where this path needs it no longer"
	}
	return "after its last use"
}

// report adds a finding about site o.
func (d *decider) report(x *decision, o *object, b *Buffer, partly bool, mine []planned, saves ...planned) {
	if x.late != nil && len(x.pl.plan) == 0 {
		d.reportLate(x, o, b, mine)
		return
	}
	fd := &Finding{Category: CategoryUnfreed, Pos: b.Site, Buffer: b}
	fd.End = fd.Pos
	if c := d.callOf(o); c != nil && c.end.IsValid() {
		fd.End = c.end
	}
	what := b.Name
	if what == "" {
		what = d.unnamed(o)
	}
	if partly {
		fd.Category = CategoryLeak
		fd.Message = what + " is not freed on every path"
		if at := d.leakAt(x, o); at.IsValid() {
			fd.Message = fmt.Sprintf("%s is not freed on the path through %s", what, report.At(at))
		}
	} else {
		fd.Message = what + " is never freed"
	}
	if raw := d.rawOf(x, o); raw != nil && !partly {
		fd.Category = CategoryKeepAlive
		fd.Message = what + " is not kept alive until its raw pointer is used at " + report.At(raw.pos)
	}
	switch {
	case b.Name != "" && b.Maker != "":
		fd.Message += " (" + b.Type + " made by " + b.Maker + ")"
	case b.Maker != "":
		fd.Message += " (" + b.Type + ")"
	}
	if b.Verdict == Reported {
		fd.Message += "; no fix: " + b.Reason
	}
	fd.Related = d.told(mine)
	if len(mine) > 0 {
		fd.Fix = "free " + what + " at its last use"
		if len(mine) > 1 {
			fd.Fix = fmt.Sprintf("free %s at its last use on each of %d paths", what, len(mine))
		}
		fd.Edits = d.together(slices.Concat(mine, saves))
	}
	d.out.Findings = append(d.out.Findings, fd)
}

// reportLate adds a finding of category late.
func (d *decider) reportLate(x *decision, o *object, b *Buffer, mine []planned) {
	if !slices.Contains(x.g.feeds(o), x.late.obj) {
		return
	}
	what := b.Name
	if what == "" {
		what = d.unnamed(o)
	}
	fd := &Finding{Category: CategoryLate, Pos: b.Site, End: b.Site, Buffer: b, Message: x.late.String(d, what)}
	if c := d.callOf(o); c != nil && c.end.IsValid() {
		fd.End = c.end
	}
	fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: x.late.after, End: x.late.after, Message: "not used after this"})
	if x.late.fixed && x.noEdit == "" {
		fd.Related = append(fd.Related, d.told(mine)...)
		fd.Fix = "free " + what + " after its last use"
		fd.Edits = d.together(mine)
	}
	d.out.Findings = append(d.out.Findings, fd)
}

// told says where frees are inserted and why there, in the order of the source.
func (d *decider) told(frees []planned) []analysis.RelatedInformation {
	var out []analysis.RelatedInformation
	for _, p := range frees {
		out = append(out, analysis.RelatedInformation{Pos: p.gap.pos, End: p.gap.pos, Message: rewrite.OneLine([]string{p.text}) + " " + d.whyHere(p)})
	}
	slices.SortStableFunc(out, func(a, b analysis.RelatedInformation) int { return cmp.Compare(a.Pos, b.Pos) })
	return out
}

// together returns the edits that frees need to stand alone. The text at a gap holds
// all frees that are due there, so what those of other buffers need comes along: the
// variables that hoists and saves make, and where a plan replaces frees of the
// program, that plan as a whole.
func (d *decider) together(frees []planned) []analysis.TextEdit {
	var gaps []*gap
	seen := map[*gap]bool{}
	take := func(p planned) {
		if g := p.gap.gap; !seen[g] {
			seen[g] = true
			gaps = append(gaps, g)
		}
	}
	for _, p := range frees {
		take(p)
	}
	var with []*decision
	taken := map[int]bool{}
	var waiting []int // decisions that free at one of the gaps, ascending
	wait := func(g *gap) {
		for _, i := range d.at[g] {
			if d.all[i].noEdit != "" || taken[i] {
				continue
			}
			taken[i] = true
			k, _ := slices.BinarySearch(waiting, i)
			waiting = slices.Insert(waiting, k, i)
		}
	}
	for _, g := range gaps {
		wait(g)
	}
	for next := 0; len(waiting) > 0; { // in rounds, each in the order of the decisions
		k, _ := slices.BinarySearch(waiting, next)
		if k == len(waiting) {
			k = 0
		}
		next = waiting[k]
		waiting = slices.Delete(waiting, k, k+1)
		x := d.all[next]
		with = append(with, x)
		for _, p := range x.frees {
			if p.save || len(x.deletes) > 0 {
				if g := p.gap.gap; !seen[g] {
					take(p)
					wait(g)
				}
			}
		}
	}
	var out []analysis.TextEdit
	add := func(es []analysis.TextEdit) {
		for _, e := range es {
			if !slices.ContainsFunc(out, func(y analysis.TextEdit) bool { return y.Pos == e.Pos && y.End == e.End }) {
				out = append(out, e)
			}
		}
	}
	for _, g := range gaps {
		out = append(out, d.gapEdits[g]...)
	}
	for _, x := range with {
		for _, h := range x.hoists {
			add(d.hoistEdits[h])
		}
		if x.imports && len(out) > 0 {
			add(d.src.Import("runtime"))
		}
	}
	add(d.deletions(with))
	rewrite.Sort(out)
	return out
}

// rawOf returns the last use of what o becomes if it is through a raw pointer.
func (d *decider) rawOf(x *decision, o *object) *value {
	if d.raws == nil {
		d.raws = map[*object]*value{}
	}
	for _, q := range x.g.feeds(o) {
		at, done := d.raws[q]
		if !done {
			at = d.w.rawLast(q)
			d.raws[q] = at
		}
		if at != nil {
			return at
		}
	}
	return nil
}

// leakAt is where the path that leaks ends.
func (d *decider) leakAt(x *decision, o *object) token.Pos {
	become := x.g.feeds(o)
	for _, fp := range x.pl.plan {
		if slices.Contains(become, fp.obj) {
			return fp.gap.pos
		}
	}
	for _, q := range become {
		if at := x.pl.unfixed[q]; at != nil {
			return at.pos
		}
	}
	return token.NoPos
}

// readOnly says why the file at pos must not be edited.
func (p *pkg) readOnly(pos token.Pos) string {
	f := p.file(pos)
	if f == nil {
		return "its file is not known"
	}
	why, ok := p.locked[f]
	if !ok {
		why = p.lockedBy(f)
		p.locked[f] = why
	}
	return why
}
