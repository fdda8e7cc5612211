package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// An output is a file that is ready to be written.
type output struct {
	file     string // physical name
	old, new []byte
	changes  []*change
}

// settle makes the changes of a group in memory and checks the result: it must
// parse and type-check in every unit. A function whose edits break it is refused
// and the rest is tried again, so that one bad edit costs one function.
func (g *group) settle() []*output {
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
	var outs []*output
	for _, name := range g.files() {
		if out := g.output(name); out != nil {
			outs = append(outs, out)
		}
	}
	return outs
}

func (g *group) accepted() []*change {
	var list []*change
	for _, ch := range g.changes {
		if ch.refused == "" {
			list = append(list, ch)
		}
	}
	return list
}

// parseEach refuses the changes whose declarations do not parse with them; it reports
// whether there are any. A parser says where it lost its way, which may be far behind
// the edit that led it astray.
func (g *group) parseEach() bool {
	found := false
	for _, ch := range g.accepted() {
		src := ch.units[0].prog.source[ch.compiled.file]
		if ch.declStart == 0 {
			continue // the whole file: in no declaration of its own
		}
		var inside []edit
		for _, e := range ch.compiled.edits {
			if ch.declStart <= e.start && e.end <= ch.declEnd {
				inside = append(inside, edit{e.start - ch.declStart, e.end - ch.declStart, e.text})
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
func sift(kept, list []*change, compile func([]*change) []breakage) []*change {
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
func (g *group) files() []string {
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
func (g *group) compile(changes []*change) []breakage {
	if len(changes) == 0 {
		return nil
	}
	edits := map[string][]edit{}
	for _, ch := range changes {
		edits[ch.compiled.file] = merge(edits[ch.compiled.file], ch.compiled.edits)
	}
	var broken []breakage
	for _, u := range g.units {
		var files []*ast.File
		touched := false
		for _, f := range u.pkg.Syntax {
			name := u.prog.fset.File(f.FileStart).Name()
			list, ok := edits[name]
			if !ok {
				files = append(files, f)
				continue
			}
			touched = true
			src := apply(u.prog.source[name], list)
			f, err := parser.ParseFile(u.prog.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				broken = append(broken, breakage{name, -1, parseMessage(err)})
				continue
			}
			files = append(files, f)
		}
		if !touched || len(broken) > 0 {
			continue
		}
		_, errs := u.prog.typeCheck(u.pkg, files, newInfo())
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
func (g *group) output(name string) *output {
	out := &output{file: name}
	var lists [][]edit
	for _, ch := range g.accepted() {
		if ch.user.file == name {
			out.changes = append(out.changes, ch)
			lists = append(lists, ch.user.edits)
			out.old = ch.units[0].prog.source[name]
		}
	}
	edits := merge(lists...)
	crlf := bytes.Contains(out.old, []byte("\r\n")) && bytes.Count(out.old, []byte("\n")) == bytes.Count(out.old, []byte("\r\n"))
	plain := out.old
	if crlf {
		for i := range edits {
			edits[i].text = strings.ReplaceAll(strings.ReplaceAll(edits[i].text, "\r\n", "\n"), "\n", "\r\n")
		}
		plain = bytes.ReplaceAll(out.old, []byte("\r\n"), []byte("\n"))
	}
	out.new = apply(out.old, edits)
	if formatted, err := format.Source(plain); err == nil && bytes.Equal(formatted, plain) {
		src := out.new
		if crlf {
			src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
		}
		if formatted, err := format.Source(src); err == nil {
			if crlf {
				formatted = bytes.ReplaceAll(formatted, []byte("\n"), []byte("\r\n"))
			}
			out.new = formatted
		}
	}
	if err := out.verify(); err != nil {
		for _, ch := range out.changes {
			ch.refuse("%v", err)
		}
		return nil
	}
	if bytes.Equal(out.old, out.new) {
		return nil
	}
	return out
}

// verify checks the text that will be written, apart from what the compiler
// said: it parses, no comment is lost, and for a file that cgo translates the
// statements are those of the translation that was type-checked.
func (out *output) verify() error {
	fset := token.NewFileSet()
	mode := parser.ParseComments | parser.SkipObjectResolution
	before, err := parser.ParseFile(fset, out.file, out.old, mode)
	if err != nil {
		return err
	}
	after, err := parser.ParseFile(fset, out.file, out.new, mode)
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
	first := out.changes[0]
	if first.user.file == first.compiled.file {
		return nil
	}
	var lists [][]edit
	for _, ch := range out.changes {
		lists = append(lists, ch.compiled.edits)
	}
	src := apply(first.units[0].prog.source[first.compiled.file], merge(lists...))
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
