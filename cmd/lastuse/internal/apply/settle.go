package apply

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
)

// An Output is a file that is ready to be written.
type Output struct {
	File     string // physical name
	Old, New []byte
	Changes  []*Change
}

// Settle makes the changes of a group in memory and checks the result: it must
// parse and type-check in every unit. A function whose edits break it is refused
// and the rest is tried again, so that one bad edit costs one function.
func (g *Group) Settle() []*Output {
	for {
		broken := g.compile(g.accepted())
		if broken == nil {
			break
		}
		blamed := false
		for _, b := range broken {
			for _, ch := range g.accepted() {
				if ch.compiled.file == b.file && ch.declStart <= b.offset && b.offset < ch.declEnd {
					ch.refuse("the edited function does not compile: %s", b.msg)
					blamed = true
				}
			}
		}
		if !blamed && !g.parseEach() {
			sift(nil, g.accepted(), g.compile)
			break
		}
	}
	var outs []*Output
	for _, name := range g.files() {
		if out := g.output(name); out != nil {
			outs = append(outs, out)
		}
	}
	return outs
}

func (g *Group) accepted() []*Change {
	var list []*Change
	for _, ch := range g.Changes {
		if ch.Refused == "" {
			list = append(list, ch)
		}
	}
	return list
}

// parseEach refuses the changes whose declarations do not parse with them; it reports
// whether there are any. A parser says where it lost its way, which may be far behind
// the edit that led it astray.
func (g *Group) parseEach() bool {
	found := false
	for _, ch := range g.accepted() {
		src := ch.units[0].Prog.Text(ch.compiled.file)
		if ch.declStart == 0 {
			continue // the whole file: in no declaration of its own
		}
		var inside []Edit
		for _, e := range ch.compiled.edits {
			if ch.declStart <= e.Start && e.End <= ch.declEnd {
				inside = append(inside, Edit{e.Start - ch.declStart, e.End - ch.declStart, e.Text})
			}
		}
		decl := append([]byte("package p\n"), apply(src[ch.declStart:ch.declEnd], inside)...)
		if _, err := parser.ParseFile(token.NewFileSet(), "", decl, parser.SkipObjectResolution); err != nil {
			ch.refuse("the edited function does not parse: %s", parseMessage(err))
			found = true
		}
	}
	return found
}

// sift refuses what of list does not compile with kept and what stands before it in
// list, and returns the others behind kept. It is for errors that stand outside the
// functions that caused them. A half that compiles is kept as a whole, so that a few
// bad changes among many cost a few compilations each.
func sift(kept, list []*Change, compile func([]*Change) []breakage) []*Change {
	all := slices.Concat(kept, list)
	broken := compile(all)
	switch {
	case len(broken) == 0:
		return all
	case len(list) == 1:
		list[0].refuse("the edited function does not compile: %s", broken[0].msg)
		return kept
	}
	mid := len(list) / 2
	return sift(sift(kept, list[:mid], compile), list[mid:], compile)
}

// files returns the names of the users' files with changes, sorted.
func (g *Group) files() []string {
	var names []string
	for _, ch := range g.accepted() {
		if !slices.Contains(names, ch.user.file) {
			names = append(names, ch.user.file)
		}
	}
	slices.Sort(names)
	return names
}

// A breakage is an error that edits caused, at a byte of the file before them.
type breakage struct {
	file   string
	offset int // -1 if not known
	msg    string
}

// compile type-checks the units of the group with changes made. It returns what
// is wrong, nil if nothing is.
func (g *Group) compile(changes []*Change) []breakage {
	if len(changes) == 0 {
		return nil
	}
	edits := map[string][]Edit{}
	for _, ch := range changes {
		edits[ch.compiled.file] = merge(edits[ch.compiled.file], ch.compiled.edits)
	}
	var broken []breakage
	for _, u := range g.units {
		var files []*ast.File
		touched := false
		for _, f := range u.Pkg.Syntax {
			name := u.Prog.Fset.File(f.FileStart).Name()
			list, ok := edits[name]
			if !ok {
				files = append(files, f)
				continue
			}
			touched = true
			src := apply(u.Prog.Text(name), list)
			f, err := parser.ParseFile(u.Prog.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				broken = append(broken, breakage{name, -1, parseMessage(err)})
				continue
			}
			files = append(files, f)
		}
		if !touched || len(broken) > 0 {
			continue
		}
		_, errs := u.Prog.TypeCheck(u.Pkg, files, load.NewInfo())
		for _, err := range errs {
			b := breakage{offset: -1, msg: err.Error()}
			var te types.Error
			if errors.As(err, &te) && te.Pos.IsValid() {
				pos := te.Fset.PositionFor(te.Pos, false)
				b.file, b.msg = pos.Filename, te.Msg
				b.offset = oldOffset(edits[pos.Filename], pos.Offset)
			}
			broken = append(broken, b)
		}
	}
	return broken
}

