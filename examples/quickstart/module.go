package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A module is a copy of examples/workspace in a temporary folder, as a module of
// its own that takes lastuse from the source tree quickstart was built from.
type module struct {
	root string // the lastuse source tree
	dir  string // the temporary folder
	src  string // dir/workspace, the module
	keep bool
}

const workspacePath = "github.com/lastuse/lastuse/examples/workspace"

// newModule copies the program. The source tree is found from the position of
// this very file, so that it works from any folder, in a clone and in the module
// cache alike.
func newModule(keep bool) (*module, error) {
	_, file, _, ok := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); !ok || err != nil {
		return nil, errors.New("the source tree of lastuse is not where this program was built (-trimpath?): run it with `go run ./examples/quickstart` in a clone")
	}
	dir, err := os.MkdirTemp("", "lastuse-quickstart-")
	if err != nil {
		return nil, err
	}
	m := &module{root: root, dir: dir, src: filepath.Join(dir, "workspace"), keep: keep}
	if err := m.copy(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return m, nil
}

func (m *module) copy() error {
	from := filepath.Join(m.root, "examples", "workspace")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(m.src, rel), 0o777)
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		src = bytes.ReplaceAll(src, []byte(`"`+workspacePath+`/`), []byte(`"workspace/`))
		return os.WriteFile(filepath.Join(m.src, rel), src, 0o666)
	})
	if err != nil {
		return err
	}
	// The copy takes over the tree's own requirements, so that nothing has to be
	// resolved or downloaded that the tree did not need already.
	mod, err := os.ReadFile(filepath.Join(m.root, "go.mod"))
	if err != nil {
		return err
	}
	_, rest, ok := bytes.Cut(mod, []byte("\n"))
	if !ok {
		return fmt.Errorf("%s: no module line", filepath.Join(m.root, "go.mod"))
	}
	text := fmt.Sprintf("module workspace\n%s\nrequire github.com/lastuse/lastuse v0.0.0\n\nreplace github.com/lastuse/lastuse => %s\n", rest, modQuote(m.root))
	if err := os.WriteFile(filepath.Join(m.src, "go.mod"), []byte(text), 0o666); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(m.root, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.src, "go.sum"), sum, 0o666)
}

// modQuote quotes a path for go.mod where it needs it.
func modQuote(path string) string {
	if strings.ContainsAny(path, " \t'\"`()[]{},") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// remove deletes the temporary folder, or says where it is.
func (m *module) remove(w io.Writer) {
	if m.keep {
		fmt.Fprintf(w, "\nThe rewritten module is in %s\n", m.src)
		return
	}
	os.RemoveAll(m.dir)
}

func (m *module) tool() string    { return filepath.Join(m.dir, "lastuse") }
func (m *module) program() string { return filepath.Join(m.dir, "program") }

func (m *module) buildTool(ctx context.Context) error {
	return m.command(ctx, m.root, nil, "go", "build", "-o", m.tool(), "./cmd/lastuse")
}

func (m *module) buildProgram(ctx context.Context) error {
	return m.command(ctx, m.src, nil, "go", "build", "-mod=mod", "-o", m.program(), ".")
}

// lastuse runs the tool in the module and shows what it prints. Exit status 3
// means findings, which is what this is about.
func (m *module) lastuse(ctx context.Context, w io.Writer, args ...string) error {
	err := m.command(ctx, m.src, w, m.tool(), args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		return nil
	}
	return err
}

// runProgram runs the program and returns its figures.
func (m *module) runProgram(ctx context.Context, o options) (*figures, error) {
	out := filepath.Join(m.dir, "figures.json")
	err := m.command(ctx, m.src, nil, m.program(), "-samples", out, "-variant", o.variant,
		"-n", fmt.Sprint(o.n), "-iterations", fmt.Sprint(o.iterations))
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	f := new(figures)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("figures of the program: %w", err)
	}
	return f, nil
}

// command runs a program in dir. Its output goes to w if w is not nil; else it
// is kept for the error.
func (m *module) command(ctx context.Context, dir string, w io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// The program needs no page that shows its books: without net/http a first build takes a quarter less.
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -tags=lastuse_nohttp")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+flags)
	var kept bytes.Buffer
	cmd.Stdout, cmd.Stderr = &kept, &kept
	if w != nil {
		cmd.Stdout = w
		cmd.Stderr = w
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, kept.Bytes())
	}
	return nil
}
