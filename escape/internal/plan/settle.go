package plan

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/internal/report"
)

// mostProofs bounds how often a package is proven before whole declarations are left alone.
const mostProofs = 20

// A Refusal is what the proof says of frees that it does not accept.
type Refusal struct {
	*proof.Reason
	Pos token.Pos // of what stands in the way, in the old text: where its line begins; may be none
}

// String returns why the proof does not accept it, with the line that stands in the way, in the old text.
func (no *Refusal) String() string {
	text := "not proven: " + no.Words
	if no.Pos.IsValid() {
		text += " (" + report.At(no.Pos) + ")"
	}
	return text
}

// Settle asks the proof about the edits, takes back the frees that it does not accept, and asks again, until
// all that is left is accepted. What may be nil to the proof gets a test first. It ends, as something is
// tested or taken back each time. A buffer whose free on one way is taken back is freed on the others, if
// that is accepted.
func (r *Result) Settle(a *Asker) {
	for round := 0; slices.ContainsFunc(r.Funcs, (*Func).written); round++ {
		withheld := r.Prove(a).Withheld()
		if len(withheld) == 0 {
			return
		}
		taken := round < mostProofs && r.takeEach(withheld, false)
		if !taken { // what is meant is not found, or it takes too long
			taken = r.takeEach(withheld, true)
		}
		if !taken { // it is about a place that nothing of ours is near
			for _, f := range r.Funcs {
				f.take(f.Frees, r.refusal(withheld[0].Why))
			}
		}
		for _, f := range r.Funcs {
			f.crowded(r.ed)
		}
		r.Edits = r.ed.edits(r.Funcs)
	}
}

// written reports whether frees of f are in the text.
func (f *Func) written() bool { return f.Refused == "" && len(f.Frees) > 0 }

// takeEach takes back what verdicts are about, and reports whether that is anything. What all are about is
// looked for first: with what one takes back, what another one is about may go, and others come.
func (r *Result) takeEach(withheld []proof.Verdict, all bool) (taken bool) {
	var about [][][]*Free // by verdict and function
	for k := range withheld {
		about = append(about, r.about(&withheld[k], all))
	}
	for k, list := range about {
		no := r.refusal(withheld[k].Why)
		for i, f := range r.Funcs {
			taken = f.take(list[i], no) || taken
		}
	}
	return taken
}

// about lists what a verdict is about, by function: of the frees with its text, those that stand nearest to
// it; or, if all is said, the frees of the whole declaration.
func (r *Result) about(v *proof.Verdict, all bool) (list [][]*Free) {
	at := r.before(v)
	near := -1
	for _, f := range r.Funcs {
		list = append(list, nil)
		if !f.written() || !r.within(f, at) {
			continue
		}
		if all || v.Kind == proof.Whole {
			list[len(list)-1] = slices.Clone(f.Frees)
			continue
		}
		for _, m := range r.meant(f, v, at.offset) {
			if near >= 0 && m.far > near {
				continue
			}
			if m.far < near {
				clear(list)
			}
			near = m.far
			list[len(list)-1] = append(list[len(list)-1], m.free)
		}
	}
	return list
}

// A meaning is a free that a verdict may be about, and how far from there it stands, or the one that it
// stands for.
type meaning struct {
	free *Free
	far  int
}

// meant lists the frees of a function that a verdict may be about. One about names is about what is freed by
// such a name, or else in front of a return whose results got them.
func (r *Result) meant(f *Func, v *proof.Verdict, at int) (out []meaning) {
	var results []meaning
	names, _, _ := strings.Cut(v.Text, ":=")
	for _, fr := range f.Frees {
		made := v.Kind == proof.Named && (fr.Name.Result != nil || fr.Name.Save != nil) && mentions(fr.Text, names)
		switch {
		case v.Kind == proof.Deleted && fr.Late != nil:
			for _, c := range fr.Late.Gone {
				out = append(out, meaning{fr, r.ed.far(c.Pos(), at)})
			}
		case v.Kind == proof.Deleted:
		case !made && v.Kind == proof.Named && fr.At.Return != nil:
			results = append(results, meaning{fr, r.ed.apart(fr, at)})
		case made || strings.Join(strings.Fields(fr.Text), " ") == v.Text:
			out = append(out, meaning{fr, r.ed.apart(fr, at)})
		}
	}
	if len(out) == 0 {
		return results
	}
	return out
}

