package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// build builds what the parts run into dir, and shows how far it is: from an empty build cache hundreds of packages are
// compiled. Peers that cannot be built here are left out: their parts say so.
func (b *bench) build(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	probe := filepath.Join(dir, "probe") // a library of the driver's name is kept apart
	if err := os.MkdirAll(probe, 0o777); err != nil {
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
	into, peers := dir+string(filepath.Separator), filepath.Join(b.root, "bench", "peers")
	steps := []buildStep{
		{"the tools", "", []string{"go", "build", "-o", into, "./cmd/lastuse", "./cmd/memwatch", "./bench/peers/nilness"}, false},
		{"the benchmarks", "", []string{"go", "test", "-c", "-o", into, "./bench", "./bench/early", "./internal/books"}, false},
		{"the benchmarks without books", "", []string{"go", "test", "-c", "-overlay", list, "-o", filepath.Join(dir, "bare.test"), "./bench"}, false},
		{"programs that are watched, and compare", "", []string{"go", "build", "-o", into, "./cmd/memwatch/testdata/pairs", "./bench/compare"}, false},
		// What may be missing.
		{"the CUDA device's benchmarks", "", []string{"go", "test", "-c", "-o", into, "./alloc/cuda"}, true},
		{"Apache Arrow's allocator", filepath.Join("bench", "peers", "arrow"), []string{"go", "build", "-o", filepath.Join(dir, "arrow"), "."}, true},
		{"host_pair", "", []string{"cc", "-O2", "-o", filepath.Join(dir, "host_pair"), filepath.Join(peers, "host_pair.c"), "-ldl"}, true},
		{"the peers of compare", "", []string{"sh", filepath.Join(peers, "build.sh"), dir}, true},
	}
	for _, name := range []string{"libcuda.so.1", "unwatched.so"} {
		steps = append(steps, buildStep{"a driver of memwatch's target", "", []string{"cc", "-O2", "-fno-builtin", "-fno-omit-frame-pointer", "-shared", "-fPIC",
			"-Wl,-soname," + name, "-o", filepath.Join(probe, name), filepath.Join(peers, "probe_driver.c")}, true})
	}
	steps = append(steps, buildStep{"memwatch's target", "", []string{"cc", "-O2", "-fno-omit-frame-pointer", "-o", filepath.Join(probe, "probe_target"),
		filepath.Join(peers, "probe_target.c"), "-ldl"}, true})

	bar := newBar(os.Stderr, len(steps))
	defer bar.done()
	for _, s := range steps {
		bar.part("building " + s.name)
		if err := b.buildOne(s, bar); err != nil && !s.mayFail {
			return err
		}
		bar.end()
	}
	return os.WriteFile(filepath.Join(dir, commitFile), []byte(b.checkedOut()), 0o666)
}

// A buildStep is a command that builds something.
type buildStep struct {
	name    string
	dir     string // in the module
	command []string
	mayFail bool
}

// buildOne runs a step. The go command says which packages it compiles; the bar shows them.
func (b *bench) buildOne(s buildStep, bar *bar) error {
	args := s.command[1:]
	switch {
	case s.command[0] != "go":
	case args[0] == "build":
		args = slices.Insert(slices.Clone(args), 1, "-v", "-ldflags=-s -w")
	default: // go test has another -v
		args = slices.Insert(slices.Clone(args), 1, "-ldflags=-s -w")
	}
	cmd := exec.CommandContext(b.ctx, s.command[0], args...)
	cmd.Dir = filepath.Join(b.root, s.dir)
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	complaints, compiled := watchBuild(said, bar)
	if err := cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", strings.Join(s.command[:2], " "), err), complaints)
	}
	bar.built(compiled)
	return nil
}

// watchBuild reads what a build says until it ends: the packages that it compiles, of which it returns the number, and else what is
// wrong.
func watchBuild(said io.Reader, bar *bar) (complaints error, compiled int) {
	var wrong []string
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "" || strings.ContainsAny(line, "# \t:"):
			wrong = append(wrong, line)
		default:
			compiled++
			bar.compiling(line, compiled)
		}
	}
	if len(wrong) > 0 {
		complaints = errors.New(strings.Join(wrong, "\n"))
	}
	return errors.Join(complaints, lines.Err()), compiled
}
