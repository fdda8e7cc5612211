package load

import (
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

// The standard library is not analyzed: its spec says what there is to know. Its
// types come from the export data that the compiler keeps in the build cache,
// which is much faster than parsing it.

// IsStd reports whether a package belongs to the standard library.
func IsStd(p *packages.Package) bool {
	if p.Module != nil || p.PkgPath == "command-line-arguments" {
		return false
	}
	first, _, _ := strings.Cut(p.PkgPath, "/")
	if strings.Contains(first, ".") {
		return false
	}
	if len(p.GoFiles) == 0 {
		return true // unsafe
	}
	src := filepath.Join(runtime.GOROOT(), "src")
	if rel, err := filepath.Rel(src, p.GoFiles[0]); err == nil && filepath.IsLocal(rel) {
		return true
	}
	// Another toolchain's library, or one that go list sees under another name.
	return strings.Contains(filepath.ToSlash(p.GoFiles[0]), "/src/"+p.PkgPath+"/")
}

// loadStd reads the export data of the packages of the standard library that
// others import, and cuts them out of the graph.
func (p *Program) loadStd(order []*packages.Package) error {
	need := map[string]bool{}
	for _, pkg := range order {
		if IsStd(pkg) {
			continue
		}
		full := pkg.Imports
		p.imports[pkg] = full
		pkg.Imports = map[string]*packages.Package{}
		for path, dep := range full {
			if IsStd(dep) {
				need[dep.PkgPath] = true
			} else {
				pkg.Imports[path] = dep
			}
		}
	}
	delete(need, "unsafe")
	if len(need) == 0 {
		return nil
	}
	var paths []string
	for path := range need {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return p.readStd(paths)
}

// readStd reads the export data of packages of the standard library.
func (p *Program) readStd(paths []string) error {
	c := p.config
	c.Mode = packages.NeedName | packages.NeedExportFile
	c.Tests = false
	pkgs, err := packages.Load(&c, paths...)
	if err != nil {
		return listError(err)
	}
	for _, pkg := range pkgs {
		if pkg.ExportFile == "" {
			reason := "no export data"
			if len(pkg.Errors) > 0 {
				reason = pkg.Errors[0].Msg
			}
			return fmt.Errorf("standard library: %s: %s", pkg.PkgPath, reason)
		}
		if err := p.readExport(pkg.PkgPath, pkg.ExportFile); err != nil {
			return fmt.Errorf("standard library: %s: %w", pkg.PkgPath, err)
		}
	}
	return nil
}

func (p *Program) readExport(path, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return err
	}
	_, err = gcexportdata.Read(r, p.Fset, p.std, path)
	return err
}

// importStd returns a package of the standard library that was not imported when
// the Program was loaded: an edit imports it. Nothing else is being type-checked
// at that time.
func (p *Program) importStd(path string) (*types.Package, error) {
	if t := p.std[path]; t != nil && t.Complete() {
		return t, nil
	}
	if err := p.readStd([]string{path}); err != nil {
		return nil, err
	}
	return p.std[path], nil
}
