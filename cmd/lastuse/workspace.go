package main

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspace returns the folders of the modules of the go.work that governs dir, and
// the folders that replace other modules there; none if there is none.
func workspace(dir string) (roots, replacements []string) {
	if os.Getenv("GOWORK") == "off" {
		return nil, nil
	}
	name := os.Getenv("GOWORK")
	for d := dir; name == ""; d = filepath.Dir(d) {
		try := filepath.Join(d, "go.work")
		if info, err := os.Stat(try); err == nil && !info.IsDir() {
			name = try
		} else if filepath.Dir(d) == d {
			return nil, nil
		}
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, nil
	}
	work, err := modfile.ParseWork(name, src, nil)
	if err != nil {
		return nil, nil
	}
	for _, use := range work.Use {
		root := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(root) {
			root = filepath.Join(filepath.Dir(name), root)
		}
		roots = append(roots, root)
	}
	return roots, replaced(filepath.Dir(name), work.Replace)
}
