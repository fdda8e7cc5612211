package main

import (
	"cmp"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
)

// relocate gives findings that remain the positions and texts of the new files: after -fix the
// user sees these, and the findings were made of the old ones.
func (c *command) relocate(findings []*finding) {
	if len(c.moved) == 0 {
		return
	}
	for _, f := range findings {
		text := func(s string) string {
			return f.unit.Result.Reword(s, func(pos token.Pos) string {
				p := c.moved.Position(f.unit.Prog.Fset.Position(pos))
				return filepath.Base(p.Filename) + ":" + strconv.Itoa(p.Line)
			})
		}
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
