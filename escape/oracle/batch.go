package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// This file turns programs into a module on disk and the module into what its
// programs showed. A batch is one module:
//
//	go.mod                  oracle.test
//	rt, backend, run        copied from testdata/module
//	ledger, sync            stand-ins for modules that programs import
//	orig/progs, orig/help   the programs as generated
//	fixed/progs, fixed/help the same, rewritten in place
//
// One load, one rewrite, one build and one process serve all programs of a batch.

//go:embed all:testdata/module
var module embed.FS

const moduleRoot = "testdata/module"

// A Rewriter rewrites the packages under dir, a folder of a module, in place.
// What it has to say about the buffers that it left alone comes back as lines
// `file:line: text`.
type Rewriter interface {
	Rewrite(ctx context.Context, dir string) (explain string, err error)
}

// A tool is the lastuse command.
type tool struct {
	path  string
	limit time.Duration // of one run; 0: toolLimit
}

func (t tool) Rewrite(ctx context.Context, dir string) (string, error) {
	if _, err := t.run(ctx, dir, "-fix"); err != nil {
		return "", err
	}
	return t.run(ctx, dir, "-explain")
}

// toolLimit is how long one run of the command may take: many times what the
// largest batch takes on a busy machine.
const toolLimit = 2 * time.Minute

// run runs the command on dir; status 3 says that findings remain. A function that is skipped since the
// analyzer failed on it is as bad as a command that fails: nothing else would show it.
func (t tool) run(ctx context.Context, dir, flag string) (string, error) {
	limit := t.limit
	if limit == 0 {
		limit = toolLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, flag, "./...")
	cmd.Dir = dir
	cmd.Env = environ()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("lastuse %s: %w: %s", flag, err, head(errs.String()+out.String(), 3000))
	}
	if strings.Contains(errs.String(), "internal error at ") {
		return "", fmt.Errorf("lastuse %s: %s", flag, head(errs.String(), 3000))
	}
	return out.String(), nil
}

// environ is what commands run in. Many batches run at once: each command gets two threads, and memory rather
// than time, unless the environment says otherwise.
func environ() []string {
	return append(append([]string{"GOMAXPROCS=2", "GOGC=300"}, os.Environ()...), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GO111MODULE=on")
}

func head(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// A Batch is one module on disk.
type Batch struct {
	Dir     string
	Pool    Pool
	Explain string
	Edited  map[int]*gen.Program // the rewritten programs by number, where they are known as trees
}

// Pool says what stands behind package alloc.
type Pool struct {
	// Repo is the root of the lastuse module for the real pool in Check mode;
	// empty for the ledger.
	Repo string
}

// write puts text into a file, making its folder.
func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// newBatch writes the fixed part of a module to dir.
func newBatch(dir string, pool Pool) (*Batch, error) {
	b := &Batch{Dir: dir, Pool: pool}
	err := fs.WalkDir(module, moduleRoot, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(name, moduleRoot+"/"), ".txt")
		if pool.Repo != "" && strings.HasPrefix(rel, "ledger/") {
			return nil
		}
		if f := filepath.Base(rel); strings.HasPrefix(rel, "backend/") && (f == "ledger.go") != (pool.Repo == "") {
			return nil
		}
		text, err := module.ReadFile(name)
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, rel), string(text))
	})
	if err != nil {
		return nil, err
	}
	target := "./ledger"
	mod := "module oracle.test\n\ngo 1.26.0\n\nrequire github.com/lastuse/lastuse v0.0.0\n"
	if pool.Repo != "" {
		target = pool.Repo
		// The pool's own dependencies, with the versions that it was tested with.
		text, err := os.ReadFile(filepath.Join(pool.Repo, "go.mod"))
		if err != nil {
			return nil, err
		}
		if i := bytes.Index(text, []byte("\nrequire")); i >= 0 {
			mod += string(text[i:])
		}
		sum, err := os.ReadFile(filepath.Join(pool.Repo, "go.sum"))
		if err != nil {
			return nil, err
		}
		if err := write(filepath.Join(dir, "go.sum"), string(sum)); err != nil {
			return nil, err
		}
	} else if err := write(filepath.Join(dir, "ledger/go.mod"), "module github.com/lastuse/lastuse\n\ngo 1.26.0\n"); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(dir, "sync/go.mod"), "module golang.org/x/sync\n\ngo 1.26.0\n"); err != nil {
		return nil, err
	}
	if !strings.Contains(mod, "golang.org/x/sync ") {
		mod += "\nrequire golang.org/x/sync v0.0.0\n"
	}
	mod += "\nreplace github.com/lastuse/lastuse => " + target + "\n\nreplace golang.org/x/sync => ./sync\n"
	return b, write(filepath.Join(dir, "go.mod"), mod)
}

