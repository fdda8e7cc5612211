// Plant proves that the order checker bites. It puts faults into the pool, one at a time, and says how long
// the scripts of TestOrderSoak take to find each:
//
//	go run ./alloc/alloctest/plant                 all faults, a minute each
//	go run ./alloc/alloctest/plant -for 10s pin    those whose name has pin in it, ten seconds each
//
// A fault is a patch in alloc/alloctest/testdata/faults, whose first line says what it is. It is applied to a
// copy of the files that it changes, which take the place of the originals in one build (go's -overlay): what
// is shipped has no switches. The exit status is 1 if a fault is not found.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	long := flag.Duration("for", time.Minute, "how long to look for a fault")
	module := flag.String("module", ".", "the module's folder")
	flag.Parse()
	missed, err := run(os.Stdout, *module, *long, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "plant:", err)
		os.Exit(1)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// run looks for the faults whose names have one of words in them, or all, and returns how many it did not
// find.
func run(w io.Writer, module string, long time.Duration, words []string) (missed int, err error) {
	faults, err := load(filepath.Join(module, "alloc/alloctest/testdata/faults"))
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "plant")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	n := 0
	for _, f := range faults {
		if !wanted(f.name, words) {
			continue
		}
		n++
		took, how, err := f.find(module, dir, long)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", f.name, err)
		}
		if how == "" {
			missed++
			fmt.Fprintf(w, "%-26s not found in %v\n", f.name, long)
			continue
		}
		fmt.Fprintf(w, "%-26s %7.1f s  %s\n", f.name, took.Seconds(), how)
	}
	fmt.Fprintf(w, "%d faults, %d found\n", n, n-missed)
	return missed, nil
}

func wanted(name string, words []string) bool {
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}
	return len(words) == 0
}

// find builds the tests with f in the pool and runs scripts. It returns when the first finding came, and what
// it was: "" if there was none.
func (f fault) find(module, dir string, long time.Duration) (time.Duration, string, error) {
	overlay, err := f.overlay(module, dir)
	if err != nil {
		return 0, "", err
	}
	test := filepath.Join(dir, "alloc.test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", test, "./alloc")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return 0, "", fmt.Errorf("it does not build: %w\n%s", err, out)
	}
	for _, only := range []string{"-orderonly=true", "-orderonly=false"} {
		begin := time.Now()
		patience := long + time.Minute
		soak := exec.Command(test, "-test.run=TestOrderSoak", "-soak="+long.String(), only,
			"-test.timeout="+patience.String())
		soak.Dir = filepath.Join(module, "alloc")
		out, err := soak.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			return time.Since(begin), first(string(out)), nil
		case err != nil:
			return 0, "", err
		}
	}
	return 0, "", nil
}

var seed = regexp.MustCompile(`seed (\d+): (?:alloctest: |alloc: )?(.*)`)

// first returns what the tests' output says of the first finding.
func first(out string) string {
	if m := seed.FindStringSubmatch(out); m != nil {
		what := regexp.MustCompile(`0x[0-9a-f]+|\d+ bytes at `).ReplaceAllString(m[2], "")
		return "script " + m[1] + ": " + strings.TrimRight(what, ": ")
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return "the tests fail"
}
