package escape

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/spec"
)

// FuzzFiles feeds mutated Go files to the analyzer: whatever it is given, it neither
// panics nor hangs; of what type-checks, the edits leave a file that parses and
// type-checks, and a second run finds the same or less to do. Seeds are the corpus and what the oracle
// taught; the file is mutated by the fuzzer as bytes, and by the seed as a syntax tree.
//
//	go test ./escape -run FuzzFiles -fuzz FuzzFiles -fuzztime 60s
func FuzzFiles(f *testing.F) {
	for i, src := range fuzzSeeds(f) {
		f.Add(src, uint64(0))
		if i%8 == 0 {
			f.Add(src, uint64(i+1))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) {
		if len(src) > 1<<15 {
			t.Skip("longer than 32 KiB: time would go into size, not into shapes")
		}
		if seed != 0 {
			src = mutate(src, rand.New(rand.NewPCG(seed, 1)))
		}
		tryFile(t, src)
	})
}

var mutants = flag.Int("mutants", 400, "mutate the corpus `n` times in TestMutants")

// TestMutants does the same to files that are mutated as syntax trees only: most of
// what the fuzzer makes does not parse, and a third of these type-check.
//
//	go test ./escape -run TestMutants -mutants 20000
func TestMutants(t *testing.T) {
	seeds := fuzzSeeds(t)
	whole := 0
	for i := range *mutants {
		src := mutate(seeds[i%len(seeds)], rand.New(rand.NewPCG(uint64(i), 2)))
		if !t.Run(strconv.Itoa(i), func(t *testing.T) {
			if tryFile(t, src) {
				whole++
			}
		}) {
			t.Logf("%s", src)
		}
	}
	t.Logf("%d of %d type-check", whole, *mutants)
	require.Greater(t, whole, *mutants/8)
}

// tryFile decides a file and, if it is edited, what the edits leave. It reports
// whether the file type-checks.
func tryFile(t *testing.T, src []byte) bool {
	start := time.Now()
	text, ok := decideFile(t, src)
	if ok && !bytes.Equal(text, src) {
		again, ok := decideFile(t, text)
		require.True(t, ok, "the edited file does not type-check:\n%s", text)
		require.Equal(t, string(text), string(again), "a second run changes it")
	}
	require.Less(t, time.Since(start), 20*time.Second, "it takes milliseconds")
	return ok
}

// decideFile runs the analysis over one file and returns it with the edits; false if
// the file does not parse or type-check.
func decideFile(t *testing.T, src []byte) ([]byte, bool) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	if file == nil {
		return nil, false
	}
	info := newInfo()
	whole := err == nil
	conf := types.Config{Importer: fuzzImports(), Error: func(error) { whole = false }}
	tp, _ := conf.Check("p", fset, []*ast.File{file}, info)
	if !whole {
		return nil, false // drivers hand to us what type-checks
	}
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	lines, err := spec.Parse("buf.spec", fuzzSpec())
	require.NoError(t, err)
	fork := set.Fork()
	fork.Add(lines, spec.Module)
	for _, l := range conf.Importer.(*importerOf).lines {
		fork.AddLine(l, spec.Module)
	}
	own, err := spec.Directives(fset, file, info)
	if err != nil {
		return nil, false
	}
	for _, l := range own {
		fork.AddLine(l, spec.Directive)
	}
	c := &trial{subject: newSubject(fset, []*ast.File{file}, info, tp, fork), src: string(src)}
	c.read = func(string) ([]byte, error) { return src, nil }
	return []byte(c.edited(t, c.proven())), true
}

// fuzzSpec is the spec of the package that the corpus is written against.
var fuzzSpec = sync.OnceValue(func() []byte {
	text, err := os.ReadFile("testdata/fake/buf/lastuse.spec")
	if err != nil {
		panic(err)
	}
	return text
})

// An importerOf finds the packages that the corpus imports beside the standard
// library.
type importerOf struct {
	mu   sync.Mutex
	std  types.Importer
	have map[string]*types.Package

	lines []*spec.Line // their directives
}

var fuzzImports = sync.OnceValue(func() types.Importer {
	fset := token.NewFileSet()
	im := &importerOf{std: importer.ForCompiler(fset, "source", nil), have: map[string]*types.Package{}}
	for path, dir := range map[string]string{"gpu.test/buf": "buf", "github.com/lastuse/lastuse/alloc": "lastuse/alloc"} {
		names, _ := filepath.Glob(filepath.Join("testdata/fake", dir, "*.go"))
		var files []*ast.File
		for _, name := range names {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				panic(err)
			}
			files = append(files, f)
		}
		conf := types.Config{Importer: im.std, Error: func(error) {}}
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
		p, _ := conf.Check(path, fset, files, info)
		im.have[path] = p
		for _, f := range files {
			lines, err := spec.Directives(fset, f, info)
			if err != nil {
				panic(err)
			}
			im.lines = append(im.lines, lines...)
		}
	}
	return im
})

