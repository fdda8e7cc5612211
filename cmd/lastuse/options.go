package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape"
)

// options are the flags of a run.
type options struct {
	fix, diff, explain, json, specCheck, test bool

	sarif    string
	specs    []string // absolute paths
	tags     []string // build-tag sets, each a comma-separated list; at least one
	skip     []string // categories
	patterns []string
}

const usage = `usage: lastuse [flags] [packages]

  lastuse ./...             report buffers freed late, twice or never
  lastuse -fix ./...        free each buffer at its last use, in place
  lastuse -diff ./...       print what -fix would change, as a patch
  lastuse -explain ./...    tell for every buffer where it is freed, or why not
  lastuse -json ./...       findings as the JSON tree of go/analysis
  lastuse help [CATEGORY]   the manual, or what a category means; help spec: specs

flags:
  -spec FILE       read effects of functions from FILE; may be repeated
  -spec-check      compare the specs with the code that they name, and stop
  -sarif FILE      write findings for code scanning to FILE as well
  -skip CATEGORY   leave a category out, or several with commas; may be repeated
  -tags LIST       build tags; repeated, every set must agree to an edit
  -test=false      leave test files out

exit status: 0 clean, 3 findings (-fix: findings that remain; -diff: a patch), 1 error
`

// list is the value of a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func parseOptions(args []string) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("lastuse", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run reports the error; usage is printed when asked for
	fs.BoolVar(&o.fix, "fix", false, "")
	fs.BoolVar(&o.diff, "diff", false, "")
	fs.BoolVar(&o.explain, "explain", false, "")
	fs.BoolVar(&o.json, "json", false, "")
	fs.BoolVar(&o.specCheck, "spec-check", false, "")
	fs.BoolVar(&o.test, "test", true, "")
	fs.StringVar(&o.sarif, "sarif", "", "")
	fs.Var((*list)(&o.specs), "spec", "")
	fs.Var((*list)(&o.tags), "tags", "")
	fs.Var((*list)(&o.skip), "skip", "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.patterns = fs.Args()
	for _, p := range o.patterns {
		if strings.HasPrefix(p, "-") {
			return nil, fmt.Errorf("%s: flags stand before the packages", p)
		}
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	if len(o.tags) == 0 {
		o.tags = []string{""}
	}
	o.skip = strings.FieldsFunc(strings.Join(o.skip, ","), func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range o.skip {
		if !slices.Contains(escape.Categories, name) {
			return nil, fmt.Errorf("-skip %s: want one of %s", name, strings.Join(escape.Categories, ", "))
		}
	}
	if o.explain && (o.fix || o.diff) {
		return nil, fmt.Errorf("-explain changes nothing: leave out -fix and -diff")
	}
	if o.diff && o.json {
		return nil, fmt.Errorf("-diff prints a patch and -json a tree: choose one")
	}
	if o.diff {
		o.fix = false // -fix -diff is what go vet calls -diff
	}
	for i, name := range o.specs {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(abs); err != nil {
			return nil, fmt.Errorf("-spec: %w", err)
		}
		o.specs[i] = abs
	}
	return o, nil
}
