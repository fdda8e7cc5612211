package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// A fault is a patch.
type fault struct {
	name  string
	what  string // in words
	hunks []hunk
}

// A hunk replaces lines of a file that stand there just once. Where they stand does not matter: other changes
// may have moved them.
type hunk struct {
	file     string
	old, new string
}

// load reads the faults of a folder, by name.
func load(dir string) ([]fault, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var all []fault
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.name = strings.TrimSuffix(filepath.Base(name), ".patch")
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no faults", dir)
	}
	return all, nil
}

var counts = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@`)

// parse reads a unified diff with a line of words before it.
func parse(text string) (f fault, err error) {
	what, rest, _ := strings.Cut(text, "\n")
	if f.what = strings.TrimPrefix(what, "# "); f.what == what || f.what == "" {
		return f, errors.New("the first line does not say what it is")
	}
	file := ""
	for _, line := range strings.SplitAfter(rest, "\n") {
		last := len(f.hunks) - 1
		switch {
		case line == "" || strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimSpace(strings.TrimPrefix(line, "+++ b/"))
		case counts.MatchString(line):
			f.hunks = append(f.hunks, hunk{file: file})
		case file == "" || last < 0:
			return f, fmt.Errorf("a line of no hunk: %q", line)
		case line[0] == '+':
			f.hunks[last].new += line[1:]
		case line[0] == '-':
			f.hunks[last].old += line[1:]
		case line[0] == ' ':
			f.hunks[last].old += line[1:]
			f.hunks[last].new += line[1:]
		default:
			return f, fmt.Errorf("not a line of a patch: %q", line)
		}
	}
	if len(f.hunks) == 0 {
		return f, errors.New("it changes nothing")
	}
	return f, nil
}

// apply returns what becomes of the files of the module that f changes.
func (f fault) apply(module string) (map[string]string, error) {
	files := make(map[string]string)
	for _, h := range f.hunks {
		text, read := files[h.file]
		if !read {
			data, err := os.ReadFile(filepath.Join(module, h.file))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if n := strings.Count(text, h.old); n != 1 || h.old == h.new {
			return nil, fmt.Errorf("%s: what is to be changed stands there %d times:\n%s", h.file, n, h.old)
		}
		files[h.file] = strings.Replace(text, h.old, h.new, 1)
	}
	return files, nil
}

// overlay writes the changed files to dir and returns the file that tells the go command of them.
func (f fault) overlay(module, dir string) (string, error) {
	files, err := f.apply(module)
	if err != nil {
		return "", err
	}
	replace := make(map[string]string)
	for name, text := range files {
		original, err := filepath.Abs(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		copied := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[original] = copied
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, data, 0o600)
}
