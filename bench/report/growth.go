package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// grownModule is the module that growth writes.
const grownModule = "grown"

// copied are the packages of which it has copies: the runtime, and programs that use it.
var copied = []string{
	"alloc", "alloc/host", "tracker", "finalize", "internal/books", "internal/custody", "internal/extent", "internal/probe",
	"bench/early/work", "bench/early/plain",
}

// growth times the analyzers on modules of several sizes: some copies of the same packages, and one
// package that has the same functions several times. What they import from elsewhere has been analyzed
// before, and is not in the times. In each round their files end in another comment, so that nobody has seen them.
func (r *raw) growth(tools map[string]string) error {
	packages := growing{"packages", []int{1, 2, 4, 8}, r.writePackages, []string{"./base"}, "./m/..."}
	functions := growing{"functions", []int{32, 64, 128, 256}, r.writeFunctions, []string{"./base", "./m/c0/bench/early/work"}, "./m/c0/bench/early/plain"}
	kinds, rounds := []growing{packages, functions}, 3
	if r.quick {
		functions.sizes = []int{16, 64}
		kinds, rounds = []growing{functions}, 1
	}
	for _, kind := range kinds {
		for _, copies := range kind.sizes {
			dir, err := os.MkdirTemp("", "lastuse-growth-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			if err := r.writeModule(dir); err != nil {
				return err
			}
			for range rounds {
				if err := kind.write(dir, copies); err != nil {
					return err
				}
				if err := r.timeGrown(dir, kind, copies, tools); err != nil {
					return err
				}
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// A growing is a kind of module that comes in several sizes.
type growing struct {
	of    string
	sizes []int
	write func(dir string, copies int) error
	known []string // what has been analyzed before
	timed string   // the packages that are timed
}

// timeGrown times each tool on the module in dir, as nobody has analyzed it before, again, and after an
// edit of one line.
func (r *raw) timeGrown(dir string, kind growing, copies int, tools map[string]string) error {
	stamp := fmt.Sprint(time.Now().UnixNano())
	if err := stampFiles(filepath.Join(dir, "m"), stamp); err != nil {
		return err
	}
	lines, err := countIn(filepath.Join(dir, strings.TrimSuffix(kind.timed, "/...")))
	if err != nil {
		return err
	}
	build := exec.CommandContext(r.ctx, "go", "build", "./...")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(out))
	}
	for _, name := range toolNames {
		if _, _, err := r.vetIn(dir, tools[name], nil, kind.known...); err != nil {
			return err
		}
		overlay, err := edit(dir, filepath.Join(dir, "m", "c0", "bench", "early", "plain", "plain.go"), name+stamp)
		if err != nil {
			return err
		}
		err = r.vetThrice(dir, tools[name], overlay, []string{kind.timed}, func(run, figures string) {
			fmt.Fprintf(r.w, "BenchmarkGrowth/of=%s/run=%s/tool=%s/copies=%d %s %d lines\n", kind.of, run, name, copies, figures, lines)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stampFiles adds a comment to each file of Go in a folder.
func stampFiles(dir, text string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "\n// %s\n", text)
		return errors.Join(err, f.Close())
	})
}

// countIn returns how many lines of Go there are in a folder.
func countIn(dir string) (int, error) {
	lines := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		src, err := os.ReadFile(name)
		lines += bytes.Count(src, []byte("\n"))
		return err
	})
	return lines, err
}

// writeModule writes the module without its packages, but for base, which imports what the others do from outside.
func (r *raw) writeModule(dir string) error {
	mod, err := os.ReadFile(filepath.Join(r.root, "go.mod"))
	if err != nil {
		return err
	}
	mod = bytes.Replace(mod, []byte("module "+module), []byte("module "+grownModule), 1)
	sum, err := os.ReadFile(filepath.Join(r.root, "go.sum"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"list", "-f", "{{join .Imports \"\\n\"}}"}, prefixed("./", copied)...)...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var base strings.Builder
	base.WriteString("// Package base imports what the module's other packages import from outside of it.\npackage base\n\nimport (\n")
	seen := map[string]bool{}
	for path := range strings.FieldsSeq(string(out)) {
		if !seen[path] && !strings.HasPrefix(path, module+"/") {
			seen[path] = true
			fmt.Fprintf(&base, "\t_ %q\n", path)
		}
	}
	base.WriteString(")\n")
	for name, text := range map[string][]byte{"go.mod": mod, "go.sum": sum, "base/base.go": []byte(base.String())} {
		if err := writeFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// module is this module's path.
const module = "github.com/lastuse/lastuse"

func prefixed(by string, all []string) []string {
	var with []string
	for _, s := range all {
		with = append(with, by+s)
	}
	return with
}

func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o666)
}

// copyPackages copies packages into m/cNUMBER of the module, with their imports turned to one another.
func (r *raw) copyPackages(dir string, number int, packages []string, change func(name string, text []byte) []byte) error {
	for _, p := range packages {
		files, err := os.ReadDir(filepath.Join(r.root, p))
		if err != nil {
			return err
		}
		for _, f := range files {
			if f.IsDir() || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(r.root, p, f.Name()))
			if err != nil {
				return err
			}
			text = bytes.ReplaceAll(text, []byte(`"`+module+`/`), fmt.Appendf(nil, `"%s/m/c%d/`, grownModule, number))
			if change != nil {
				text = change(filepath.Join(p, f.Name()), text)
			}
			if err := writeFile(filepath.Join(dir, "m", fmt.Sprint("c", number), p, f.Name()), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writePackages writes several copies of all packages.
func (r *raw) writePackages(dir string, copies int) error {
	for i := range copies {
		if err := r.copyPackages(dir, i, copied, nil); err != nil {
			return err
		}
	}
	return nil
}

// functionHead is where one of the programs begins.
var functionHead = regexp.MustCompile(`(?m)^func ([A-Z][a-z]+)\(`)

// writeFunctions writes one copy, in which the package of programs has each of them several times: a
// function and what follows it until the next one, with a number to its name.
func (r *raw) writeFunctions(dir string, copies int) error {
	return r.copyPackages(dir, 0, copied, func(name string, text []byte) []byte {
		if name != "bench/early/plain/plain.go" {
			return text
		}
		at := functionHead.FindIndex(text)[0]
		body := text[at:]
		for i := 1; i < copies; i++ {
			text = append(text, '\n')
			text = append(text, functionHead.ReplaceAll(body, fmt.Appendf(nil, "func ${1}%d(", i))...)
		}
		return text
	})
}
