// Package lastuse_test holds what must be true of the module as a whole: who may
// import whom, that every package has one doc comment, that generated files say
// which command made them, and that prose and commands agree.
package lastuse_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/deptest"
	"github.com/lastuse/lastuse/internal/tier"
)

const module = "github.com/lastuse/lastuse"

// tools are the dependencies of the analyzer; nothing that a program links at
// run time may need them.
const tools = "golang.org/x/tools/..."

var importRules = []deptest.Rule{
	{
		Match:   "finalize",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "the safety net runs beside the collector and must be linkable into anything",
	},
	{
		Match:   "internal/probe",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing", "net"},
		Because: "marker functions are on every allocation's path and memwatch shares only their names and layouts",
	},
	{
		Match:   "internal/books",
		Allow:   []string{"std", "internal/lockrank", "internal/probe", "golang.org/x/sys/..."},
		Deny:    []string{"C", "testing", "net", "tracker/...", "alloc/...", tools},
		Because: "an allocator counts through it on each Make, under its own lock: how the figures are shown is the tracker's affair",
	},
	{
		Match:   "tracker",
		Allow:   []string{"std", "internal/books", "internal/guard", "internal/lockrank", "internal/page", "internal/probe", "github.com/dustin/go-humanize", "github.com/google/pprof/profile"},
		Deny:    []string{"C", "testing", "alloc/...", "tracker/prom", "tracker/otel", "github.com/cilium/...", tools},
		Because: "the books are the ground others stand on: observing must need neither a device nor a compiler",
	},
	{
		Match:   "internal/guard",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "the tracker's page and memwatch's have one guard, and neither knows the other",
	},
	{
		Match:   "internal/page",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing", "net"},
		Because: "it is files for a browser; who serves them is the page's affair",
	},
	{
		Match:   "internal/metric",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "the tracker and memwatch have one set of names, and neither knows the other",
	},
	{
		Match:   "tracker/prom",
		Allow:   []string{"std", "internal/metric", "tracker", "tracker/internal/series", "github.com/prometheus/client_golang/prometheus"},
		Deny:    []string{"C", "testing"},
		Because: "which registry is asked, and who serves it, is the program's choice: only the collector is linked",
	},
	{
		Match:   "tracker/otel",
		Allow:   []string{"std", "internal/metric", "tracker", "tracker/internal/series", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric"},
		Deny:    []string{"C", "testing", "go.opentelemetry.io/otel/sdk/..."},
		Because: "which SDK reads the figures is the program's choice, so only the interface is linked",
	},
	{
		Match:   "...",
		Except:  []string{"tracker/otel"},
		Deny:    []string{"go.opentelemetry.io/..."},
		Because: "a program that does not ask for OpenTelemetry must not link it",
	},
	{
		Match:   "...",
		Except:  []string{"tracker/prom", "cmd/memwatch/..."},
		Deny:    []string{"github.com/prometheus/..."},
		Because: "a program that does not ask for Prometheus must not link its client",
	},
	{
		Match:   "...",
		Except:  []string{"bench/report"},
		Deny:    []string{"gonum.org/...", "golang.org/x/perf/..."},
		Because: "only the report draws and reckons",
	},
	{
		Match:   "alloc",
		Allow:   []string{"std", "tracker", "finalize", "internal/books", "internal/custody", "internal/extent", "internal/lockrank", "internal/probe", "github.com/dustin/go-humanize", "golang.org/x/sys/..."},
		Deny:    []string{"C", "testing", "alloc/host", "alloc/cuda", "escape/...", "cmd/...", "github.com/cilium/...", tools},
		Because: "the runtime builds anywhere, with no GPU, no C compiler and no kernel library; devices are plugged in, not linked in",
	},
	{
		Match:   "internal/lockrank",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "it is in every mutex of the pool",
	},
	{
		Match:   "internal/custody",
		Allow:   []string{},
		Because: "it is what a pool and those who check it agree on, no more",
	},
	{
		Match:   "alloc/host",
		Allow:   []string{"std", "alloc", "internal/extent", "golang.org/x/sys/..."},
		Deny:    []string{"C", "testing", "escape/...", "cmd/...", tools},
		Because: "the embedded device is the portable default",
	},
	{
		Match:   "escape",
		Allow:   []string{"std", "escape/...", tools},
		Deny:    []string{"C", "testing", "alloc/...", "tracker/...", "finalize", "internal/..."},
		Because: "the analyzer knows the runtime by name, as printf's checker knows fmt; linking it would tie the vet tool to the GPU",
	},
	{
		Match:   "escape/spec",
		Allow:   []string{"std", tools},
		Deny:    []string{"C", "testing", "escape", "alloc/...", "tracker/...", "finalize"},
		Because: "a spec is read by the analyzer, never the other way round",
	},
	{
		Match:   "escape/internal/cgo",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "what cgo makes of a call is read off the syntax alone",
	},
	{
		Match:   "escape/internal/ir",
		Allow:   []string{"std", "escape/internal/cgo", tools},
		Deny:    []string{"C", "testing"},
		Because: "the form is the first room: what functions do, and who owns what, is known to those that stand on it",
	},
	{
		Match:   "escape/internal/rewrite",
		Allow:   []string{"std", "escape/internal/vars", tools},
		Deny:    []string{"C", "testing"},
		Because: "a statement is put at a place whatever it is for: what is freed, and why there, is decided before",
	},
	{
		Match: "escape/internal/find",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/fill", "escape/internal/ir", "escape/internal/memory",
			"escape/internal/member", "escape/internal/own", "escape/internal/place", "escape/internal/pointsto", "escape/internal/taken", tools},
		Deny:    []string{"C", "testing"},
		Because: "what is wrong is read off states at rest, of what is due, and of what frees a field; who asks for words asks report",
	},
	{
		Match: "escape/internal/taken",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/ir", "escape/internal/memory",
			"escape/internal/member", "escape/internal/own", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "what is left on some way is seen on the ways; what is due where is not asked",
	},
	{
		Match: "escape/internal/member",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/ir", "escape/internal/memory",
			"escape/internal/own", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "what a field owns is the package's to say, whatever one function does; what is due where is not asked",
	},
	{
		Match: "escape/internal/report",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/find", "escape/internal/groups", "escape/internal/member",
			"escape/internal/memory", "escape/internal/own", "escape/internal/place", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "words are made of what was found; they find nothing out",
	},
	{
		Match:   "escape/internal/vars",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "what is done with a variable is read from the syntax alone; what functions do to their operands is known to those that ask",
	},
	{
		Match:   "escape/internal/effect",
		Allow:   []string{"std", "escape/spec", "golang.org/x/tools/go/types/typeutil"},
		Deny:    []string{"C", "testing"},
		Because: "summaries are said of types: what a function does is one thing, and how that is found out is another",
	},
	{
		Match:   "escape/internal/flow",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing", "go/types"},
		Because: "the solver knows graphs and states, and nothing of programs",
	},
	{
		Match:   "escape/internal/calls",
		Allow:   []string{"std", "escape/spec", "escape/internal/effect", tools},
		Deny:    []string{"C", "testing"},
		Because: "who is called is known before what becomes of anything",
	},
	{
		Match:   "escape/internal/lift",
		Allow:   []string{"std", tools},
		Deny:    []string{"C", "testing"},
		Because: "what is read of a variable that only its function sets is read off SSA alone",
	},
	{
		Match:   "escape/internal/groups",
		Allow:   []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/ir", tools},
		Deny:    []string{"C", "testing"},
		Because: "who waits for which goroutines is read off SSA and summaries, whatever these goroutines have",
	},
	{
		Match: "escape/internal/memory",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/groups", "escape/internal/ir",
			"escape/internal/lift", tools},
		Deny:    []string{"C", "testing"},
		Because: "which variables there are, and what uses them, is found before anybody asks what they hold",
	},
	{
		Match:   "escape/internal/pointsto",
		Allow:   []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/ir", "escape/internal/memory", tools},
		Deny:    []string{"C", "testing"},
		Because: "what a value may hold is found from the form and the summaries of calls, before anybody asks what becomes of it",
	},
	{
		Match: "escape/internal/own",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/flow", "escape/internal/ir",
			"escape/internal/lift", "escape/internal/memory", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "ownership is solved from what values may hold; what is made of it cannot feed back",
	},
	{
		Match: "escape/internal/fill",
		Allow: []string{"std", "escape/internal/effect", "escape/internal/calls", "escape/internal/ir", "escape/internal/memory",
			"escape/internal/own", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "what fields are given is asked by who makes summaries and by who looks for what is wrong, of states at rest",
	},
	{
		Match: "escape/internal/infer",
		Allow: []string{"std", "escape/internal/effect", "escape/internal/calls", "escape/internal/fill", "escape/internal/own",
			"escape/internal/ir", "escape/internal/memory", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "a summary is made of the states at the exits and of whom a free calls, and of nothing else",
	},
	{
		Match: "escape/internal/place",
		Allow: []string{"std", "escape/internal/calls", "escape/internal/effect", "escape/internal/ir", "escape/internal/memory",
			"escape/internal/own", "escape/internal/pointsto", tools},
		Deny:    []string{"C", "testing"},
		Because: "frees are placed after all is known, of calls too; the text that they become is another room's",
	},
	{
		Match:   "escape/field",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing"},
		Because: "what lastuse says of a library is asked of the command, as its users ask",
	},
	{
		Match:   "escape/gclplugin",
		Allow:   []string{"std", "escape", "github.com/golangci/plugin-module-register/register", tools},
		Deny:    []string{"C", "testing"},
		Because: "the plugin is linked into other people's linter: the analyzer, and the interface that it is registered with",
	},
	{
		Match:   "...",
		Except:  []string{"escape/gclplugin"},
		Deny:    []string{"github.com/golangci/..."},
		Because: "golangci-lint is one way to run the analyzer; who runs it in another way links nothing of it",
	},
	{
		Match:   "cmd/lastuse",
		Deny:    []string{"C", "testing", "alloc/...", "tracker/...", "finalize", "github.com/cilium/..."},
		Because: "the tool must run where the program under test cannot",
	},
	{
		Match:   "cmd/lastuse/internal/load",
		Allow:   []string{"std", "escape", "escape/spec", "golang.org/x/mod/...", tools},
		Deny:    []string{"C", "testing", "cmd/lastuse/internal/apply"},
		Because: "reading packages comes first, and changes nothing",
	},
	{
		Match:   "cmd/lastuse/internal/apply",
		Allow:   []string{"std", "cmd/lastuse/internal/load", "escape", "golang.org/x/sys/...", tools},
		Deny:    []string{"C", "testing"},
		Because: "whether an edit is made is decided by what was loaded and what the analyzer wants, and by no flag",
	},
	{
		Match:   "cmd/memwatch/internal/unwind",
		Allow:   []string{"std"},
		Deny:    []string{"C", "testing", "net"},
		Because: "it reads what strangers wrote: whose stack it is, and where its files are, is known to those who ask",
	},
	{
		Match:   "cmd/memwatch",
		Deny:    []string{"C", "testing", "alloc/...", "tracker/...", "finalize", "escape/...", tools},
		Because: "it watches other processes and shares only names and layouts with them",
	},
	{
		Match: "...",
		Except: []string{
			"alloc/cuda/...", "internal/cudadrv/...", // the driver is reached through C
			"cmd/memwatch/internal/device", // NVML is in C; without cgo nvidia-smi is asked
			"examples/...",                 // an example may show C memory
			"bench/...",                    // a benchmark may loop in C beside its peer
		},
		Deny:    []string{"C"},
		Because: "only the CUDA packages need cgo, and CGO_ENABLED=0 must build the rest with all it can do",
	},
	{
		Match:   "...",
		Except:  []string{"alloc/alloctest", "internal/cudadrv/drvtest", "internal/deptest", "internal/gomemory", "bench/...", "examples/..."},
		Deny:    []string{"testing", "github.com/stretchr/..."},
		Because: "production code that links the testing package registers its flags in every user's program",
	},
}

func TestImportRules(t *testing.T) {
	pkgs, err := deptest.List(".", "./...")
	require.NoError(t, err)
	require.Empty(t, strings.Join(deptest.Check(module, pkgs, importRules), "\n"))
}

// TestWithoutHTTP keeps the runtime linkable without net/http, which the tracker's handlers
// otherwise bring along.
func TestWithoutHTTP(t *testing.T) {
	pkgs, err := deptest.List(".", "-tags=lastuse_nohttp", "./alloc/host", "./tracker")
	require.NoError(t, err)
	require.Len(t, pkgs, 2)
	for _, p := range pkgs {
		require.NotContains(t, p.Deps, "net/http", p.ImportPath)
	}
	tier.Skip(t, "builds the runtime once more")
	out, err := exec.Command("go", "build", "-tags=lastuse_nohttp", "./alloc/host").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestPackageDocs demands exactly one doc comment for each package that has
// code, beginning in the way godoc expects.
func TestPackageDocs(t *testing.T) {
	docs := map[string][]string{} // folder → files with a package comment
	names := map[string]string{}  // folder → package name
	walkGo(t, func(path string, f *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := filepath.Dir(path)
		if ignored(f) {
			return
		}
		names[dir] = f.Name.Name
		if f.Doc == nil {
			return
		}
		text := f.Doc.Text()
		docs[dir] = append(docs[dir], filepath.Base(path))
		want := "Package " + f.Name.Name
		if f.Name.Name == "main" {
			// godoc's custom: the command's name, or its package clause.
			want = strings.ToUpper(filepath.Base(dir)[:1]) + filepath.Base(dir)[1:]
		}
		require.True(t, strings.HasPrefix(text, want), "%s: the package comment should begin with %q", path, want)
	})
	for dir := range names {
		require.Len(t, docs[dir], 1, "%s: want one package comment, have it in %v", dir, docs[dir])
	}
}

var generated = regexp.MustCompile(`(?m)^// Code generated (.*); DO NOT EDIT\.$`)

// TestGeneratedFilesNameTheirCommand demands that whoever meets a generated file
// can make it again.
func TestGeneratedFilesNameTheirCommand(t *testing.T) {
	walkGo(t, func(path string, f *ast.File, src []byte) {
		if !ast.IsGenerated(f) {
			return
		}
		m := generated.FindSubmatch(src)
		require.NotNil(t, m, "%s: generated, but no well-formed header", path)
		require.Contains(t, string(m[1]), "by ", "%s: the header must name the command", path)
	})
}

// ignored reports whether the file is left out of every build.
func ignored(f *ast.File) bool {
	for _, c := range f.Comments {
		if c.Pos() > f.Package {
			break
		}
		for _, l := range c.List {
			if strings.HasPrefix(l.Text, "//go:build ignore") {
				return true
			}
		}
	}
	return false
}

// fset has the places of the files that walkGo reads.
var fset = token.NewFileSet()

// walkGo calls do for every Go file of the module outside testdata.
func walkGo(t *testing.T, do func(path string, f *ast.File, src []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			return err
		}
		do(path, f, src)
		return nil
	})
	require.NoError(t, err)
}

// TestDocuments: what the README and the pages in docs/ and bench/results/ link to is there, and the README
// stays short enough to be read to its end, and its first half in a minute.
func TestDocuments(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	results, err := filepath.Glob("bench/results/*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	for _, page := range append(append(pages, results...), "README.md", "CHANGELOG.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			if to := string(m[1]); !strings.Contains(to, "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(page), to))
				require.NoError(t, err, "%s links to what is not there", page)
			}
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(readme, []byte("\n")), 150)
	first, _, ok := strings.Cut(string(code.ReplaceAll(readme, nil)), "## Who it is for")
	require.True(t, ok)
	require.LessOrEqual(t, len(strings.Fields(first)), 400, "words before the README says who it is for")
}

// TestReadmeCommands keeps the two commands at the top of the README runnable as
// written: the continuous integration script extracts them by these markers.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```sh\ngo run ./examples/quickstart")
	require.Regexp(t, `(?m)^go test \./\.\.\.`, string(readme))
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.NotNil(t, version)
	require.Contains(t, string(readme), "Go "+string(version[1]), "the README names the Go version")
}
