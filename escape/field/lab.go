package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A lab analyzes versions of modules.
type lab struct {
	dir   string // for the copies
	tool  string
	env   []string
	table labelled
}

func newLab(dir, tool string, t labelled) (*lab, error) {
	sdk, err := filepath.Abs("escape/testdata/sdk")
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "GOTOOLCHAIN=local",
		"CC="+sdk+"/cc", "CXX="+sdk+"/cxx", "PKG_CONFIG="+sdk+"/pkg-config")
	return &lab{dir, tool, env, t}, nil
}

// An analyzed is a version of a module, and what is said of it.
type analyzed struct {
	dir   string
	err   string // why nothing is said at all
	left  string // what is said of packages that are not analyzed
	found []finding
}

type finding struct {
	File     string // below the module's folder
	Line     int
	Category string
	Message  string
}

// missing are the categories that say that something is not freed, or is freed wrongly.
var missing = []string{"unfreed", "leak", "keepalive", "double-free", "use-after-free"}

// analyze copies a version of a module and runs lastuse over packages of it.
func (l *lab) analyze(ctx context.Context, module string, pkgs []string) *analyzed {
	a := &analyzed{}
	if err := l.fill(ctx, a, module, pkgs); err != nil {
		a.err = err.Error()
	}
	return a
}

func (l *lab) fill(ctx context.Context, a *analyzed, module string, pkgs []string) error {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir, download.Env = l.dir, l.env
	out, err := download.Output()
	var info struct{ Dir, GoMod, Error string }
	if json.Unmarshal(out, &info) != nil || info.Error != "" || err != nil {
		return fmt.Errorf("%s cannot be fetched: %v %s", module, err, info.Error)
	}
	a.dir = filepath.Join(l.dir, strings.NewReplacer("/", "_", "@", "_").Replace(module))
	if err := copyModule(a.dir, info.Dir, info.GoMod); err != nil {
		return err
	}
	args := []string{"-json", "-test=false"}
	for n, spec := range l.table.specs[path(module)] {
		text, err := os.ReadFile(filepath.Join("escape", spec.file))
		if err != nil {
			return err
		}
		file := fmt.Sprintf("%s_%d.spec", a.dir, n)
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(spec.from), []byte(spec.to)), 0o644); err != nil {
			return err
		}
		args = append(args, "-spec", file)
	}
	for _, p := range pkgs {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(ctx, l.tool, args...)
	cmd.Dir, cmd.Env = a.dir, l.env
	if folder := l.table.include[path(module)]; folder != "" {
		cmd.Env = append(slices.Clip(l.env), "CGO_CFLAGS=-I"+filepath.Join(a.dir, folder))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 && stdout.Len() == 0 {
		return fmt.Errorf("%v: %s", err, firstLines(stderr.String()))
	}
	a.left = stderr.String()
	var tree map[string]map[string]json.RawMessage
	if err := json.Unmarshal(stdout.Bytes(), &tree); err != nil {
		return fmt.Errorf("what lastuse prints: %w: %s", err, firstLines(stderr.String()))
	}
	for _, byAnalyzer := range tree {
		var ds []struct{ Category, Posn, Message string }
		if json.Unmarshal(byAnalyzer["lastuse"], &ds) != nil {
			continue
		}
		for _, d := range ds {
			at := strings.Split(d.Posn, ":")
			if len(at) < 2 || !slices.Contains(missing, d.Category) {
				continue
			}
			line, _ := strconv.Atoi(at[1])
			file := at[0]
			if filepath.IsAbs(file) {
				file, _ = filepath.Rel(a.dir, file)
			}
			a.found = append(a.found, finding{file, line, d.Category, d.Message})
		}
	}
	return nil
}

// copyModule copies what may be analyzed, so that files which are read-only in the cache can be changed. A
// module that was released without a go.mod gets the one that the go command made for it. What is there
// already was copied before.
func copyModule(to, from, goMod string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	part := to + ".part"
	if err := errors.Join(os.RemoveAll(part), os.CopyFS(part, os.DirFS(from))); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(part, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		text, err := os.ReadFile(goMod)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(part, "go.mod"), text, 0o644); err != nil {
			return err
		}
	}
	err := filepath.WalkDir(part, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o200)
	})
	if err != nil {
		return err
	}
	return os.Rename(part, to)
}

func firstLines(text string) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", 4)
	return strings.Join(lines[:min(3, len(lines))], "; ")
}

// about returns what is said of a row's function, or why that is not known.
func (a *analyzed) about(r row) (said []string, why string) {
	if a.err != "" {
		return nil, a.err
	}
	file := filepath.Join(r.pkg, r.file)
	src, err := os.ReadFile(filepath.Join(a.dir, file))
	if err != nil {
		return nil, "there is no " + file
	}
	first, last := extent(src, r.fn)
	if first == 0 {
		return nil, "there is no " + r.fn + " in " + file
	}
	for line := range strings.Lines(a.left) {
		line, no := strings.CutPrefix(line, "lastuse: ")
		if pkg, _, cut := strings.Cut(line, " is not analyzed"); no && cut && slices.Contains(r.packages(), pkg) {
			return nil, strings.TrimSpace(line)
		}
	}
	lines := strings.Split(string(src), "\n")
	for _, f := range a.found {
		if f.File != file || f.Line < first || f.Line > last {
			continue
		}
		if strings.Contains(lines[f.Line-1], r.line) || strings.Contains(f.Message, r.line) {
			said = append(said, fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Category, f.Message))
		}
	}
	return said, ""
}

// extent returns the first and last line of a function, F or T.M; 0 if there is none.
func extent(src []byte, fn string) (first, last int) {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if f == nil {
		return 0, 0
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && name(d) == fn {
			return fset.Position(d.Pos()).Line, fset.Position(d.End()).Line
		}
	}
	return 0, 0
}

func name(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	recv, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
	return recv + "." + d.Name.Name
}
