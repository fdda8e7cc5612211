package escape_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape"
)

// A driver reads what the analyzer learned: functions, their buffers with the verdict, and findings with edits.
func ExampleResult() {
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
	result := graph.Roots[0].Result.(*escape.Result)
	for _, f := range result.Funcs {
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
