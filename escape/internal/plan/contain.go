package plan

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file is about functions that are not decided: a bug of ours must not take the build of others down,
// nor may a function take for ever.

// InternalError begins why a function is not decided in which the rooms panicked.
const InternalError = "internal error at "

// tooLarge is why a function is not decided that has more instructions than the limit.
const (
	tooLarge  = "too large to decide in bounded work"
	mostInstr = 1500000 // some 200,000 statements
)

// A Failure is a function that is not decided, which to others is as one of which nothing is known, or one
// whose edits are not made.
type Failure struct {
	Name string
	Pos  token.Pos
	Why  string
}

// Contained runs do, and returns where and why it panicked; "" if it did not.
func Contained(do func()) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = InternalError + panicSite() + ": " + fmt.Sprint(r)
		}
	}()
	do()
	return ""
}

// panicSite returns file and line of the statement that panicked; it must be called while the panic is
// recovered.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for {
		fr, more := frames.Next()
		switch {
		case strings.HasPrefix(fr.Function, "runtime."):
			panicking = true
		case panicking:
			return fmt.Sprintf("%s:%d", filepath.Base(fr.File), fr.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// oversized reports whether a function is larger than the limit.
func (in *Input) oversized(f *ssa.Function) bool {
	n := 0
	for _, b := range f.Blocks {
		n += len(b.Instrs)
	}
	return n > cmp.Or(in.Limit, mostInstr)
}

// Failures are what is not decided, or not written, and why.
type failures struct {
	skipped map[*ssa.Function]string
	bugs    map[*ssa.Function]string // the edits of these do not parse
	whole   string                   // what fails of the package as a whole; "" if nothing does
}

// skip notes why a function is not decided, if there is a reason, and reports that.
func (fs *failures) skip(f *ssa.Function, why string) bool {
	if why != "" {
		fs.skipped[f] = why
	}
	return why != ""
}

// Skipped lists the functions that are not decided, in the order of the text.
func (r *Result) Skipped() []Failure {
	out := listed(r.failed.skipped)
	if r.failed.whole != "" {
		out = append(out, Failure{r.in.Types.Name(), r.in.Files[0].Name.Pos(), r.failed.whole})
	}
	return out
}

// Bugs lists the functions whose edits do not parse.
func (r *Result) Bugs() []Failure { return listed(r.failed.bugs) }

func listed(m map[*ssa.Function]string) (out []Failure) {
	for f, why := range m {
		out = append(out, Failure{f.String(), f.Pos(), why})
	}
	slices.SortFunc(out, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), strings.Compare(a.Name, b.Name))
	})
	return out
}
