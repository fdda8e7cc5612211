package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// toolNames are the analyzers that are compared. nilness is one of the Go team's that builds an SSA form, as
// lastuse does.
var toolNames = []string{"nilness", "lastuse"}

// parted are the packages of this module that the analyzers run on: the first part, the first two, and so
// on up to all, which shows how the cost grows.
var parted = [][]string{{"./alloc/..."}, {"./tracker/...", "./finalize"}, {"./escape/..."}, {"./cmd/..."}}

// edited is a file that gets a line more: all packages need it.
var edited = filepath.Join("finalize", "queue.go")

// runAnalyzer times lastuse and nilness as tools of go vet, which runs them on each package and keeps what
// they found: as nobody has analyzed the packages before, again, and after an edit of one line.
func runAnalyzer(r *raw) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no Go here to load packages with")
	}
	tmp, err := os.MkdirTemp("", "lastuse-vet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	parted, rounds := parted, 3
	if r.quick {
		parted, rounds = [][]string{{"./finalize"}}, 1
	}
	most := len(parted)
	// vet has packages compiled whose results nobody has yet: not in the time of the tool that comes first.
	if _, err := r.vet(filepath.Join(r.bin, toolNames[0]), nil, slices.Concat(parted[:most]...)...); err != nil {
		return err
	}
	for round := range rounds {
		fmt.Fprintf(r.w, "round: %d\n", round)
		for n := 1; n <= most; n++ {
			packages := slices.Concat(parted[:n]...)
			lines, err := r.countLines(packages)
			if err != nil {
				return err
			}
			for _, name := range toolNames {
				stamp := fmt.Sprintf("\n// %d\n", time.Now().UnixNano())
				tool, overlay, err := r.stamp(tmp, name, stamp)
				if err != nil {
					return err
				}
				for _, run := range []struct {
					name string
					args []string
				}{{"cold", nil}, {"warm", nil}, {"edit", []string{"-overlay=" + overlay}}} {
					values, err := r.vet(tool, run.args, packages...)
					if err != nil {
						return err
					}
					of := fmt.Sprintf("Analyzer/parts=%d/run=%s/tool=%s", n, run.name, name)
					fmt.Fprintln(r.w, result(of, 1, append(values, float64(lines), "lines")...)[0])
				}
			}
		}
	}
	return nil
}

// stamp returns a copy of a tool that vet has not seen, since it tells tools apart by their bytes, and an
// overlay in which one file has a comment more.
func (r *raw) stamp(dir, name, comment string) (tool, overlay string, err error) {
	tool, overlay = filepath.Join(dir, name), filepath.Join(dir, "edited.json")
	path, to := filepath.Join(r.root, edited), filepath.Join(dir, "edited.go")
	binary, err1 := os.ReadFile(filepath.Join(r.bin, name))
	source, err2 := os.ReadFile(path)
	list, err3 := json.Marshal(map[string]any{"Replace": map[string]string{path: to}})
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", "", err
	}
	return tool, overlay, errors.Join(os.WriteFile(tool, append(binary, comment...), 0o777),
		os.WriteFile(to, append(source, comment...), 0o666), os.WriteFile(overlay, list, 0o666))
}

// vet runs go vet with a tool and returns what it took. That it finds something is no error.
func (r *raw) vet(tool string, args []string, packages ...string) ([]any, error) {
	args = slices.Concat([]string{"vet", "-vettool=" + tool}, args, packages)
	cmd := exec.CommandContext(r.ctx, "go", args...)
	cmd.Dir = r.root
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && bytes.Contains(out, []byte(".go:"))) {
		return nil, fmt.Errorf("go vet: %w: %s", err, bytes.TrimSpace(out))
	}
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, errors.New("no resource usage here")
	}
	return []any{float64(took.Nanoseconds()), "ns/op", float64(use.Maxrss << 10), "maxrss-B",
		float64(use.Utime.Nano() + use.Stime.Nano()), "cpu-ns"}, nil
}

// countLines returns how many lines of Go packages have, tests left out.
func (r *raw) countLines(packages []string) (lines int, err error) {
	args := []string{"list", "-f", "{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}"}
	cmd := exec.CommandContext(r.ctx, "go", append(args, packages...)...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		src, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		lines += bytes.Count(src, []byte("\n"))
	}
	return lines, nil
}
