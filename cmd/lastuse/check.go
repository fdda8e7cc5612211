package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/apply"
	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
	"github.com/lastuse/lastuse/escape"
	"github.com/lastuse/lastuse/escape/spec"
)

// A finding is one finding of the analyzer, told once although several units
// may have it.
type finding struct {
	*escape.Finding
	unit *load.Unit
	fn   *escape.Func
	pos  token.Position // with a name relative to the current folder
	end  token.Position

	made    bool   // its edits are on disk, or in the patch
	refused string // why they are not, although they were tried
}

// check is the command in all modes but -spec-check.
func (c *command) check(ctx context.Context) int {
	root := spec.ModuleRoot(c.dir)
	set, err := spec.Load(c.specs, root)
	if err != nil {
		c.plainError(err)
		return exitError
	}
	if err := set.Torn(); err != nil { // what these lines do not speak of is looked at all the same
		c.plainError(err)
	}
	if err := c.setFlags(root); err != nil {
		c.fail("%v", err)
		return exitError
	}
	units := c.analyzeAll(ctx)
	if ctx.Err() != nil {
		c.fail("interrupted: nothing was changed")
		return exitError
	}
	findings := c.findings(units)
	switch {
	case c.fix:
		n := 0
		c.settle(units, findings, func(outs []*apply.Output) error {
			err := apply.WriteAll(ctx, outs)
			if err == nil {
				n += len(outs)
				c.moved.Note(outs)
			}
			return err
		})
		if ctx.Err() != nil && n == 0 {
			c.fail("interrupted: nothing was changed")
			return exitError
		} else if ctx.Err() != nil {
			c.fail("interrupted after %s, each of them complete: run it again", count(n, "changed file"))
			return exitError
		}
	case c.diff:
		code := exitClean
		if c.printPatch(units, findings, root) {
			code = exitFindings
		}
		c.sarifFile(findings, code)
		return c.status(code)
	}
	remaining := slices.DeleteFunc(slices.Clone(findings), func(f *finding) bool { return f.made })
	c.relocate(remaining)

	out := bufio.NewWriter(c.stdout)
	switch {
	case c.explain && c.json:
		c.explainJSON(out, units)
	case c.explain:
		c.explainText(out, units)
	case c.json:
		c.tree(out, units, remaining)
	default:
		c.reportText(out, remaining)
	}
	if err := out.Flush(); err != nil {
		c.fail("%v", err)
	}
	code := exitClean
	if len(remaining) > 0 {
		code = exitFindings
	}
	c.sarifFile(remaining, code)
	c.summary(units, findings, remaining)
	return c.status(code)
}

// status returns code, unless something went wrong.
func (c *command) status(code int) int {
	if c.failed {
		return exitError
	}
	return code
}

// setFlags hands the specs to the analyzer.
func (c *command) setFlags(root string) error {
	flags := &c.analyzer.Flags
	for _, name := range c.specs {
		if err := flags.Set("spec", name); err != nil {
			return err
		}
	}
	if flags.Lookup("cgo") != nil {
		if err := flags.Set("cgo", "true"); err != nil {
			return err
		}
	}
	if flags.Lookup("root") != nil && root != "" {
		return flags.Set("root", root)
	}
	return nil
}

// plainError prints errors that begin with a position as they are, so that
// editors find them.
func (c *command) plainError(err error) {
	c.failed = true
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(c.stderr, c.relativeText(line))
	}
}

// analyzeAll loads and analyzes the packages once for each set of build tags.
func (c *command) analyzeAll(ctx context.Context) []*load.Unit {
	var all []*load.Unit
	told := map[string]bool{}
	warn := func(err error) {
		if !told[err.Error()] {
			told[err.Error()] = true
			c.note("%s; what the functions of that module do is taken as unknown", c.relativeText(err.Error()))
		}
	}
	tell := func(err error) {
		c.failed = true
		if !told[err.Error()] {
			told[err.Error()] = true
			text := err.Error()
			if !startsWithPosition(text) {
				text = "lastuse: " + text
			}
			fmt.Fprintln(c.stderr, c.relativeText(text))
		}
	}
	bar := c.startProgress()
	defer bar.stop()
	for _, tags := range c.tags {
		bar.phase("loading packages", 0)
		prog, errs := load.Load(ctx, c.dir, tags, c.test, c.patterns)
		bar.clear()
		for _, err := range errs {
			if ctx.Err() == nil {
				tell(err)
			}
		}
		bar.phase("analyzing packages", prog.Count())
		units, err := load.Analyze(ctx, c.analyzer, prog, bar.set)
		bar.clear()
		if err != nil && ctx.Err() == nil {
			tell(err)
		}
		for _, err := range prog.Unread {
			for _, err := range splitErrors(err) {
				warn(err)
			}
		}
		for _, u := range units {
			if u.Err != nil && ctx.Err() == nil {
				for _, err := range splitErrors(u.Err) {
					tell(err)
				}
			}
		}
		all = append(all, units...)
	}
	if work, _, _ := load.Workspace(c.dir); c.failed && len(all) == 0 && work == "" && spec.ModuleRoot(c.dir) == "" && ctx.Err() == nil {
		bar.clear()
		c.note("%s is in no module: run lastuse in a folder below a go.mod, or make one with go mod init", c.dir)
	}
	return all
}

