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

// analyzed are the packages that the analyzers run on.
var analyzed = []string{"./alloc/...", "./tracker/...", "./finalize/...", "./escape/...", "./cmd/..."}

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
	dir, err := os.MkdirTemp("", "lastuse-vet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rounds := 3
	if r.quick {
		rounds = 1
	}
	tools := map[string]string{}
	for _, name := range toolNames {
		tools[name] = filepath.Join(r.bin, name)
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
			for _, run := range []struct {
				name string
				args []string
			}{{"cold", nil}, {"warm", nil}, {"edit", []string{"-overlay=" + overlay}}} {
				took, use, err := r.vetIn(r.root, tool, run.args, analyzed...)
				if err != nil {
					return err
				}
				fmt.Fprintf(r.w, "BenchmarkAnalyzer/run=%s/tool=%s 1 %d ns/op %d lines %d maxrss-B %d cpu-ns\n", run.name, name, took.Nanoseconds(), lines,
					use.Maxrss<<10, use.Utime.Nano()+use.Stime.Nano())
			}
		}
	}
	return r.growth(tools)
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

// countLines returns how many lines of Go the analyzed packages have, tests left out.
func (r *raw) countLines() (int, error) {
	cmd := exec.Command("go", append([]string{"list", "-f", "{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}"}, analyzed...)...)
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
