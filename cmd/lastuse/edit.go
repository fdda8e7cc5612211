package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape"
)

// An edit replaces the bytes [start, end) of one file.
type edit struct {
	start, end int
	text       string
}

// A text is a file with edits to it, sorted and without overlap.
type text struct {
	file  string // physical name
	edits []edit
}

// A change is the edits that the analyzer wants for one function. All of them
// are made, or none.
type change struct {
	name string         // full name of the function
	at   token.Position // of the function, as the user sees it

	// Where the edits go, and the file that the compiler reads. They differ for
	// files that import "C": the user's file and the one that cgo makes of it.
	user, compiled text

	// The top-level declaration that the function is in, in bytes of the
	// compiled file: errors in it are blamed on the change.
	declStart, declEnd int

	units   []*unit // that want the change
	refused string  // why the change is not made, "" if it is
}

// refuse withdraws the change. The first reason stays.
func (ch *change) refuse(format string, args ...any) {
	if ch.refused == "" {
		ch.refused = fmt.Sprintf(format, args...)
	}
}

// A group is the changes to the files of one folder: a package and its tests, in
// every build-tag set. Its files are written together or not at all.
type group struct {
	dir     string
	units   []*unit
	changes []*change
}

// A plan is all changes of a run.
type plan struct {
	groups []*group
	of     map[*escape.Func]*change
}

// collect turns the edits of the analyzer into changes and groups them by
// folder. A function that several units have, through tests or tag sets, has one
// change.
func (c *command) collect(units []*unit) *plan {
	p := &plan{of: map[*escape.Func]*change{}}
	groups := map[string]*group{}
	changes := map[string]*change{} // file, declaration and function → change
	for _, u := range units {
		if u.result == nil {
			continue
		}
		for _, fn := range u.result.Funcs {
			edits := c.wanted(fn)
			if len(edits) == 0 {
				continue
			}
			ch := u.change(fn, edits)
			p.of[fn] = ch
			key := fmt.Sprint(ch.user.file, "\n", ch.declStart, "\n", fn.Name)
			if first := changes[key]; first != nil {
				if !slices.Equal(first.user.edits, ch.user.edits) {
					first.refuse("build tags %s and %s want different edits", first.units[0].tags(), u.tags())
				}
				first.units = append(first.units, u)
				p.of[fn] = first
				continue
			}
			changes[key] = ch
			dir := filepath.Dir(ch.user.file)
			if groups[dir] == nil {
				groups[dir] = &group{dir: dir}
				p.groups = append(p.groups, groups[dir])
			}
			groups[dir].changes = append(groups[dir].changes, ch)
		}
	}
	for _, g := range p.groups {
		g.complete(units)
		slices.SortFunc(g.changes, func(a, b *change) int {
			return cmp.Or(strings.Compare(a.user.file, b.user.file), cmp.Compare(a.declStart, b.declStart), strings.Compare(a.name, b.name))
		})
		g.conflicts()
	}
	slices.SortFunc(p.groups, func(a, b *group) int { return strings.Compare(a.dir, b.dir) })
	return p
}

// wanted returns the edits of a function that do not belong to a skipped category.
func (c *command) wanted(fn *escape.Func) []analysis.TextEdit {
	if len(c.skip) == 0 {
		return sortedEdits(fn.Edits)
	}
	var edits []analysis.TextEdit
	for _, f := range fn.Findings {
		if !slices.Contains(c.skip, f.Category) {
			edits = append(edits, f.Edits...)
		}
	}
	return sortedEdits(edits)
}

func sortedEdits(edits []analysis.TextEdit) []analysis.TextEdit {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.End, b.End))
	})
	return edits
}

// tags returns the unit's build tags for messages.
func (u *unit) tags() string { return fmt.Sprintf("%q", u.prog.tags) }

