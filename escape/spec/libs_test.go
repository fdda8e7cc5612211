package spec

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The embedded lines for libraries are compared with the libraries only when
// asked for, since that needs the network, or their sources:
//
//	go test ./escape/spec -run Libraries -modules=gocv.io/x/gocv@v0.41.0,github.com/sugarme/gotch=/src/gotch
//
// A library that calls C is type-checked without its SDK and without a C
// compiler: types of C stay unknown, names and numbers of operands do not.
var modules = flag.String("modules", "", "check embedded specs against `module@version` or module=folder, comma-separated")

func TestLibraries(t *testing.T) {
	asked := map[string]string{}
	for m := range strings.SplitSeq(*modules, ",") {
		if path, dir, ok := strings.Cut(m, "="); ok {
			asked[path] = dir
		} else if path, _, ok := strings.Cut(m, "@"); ok {
			asked[path] = download(t, m)
		}
	}
	for _, lib := range libraryModules {
		name, module := lib.file, lib.module
		t.Run(filepath.Base(name), func(t *testing.T) {
			f := embeddedFile(t, name)
			for _, l := range f.Lines {
				require.True(t, strings.HasPrefix(l.PackagePath(), module), "line %d is about package %s", l.Pos.Line, l.PackagePath())
			}
			dir := asked[module]
			if dir == "" {
				t.Skipf("not compared with the library: ask with -modules=%s@VERSION", module)
			}
			require.NoError(t, Check(f, func(path string) *types.Package {
				rel, ok := strings.CutPrefix(path, module)
				if !ok {
					return nil
				}
				return apiOf(t, filepath.Join(dir, rel), path)
			}))
		})
	}
}

// TestEmbedded: every embedded file is found through its module, and the answer
// for a function of one library does not need the others.
func TestEmbedded(t *testing.T) {
	names, err := fs.Glob(sources, "libs/*.spec")
	require.NoError(t, err)
	require.Len(t, libraryModules, len(names))
	s, err := Load(nil, "")
	require.NoError(t, err)
	for _, lib := range libraryModules {
		require.Contains(t, names, lib.file)
		for _, l := range embeddedFile(t, lib.file).Lines {
			name := strings.TrimSuffix(l.Name, "*")
			if l.IsGlob() && !strings.HasSuffix(name, ".") {
				name += "x"
			}
			got, ok := s.Lookup(name)
			require.True(t, ok, l.Name)
			require.Equal(t, lib.file, got.Pos.Filename)
			require.Equal(t, Embedded, got.Level)
		}
	}
	_, ok := s.Lookup("gocv.io/x/gocvish.NewMat")
	require.False(t, ok, "another module whose path begins the same")
	require.Equal(t, "recv freed", lookup(s, "(*gocv.io/x/gocv.Mat).Close"))
	require.Equal(t, "args borrowed", lookup(s, "gocv.io/x/gocv.Blur"))
	require.Equal(t, "recv borrowed, recv freed if arg del is true, args borrowed, result 0 owned", lookup(s, "(*github.com/sugarme/gotch/ts.Tensor).MustAdd"))
}

// What people read names every library that they need no spec for. Testify's
// assertions make no buffers.
func TestEmbeddedAreNamed(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	help, err := os.ReadFile("../../cmd/lastuse/help.go")
	require.NoError(t, err)
	for _, lib := range libraryModules {
		require.Contains(t, string(help), lib.module)
		if lib.file != "libs/testify.spec" {
			require.Contains(t, string(readme), "| `"+lib.module+"` |")
		}
	}
}

// download returns the folder of a module in the module cache.
func download(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	var info struct{ Dir, Error string }
	require.NoError(t, json.Unmarshal(out, &info))
	require.Empty(t, info.Error)
	return info.Dir
}

var apis = map[string]*types.Package{}

// apiOf type-checks the declarations of a package and nothing that it imports
// but the standard library.
func apiOf(t *testing.T, dir, path string) *types.Package {
	t.Helper()
	if pkg, ok := apis[path]; ok {
		return pkg
	}
	ctxt := build.Default
	ctxt.CgoEnabled = true
	bp, err := ctxt.ImportDir(dir, 0)
	if bp == nil || len(bp.GoFiles)+len(bp.CgoFiles) == 0 {
		t.Logf("%s: %v", dir, err)
		return nil
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range append(bp.GoFiles, bp.CgoFiles...) {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	build.Default.CgoEnabled = false // the source importer's: package net without a C compiler
	conf := types.Config{
		FakeImportC:      true,
		IgnoreFuncBodies: true,
		Error:            func(error) {}, // what is not found is of no interest
		Importer:         importer.ForCompiler(fset, "source", nil),
	}
	pkg, _ := conf.Check(path, fset, files, nil)
	apis[path] = pkg
	return pkg
}
