package main

import (
	"fmt"
	"go/token"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
	"github.com/lastuse/lastuse/escape"
)

// The rules of the command's voice:
//
//   - Findings, patches, trees and explanations go to stdout; all else goes to
//     stderr, so that stdout can be piped.
//   - A finding is file:line:col: category: message, then what belongs to it,
//     indented: where the buffer went, then the fix or why there is none.
//   - No capitals and no period at the ends of messages.
//   - Colours only on a terminal, and not if NO_COLOR is set.

// A style puts colours around text, or nothing.
type style struct{ on bool }

func (s style) bold(text string) string { return s.wrap("1", text) }
func (s style) red(text string) string  { return s.wrap("31", text) }
func (s style) dim(text string) string  { return s.wrap("2", text) }

func (s style) wrap(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (c *command) style() style {
	return style{isTerminal(c.stdout) && os.Getenv("NO_COLOR") == ""}
}

// reportText prints findings. Those about one buffer stand together, under the
// first of them.
func (c *command) reportText(w io.Writer, findings []*finding) {
	s := c.style()
	for _, group := range byBuffer(findings) {
		for i, f := range group {
			indent := ""
			if i > 0 {
				indent = "\t"
			}
			fmt.Fprintf(w, "%s%s: %s: %s\n", indent, s.bold(f.pos.String()), s.red(f.Category), f.Message)
			for _, step := range c.flow(f) {
				fmt.Fprintf(w, "%s\t%s\n", indent, s.dim(step))
			}
			if remedy := remedy(f); remedy != "" {
				fmt.Fprintf(w, "%s\t%s\n", indent, remedy)
			}
		}
	}
}

// byBuffer groups findings that have a buffer, and so a cause, in common. The
// groups are in the order of their first finding.
func byBuffer(findings []*finding) [][]*finding {
	var groups [][]*finding
	at := map[string]int{}
	for _, f := range findings {
		if f.Buffer == nil {
			groups = append(groups, []*finding{f})
			continue
		}
		key := fmt.Sprint(f.fn.Name, " ", f.unit.Prog.Fset.Position(f.Buffer.Site))
		if i, ok := at[key]; ok {
			groups[i] = append(groups[i], f)
			continue
		}
		at[key] = len(groups)
		groups = append(groups, []*finding{f})
	}
	return groups
}

// flow returns the stations of a finding: what the analyzer says belongs to it,
// then the way of the buffer from its site.
func (c *command) flow(f *finding) []string {
	var steps []string
	add := func(pos token.Pos, text string) {
		step := text
		if pos.IsValid() {
			step = c.position(f.unit, pos).String() + ": " + text
		}
		if !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	for _, r := range f.Related {
		add(r.Pos, r.Message)
	}
	if f.Buffer != nil {
		for _, s := range f.Buffer.Path {
			add(s.Pos, s.Text)
		}
	}
	return steps
}

// remedy names the fix of a finding, or says why there is none.
func remedy(f *finding) string {
	switch {
	case f.refused != "":
		return "not fixed: " + f.refused
	case len(f.Edits) > 0 && f.Fix != "":
		return "fix: " + f.Fix
	case len(f.Edits) == 0 && f.Buffer != nil && f.Buffer.Reason != "" && !strings.Contains(f.Message, f.Buffer.Reason):
		return "no fix: " + f.Buffer.Reason
	}
	return ""
}

// summary prints one line of counts on stderr, then the functions that were not
// decided.
func (c *command) summary(units []*load.Unit, findings, remaining []*finding) {
	packages := map[string]bool{}
	buffers := map[string]bool{}
	skipped := map[string]bool{}
	plans := map[string]int{} // withheld, by function: several units may have it
	for _, u := range units {
		packages[u.Pkg.PkgPath] = true
		if u.Result == nil {
			continue
		}
		for _, fn := range u.Result.Funcs {
			plans[u.Prog.Fset.Position(fn.Pos).String()+fn.Name] = fn.Withheld()
			for _, b := range fn.Buffers {
				buffers[u.Prog.Fset.Position(b.Site).String()+b.Name] = true
			}
		}
		for _, s := range u.Result.Skipped {
			skipped[fmt.Sprintf("%s: %s is skipped: %s", c.position(u, s.Pos), s.Name, c.relativeText(s.Reason))] = true
		}
		for _, b := range u.Result.Bugs {
			c.note("%s: %s: plan withdrawn, please report this: %s", c.position(u, b.Pos), b.Name, b.Text)
		}
	}
	if len(units) == 0 {
		return
	}
	for _, line := range slices.Sorted(maps.Keys(skipped)) {
		c.note("%s", line)
	}
	fixable, made := 0, 0
	for _, f := range findings {
		switch {
		case f.made:
			made++
		case len(f.Edits) > 0:
			fixable++
		}
	}
	var parts []string
	if c.fix {
		parts = append(parts, fmt.Sprintf("%s fixed, %d left%s", count(made, "finding"), len(remaining), byCategory(remaining)))
	} else {
		line := count(len(findings), "finding") + byCategory(findings)
		if fixable > 0 {
			line += fmt.Sprintf(", %d with a fix", fixable)
		}
		parts = append(parts, line)
	}
	parts = append(parts, fmt.Sprintf("%s in %s", count(len(buffers), "buffer"), count(len(packages), "package")))
	withheld := 0
	for _, n := range plans {
		withheld += n
	}
	if withheld > 0 {
		parts = append(parts, count(withheld, "plan")+" withheld")
	}
	if len(skipped) > 0 {
		parts = append(parts, count(len(skipped), "function")+" skipped")
	}
	c.note("%s", strings.Join(parts, "; "))
}

// byCategory counts findings, as " (2 leak, 1 late)".
func byCategory(findings []*finding) string {
	n := map[string]int{}
	for _, f := range findings {
		n[f.Category]++
	}
	var parts []string
	for _, category := range escape.Categories {
		if n[category] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[category], category))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
