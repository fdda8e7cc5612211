package spec

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// ModuleRoot returns the folder of the go.mod that governs dir, "" if there is none.
func ModuleRoot(dir string) string {
	for {
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && !info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// home returns the folder at whose root the spec of the module of a package in
// dir lies, "" if there is none, and whether the module is a copy under a folder
// vendor. Such a copy has no go.mod, and is not the module that is worked on.
func home(dir string) (root string, vendored bool) {
	const name = "/vendor/"
	slashed := filepath.ToSlash(dir) + "/"
	i := strings.LastIndex(slashed, name)
	if i < 0 {
		return ModuleRoot(dir), false
	}
	vendor := dir[:i+len(name)-1]
	f, err := os.Open(filepath.Join(vendor, "modules.txt"))
	if err != nil {
		return ModuleRoot(dir), false // a folder that happens to have the name
	}
	defer f.Close()
	path := slashed[i+len(name):]
	module := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// # PATH VERSION, perhaps => another; # and ## begin other lines.
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "#" && strings.HasPrefix(path, fields[1]+"/") && len(fields[1]) > len(module) {
			module = fields[1]
		}
	}
	if module == "" {
		return "", true
	}
	return filepath.Join(vendor, filepath.FromSlash(module)), true
}
