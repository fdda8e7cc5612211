package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// commitFile is where -build leaves the commit that it has built, in the folder of the binaries.
const commitFile = "commit"

// build builds what the parts run into dir: all that runs anywhere if it is to be carried to another machine,
// else what runs here. What may be missing here is left out, and its part says so.
func (b *bench) build(dir string, carried bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	overlay, err := os.MkdirTemp("", "lastuse-bare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(overlay)
	list, err := writeOverlay(b.root, overlay)
	if err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	const small = "-ldflags=-s -w"
	programs := []string{"./bench/peer", "./bench/peers/nilness", "./cmd/lastuse", "./cmd/memwatch"}
	if carried {
		programs = append(programs, "./bench/report")
	}
	for _, s := range []struct {
		mayFail bool
		command []string
	}{
		{false, slices.Concat([]string{"go", "build", small, "-o", dir + "/"}, programs)},
		{false, []string{"go", "build", small, "-overlay", list, "-o", in("peer-bare"), "./bench/peer"}},
		{false, []string{"go", "test", small, "-c", "-o", in("alloc.test"), "./alloc"}},
		{true, []string{"go", "test", small, "-c", "-o", in("cuda.test"), "./alloc/cuda"}},
		{true, []string{"sh", "bench/peers/build.sh", dir}},
	} {
		if slices.Contains(s.command, "./alloc/cuda") && !carried && !b.gpu() {
			continue
		}
		cmd := exec.Command(s.command[0], s.command[1:]...)
		cmd.Dir = b.root
		out, err := cmd.CombinedOutput()
		switch {
		case err != nil && !s.mayFail:
			return fmt.Errorf("%s: %w: %s", strings.Join(s.command[:2], " "), err, out)
		case err != nil:
			log.Printf("left out: %s: %v: %s", strings.Join(s.command, " "), err, firstLine(string(out)))
		case s.mayFail && len(out) > 0:
			log.Printf("left out: %s", strings.ReplaceAll(string(out), "\n", "; "))
		}
	}
	return os.WriteFile(in(commitFile), []byte(b.checkedOut()), 0o666)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// commit returns the commit that what runs was built from.
func (b *bench) commit() string {
	c, err := os.ReadFile(filepath.Join(b.bin, commitFile))
	if err != nil || len(c) == 0 { // without git nobody knows
		return "unknown"
	}
	return string(c)
}

// checkedOut returns the commit that is checked out, with a + if files differ from it.
func (b *bench) checkedOut() string {
	c := output("git", "-C", b.root, "rev-parse", "--short=12", "HEAD")
	if c != "" && output("git", "-C", b.root, "status", "--porcelain", "--untracked-files=no") != "" {
		c += "+"
	}
	return c
}