// output returns the new contents of a user's file, nil if none of its changes
// stands. A file that was formatted is formatted again; any other stays as it is
// outside the edits, and so do its line ends.
func (g *Group) output(name string) *Output {
	out := &Output{File: name}
	var lists [][]Edit
	for _, ch := range g.accepted() {
		if ch.user.file == name {
			out.Changes = append(out.Changes, ch)
			lists = append(lists, ch.user.edits)
			out.Old = ch.units[0].Prog.Text(name)
		}
	}
	edits := merge(lists...)
	crlf := bytes.Contains(out.Old, []byte("\r\n")) && bytes.Count(out.Old, []byte("\n")) == bytes.Count(out.Old, []byte("\r\n"))
	plain := out.Old
	if crlf {
		for i := range edits {
			edits[i].Text = strings.ReplaceAll(strings.ReplaceAll(edits[i].Text, "\r\n", "\n"), "\n", "\r\n")
		}
		plain = bytes.ReplaceAll(out.Old, []byte("\r\n"), []byte("\n"))
	}
	out.New = apply(out.Old, edits)
	if formatted, err := format.Source(plain); err == nil && bytes.Equal(formatted, plain) {
		src := out.New
		if crlf {
			src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
		}
		if formatted, err := format.Source(src); err == nil {
			if crlf {
				formatted = bytes.ReplaceAll(formatted, []byte("\n"), []byte("\r\n"))
			}
			out.New = formatted
		}
	}
	if err := out.verify(); err != nil {
		for _, ch := range out.Changes {
			ch.refuse("%v", err)
		}
		return nil
	}
	if bytes.Equal(out.Old, out.New) {
		return nil
	}
	return out
}

// verify checks the text that will be written, apart from what the compiler
// said: it parses, no comment is lost, and for a file that cgo translates the
// statements are those of the translation that was type-checked.
func (out *Output) verify() error {
	fset := token.NewFileSet()
	mode := parser.ParseComments | parser.SkipObjectResolution
	before, err := parser.ParseFile(fset, out.File, out.Old, mode)
	if err != nil {
		return err
	}
	after, err := parser.ParseFile(fset, out.File, out.New, mode)
	if err != nil {
		return fmt.Errorf("the edited file does not parse: %w", err)
	}
	count := map[string]int{}
	for _, c := range comments(after) {
		count[c]++
	}
	for _, c := range comments(before) {
		if count[c]--; count[c] < 0 {
			return fmt.Errorf("the edited file lacks a comment: %s", c)
		}
	}
	first := out.Changes[0]
	if first.user.file == first.compiled.file {
		return nil
	}
	var lists [][]Edit
	for _, ch := range out.Changes {
		lists = append(lists, ch.compiled.edits)
	}
	src := apply(first.units[0].Prog.Text(first.compiled.file), merge(lists...))
	compiled, err := parser.ParseFile(fset, first.compiled.file, src, mode)
	if err != nil {
		return err
	}
	if a, b := shape(after), shape(compiled); a != b {
		return errors.New("cgo moved the statements of the file: edit it by hand")
	}
	return nil
}

// comments returns the texts of all comments, without the space that formatting
// may change.
func comments(f *ast.File) []string {
	var texts []string
	for _, g := range f.Comments {
		for _, c := range g.List {
			texts = append(texts, strings.Join(strings.Fields(c.Text), " "))
		}
	}
	return texts
}

// parseMessage returns the first error of a parse, without its position.
func parseMessage(err error) string {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Msg
	}
	return err.Error()
}
