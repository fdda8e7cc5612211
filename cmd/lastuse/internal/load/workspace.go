package load

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// Workspace returns the folder of the go.work that governs dir, the folders of its
// modules, and those that replace other modules there; none if there is none.
func Workspace(dir string) (folder string, roots, replacements []string) {
	name := goSetting("GOWORK")
	if name == "off" {
		return "", nil, nil
	}
	for d := dir; name == ""; d = filepath.Dir(d) {
		try := filepath.Join(d, "go.work")
		if info, err := os.Stat(try); err == nil && !info.IsDir() {
			name = try
		} else if filepath.Dir(d) == d {
			return "", nil, nil
		}
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return "", nil, nil
	}
	work, err := modfile.ParseWork(name, src, nil)
	if err != nil {
		return "", nil, nil
	}
	folder = filepath.Dir(name)
	for _, use := range work.Use {
		root := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(root) {
			root = filepath.Join(folder, root)
		}
		roots = append(roots, root)
	}
	return folder, roots, replaced(folder, work.Replace)
}
