package plan

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about frees of the program that come late: whether they can be moved, and what is done if the
// proof does not accept that.

// unmoved has the words for what keeps late frees where they are.
var unmoved = [...]string{place.Once: "a second free would be an error",
	place.InLiteral: "the function literal that frees it would read its name behind the free"}

// advance takes the frees of what is freed late in place of those that are planned without, if that can be
// written.
func (f *Func) advance(e *editor, lates []*place.Late) {
	for _, of := range lates {
		l := &Late{Late: of, No: unmoved[of.No]}
		f.Lates = append(f.Lates, l)
		if l.No == "" {
			l.No = e.stuck(f, l)
		}
		for _, s := range of.Sites {
			l.No = cmp.Or(l.No, f.Kept[s])
		}
		if l.No != "" {
			continue
		}
		var stay []*Free
		for _, fr := range f.Frees {
			if slices.ContainsFunc(fr.Sites, l.has) {
				l.Without = append(l.Without, fr)
			} else {
				stay = append(stay, fr)
			}
		}
		for _, fr := range of.Frees {
			stay = append(stay, &Free{Free: fr, Late: l})
		}
		f.Frees = stay
	}
}

// inside frees in literals what is due right behind their calls, where they need it last.
func (f *Func) inside(e *editor, of map[*ssa.Function]*Func) {
	for _, fr := range slices.Clone(f.Frees) {
		if fr.Behind == nil || fr.Late != nil {
			continue
		}
		in := of[fr.Behind.Call.StaticCallee()]
		if in == nil || in.Own == nil || in.Own.Groups == nil {
			continue
		}
		list := place.Inside(e.ir, in.Own, fr.Free, scribe{e, in.SSA})
		if len(list) == 0 {
			continue
		}
		l := &Late{Late: &place.Late{Sites: fr.Sites}, Without: []*Free{fr}}
		f.Frees = slices.DeleteFunc(f.Frees, func(g *Free) bool { return g == fr })
		for _, i := range list {
			f.Frees = append(f.Frees, &Free{Free: i, Late: l, In: in})
		}
	}
}

func (l *Late) has(s *pointsto.Site) bool { return slices.Contains(l.Sites, s) }

// stuck returns why frees of the program cannot be taken out; "" if they can.
func (e *editor) stuck(f *Func, l *Late) string {
	u := e.unit(f.SSA)
	named := map[string]bool{}
	var used []token.Pos
	for _, fr := range l.Frees {
		if fr.Name.Var != nil {
			named[fr.Name.Var.Name()] = true
		}
		used = append(used, e.where(u, fr.At).At())
	}
	for _, fr := range f.Frees {
		if !slices.ContainsFunc(fr.Sites, l.has) {
			used = append(used, e.where(u, fr.At).At())
		}
	}
	out := u.exprs(l.Gone)
	if len(out) < len(l.Gone) || slices.ContainsFunc(out, func(c ast.Expr) bool { return !u.fn.Removable(u.src, c) }) {
		return "a free of the program does not stand on a line of its own, or frees by no name"
	}
	gone := u.fn.TakenOut(u.src, out, nil)
	if u.fn.Empties(gone, used) {
		return "without the free, nothing is left of what it stands in"
	}
	if name := u.fn.OnlyIn(gone, named); name != "" {
		return "without the free, " + name + " would not be used"
	}
	return ""
}

// exprs lists calls as they stand in the text.
func (u *unit) exprs(list []*ssa.Call) []ast.Expr {
	var out []ast.Expr
	for _, c := range list {
		if e := u.calls[c.Pos()]; e != nil {
			out = append(out, e)
		}
	}
	return out
}

func (s scribe) Goes(calls []*ssa.Call) func(token.Pos) bool {
	u := s.unit(s.f)
	out := u.fn.TakenOut(u.src, u.exprs(calls), nil)
	return func(pos token.Pos) bool {
		return slices.ContainsFunc(out, func(s ast.Stmt) bool { return s.Pos() <= pos && pos < s.End() })
	}
}

func (s scribe) Loop(pos token.Pos) token.Pos {
	at := token.NoPos
	for l := range s.loops {
		if l.Pos() <= pos && pos < l.End() {
			at = max(at, l.Pos())
		}
	}
	return at
}

// removals returns the edits that take out what goes in a unit, each with the frees that stand for it.
func (d *draft) removals(funcs []*Func) (gone []*part) {
	by := map[ast.Expr]*Late{}
	for _, f := range funcs {
		for _, l := range f.Lates {
			for _, c := range d.u.exprs(l.Gone) {
				if l.No == "" {
					by[c] = l
				}
			}
		}
	}
	if len(by) == 0 {
		return nil
	}
	var used []token.Pos
	of := map[*Late][]*part{}
	for _, s := range d.order {
		used = append(used, s.at.At())
		for _, fr := range s.part.frees {
			if fr.Late != nil {
				of[fr.Late] = append(of[fr.Late], &s.part)
			}
		}
	}
	slices.Sort(used)
	for _, s := range d.u.fn.TakenOut(d.u.src, slices.Collect(maps.Keys(by)), used) {
		p := &part{edits: []analysis.TextEdit{d.u.src.Removal(s)}}
		for c, l := range by {
			if s.Pos() <= c.Pos() && c.End() <= s.End() {
				p.needs = append(p.needs, of[l]...)
				for _, q := range of[l] {
					q.needs = append(q.needs, p)
				}
			}
		}
		gone = append(gone, p)
	}
	return gone
}

// crowded leaves frees where they are that are late only where their statement has room, if it has none after
// all.
func (f *Func) crowded(e *editor) {
	for _, l := range f.Lates {
		if l.No != "" || !l.Room {
			continue
		}
		rooms := scribe{e, f.SSA}.rooms(f.Frees)
		if !slices.ContainsFunc(l.Frees, func(fr place.Free) bool {
			return fr.Since != nil && rooms(fr.Since.After, fr.Name) != nil
		}) {
			f.stay(l, "nothing in its statement gets a name")
		}
	}
}

// Unmoved says why what is found late stays; "" if its free moves, or if nothing was tried.
func (f *Func) Unmoved(of *place.Late) string {
	for _, l := range f.Lates {
		if l.Late == of {
			return l.No
		}
	}
	return ""
}

// stay leaves late frees where they are, as why says that they do not move.
func (f *Func) stay(l *Late, why string) {
	l.No = why
	f.Frees = slices.DeleteFunc(f.Frees, func(fr *Free) bool { return fr.Late == l })
	f.Frees = append(f.Frees, l.Without...)
}
