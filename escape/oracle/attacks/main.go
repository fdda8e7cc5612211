// Attacks runs hostile but ordinary-looking programs before and after `lastuse -fix`.
//
//	go run ./escape/oracle/attacks                       # all of them, in the module's root
//	go run ./escape/oracle/attacks -only 'defer|panic'   # those whose area or name matches
//	go run ./escape/oracle/attacks -keep DIR FILE.txtar  # those of a file; both sides stay in DIR
//
// A Program (programs.go) is the text of one package with a function run, written once and set in
// each of the kinds of handle that it names: alloc's buffer, and the pointers, values, numbers and
// counted references of a made-up foreign library that panics on a use after free and on a second
// free. A Trial (trial.go) is a module on disk with the programs of one side; all of them are built
// into one binary and each is run in a process of its own, with the pool in Check mode on a device that
// checks stream order. A Verdict (judge.go) says what became of one program: no rewrite may change
// what it prints or how it ends or keep it from compiling, and a second one changes nothing.
//
// The way in is Read, the way out Judge. The exit status is 1 when a program is wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	only := flag.String("only", "", "run the programs whose area/name matches this `pattern`")
	keep := flag.String("keep", "", "leave the module in this `folder`")
	tool := flag.String("tool", "", "the lastuse `command` to judge; built from the module's root if empty")
	most := flag.Int("most", 120, "programs in one module")
	set := flag.String("kinds", "", "set texts that name no kinds in `these`, less what does not compile")
	all := flag.Bool("v", false, "print a line for every program")
	flag.Parse()
	bad, err := run(context.Background(), os.Stdout, settings{
		only: *only, files: flag.Args(), kinds: *set, most: *most, all: *all,
		Options: Options{Repo: ".", Dir: *keep, Tool: *tool, Drop: *set != ""},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "attacks:", err)
		os.Exit(2)
	}
	if bad {
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	only  string
	files []string
	kinds string
	most  int
	all   bool
	Options
}

// run judges the programs that s chooses and says whether one of them is wrong.
func run(ctx context.Context, out io.Writer, s settings) (bool, error) {
	progs, err := Read(s.kinds, s.files...)
	if err != nil {
		return false, err
	}
	if progs, err = choose(progs, s.only); err != nil {
		return false, err
	}
	var verdicts []*Verdict
	for from := 0; from < len(progs); from += s.most {
		o := s.Options
		if o.Dir != "" && len(progs) > s.most {
			o.Dir = fmt.Sprintf("%s/%d", o.Dir, from)
		}
		v, err := Judge(ctx, progs[from:min(from+s.most, len(progs))], o)
		if err != nil {
			return false, err
		}
		verdicts = append(verdicts, v...)
	}
	return print(out, verdicts, s.all), nil
}

// choose keeps the programs whose area/name matches pattern.
func choose(progs []*Program, pattern string) ([]*Program, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var kept []*Program
	for _, p := range progs {
		if re.MatchString(p.Area + "/" + p.Name) {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("no program matches %q", pattern)
	}
	return kept, nil
}

// print writes what is wrong, or every verdict, and the sums; it says whether something is wrong.
func print(out io.Writer, verdicts []*Verdict, all bool) bool {
	type sum struct{ programs, edited, edits, wrong int }
	var total sum
	areas := map[string]*sum{}
	var order []string
	for _, v := range verdicts {
		a := areas[v.Program.Area]
		if a == nil {
			a = new(sum)
			areas[v.Program.Area] = a
			order = append(order, v.Program.Area)
		}
		for _, s := range []*sum{a, &total} {
			s.programs++
			s.edits += v.Edits
			if v.Edits > 0 {
				s.edited++
			}
			if v.Fault != "" {
				s.wrong++
			}
		}
		if v.Fault != "" || all {
			fault := strings.TrimSpace(v.Fault)
			fmt.Fprintf(out, "%s/%s: %d edits %s\n", v.Program.Area, v.Program.Name, v.Edits, fault)
		}
	}
	areas["all"] = &total
	for _, name := range append(order, "all") {
		a := areas[name]
		fmt.Fprintf(out, "%-14s %4d programs %4d edited %5d edits %3d wrong\n",
			name, a.programs, a.edited, a.edits, a.wrong)
	}
	return total.wrong > 0
}