// splitErrors takes joined errors apart, so that each is told once.
func splitErrors(err error) []error {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		return []error{err}
	}
	var list []error
	for _, e := range many.Unwrap() {
		list = append(list, splitErrors(e)...)
	}
	return list
}

// startsWithPosition reports whether a message has the form file:line: text.
func startsWithPosition(text string) bool {
	text, _, _ = strings.Cut(text, "\n")
	for i := 0; i+1 < len(text); i++ {
		if text[i] == ':' && text[i+1] >= '0' && text[i+1] <= '9' {
			return !strings.ContainsAny(text[:i], " \t")
		}
	}
	return false
}

// findings returns what the analyzer found, each finding once and skipped
// categories left out: what is wrong, then what is wrong in tests, then what
// is only late, each in the order of files and lines.
func (c *command) findings(units []*load.Unit) []*finding {
	type key struct {
		posn, category, message string
	}
	seen := map[key]bool{}
	var list []*finding
	for _, u := range units {
		if u.Result == nil {
			continue
		}
		for _, fn := range u.Result.Funcs {
			for _, f := range fn.Findings {
				if slices.Contains(c.skip, f.Category) {
					continue
				}
				item := &finding{Finding: f, unit: u, fn: fn, pos: c.position(u, f.Pos), end: c.position(u, cmp.Or(f.End, f.Pos))}
				k := key{item.pos.String(), f.Category, f.Message}
				if !seen[k] {
					seen[k] = true
					list = append(list, item)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.pos.Filename, b.pos.Filename),
			cmp.Compare(a.pos.Line, b.pos.Line), cmp.Compare(a.pos.Column, b.pos.Column),
			strings.Compare(a.Category, b.Category), strings.Compare(a.Message, b.Message))
	})
	return list
}

// rank is 0 for what somebody wants to read first, the mistakes of the program
// itself: the first lines of a long report are what is looked at.
func (f *finding) rank() int {
	switch {
	case f.Category == "late":
		return 2
	case strings.HasSuffix(f.pos.Filename, "_test.go"):
		return 1
	}
	return 0
}

// position returns a position as users see it: //line obeyed, the file name
// relative to the current folder if it is below it.
func (c *command) position(u *load.Unit, pos token.Pos) token.Position {
	p := c.moved.Position(u.Prog.Fset.Position(pos))
	p.Filename = c.relative(p.Filename)
	return p
}

func (c *command) relative(name string) string {
	if rel, err := filepath.Rel(c.dir, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}

// relativeText shortens the names of files below the current folder in a text.
func (c *command) relativeText(text string) string {
	return strings.ReplaceAll(text, c.dir+string(filepath.Separator), "")
}

// settle prepares all changes, hands them to emit, those of one folder at a
// time, and tells which were refused. It marks the findings whose edits are in
// outputs that emit accepts.
func (c *command) settle(units []*load.Unit, findings []*finding, emit func(outs []*apply.Output) error) {
	p := apply.Collect(units, c.wanted)
	written := map[*apply.Change]bool{}
	for _, g := range p.Groups {
		outs := g.Settle()
		if len(outs) > 0 {
			if err := emit(outs); errors.Is(err, context.Canceled) {
				return // the caller says so
			} else if err != nil {
				c.fail("%v", c.relativeText(err.Error()))
			} else {
				for _, out := range outs {
					for _, ch := range out.Changes {
						written[ch] = true
					}
				}
			}
		}
		for _, ch := range g.Changes {
			if ch.Refused != "" {
				ch.At.Filename = c.relative(ch.At.Filename)
				c.note("%s: %s is left as it is: %s", ch.At, ch.Name, c.relativeText(ch.Refused))
			}
		}
	}
	for _, f := range findings {
		ch := p.Of[f.fn]
		if len(f.Edits) == 0 || ch == nil {
			continue
		}
		f.made = written[ch]
		f.refused = c.relativeText(ch.Refused)
	}
}

// wanted returns the edits of a function that do not belong to a skipped category.
func (c *command) wanted(fn *escape.Func) []analysis.TextEdit {
	if len(c.skip) == 0 {
		return fn.Edits
	}
	var edits []analysis.TextEdit
	for _, f := range fn.Findings {
		if !slices.Contains(c.skip, f.Category) {
			edits = append(edits, f.Edits...)
		}
	}
	return edits
}

// printPatch prints what -fix would write and reports whether that is anything.
func (c *command) printPatch(units []*load.Unit, findings []*finding, root string) bool {
	base := apply.PatchBase(c.dir, root)
	var all []*apply.Output
	c.settle(units, findings, func(outs []*apply.Output) error {
		all = append(all, outs...)
		return nil
	})
	slices.SortFunc(all, func(a, b *apply.Output) int { return strings.Compare(a.File, b.File) })
	out := bufio.NewWriter(c.stdout)
	for _, o := range all {
		out.Write(apply.Patch(o, base))
	}
	if err := out.Flush(); err != nil {
		c.fail("%v", err)
	}
	return len(all) > 0
}

// isTerminal reports whether w is a terminal, on which colours and progress are
// welcome.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}
