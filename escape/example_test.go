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

// summary returns the fact about a function, which analyses of other packages use.
func summary(pkg, name string) *escape.Summary {
	var sum escape.Summary
	for a := range analyzed().All() {
		if a.Package.PkgPath == pkg && a.ObjectFact(a.Package.Types.Scope().Lookup(name), &sum) {
			return &sum
		}
	}
	log.Fatal("no ", pkg, ".", name)
	return nil
}

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

// A function that was not decided has a reason.
func ExampleSkipped() {
	for _, s := range result().Skipped {
		fmt.Println(s.Name, s.Reason)
	}
	// Output: example.Jump irreducible control flow
}

// A summary is what callers know of a function.
func ExampleSummary() {
	fmt.Println("Make:", summary("mem", "Make"))
	fmt.Println("Keep:", summary("mem", "Keep"))
	// Output:
	// Make: result 0 owned
	// Keep: arg 0 escapes
}

func ExampleArgEffect() {
	done := summary("mem", "Done").Args[0]
	fmt.Println(done.Freed.K == escape.Always, done.Repeatable, done.Escapes)
	// Output: true false never
}

func ExampleResEffect() {
	made := summary("mem", "New").Res[0]
	fmt.Println(made.Owned, made.Partial)
	// Output: true false
}

// An effect happens always, never, or on some calls.
func ExampleWhen() {
	fmt.Println(summary("mem", "Keep").Args[0].Freed)
	fmt.Println(escape.When{K: escape.OnError})
	// Output:
	// never
	//  on error
}

func ExampleCond() {
	kept := summary("mem", "Keep").Args[0]
	fmt.Println(kept.Freed.K == escape.Never, kept.Escapes.K == escape.Never)
	// Output: true false
}

// Each calls the function that it is given, and does not keep it.
func ExampleCalling() {
	each := summary("mem", "Each")
	fmt.Println(each.Args[1].Calls, each.Args[1].Escapes)
	// Output: called in turn never
}

// A store that every call does is followed by the caller.
func ExamplePut() {
	for _, p := range summary("example", "Set").Puts {
		fmt.Printf("operand %d becomes field %s of operand %d\n", p.From, p.Field, p.Into)
	}
	// Output: operand 1 becomes field A of operand 0
}

// A package that declares or imports what is to be freed says so to those that import it.
func ExampleReach() {
	for a := range analyzed().All() {
		var reach escape.Reach
		if a.Package.PkgPath == "mem" && a.PackageFact(a.Package.Types, &reach) {
			fmt.Println(reach.Freers)
		}
	}
	// Output: [(*mem.Buf).Free mem.Done]
}
