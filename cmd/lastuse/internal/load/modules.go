package load

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	mods "golang.org/x/mod/module"

	"github.com/lastuse/lastuse/escape/spec"
)

// Modules that are imported have specs, too. Those that lie in folders beside
// the user's may be edited at any time, and nothing in go vet's cache would
// notice: -V=full has to. Where they are is read from go.mod, go.sum and
// go.work as they stand, since a go command for it would take longer than all
// the rest.

// DependencySpecs returns the names of all lastuse.spec files that modules may
// have on which the modules at roots depend, whether the files exist or not. The
// folder work, if it is not "", is that of their go.work: its copies under vendor
// serve them all. If modFile is not "", it stands for the go.mod of the one root, and
// go.sum lies beside it.
func DependencySpecs(roots []string, work, modFile string) []string {
	var names []string
	add := func(dir string) { names = append(names, filepath.Join(dir, spec.ModuleFile)) }
	cache := moduleCache()
	for _, root := range roots {
		file := cmp.Or(modFile, filepath.Join(root, "go.mod"))
		src, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		mod, err := modfile.Parse(file, src, nil)
		if err != nil {
			continue // the go command says so
		}
		for _, r := range mod.Require {
			add(filepath.Join(root, "vendor", filepath.FromSlash(r.Mod.Path)))
			if work != "" {
				add(filepath.Join(work, "vendor", filepath.FromSlash(r.Mod.Path)))
			}
		}
		for _, dir := range replaced(root, mod.Replace) {
			add(dir)
		}
		for _, m := range listed(strings.TrimSuffix(file, ".mod") + ".sum") {
			if dir, err := cached(cache, m); err == nil {
				add(dir)
			}
		}
	}
	return names
}

// replaced returns the folders that replace modules of root.
func replaced(root string, rs []*modfile.Replace) []string {
	var dirs []string
	for _, r := range rs {
		if r.New.Version != "" {
			continue // in the cache
		}
		dir := filepath.FromSlash(r.New.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// listed returns the modules of which a go.sum has the contents.
func listed(name string) []mods.Version {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var all []mods.Version
	for lines := bufio.NewScanner(bytes.NewReader(src)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) == 3 && !strings.HasSuffix(f[1], "/go.mod") {
			all = append(all, mods.Version{Path: f[0], Version: f[1]})
		}
	}
	return all
}

// cached returns the folder that has a module in the module cache.
func cached(cache string, m mods.Version) (string, error) {
	path, err := mods.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := mods.EscapeVersion(m.Version)
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, filepath.FromSlash(path)+"@"+version), nil
}

// moduleCache returns the folder of the module cache, as go env GOMODCACHE does.
func moduleCache() string {
	if dir := goSetting("GOMODCACHE"); dir != "" {
		return dir
	}
	path := goSetting("GOPATH")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		path = filepath.Join(home, "go")
	}
	return filepath.Join(filepath.SplitList(path)[0], "pkg", "mod")
}

// ModFileFlag returns the value of the last -modfile among arguments of the go
// command, "" if there is none, and the other arguments.
func ModFileFlag(args []string) (file string, rest []string) {
	for i := 0; i < len(args); i++ {
		name, value, dash := CutFlag(args[i])
		switch {
		case !dash || name != "modfile":
			rest = append(rest, args[i])
		case value == "" && i+1 < len(args):
			i++
			file = args[i]
		default:
			file = value
		}
	}
	return file, rest
}

// GoFlags returns the flags that GOFLAGS gives to every go command.
func GoFlags() []string {
	var flags []string
	for _, f := range strings.Fields(goSetting("GOFLAGS")) {
		flags = append(flags, strings.Trim(f, `'"`))
	}
	return flags
}

// goSetting returns a variable of the environment of the go command, from where the
// go command takes it, "" if nobody set it.
func goSetting(key string) string {
	return cmp.Or(os.Getenv(key), goSettings()[key])
}

// goSettings reads what go env -w has written.
func goSettings() map[string]string {
	name := os.Getenv("GOENV")
	if name == "off" {
		return nil
	}
	if name == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil
		}
		name = filepath.Join(dir, "go", "env")
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(src)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[key] = value
		}
	}
	return settings
}

// CutFlag takes an argument apart that is -NAME, -NAME=VALUE or the same with two
// dashes.
func CutFlag(arg string) (name, value string, dash bool) {
	rest, dash := strings.CutPrefix(arg, "-")
	if !dash {
		return "", "", false
	}
	name, value, _ = strings.Cut(strings.TrimPrefix(rest, "-"), "=")
	return name, value, true
}
