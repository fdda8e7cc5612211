package shadow

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/proof"
)

// mostProofs bounds how often a package is proven before whole declarations are left alone.
const mostProofs = 7

// Settle asks the proof about the edits, takes back the frees that it does not accept, and all others of the
// same buffers, and asks again, until all that is left is accepted. It ends, as something is taken back each
// time.
func (r *Result) Settle(a *Asker) {
	for round := 0; slices.ContainsFunc(r.Funcs, (*Func).written); round++ {
		withheld := r.Prove(a).Withheld()
		if len(withheld) == 0 {
			return
		}
		taken := false
		for k := range withheld {
			taken = r.take(&withheld[k], round >= mostProofs) || taken
		}
		if !taken { // it is about a place that nothing of ours is near
			for _, f := range r.Funcs {
				f.take(f.Frees, &withheld[0])
			}
		}
		r.Edits = r.ed.edits(r.Funcs)
	}
}

// written reports whether frees of f are in the text.
func (f *Func) written() bool { return f.Refused == "" && len(f.Frees) > 0 }

// take takes back what a verdict is about: of the frees with its text, those that stand nearest to it. Where
// there is none, or if all is said, it is the frees of the whole declaration.
func (r *Result) take(v *proof.Verdict, all bool) (taken bool) {
	at := r.before(v)
	near := -1
	var list [][]*Free // by function
	for _, f := range r.Funcs {
		list = append(list, nil)
		if !f.written() || !r.within(f, at) {
			continue
		}
		if all || v.Kind == proof.Whole {
			taken = f.take(f.Frees, v) || taken
			continue
		}
		for _, fr := range f.Frees {
			made := v.Kind == proof.Named && (fr.Name.Result != nil || fr.Name.Save != nil)
			if !made && strings.Join(strings.Fields(fr.Text), " ") != v.Text {
				continue
			}
			far := max(at.offset-r.ed.offset(fr), r.ed.offset(fr)-at.offset)
			if near >= 0 && far > near {
				continue
			}
			if far < near {
				list = make([][]*Free, len(list))
			}
			near = far
			list[len(list)-1] = append(list[len(list)-1], fr)
		}
	}
	for k, frees := range list {
		taken = r.Funcs[k].take(frees, v) || taken
	}
	if !taken && !all {
		return r.take(v, true)
	}
	return taken
}

// take takes back frees, and all others of what they free.
func (f *Func) take(frees []*Free, v *proof.Verdict) bool {
	if len(frees) == 0 {
		return false
	}
	if f.Taken == nil {
		f.Taken = map[*pointsto.Site]*proof.Verdict{}
	}
	for len(frees) > 0 {
		for _, fr := range frees {
			for _, s := range fr.Sites {
				f.Taken[s] = v
			}
		}
		gone := func(fr *Free) bool {
			return slices.ContainsFunc(fr.Sites, func(s *pointsto.Site) bool { return f.Taken[s] != nil })
		}
		frees = nil
		for _, fr := range f.Frees {
			if gone(fr) {
				frees = append(frees, fr)
			}
		}
		f.Frees = slices.DeleteFunc(f.Frees, gone)
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
		at := spotted{f, v.Func != "", v.Pos.Offset}
		if v.Kind != proof.Deleted {
			at.offset = old(r.Edits[f], v.Pos.Offset, src.Off)
		}
		return at
	}
	return spotted{}
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

// offset returns where in its file a free stands.
func (e *editor) offset(fr *Free) int { return e.in.Fset.File(fr.At.Pos()).Offset(fr.At.Pos()) }

// CallAt returns where the call begins whose left parenthesis is at pos; pos, if that is none.
func (r *Result) CallAt(f *Func, pos token.Pos) token.Pos {
	if c := r.ed.unit(f.SSA).calls[pos]; c != nil {
		return c.Pos()
	}
	return pos
}
