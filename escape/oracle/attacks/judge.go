package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say what is judged and where.
type Options struct {
	Repo string // root of the lastuse module
	Dir  string // where the module is left; empty: nowhere
	Tool string // the command; empty: built from Repo
	Drop bool   // leave out programs that do not compile
}

// A Verdict is what became of one program.
type Verdict struct {
	Program *Program
	Edits   int    // lines that the first rewrite put in or took out
	Fault   string // why it is wrong, empty if it is not
}

// runLimit is how long a program may run: many times what the slowest takes on a busy machine.
const runLimit = time.Minute

// Judge runs programs, rewrites them, runs them again and rewrites them again.
func Judge(ctx context.Context, progs []*Program, o Options) ([]*Verdict, error) {
	dir := o.Dir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "attacks-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	t, err := newTrial(dir, o.Repo, progs)
	if err != nil {
		return nil, err
	}
	if o.Tool == "" {
		o.Tool = filepath.Join(dir, "lastuse.bin")
		b := &trial{dir: o.Repo}
		out, status, err := b.command(ctx, 10*time.Minute, "go", "build", "-o", o.Tool, "./cmd/lastuse")
		if err != nil || status != 0 {
			return nil, fmt.Errorf("go build lastuse: %v %s", err, out)
		}
	}
	before, first, err := t.side(ctx, "orig.bin")
	if err != nil {
		return nil, err
	}
	if t.progs, err = t.whole(before, o.Drop); err != nil {
		return nil, err
	}
	if err := t.fix(ctx, o.Tool); err != nil {
		return nil, err
	}
	after, second, err := t.side(ctx, "fixed.bin")
	if err != nil {
		return nil, err
	}
	if err := t.fix(ctx, o.Tool); err != nil {
		return nil, err
	}
	third, err := t.texts()
	if err != nil {
		return nil, err
	}
	var verdicts []*Verdict
	for _, p := range t.progs {
		at := p.Area + "/" + p.Name
		v := &Verdict{Program: p}
		for name := range p.Files {
			v.Edits += changed(first[at][name], second[at][name])
		}
		v.Fault = compare(before[at], after[at])
		if v.Fault == "" && !maps.Equal(second[at], third[at]) {
			v.Fault = "a second rewrite changes it"
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// whole returns the programs that compile, and an error for the others unless they may be dropped.
func (t *trial) whole(ends map[string]end, drop bool) ([]*Program, error) {
	var kept []*Program
	var broken []error
	for _, p := range t.progs {
		at := p.Area + "/" + p.Name
		switch e := ends[at]; {
		case e.broken == "":
			kept = append(kept, p)
		case !drop:
			broken = append(broken, errors.New(e.broken))
		default:
			if err := os.RemoveAll(filepath.Join(t.dir, "progs", at)); err != nil {
				return nil, err
			}
		}
	}
	return kept, errors.Join(broken...)
}

// fix rewrites all programs.
func (t *trial) fix(ctx context.Context, tool string) error {
	out, status, err := t.command(ctx, 10*time.Minute, tool, "-fix", "./progs/...")
	if err == nil && status != 0 && status != 3 {
		err = fmt.Errorf("lastuse -fix: status %d: %s", status, out)
	}
	return err
}

// An end is what a program showed.
type end struct {
	broken string
	out    string
	status int
}

// side builds and runs all programs and returns their texts too.
func (t *trial) side(ctx context.Context, bin string) (map[string]end, map[string]map[string]string, error) {
	texts, err := t.texts()
	if err != nil {
		return nil, nil, err
	}
	bin = filepath.Join(t.dir, bin)
	broken, err := t.build(ctx, bin)
	if err != nil {
		return nil, nil, err
	}
	ends := map[string]end{}
	for _, p := range t.progs {
		at := p.Area + "/" + p.Name
		if broken[at] != "" {
			ends[at] = end{broken: broken[at]}
			continue
		}
		out, status, err := t.command(ctx, runLimit, bin, at)
		if err != nil {
			return nil, nil, err
		}
		ends[at] = end{out: out, status: status}
	}
	return ends, texts, nil
}

// compare says what differs between the two ends of a program. What a panic prints of
// goroutines does not count, nor does what is live at the end.
func compare(a, b end) string {
	switch {
	case b.broken != "":
		return "does not compile: " + b.broken
	case a.status != b.status:
		return fmt.Sprintf("exit status %d, was %d: %s", b.status, a.status, short(b.out))
	case visible(a.out) != visible(b.out):
		return fmt.Sprintf("prints %q, was %q", short(visible(b.out)), short(visible(a.out)))
	}
	return ""
}

func visible(out string) string {
	if i := strings.Index(out, "\ngoroutine "); i >= 0 {
		out = out[:i]
	}
	return out
}

func short(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// changed counts the lines that an edit put in or took out.
func changed(a, b string) int {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	row := make([]int, len(y)+1) // longest common subsequence of the lines so far
	for _, line := range x {
		diagonal := 0
		for j := range y {
			up := row[j+1]
			if line == y[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	return len(x) + len(y) - 2*row[len(y)]
}
