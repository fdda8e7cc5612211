package main

import (
	"context"
	"errors"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
	"github.com/lastuse/lastuse/escape/spec"
)

// specCheck compares the specs named with -spec, and lastuse.spec of the module,
// with the code that they name.
func (c *command) specCheck(ctx context.Context) int {
	names := slices.Clone(c.specs)
	if root := spec.ModuleRoot(c.dir); root != "" {
		name := filepath.Join(root, spec.ModuleFile)
		if _, err := os.Stat(name); err == nil {
			names = append(names, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			c.fail("%v", err)
		}
	}
	if len(names) == 0 && !c.failed {
		c.note("no spec to check: name one with -spec, or write %s beside go.mod", spec.ModuleFile)
		return exitClean
	}
	var files []*spec.File
	var paths []string
	lines := 0
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			c.fail("%v", err)
			continue
		}
		f, err := spec.Parse(c.relative(name), src)
		if err != nil {
			c.plainError(err)
		}
		files = append(files, f)
		for _, l := range f.Lines {
			lines++
			if path := l.PackagePath(); path != "" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	// What does not fit one set of build tags may fit another: only what fits
	// none is wrong.
	var wrong []error
	for i, tags := range c.tags {
		pkgs, err := load.Types(ctx, c.dir, tags, paths)
		if err != nil {
			c.fail("%v", err)
			return c.status(exitError)
		}
		var here []error
		for _, f := range files {
			if err := spec.Check(f, func(path string) *types.Package { return pkgs[path] }); err != nil {
				here = append(here, splitErrors(err)...)
			}
		}
		if i == 0 {
			wrong = here
		}
		wrong = slices.DeleteFunc(wrong, func(w error) bool {
			return !slices.ContainsFunc(here, func(h error) bool { return h.Error() == w.Error() })
		})
	}
	if set, err := spec.Load(c.specs, ""); err == nil && set.Torn() != nil {
		wrong = append(wrong, set.Torn())
	}
	if len(wrong) > 0 {
		c.plainError(errors.Join(wrong...))
	}
	if !c.failed {
		c.note("%s in %s fit the code", count(lines, "line"), count(len(files), "spec"))
	}
	return c.status(exitClean)
}
