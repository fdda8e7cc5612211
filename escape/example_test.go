package escape_test

import (
	"fmt"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape"
)

// analyzed is testdata/src/example and the packages that it imports, as a driver has them.
var analyzed = sync.OnceValue(func() *checker.Graph {
	gopath, err := filepath.Abs("testdata")
	if err != nil {
		log.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax,
		Env:  append(os.Environ(), "GOPATH="+gopath, "GO111MODULE=off", "GOFLAGS="),
	}, "example")
	if err != nil {
		log.Fatal(err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{escape.Analyzer}, pkgs, nil)
	if err != nil {
		log.Fatal(err)
	}
	return graph
})

// result returns the package's result.
func result() *escape.Result { return analyzed().Roots[0].Result.(*escape.Result) }

// buffer returns the buffer of a function that has one.
func buffer(function string) *escape.Buffer {
	for _, f := range result().Funcs {
		if f.Name == function {
			return f.Buffers[0]
		}
	}
	log.Fatal("no ", function)
	return nil
}

// line returns the line of a place.
func line(pos token.Pos) int { return analyzed().Roots[0].Package.Fset.Position(pos).Line }

// A driver reads what the analyzer learned: functions, their buffers with the verdict, and findings with
// edits.
func ExampleResult() {
	for _, f := range result().Funcs {
		for _, b := range f.Buffers {
			fmt.Printf("%s: %s is %s %q\n", f.Name, b.Name, b.Verdict, b.Reason)
			for _, free := range b.Frees {
				fmt.Printf("\t%s\n", free.Text)
			}
		}
		for _, finding := range f.Findings {
			fmt.Printf("\t%s: %d edits\n", finding.Category, len(finding.Edits))
		}
	}
	// Output:
	// example.Use: w is inserted ""
	// 	w.Free()
	// 	unfreed: 1 edits
	// example.Store: b is kept "passed to mem.Keep: appended to a slice that is not followed"
}

// The edits of a function are applied together, or none.
func ExampleFunc() {
	f := result().Funcs[0]
	for _, e := range f.Edits {
		fmt.Printf("%s: %q\n", f.Name, e.NewText)
	}
	fmt.Println(f.Withheld(), "withheld")
	// Output:
	// example.Use: "\n\tw.Free()"
	// 0 withheld
}

// A finding is what a linter shows.
func ExampleFinding() {
	f := result().Funcs[0].Findings[0]
	fmt.Println(f.Category, line(f.Pos), f.Fix)
	// Output: unfreed 7 free w at its last use
}

// A buffer is a place that makes one, with the variable that holds it first.
func ExampleBuffer() {
	b := buffer("example.Use")
	fmt.Println(b.Name, b.Type, b.Maker, line(b.Site))
	// Output: w *mem.Buf mem.Make 7
}

// A free says why it stands where it does.
func ExampleFree() {
	for _, f := range buffer("example.Use").Frees {
		fmt.Println(f.Text, f.Why)
	}
	// Output: w.Free() after its last use
}

// What is kept leaves its function somewhere; the steps say how it got there.
func ExampleStep() {
	b := buffer("example.Store")
	for _, s := range b.Path {
		fmt.Println(line(s.Pos), s.Text)
	}
	fmt.Println(line(b.Sink), b.Reason)
	// Output:
	// 20 the result of same leads to it
	// 20 passed to mem.Keep: appended to a slice that is not followed
}

func ExampleVerdict() {
	fmt.Println(buffer("example.Use").Verdict, buffer("example.Store").Verdict == escape.Kept)
	// Output: inserted true
}

// A function that was not decided has a reason: it is too large, or there is a bug in the analyzer.
func ExampleSkipped() {
	for _, s := range result().Skipped {
		fmt.Println(s.Name, s.Reason)
	}
	fmt.Println(len(result().Skipped), "functions are skipped")
	// Output: 0 functions are skipped
}