// fuzzable are the packages of the standard library that a mutated file may import:
// those that are type-checked in a moment.
var fuzzable = []string{"fmt", "errors", "unsafe", "time", "sync", "runtime", "os", "io", "iter", "slices", "context"}

func (im *importerOf) Import(path string) (*types.Package, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if p := im.have[path]; p != nil {
		return p, nil
	}
	if !slices.Contains(fuzzable, path) {
		return nil, os.ErrNotExist
	}
	p, err := im.std.Import(path)
	if err == nil {
		im.have[path] = p
	}
	return p, err
}

// fuzzSeeds are the Go files of the corpus that stand alone.
func fuzzSeeds(f testing.TB) [][]byte {
	var seeds [][]byte
	names, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(f, err)
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		require.NoError(f, err)
		for _, file := range ar.Files {
			text := string(file.Data)
			switch {
			case strings.Contains(name, "rewrite") && file.Name == "orig.go":
				if !strings.HasPrefix(text, "import") {
					seeds = append(seeds, []byte(bufType+text))
				}
			case strings.HasSuffix(file.Name, ".go") && strings.HasPrefix(text, "package") && !strings.Contains(text, "row.test/"):
				seeds = append(seeds, file.Data)
			}
		}
	}
	require.NotEmpty(f, seeds)
	return seeds
}

// mutate changes a few statements of a file.
func mutate(src []byte, r *rand.Rand) []byte {
	for range 1 + r.IntN(4) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
		if err != nil {
			return src
		}
		mutateOnce(file, r)
		var w bytes.Buffer
		if format.Node(&w, fset, file) != nil {
			return src
		}
		src = w.Bytes()
	}
	return src
}

// mutateOnce makes one change: a statement goes, comes twice, moves, is wrapped, or
// another way out is put before it; or a name becomes another one.
func mutateOnce(file *ast.File, r *rand.Rand) {
	var lists []*[]ast.Stmt
	var names []*ast.Ident
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			lists = append(lists, &n.List)
		case *ast.CaseClause:
			lists = append(lists, &n.Body)
		case *ast.Ident:
			names = append(names, n)
		}
		return true
	})
	if len(lists) == 0 || len(names) == 0 {
		return
	}
	if r.IntN(4) == 0 {
		names[r.IntN(len(names))].Name = names[r.IntN(len(names))].Name
		return
	}
	from, to := lists[r.IntN(len(lists))], lists[r.IntN(len(lists))]
	if len(*from) == 0 {
		return
	}
	i := r.IntN(len(*from))
	s := (*from)[i]
	inside := false // a statement cannot be put into itself
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			inside = inside || &n.List == to
		case *ast.CaseClause:
			inside = inside || &n.Body == to
		}
		return true
	})
	if inside {
		return
	}
	put := func(s ast.Stmt) { *to = slices.Insert(slices.Clone(*to), r.IntN(len(*to)+1), s) }
	block := func(s ast.Stmt) *ast.BlockStmt { return &ast.BlockStmt{List: []ast.Stmt{s}} }
	cond := &ast.BinaryExpr{X: ast.NewIdent("n"), Op: token.GTR, Y: &ast.BasicLit{Kind: token.INT, Value: "3"}}
	switch r.IntN(9) {
	case 0:
		*from = slices.Delete(slices.Clone(*from), i, i+1)
	case 1:
		put(s)
	case 2:
		*from = slices.Delete(slices.Clone(*from), i, i+1)
		put(s)
	case 3:
		(*from)[i] = &ast.IfStmt{Cond: cond, Body: block(s)}
	case 4:
		(*from)[i] = &ast.ForStmt{Cond: cond, Body: block(s)}
	case 5:
		(*from)[i] = &ast.ExprStmt{X: &ast.CallExpr{Fun: &ast.FuncLit{Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: block(s)}}}
	case 6:
		(*from)[i] = &ast.DeferStmt{Call: &ast.CallExpr{Fun: &ast.FuncLit{Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: block(s)}}}
	case 7:
		out := []token.Token{token.BREAK, token.CONTINUE}[r.IntN(2)]
		put(&ast.IfStmt{Cond: cond, Body: block(&ast.BranchStmt{Tok: out})})
	case 8:
		put(&ast.IfStmt{Cond: cond, Body: block(&ast.ReturnStmt{})})
	}
}
