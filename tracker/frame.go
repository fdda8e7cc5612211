package tracker

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/internal/probe"
)

// A Frame is one call in a stack.
type Frame struct {
	Function string `json:"function"` // with its package path; "" if unknown
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// String returns the frame as "file:line".
func (f Frame) String() string {
	if f.File == "" {
		return "unknown"
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// own are the packages whose frames at the top of a stack are ours, not the
// user's: a site is where the user called one of them.
var own = []string{
	"github.com/lastuse/lastuse/alloc.", "github.com/lastuse/lastuse/alloc/", "github.com/lastuse/lastuse/tracker.",
	"runtime.",
}

// isOwn reports whether f is a frame of the runtime and not of a user or a test of it.
func isOwn(f runtime.Frame) bool {
	return !strings.HasSuffix(f.File, "_test.go") &&
		slices.ContainsFunc(own, func(p string) bool { return strings.HasPrefix(f.Function, p) })
}

// frames returns the calls of a stack, innermost first, without our own on top and
// without the runtime's at the bottom. If nothing would be left it returns all of them.
func frames(pcs []uintptr) []Frame {
	var all []Frame
	from, top := 0, true
	for it := runtime.CallersFrames(pcs); len(pcs) > 0; {
		f, more := it.Next()
		if f.PC != 0 {
			all = append(all, Frame{Function: f.Function, File: f.File, Line: f.Line})
			if top = top && isOwn(f); top {
				from = len(all)
			}
		}
		if !more {
			break
		}
	}
	to := len(all)
	for to > from && strings.HasPrefix(all[to-1].Function, "runtime.") {
		to--
	}
	if from == to {
		return all
	}
	return all[from:to]
}

// otherStack is the text of otherSites.
const otherStack = "(other sites)\t:0\n"

// stackText returns a stack as the table keeps it: "function\tfile:line\n" for each
// call, innermost first, cut between lines at [probe.MaxStack] bytes.
func stackText(pcs []uintptr) string {
	var b strings.Builder
	for _, f := range frames(pcs) {
		line := fmt.Sprintf("%s\t%s:%d\n", f.Function, f.File, f.Line)
		if b.Len()+len(line) > probe.MaxStack {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