// mentions reports whether a text has one of some names.
func mentions(text, names string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	}
	all := words(text)
	return slices.ContainsFunc(words(names), func(n string) bool { return slices.Contains(all, n) })
}

// take takes back frees, but those that get a test for nil now. What is freed late stays as it is.
func (f *Func) take(frees []*Free, no *Refusal) bool {
	changed := false
	frees = slices.DeleteFunc(slices.Clone(frees), func(fr *Free) bool {
		if no.Nil && !fr.Guard && fr.Late == nil {
			if fr.Guard, changed = true, true; fr.Since != nil {
				fr.Since.Guard = true
			}
			return true
		}
		if fr.Late != nil && fr.Late.No == "" {
			f.stay(fr.Late, no.String())
		}
		changed = changed || fr.Late != nil
		return fr.Late != nil
	})
	if len(frees) == 0 {
		return changed
	}
	if f.Taken == nil {
		f.Taken = map[*pointsto.Site]*Refusal{}
	}
	f.Frees = slices.DeleteFunc(f.Frees, func(fr *Free) bool { return slices.Contains(frees, fr) })
	for _, fr := range frees {
		for _, s := range fr.Sites {
			f.Taken[s] = no
		}
	}
	return true
}

// A spotted is a place in an old text.
type spotted struct {
	file   *ast.File // nil: it may be anywhere
	decl   bool      // the verdict is about one declaration
	offset int
}

// before returns where in the old text the place of a verdict is.
func (r *Result) before(v *proof.Verdict) spotted {
	for f, src := range r.ed.texts {
		if src.File.Name() != v.Pos.Filename {
			continue
		}
		return spotted{f, v.Func != "", old(r.Edits[f], v.Pos.Offset, src.Off)}
	}
	return spotted{}
}

// refusal says why the edits that are made now are not accepted.
func (r *Result) refusal(why *proof.Reason) *Refusal {
	no := &Refusal{Reason: why}
	for f, src := range r.ed.texts {
		if why.At.IsValid() && src.File.Name() == why.At.Filename {
			at := src.File.Pos(old(r.Edits[f], why.At.Offset, src.Off))
			no.Pos = src.File.LineStart(src.Line(at))
		}
	}
	return no
}

// old returns where in the old text an offset of the new one is.
func old(edits []analysis.TextEdit, offset int, off func(token.Pos) int) int {
	shift := 0 // from the old text to the new one
	for _, e := range edits {
		from, to := off(e.Pos), off(e.End)
		if from+shift > offset {
			break
		}
		if from+shift+len(e.NewText) >= offset {
			return from
		}
		shift += len(e.NewText) - (to - from)
	}
	return offset - shift
}

// within reports whether a function stands in the declaration that is meant.
func (r *Result) within(f *Func, at spotted) bool {
	u := r.ed.unit(f.SSA)
	if at.file == nil || u.src.Tree != at.file {
		return at.file == nil
	}
	if !at.decl {
		return true
	}
	for _, d := range at.file.Decls {
		if u.src.Off(d.Pos()) <= at.offset && at.offset <= u.src.Off(d.End()) {
			return d.Pos() <= u.fn.Node.Pos() && u.fn.Node.End() <= d.End()
		}
	}
	return true
}

// apart returns how far the edits with which a free stands are from an offset in its file.
func (e *editor) apart(fr *Free, at int) int {
	near := -1
	for _, p := range append([]*part{e.parts.of[fr]}, e.parts.of[fr].needs...) {
		for _, ed := range p.edits {
			if far := e.far(ed.Pos, at); near < 0 || far < near {
				near = far
			}
		}
	}
	return near
}

// far returns how far a position is from an offset in its file.
func (e *editor) far(pos token.Pos, at int) int {
	off := e.in.Fset.File(pos).Offset(pos)
	return max(off-at, at-off)
}

// Call returns where the call whose left parenthesis is at pos begins and ends; pos, if that is none.
func (r *Result) Call(f *Func, pos token.Pos) (from, to token.Pos) {
	if c := r.ed.unit(f.SSA).calls[pos]; c != nil {
		return c.Pos(), c.End()
	}
	return pos, pos
}
