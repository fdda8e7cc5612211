package apply

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
	"github.com/lastuse/lastuse/escape"
)

// An Edit replaces the bytes [Start, End) of one file.
type Edit struct {
	Start, End int
	Text       string
}

// A text is a file with edits to it, sorted and without overlap.
type text struct {
	file  string // physical name
	edits []Edit
}

// A Change is the edits that the analyzer wants for one function. All of them
// are made, or none.
type Change struct {
	Name string         // full name of the function
	At   token.Position // of the function, as the user sees it

	// Where the edits go, and the file that the compiler reads. They differ for
	// files that import "C": the user's file and the one that cgo makes of it.
	user, compiled text

	// The top-level declaration that the function is in, in bytes of the
	// compiled file: errors in it are blamed on the change.
	declStart, declEnd int

	units   []*load.Unit // that want the change
	Refused string       // why the change is not made, "" if it is
}

// File returns the name of the user's file that the change is about.
func (ch *Change) File() string { return ch.user.file }

// Edits returns what the change does to the user's file, in order.
func (ch *Change) Edits() []Edit { return ch.user.edits }

// refuse withdraws the change. The first reason stays.
func (ch *Change) refuse(format string, args ...any) {
	if ch.Refused == "" {
		ch.Refused = fmt.Sprintf(format, args...)
	}
}

// A Group is the changes to the files of one folder: a package and its tests, in
// every build-tag set. Its files are written together or not at all.
type Group struct {
	dir     string
	units   []*load.Unit
	Changes []*Change
}

// A Plan is all changes of a run.
type Plan struct {
	Groups []*Group
	Of     map[*escape.Func]*Change
}

// Collect turns the edits of the analyzer into changes and groups them by
// folder: those that wanted returns for a function. A function that several units have, through
// tests or tag sets, has one change.
func Collect(units []*load.Unit, wanted func(fn *escape.Func) []analysis.TextEdit) *Plan {
	p := &Plan{Of: map[*escape.Func]*Change{}}
	groups := map[string]*Group{}
	changes := map[string]*Change{} // file, declaration and function → change
	for _, u := range units {
		if u.Result == nil {
			continue
		}
		for _, fn := range u.Result.Funcs {
			edits := wanted(fn)
			if len(edits) == 0 {
				continue
			}
			ch := NewChange(u, fn, edits)
			p.Of[fn] = ch
			key := fmt.Sprint(ch.user.file, "\n", ch.declStart, "\n", fn.Name)
			if first := changes[key]; first != nil {
				if !slices.Equal(first.user.edits, ch.user.edits) {
					first.refuse("build tags %s and %s want different edits", tags(first.units[0]), tags(u))
				}
				first.units = append(first.units, u)
				p.Of[fn] = first
				continue
			}
			changes[key] = ch
			dir := filepath.Dir(ch.user.file)
			if groups[dir] == nil {
				groups[dir] = &Group{dir: dir}
				p.Groups = append(p.Groups, groups[dir])
			}
			groups[dir].Changes = append(groups[dir].Changes, ch)
		}
	}
	for _, g := range p.Groups {
		g.complete(units)
		slices.SortFunc(g.Changes, func(a, b *Change) int {
			return cmp.Or(strings.Compare(a.user.file, b.user.file), cmp.Compare(a.declStart, b.declStart), strings.Compare(a.Name, b.Name))
		})
		g.conflicts()
	}
	slices.SortFunc(p.Groups, func(a, b *Group) int { return strings.Compare(a.dir, b.dir) })
	return p
}

// sortedEdits returns edits in the order in which they are made.
func sortedEdits(edits []analysis.TextEdit) []analysis.TextEdit {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.End, b.End))
	})
	return edits
}

// tags returns the unit's build tags for messages.
func tags(u *load.Unit) string { return fmt.Sprintf("%q", u.Prog.Tags) }

