// Package deptest checks import rules: who may import whom, each rule with its
// reason, so that a failing test tells the author why and not only that.
//
// The idea of a rule that carries its reason is tailscale's deptest. This one
// differs in that the rules of the whole module stand in one table (see
// hygiene_test.go at the module's root) and that a rule may also list what is
// allowed, so that an import nobody thought of fails too.
package deptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sort"
	"strings"
)

// Package is one package of the module as `go list` sees it: its import path
// and what its non-test files import, directly and through others.
type Package struct {
	ImportPath string
	Imports    []string
	Deps       []string
	CgoFiles   []string
	Doc        string
	Name       string
	Standard   bool
	Module     *struct{ Path string }
}

// Rule restricts the imports of every package that Match covers.
//
// A pattern is an import path relative to the module ("alloc"), a tree of the
// module ("cmd/...", or "..." for all of it), "std" for the standard library or
// the path of one of its packages ("testing"), or the full path of another
// module's package, with "/..." for everything below it.
type Rule struct {
	Match   string   // packages the rule speaks of
	Except  []string // packages it leaves alone
	Allow   []string // if not nil: the only direct imports permitted
	Deny    []string // imports forbidden, direct or through others
	Because string   // the reason, printed with every violation
}

// List returns every package that the patterns match in the module of dir,
// with cgo on, so that files which need it are seen too.
func List(dir string, patterns ...string) ([]Package, error) {
	args := append([]string{"list", "-json=ImportPath,Name,Doc,Imports,Deps,CgoFiles,Standard,Module"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("deptest: go list: %w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("deptest: go list: %w", err)
	}
	var pkgs []Package
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("deptest: go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

// Check applies the rules to the packages of module and returns one line for
// each violation, sorted. Rules that match no package are violations too: a rule
// about a folder that was renamed guards nothing.
func Check(module string, pkgs []Package, rules []Rule) []string {
	var bad []string
	for _, r := range rules {
		matched := false
		for _, p := range pkgs {
			if !covers(module, r.Match, p.ImportPath) || coversAny(module, r.Except, p.ImportPath) {
				continue
			}
			matched = true
			if r.Allow != nil {
				for _, imp := range p.Imports {
					if !coversAny(module, r.Allow, imp) {
						bad = append(bad, fmt.Sprintf("%s imports %s: not among %v, because %s", p.ImportPath, imp, r.Allow, r.Because))
					}
				}
			}
			for _, imp := range p.Deps {
				if coversAny(module, r.Deny, imp) {
					how := "through others"
					for _, direct := range p.Imports {
						if direct == imp {
							how = "directly"
						}
					}
					bad = append(bad, fmt.Sprintf("%s imports %s (%s): forbidden, because %s", p.ImportPath, imp, how, r.Because))
				}
			}
			if coversAny(module, r.Deny, "C") && len(p.CgoFiles) > 0 {
				bad = append(bad, fmt.Sprintf("%s uses cgo (%v): forbidden, because %s", p.ImportPath, p.CgoFiles, r.Because))
			}
		}
		if !matched {
			bad = append(bad, fmt.Sprintf("rule for %q matches no package", r.Match))
		}
	}
	sort.Strings(bad)
	return bad
}

func coversAny(module string, patterns []string, path string) bool {
	for _, p := range patterns {
		if covers(module, p, path) {
			return true
		}
	}
	return false
}

// covers reports whether pattern names path.
func covers(module, pattern, path string) bool {
	switch pattern {
	case "C":
		return path == "C"
	case "std":
		// A standard import path has no dot in its first element.
		first, _, _ := strings.Cut(path, "/")
		return !strings.Contains(first, ".") && path != "C"
	}
	if pattern == "..." {
		return path == module || strings.HasPrefix(path, module+"/")
	}
	first, _, _ := strings.Cut(pattern, "/")
	tree, isTree := strings.CutSuffix(pattern, "/...")
	if isTree {
		if !strings.Contains(first, ".") {
			tree = module + "/" + tree
		}
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == pattern || path == module+"/"+pattern
}
