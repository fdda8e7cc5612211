package spec

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed std.spec libs/*.spec
var sources embed.FS

// An embeddedLib is an embedded file that is parsed when somebody asks about its
// module: most programs use none of them.
type embeddedLib struct {
	file   string
	module string // import path of the module that it is about
	table  func() *table
}

// libraryModules says what the embedded files are about. TestLibraries holds
// them to it.
var libraryModules = [...]struct{ file, module string }{
	{"libs/arrow.spec", "github.com/apache/arrow-go/v18"},
	{"libs/gocv.spec", "gocv.io/x/gocv"},
	{"libs/gopjrt.spec", "github.com/gomlx/gopjrt"},
	{"libs/gotch.spec", "github.com/sugarme/gotch"},
	{"libs/grocksdb.spec", "github.com/linxGnu/grocksdb"},
	{"libs/onnxruntime.spec", "github.com/yalue/onnxruntime_go"},
	{"libs/testify.spec", "github.com/stretchr/testify"},
	{"libs/webgpu.spec", "github.com/cogentcore/webgpu"},
}

// parseEmbedded returns one embedded file as a table. Tests parse all of them,
// so that an error is a bug of this build.
func parseEmbedded(name string) *table {
	src, err := sources.ReadFile(name)
	if err != nil {
		panic(err)
	}
	f, err := Parse(name, src)
	if err != nil {
		panic(err)
	}
	var s Set
	s.Add(f, Embedded)
	return s.tables[Embedded]
}

// What is embedded is constant: it is parsed at most once for the process.
var (
	embeddedStd  = sync.OnceValue(func() *table { return parseEmbedded("std.spec") })
	embeddedLibs = func() (libs []*embeddedLib) {
		for _, l := range libraryModules {
			libs = append(libs, &embeddedLib{l.file, l.module, sync.OnceValue(func() *table { return parseEmbedded(l.file) })})
		}
		return libs
	}()
	// embeddedHash stands for the lines in digests.
	embeddedHash = sync.OnceValue(func() []byte {
		h := sha256.New()
		names := []string{"std.spec"}
		for _, l := range libraryModules {
			names = append(names, l.file)
		}
		for _, name := range names {
			src, err := sources.ReadFile(name)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(h, "%s %d\n%s", name, len(src), src)
		}
		return h.Sum(nil)
	})
)

// about reports whether a function's name, or an import path, belongs to the
// library's module.
func (l *embeddedLib) about(name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "("), "*"), l.module)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '.')
}
