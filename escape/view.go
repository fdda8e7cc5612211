package escape

// What the rooms found of one buffer, in the words of a Result.

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/find"
	"github.com/lastuse/lastuse/escape/internal/member"
	placing "github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/plan"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// buffer says what a site makes, and what becomes of it.
func (v *view) buffer(f *plan.Func, vd *placing.Verdict) *Buffer {
	called := v.r.Why.Buffer(f.Own.Func, vd.Site)
	why := v.r.Why.Of(f.Own.Func, vd)
	at, _ := v.r.Call(f, vd.Site.Pos())
	b := &Buffer{Site: at, Name: called.Name, Type: called.Type, Maker: called.Maker, Reason: why.String()}
	b.Sink, _ = v.r.Call(f, why.Pos)
	for _, s := range why.Path {
		from, _ := v.r.Call(f, s.Pos)
		b.Path = append(b.Path, Step{from, s.Text})
	}
	if why.Func != nil {
		b.Callee = why.Func.FullName()
	}
	for _, fr := range v.frees(f, vd.Site) {
		b.Frees = append(b.Frees, Free{Pos: fr.Pos, Text: rewrite.OneLine([]string{fr.Text}), Why: whyThere(fr)})
	}
	no := f.Taken[vd.Site]
	switch {
	case f.Kept[vd.Site] != "":
		b.Verdict, b.Reason = Kept, f.Kept[vd.Site]
	case len(b.Frees) > 0:
		b.Verdict, b.Reason = Inserted, ""
	case f.Unfreed[vd.Site] != "":
		b.Verdict, b.Reason = Reported, f.Unfreed[vd.Site]
	case no != nil:
		b.Verdict, b.Reason, b.Stops = Reported, no.String(), stops(no, b.Site)
	case vd.Due:
		b.Verdict = Reported
		if f.Refused != "" && !vd.Held {
			b.Reason = f.Refused
		} else if why.Cause == report.Freed {
			b.Reason = "its free is left out together with that of another buffer"
		}
	case why.Cause == report.Unmoved:
		b.Verdict, b.Reason = Freed, ""
	case why.Cause == report.Returned:
		b.Verdict = Moved
	}
	if b.Verdict != Kept {
		b.Sink, b.Path, b.Callee = token.NoPos, nil, ""
	}
	return b
}

// frees lists the frees of what a site makes that are in the text.
func (v *view) frees(f *plan.Func, s *pointsto.Site) (out []*plan.Free) {
	if f.Refused != "" {
		return nil
	}
	for _, fr := range f.Frees {
		if slices.Contains(fr.Sites, s) {
			out = append(out, fr)
		}
	}
	return out
}

// whyThere says why a free stands where it does.
func whyThere(f *plan.Free) string {
	switch {
	case f.At.Deferred:
		return "before the deferred call that reads it is registered, so that it runs after it"
	case f.At.Place == nil:
		return "after the returned expression is evaluated"
	case f.Edge:
		return "where this path needs it no longer"
	}
	return "after its last use"
}

// finding says that something is wrong with a buffer, which is nil for one that the function is given. It is
// nil if it is not to be said.
func (v *view) finding(f *plan.Func, fd find.Finding, b *Buffer) *Finding {
	if f.Kept[fd.Site] != "" {
		return nil
	}
	frees := v.frees(f, fd.Site)
	if fd.Kind == find.Leak && fd.Other.IsValid() && len(frees) > 0 {
		fd.Other = frees[0].Pos // where the text goes
	}
	out := &Finding{Category: fd.Kind.String(), Buffer: b, Message: v.r.Why.Finding(f.Own.Func, fd)}
	out.Pos, out.End = v.r.Call(f, fd.Pos)
	if fd.On != find.Dead && fd.Kind != find.Late {
		if from, to := v.r.Call(f, fd.Other); from.IsValid() {
			did := "freed here"
			switch fd.On {
			case find.Dropped:
				did = "dropped here"
			case find.Begun, find.Some:
				did = "made here"
			case find.Empty:
				did = "filled here"
			case find.Skipped:
				did = "left here"
			}
			out.Related = []analysis.RelatedInformation{{Pos: from, End: to, Message: did}}
		}
		return out
	}
	if no := f.Unmoved(fd.Late); no != "" {
		out.Message += "; no fix: " + no
		return out
	}
	switch {
	case len(frees) > 0:
	case fd.Kind != find.Late:
		out.Message += "; no fix: " + b.Reason
		return out
	default: // the program frees it, after all
		if !f.Own.Repeatable(fd.Site) {
			out.Message += "; no fix: a second free would be an error"
		}
		return out
	}
	for _, fr := range b.Frees {
		out.Related = append(out.Related, analysis.RelatedInformation{Pos: fr.Pos, End: fr.Pos, Message: fr.Text + " " + fr.Why})
	}
	out.Fix = "free " + v.r.Why.Buffer(f.Own.Func, fd.Site).String() + " at its last use"
	if v.r.Alive(frees[0]) {
		out.Fix = "keep " + v.r.Why.Buffer(f.Own.Func, fd.Site).String() + " alive until its raw pointer is used"
	}
	if len(frees) > 1 {
		out.Fix += fmt.Sprintf(" on each of %d paths", len(frees))
	}
	out.Edits = v.r.Fix(f, frees)
	return out
}

// field says what a method forgets, at its name, or loses, where it does, and where that is made. There is no
// fix: what the receiver owns is not shown.
func (v *view) field(fd member.Finding) {
	out := v.of(fd.SSA)
	pos := cmp.Or(fd.Lost, fd.Method.Pos())
	x := &Finding{Category: CategoryLeak, Pos: pos, End: pos, Message: report.OfFields(fd)}
	switch {
	case fd.Early.IsValid():
		x.Category = CategoryUseAfterFree
	case fd.Said != "" && member.Named(fd.Method.Signature().Recv().Type()) != fd.Type:
		x.Category = CategoryDoubleFree
	}
	if fd.Made.IsValid() {
		x.Related = []analysis.RelatedInformation{{Pos: fd.Made, End: fd.Made, Message: "made here"}}
	}
	out.Findings = append(out.Findings, x)
	slices.SortStableFunc(out.Findings, func(a, b *Finding) int { return cmp.Compare(a.Pos, b.Pos) })
}

// stops is the step at which a proof stops; of what has no place, at the site.
func stops(no *plan.Refusal, site token.Pos) *Step {
	return &Step{cmp.Or(no.Pos, site), "the proof stops at " + string(no.Rule) + ": that " + no.Rule.Shows()}
}
