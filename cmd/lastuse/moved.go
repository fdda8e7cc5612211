package main

import (
	"bytes"
	"cmp"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// After -fix the user sees the new files. Findings that remain were made of the old
// ones: their lines, and those that their texts name, have moved.

// A lineMap tells the new number of each line of a file that was rewritten; index 0
// is not used.
type lineMap []int

// newLineMap compares a file before and after. A line that is not there any more is
// taken for the next one that is.
func newLineMap(old, new []byte) lineMap {
	a, b := bytes.SplitAfter(old, []byte("\n")), bytes.SplitAfter(new, []byte("\n"))
	m := make(lineMap, len(a)+1)
	for _, r := range lineDiff(a, b) {
		for i := range r.aLen {
			if r.common {
				m[r.a+i+1] = r.b + i + 1
			} else {
				m[r.a+i+1] = min(r.b+1, len(b))
			}
		}
	}
	return m
}

func (m lineMap) line(n int) int {
	if n <= 0 || n >= len(m) {
		return n
	}
	return m[n]
}

// A relocation has the line maps of the files that a run rewrote, by name.
type relocation map[string]lineMap

// note takes over files that were written.
func (r relocation) note(outs []*output) {
	for _, out := range outs {
		r[out.file] = newLineMap(out.old, out.new)
	}
}

// place finds FILE.go:LINE in what is said to people. The file has no folder there.
var place = regexp.MustCompile(`([\w.+@-]+\.go):(\d+)`)

// text corrects the lines that a text about a file names: of that file and of
// others in its folder.
func (r relocation) text(file, text string) string {
	if len(r) == 0 {
		return text
	}
	return place.ReplaceAllStringFunc(text, func(s string) string {
		i := strings.LastIndexByte(s, ':')
		name, digits := s[:i], s[i+1:]
		m := r[filepath.Join(filepath.Dir(file), name)]
		n, err := strconv.Atoi(digits)
		if m == nil || err != nil {
			return s
		}
		return name + ":" + strconv.Itoa(m.line(n))
	})
}

// position returns where a place is now.
func (r relocation) position(p token.Position) token.Position {
	if m := r[p.Filename]; m != nil {
		p.Line = m.line(p.Line)
	}
	return p
}

// relocate gives findings that remain the positions and texts of the new files.
func (c *command) relocate(findings []*finding) {
	if len(c.moved) == 0 {
		return
	}
	for _, f := range findings {
		file := f.unit.prog.fset.Position(f.Pos).Filename
		text := func(s string) string { return c.moved.text(file, s) }
		f.pos, f.end = c.position(f.unit, f.Pos), c.position(f.unit, cmp.Or(f.End, f.Pos))
		new := *f.Finding
		new.Message = text(new.Message)
		new.Related = slices.Clone(new.Related)
		for i := range new.Related {
			new.Related[i].Message = text(new.Related[i].Message)
		}
		if f.Buffer != nil {
			b := *f.Buffer
			b.Reason = text(b.Reason)
			b.Path = slices.Clone(b.Path)
			for i := range b.Path {
				b.Path[i].Text = text(b.Path[i].Text)
			}
			new.Buffer = &b
		}
		f.Finding = &new
	}
}
