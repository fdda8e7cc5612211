// Nilness is go vet's analyzer for nil pointers, which is not among those that vet runs by itself, as a
// tool for go vet -vettool. It builds an SSA form of what it checks, as lastuse does of what can reach a
// resource type, and so is what lastuse's cost is compared with.
package main

import (
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() { unitchecker.Main(nilness.Analyzer) }