func progFile(id int) string { return fmt.Sprintf("p%d.go", id) }

// path is the file of a program's source; side is orig or fixed.
func (b *Batch) path(side string, help bool, id int) string {
	pkg := "progs"
	if help {
		pkg = "help"
	}
	return filepath.Join(b.Dir, side, pkg, progFile(id))
}

// put writes the programs of one side.
func (b *Batch) put(side string, progs []*gen.Program) error {
	for _, pkg := range []string{"progs", "help"} {
		if err := os.RemoveAll(filepath.Join(b.Dir, side, pkg)); err != nil {
			return err
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "package progs\n\nimport %q\n\n// Table lists the programs.\nvar Table = []rt.Prog{\n", gen.PathRT)
	for _, p := range progs {
		src, err := gen.Print(p, "oracle.test/"+side)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, src.Main+src.Help)
		}
		if err := write(b.path(side, false, p.ID), src.Main); err != nil {
			return err
		}
		if src.Help != "" {
			if err := write(b.path(side, true, p.ID), src.Help); err != nil {
				return err
			}
		}
		fmt.Fprintf(&table, "\t{ID: %d, Sites: %d, Seed: %d, F: %s},\n", p.ID, len(p.Sites), p.Seed, gen.Entry(p.ID))
	}
	table.WriteString("}\n")
	if err := write(filepath.Join(b.Dir, side, "help/doc.go"), "package help\n"); err != nil {
		return err
	}
	return write(filepath.Join(b.Dir, side, "progs/table.go"), table.String())
}

// drop replaces the rewritten source of a program by the original.
func (b *Batch) drop(id int) error {
	for _, help := range []bool{false, true} {
		text, err := os.ReadFile(b.path("orig", help, id))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(`"oracle.test/orig/`), []byte(`"oracle.test/fixed/`))
		if err := os.WriteFile(b.path("fixed", help, id), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// source is the text of a program on one side, both files.
func (b *Batch) source(side string, id int) string {
	var res string
	for _, help := range []bool{false, true} {
		text, err := os.ReadFile(b.path(side, help, id))
		if err == nil {
			if help {
				res += "\n-- help --\n"
			}
			res += string(text)
		}
	}
	return res
}

var errorLine = regexp.MustCompile(`(?m)(?:^|/)(orig|fixed)/(?:progs|help)/p(\d+)\.go:\d+:\d+: .*$`)

// build compiles both sides. A program whose rewritten source does not compile
// is put back; broken maps it to the compiler's first complaint.
func (b *Batch) build(ctx context.Context) (bin string, broken map[int]string, err error) {
	bin = filepath.Join(b.Dir, "run.bin")
	broken = map[int]string{}
	for {
		cmd := exec.CommandContext(ctx, "go", "build", "-gcflags=oracle.test/...=-N -l -e", "-ldflags=-s -w", "-o", bin, "./run")
		cmd.Dir = b.Dir
		cmd.Env = environ()
		out, err := cmd.CombinedOutput()
		if err == nil {
			return bin, broken, nil
		}
		found := false
		for _, m := range errorLine.FindAllStringSubmatch(string(out), -1) {
			if m[1] == "orig" {
				return "", nil, fmt.Errorf("a generated program does not compile:\n%s", head(string(out), 4000))
			}
			id, _ := strconv.Atoi(m[2])
			if broken[id] == "" {
				broken[id] = m[0]
				found = true
				if err := b.drop(id); err != nil {
					return "", nil, err
				}
			}
		}
		if !found {
			return "", nil, fmt.Errorf("go build: %w:\n%s", err, head(string(out), 4000))
		}
	}
}

// execute runs the built batch and returns what it wrote.
func (b *Batch) execute(ctx context.Context, bin string, o RunOptions) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin,
		"-runs", strconv.Itoa(o.Runs), "-faults", strconv.Itoa(o.Faults), "-most", strconv.Itoa(gen.MaxFaults))
	cmd.Dir = b.Dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("batch: %w: %s", err, head(errs.String(), 4000))
	}
	return out, nil
}

// RunOptions say which runs a program makes.
type RunOptions struct {
	Runs   int // runs without faults, each with its own decisions
	Faults int // of these, how many are repeated with a fault at each operation
}
