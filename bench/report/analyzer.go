package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// analyzed returns the packages that the analyzers run on. edited is in one of them.
func (b *bench) analyzed() []string {
	if b.quick {
		return []string{"./alloc/...", "./tracker/..."}
	}
	return []string{"./alloc/...", "./tracker/...", "./finalize/...", "./escape/...", "./cmd/..."}
}

// edited is the file that gets a line more.
const edited = "alloc/pool.go"

// runAnalyzer times lastuse and nilness as tools of go vet, which runs them on each package and keeps
// what they found.
func runAnalyzer(r *raw) error {
	if _, err := exec.LookPath("go"); err != nil {
		r.missing("analyzer", "there is no Go here to load packages with")
		return nil
	}
	lines, err := r.countLines()
	if err != nil {
		return err
	}
	imported, err := r.countLines("-deps")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lastuse-vet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rounds := r.count()
	if r.quick {
		rounds = 1
	}
	tools := map[string]string{}
	for _, name := range toolNames {
		tools[name] = filepath.Join(r.bin, name)
	}
	// go vet has packages compiled whose results nobody has yet, those of tests too: not in the time of the tool that comes first.
	if _, _, err := r.vetIn(r.root, tools[toolNames[0]], nil, r.analyzed()...); err != nil {
		return err
	}
	for round := range rounds {
		for _, name := range toolNames {
			stamp := fmt.Sprintf("\n%d %d\n", time.Now().UnixNano(), round)
			tool, err := stampTool(tools[name], filepath.Join(dir, name), stamp)
			if err != nil {
				return err
			}
			overlay, err := edit(dir, filepath.Join(r.root, edited), stamp)
			if err != nil {
				return err
			}
			err = r.vetThrice(r.root, tool, overlay, r.analyzed(), func(run, figures string) {
				fmt.Fprintf(r.w, "BenchmarkAnalyzer/run=%s/tool=%s %s %d lines %d with-imports-lines\n", run, name, figures, lines, imported)
			})
			if err != nil {
				return err
			}
		}
	}
	return r.growth(tools)
}

// vetThrice runs go vet with a tool that it has never seen, again, and with a file edited, and hands what each run took to add, as a
// benchmark's line has it.
func (r *raw) vetThrice(module, tool, overlay string, packages []string, add func(run, figures string)) error {
	for _, run := range []struct {
		name string
		args []string
	}{{"cold", nil}, {"warm", nil}, {"edit", []string{"-overlay=" + overlay}}} {
		took, use, err := r.vetIn(module, tool, run.args, packages...)
		if err != nil {
			return err
		}
		add(run.name, fmt.Sprintf("1 %d ns/op %d maxrss-B %d cpu-ns", took.Nanoseconds(), use.Maxrss<<10, use.Utime.Nano()+use.Stime.Nano()))
	}
	return nil
}

// toolNames are the analyzers that are compared.
var toolNames = []string{"nilness", "lastuse"}

// stampTool copies a tool to a file in which vet has never seen it: vet tells tools apart by their bytes.
func stampTool(tool, to, stamp string) (string, error) {
	src, err := os.ReadFile(tool)
	if err != nil {
		return "", err
	}
	return to, os.WriteFile(to, append(src, stamp...), 0o777)
}

// vetIn runs go vet with a tool in a module. That it finds something is no error.
func (r *raw) vetIn(module, tool string, args []string, packages ...string) (time.Duration, *syscall.Rusage, error) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Minute)
	defer cancel()
	args = append(append([]string{"vet", "-vettool=" + tool}, args...), packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && bytes.Contains(out, []byte(".go:"))) {
		return 0, nil, fmt.Errorf("go vet: %w: %s", err, bytes.TrimSpace(out))
	}
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, nil, errors.New("no resource usage here")
	}
	return took, use, nil
}

// edit returns an overlay in which one file has a comment more.
func edit(dir, path, text string) (string, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "edited.go")
	if err := os.WriteFile(to, append(src, "\n// "+strings.TrimSpace(text)+"\n"...), 0o666); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: to}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "edited.json")
	return name, os.WriteFile(name, list, 0o666)
}

// countLines returns how many lines of Go the analyzed packages have, tests left out; with -deps, those too that they import.
func (r *raw) countLines(flags ...string) (int, error) {
	args := append([]string{"list", "-f", "{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}"}, flags...)
	cmd := exec.CommandContext(r.ctx, "go", append(args, r.analyzed()...)...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	lines := 0
	for name := range strings.FieldsSeq(string(out)) {
		src, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		lines += bytes.Count(src, []byte("\n"))
	}
	return lines, nil
}

// analyzerTables makes the tables of the analyzers: of this module, and of modules that grow.
func analyzerTables(f *rawFile, add addTable) {
	for _, run := range []struct{ name, title string }{{"cold", "From nothing"}, {"warm", "Again"}, {"edit", "After an edit of one line"}} {
		t := &table{head: []string{"tool", "wall", "processor", "memory", "lines", "with what they import", "for 100,000 lines: wall", "processor"}}
		for _, r := range f.only("Analyzer", "run="+run.name) {
			wall, _ := r.of("ns/op")
			cpu, _ := r.of("cpu-ns")
			lines, _ := r.of("lines")
			t.rows = append(t.rows, []string{r.vars["tool"], r.cell("ns/op", duration), r.cell("cpu-ns", duration), r.cell("maxrss-B", size),
				r.exactly("lines", whole), r.exactly("with-imports-lines", whole), duration(wall.value * 1e5 / lines.value), duration(cpu.value * 1e5 / lines.value)})
		}
		add(run.title, t)
	}
	growthTables(f, add)
}
