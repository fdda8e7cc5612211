// Field measures lastuse on defects that libraries with foreign memory had, and on code of theirs that looks
// alike and is right.
//
//	go run ./escape/field                    # the rows that are there to develop with
//	go run ./escape/field -set aside         # the others, which were measured once unseen
//	go run ./escape/field -set fresh         # rows of other modules and releases, put down after those
//	go run ./escape/field -only arrow/csv -v # rows by their text, with all that is said of their functions
//	go run ./escape/field -dir DIR           # the go command compiles the modules' C only once
//
// The rows stand in defects.txt, which says of each what it means, and those of the set fresh in fresh.txt,
// with what their libraries make and free in fresh.spec. Of a defect, the module is analyzed as it
// was released with it, and as it was released without: it is found if lastuse says of its function that
// something is not freed, and gone if that is said no more. Of code that is right nothing may be said. Late
// frees do not count here. Modules come from the proxy, into the module cache, and a copy is analyzed, since
// what they import is fetched for it; C is type-checked as escape/modules_test.go does.
//
// Which rows are set aside is decided by a checksum of their names ([row.aside]), so nobody chooses.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed defects.txt
var defects string

//go:embed fresh.txt
var fresh string

func main() {
	set := flag.String("set", "develop", "the `rows` that are measured: develop, aside, all (these two) or fresh")
	only := flag.String("only", "", "leave out rows that do not contain a `text`")
	dir := flag.String("dir", "", "copy modules to a `folder`, and find them there the next time")
	tool := flag.String("tool", "", "the lastuse `command`; by default it is built")
	list := flag.Bool("list", false, "print the rows and their number, and measure nothing")
	verbose := flag.Bool("v", false, "print what is said of each function")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *set, *only, *dir, *tool, *list, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, set, only, dir, tool string, list, verbose bool) error {
	t, err := open(set)
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(t.rows, func(r row) bool {
		out := set == "develop" && r.aside() || set == "aside" && !r.aside()
		return out || !strings.Contains(r.String(), only)
	})
	if list {
		for _, r := range rows {
			fmt.Println(r)
		}
		fmt.Println(len(rows), "rows")
		return nil
	}
	tmp, err := os.MkdirTemp("", "field")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if dir == "" {
		dir = tmp
	}
	if tool == "" {
		tool = filepath.Join(tmp, "lastuse")
		build := exec.CommandContext(ctx, "go", "build", "-o", tool, "./cmd/lastuse")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building lastuse, in the module's root: %w", err)
		}
	}
	l, err := newLab(dir, tool, t)
	if err != nil {
		return err
	}
	// One version of a module after the other: each is analyzed once.
	todo := map[string][]string{}
	for _, r := range rows {
		for _, v := range []string{r.has, r.without} {
			if v != "" && !slices.Contains(todo[v], r.pkg) {
				todo[v] = append(todo[v], r.pkg)
			}
		}
	}
	versions := make([]string, 0, len(todo))
	for v := range todo {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	said := map[string]*analyzed{}
	for _, v := range versions {
		fmt.Fprintln(os.Stderr, "analyzing", v)
		said[v] = l.analyze(ctx, v, todo[v])
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	print(rows, said, verbose)
	return nil
}

// open reads the table that has a set.
func open(set string) (labelled, error) {
	switch set {
	case "develop", "aside", "all":
		return parse("defects.txt", defects)
	case "fresh":
		return parse("fresh.txt", fresh)
	}
	return labelled{}, fmt.Errorf("there is no set %q", set)
}

// print prints what came of each row, and the sums.
func print(rows []row, said map[string]*analyzed, verbose bool) {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.shape, b.shape) })
	sums := map[string]int{}
	byShape := map[string][2]int{}
	for _, r := range rows {
		before, why := said[r.has].about(r)
		verdict := ""
		switch {
		case why != "":
			verdict = "unknown"
		case r.without == "" && len(before) > 0:
			verdict = "alarm"
		case r.without == "":
			verdict = "silent"
		case len(before) == 0:
			verdict = "missed"
		default:
			verdict = "found"
			after, why := said[r.without].about(r)
			switch {
			case why != "":
				verdict = "found, mended version unknown"
			case len(after) > 0:
				verdict = "found, and in the mended version"
				why = after[0]
			}
			if verdict == "found" {
				verdict = "found, gone"
			} else {
				before = append(before, why)
			}
		}
		sums[verdict]++
		if r.without != "" {
			n := byShape[r.shape]
			n[1]++
			if strings.HasPrefix(verdict, "found") {
				n[0]++
			}
			byShape[r.shape] = n
		}
		fmt.Printf("%-32s %s\n", verdict, r)
		if why != "" {
			fmt.Println("\t" + why)
		}
		if verbose {
			for _, b := range before {
				fmt.Println("\t" + b)
			}
		}
	}
	fmt.Println()
	for _, v := range []string{"found, gone", "found, and in the mended version", "found, mended version unknown", "missed", "silent", "alarm", "unknown"} {
		fmt.Printf("%5d %s\n", sums[v], v)
	}
	for s := '0'; s <= '9'; s++ {
		if n := byShape[string(s)]; n[1] > 0 {
			fmt.Printf("shape %c: %d of %d found\n", s, n[0], n[1])
		}
	}
}