// change converts edits from positions to bytes of physical files. What cannot
// be edited is refused with the reason.
func (u *unit) change(fn *escape.Func, edits []analysis.TextEdit) *change {
	fset := u.prog.fset
	at := fset.Position(fn.Pos)
	ch := &change{name: fn.Name, at: at, units: []*unit{u}}
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
		ch.compiled.edits = append(ch.compiled.edits, edit{tf.Offset(e.Pos), tf.Offset(end), string(e.NewText)})
	}
	ch.user = ch.compiled
	file := u.syntax(tf.Name())
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
	case !slices.Contains(u.pkg.GoFiles, tf.Name()):
		if err := u.mapCgo(ch, tf); err != nil {
			ch.refuse("%v", err)
		}
	case ast.IsGenerated(file):
		ch.refuse("the file is generated: change what generates it")
	}
	if m := u.pkg.Module; m != nil && !m.Main {
		ch.refuse("the package belongs to module %s, not to the one being worked on", m.Path)
	} else if m == nil && isStd(u.pkg) {
		ch.refuse("the package belongs to the standard library")
	}
	removed := removedComments(file, tf, ch.compiled.edits)
	if removed != "" {
		ch.refuse("the edit would drop a comment: %s", removed)
	}
	return ch
}

// syntax returns the file with this physical name.
func (u *unit) syntax(name string) *ast.File {
	for _, f := range u.pkg.Syntax {
		if u.prog.fset.File(f.FileStart).Name() == name {
			return f
		}
	}
	return nil
}

// removedComments returns the first comment that edits delete and do not write
// again, "" if all stay.
func removedComments(file *ast.File, tf *token.File, edits []edit) string {
	for _, e := range edits {
		if e.start == e.end {
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				start, end := tf.Offset(c.Pos()), tf.Offset(c.End())
				if start < e.end && e.start < end && !strings.Contains(e.text, c.Text) {
					return c.Text
				}
			}
		}
	}
	return ""
}

// complete finds the units that have files of the group, and refuses changes
// that one set of build tags wants and another, which has the file too, does not.
func (g *group) complete(units []*unit) {
	for _, u := range units {
		if u.result == nil {
			continue
		}
		has := false
		for _, name := range u.pkg.CompiledGoFiles {
			for _, ch := range g.changes {
				if ch.compiled.file != name {
					continue
				}
				has = true
				if other := ch.units[0]; u.prog != other.prog && !slices.Contains(ch.units, u) {
					ch.refuse("build tags %s want an edit, %s do not", other.tags(), u.tags())
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
func (g *group) conflicts() {
	for i, ch := range g.changes {
		if ch.refused != "" {
			continue
		}
		for _, other := range g.changes[:i] {
			if other.refused != "" || other.user.file != ch.user.file {
				continue
			}
			for _, a := range other.user.edits {
				for _, b := range ch.user.edits {
					if a.overlaps(b) && !(a == b && a.start == a.end && a.end < min(ch.declStart, other.declStart)) {
						ch.refuse("its edits overlap those of %s", other.name)
					}
				}
			}
		}
		for k := 1; k < len(ch.user.edits); k++ {
			if a, b := ch.user.edits[k-1], ch.user.edits[k]; b.start < a.end {
				ch.refuse("its edits overlap")
			}
		}
	}
}

// overlaps reports whether two edits touch the same bytes, or insert at the same
// place, so that their order would matter.
func (a edit) overlaps(b edit) bool {
	if a.start == a.end && b.start == b.end {
		return a.start == b.start
	}
	if a.start == b.start {
		return true
	}
	return a.start < b.end && b.start < a.end
}

// apply returns src with edits made. Edits are sorted and do not overlap.
func apply(src []byte, edits []edit) []byte {
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, src[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, src[at:]...)
}

// oldOffset returns the byte before the edits that became byte n after them.
func oldOffset(edits []edit, n int) int {
	shift := 0 // new minus old
	for _, e := range edits {
		start := e.start + shift
		if n < start {
			break
		}
		if n < start+len(e.text) {
			return e.start
		}
		shift += len(e.text) - (e.end - e.start)
	}
	return n - shift
}

// merge joins the edits of several changes to one file, identical ones once.
func merge(lists ...[]edit) []edit {
	var all []edit
	for _, l := range lists {
		all = append(all, l...)
	}
	slices.SortStableFunc(all, func(a, b edit) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	return slices.CompactFunc(all, func(a, b edit) bool { return a == b && a.start == a.end })
}