// NewChange converts edits from positions to bytes of physical files. What cannot
// be edited is refused with the reason.
func NewChange(u *load.Unit, fn *escape.Func, edits []analysis.TextEdit) *Change {
	edits = sortedEdits(edits)
	fset := u.Prog.Fset
	at := fset.Position(fn.Pos)
	ch := &Change{Name: fn.Name, At: at, units: []*load.Unit{u}}
	tf := fset.File(edits[0].Pos)
	ch.compiled.file = tf.Name()
	for _, e := range edits {
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		if fset.File(e.Pos) != tf || fset.File(end) != tf || end < e.Pos {
			ch.refuse("the edits reach into another file")
			ch.user = ch.compiled
			return ch
		}
		ch.compiled.edits = append(ch.compiled.edits, Edit{tf.Offset(e.Pos), tf.Offset(end), string(e.NewText)})
	}
	ch.user = ch.compiled
	file := u.Syntax(tf.Name())
	ch.declStart, ch.declEnd = 0, tf.Size()
	for _, d := range file.Decls {
		start := d.Pos()
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
			start = f.Doc.Pos()
		}
		if start <= fn.Pos && fn.Pos < d.End() {
			ch.declStart, ch.declEnd = tf.Offset(start), tf.Offset(d.End())
		}
	}
	switch {
	case !slices.Contains(u.Pkg.GoFiles, tf.Name()):
		if err := mapCgo(u, ch, tf); err != nil {
			ch.refuse("%v", err)
		}
	case ast.IsGenerated(file):
		ch.refuse("the file is generated: change what generates it")
	}
	if m := u.Pkg.Module; m != nil && !m.Main {
		ch.refuse("the package belongs to module %s, not to the one being worked on", m.Path)
	} else if m == nil && load.IsStd(u.Pkg) {
		ch.refuse("the package belongs to the standard library")
	}
	removed := removedComments(file, tf, ch.compiled.edits)
	if removed != "" {
		ch.refuse("the edit would drop a comment: %s", removed)
	}
	return ch
}

// removedComments returns the first comment that edits delete and do not write
// again, "" if all stay.
func removedComments(file *ast.File, tf *token.File, edits []Edit) string {
	for _, e := range edits {
		if e.Start == e.End {
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				start, end := tf.Offset(c.Pos()), tf.Offset(c.End())
				if start < e.End && e.Start < end && !strings.Contains(e.Text, c.Text) {
					return c.Text
				}
			}
		}
	}
	return ""
}

// complete finds the units that have files of the group, and refuses changes
// that one set of build tags wants and another, which has the file too, does not.
func (g *Group) complete(units []*load.Unit) {
	for _, u := range units {
		if u.Result == nil {
			continue
		}
		has := false
		for _, name := range u.Pkg.CompiledGoFiles {
			for _, ch := range g.Changes {
				if ch.compiled.file != name {
					continue
				}
				has = true
				if other := ch.units[0]; u.Prog != other.Prog && !slices.Contains(ch.units, u) {
					ch.refuse("build tags %s want an edit, %s do not", tags(other), tags(u))
				}
			}
		}
		if has {
			g.units = append(g.units, u)
		}
	}
}

// conflicts refuses changes whose edits overlap those of a change before them.
// Two functions may insert the same text at the same place before the first
// declaration that is no import: they need the same import.
func (g *Group) conflicts() {
	for i, ch := range g.Changes {
		if ch.Refused != "" {
			continue
		}
		for _, other := range g.Changes[:i] {
			if other.Refused != "" || other.user.file != ch.user.file {
				continue
			}
			for _, a := range other.user.edits {
				for _, b := range ch.user.edits {
					if a.overlaps(b) && !(a == b && a.Start == a.End && a.End < min(ch.declStart, other.declStart)) {
						ch.refuse("its edits overlap those of %s", other.Name)
					}
				}
			}
		}
		for k := 1; k < len(ch.user.edits); k++ {
			if a, b := ch.user.edits[k-1], ch.user.edits[k]; b.Start < a.End {
				ch.refuse("its edits overlap")
			}
		}
	}
}

// overlaps reports whether two edits touch the same bytes, or insert at the same
// place, so that their order would matter.
func (a Edit) overlaps(b Edit) bool {
	if a.Start == a.End && b.Start == b.End {
		return a.Start == b.Start
	}
	if a.Start == b.Start {
		return true
	}
	return a.Start < b.End && b.Start < a.End
}

// apply returns src with edits made. Edits are sorted and do not overlap.
func apply(src []byte, edits []Edit) []byte {
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, src[at:e.Start]...)
		out = append(out, e.Text...)
		at = e.End
	}
	return append(out, src[at:]...)
}

// oldOffset returns the byte before the edits that became byte n after them.
func oldOffset(edits []Edit, n int) int {
	shift := 0 // new minus old
	for _, e := range edits {
		start := e.Start + shift
		if n < start {
			break
		}
		if n < start+len(e.Text) {
			return e.Start
		}
		shift += len(e.Text) - (e.End - e.Start)
	}
	return n - shift
}

// merge joins the edits of several changes to one file, identical ones once.
func merge(lists ...[]Edit) []Edit {
	var all []Edit
	for _, l := range lists {
		all = append(all, l...)
	}
	slices.SortStableFunc(all, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	return slices.CompactFunc(all, func(a, b Edit) bool { return a == b && a.Start == a.End })
}
