package books

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/internal/probe"
)

// A Frame is one call in a stack.
type Frame struct {
	Function string // with its package path; "" if unknown
	File     string
	Line     int
}

const (
	// maxDepth is how many frames of a stack are kept.
	maxDepth = 64
	// ownDepth is how many frames of ours may lie on top of them.
	ownDepth = 16
)

// callers is runtime.Callers for whoever calls the function that calls it.
//
//go:noinline
func callers(pcs []uintptr) []uintptr { return pcs[:runtime.Callers(3, pcs)] }

// own are the packages whose frames at the top of a stack are ours, not the
// user's: a site is where the user called one of them.
var own = []string{
	"github.com/lastuse/lastuse/alloc.", "github.com/lastuse/lastuse/alloc/",
	"github.com/lastuse/lastuse/tracker.", "github.com/lastuse/lastuse/internal/books.", "runtime.",
}

// isOwn reports whether f is a frame of the runtime and not of a user or a test of it.
func isOwn(f runtime.Frame) bool {
	return !strings.HasSuffix(f.File, "_test.go") &&
		slices.ContainsFunc(own, func(p string) bool { return strings.HasPrefix(f.Function, p) })
}

// users returns the part of a stack, as runtime.Callers returns it, that begins at the user's call: by
// whatever way of ours it has come here, one call of his has one stack. If nothing would be left it
// returns all.
func users(pcs []uintptr) []uintptr {
	for i := range pcs {
		if f, _ := runtime.CallersFrames(pcs[i : i+1]).Next(); !isOwn(f) {
			return pcs[i:min(i+maxDepth, len(pcs))]
		}
	}
	return pcs[:min(maxDepth, len(pcs))]
}

// Frames returns the calls of a stack, as runtime.Callers returns it, innermost first, without our own
// on top and without the runtime's at the bottom. If nothing would be left it returns all of them.
func Frames(pcs []uintptr) (all []Frame) {
	to := 0
	for it := runtime.CallersFrames(users(pcs)); len(pcs) > 0; {
		f, more := it.Next()
		if f.PC != 0 {
			all = append(all, Frame{Function: f.Function, File: f.File, Line: f.Line})
			if !strings.HasPrefix(f.Function, "runtime.") {
				to = len(all)
			}
		}
		if !more {
			break
		}
	}
	if to == 0 {
		return all
	}
	return all[:to]
}

// otherStack is the text of otherSites.
const otherStack = "(other sites)\t:0\n"

// stackText returns a stack as the table keeps it: "function\tfile:line\n" for each
// call, innermost first, cut between lines at [probe.MaxStack] bytes.
func stackText(pcs []uintptr) string {
	var b strings.Builder
	for _, f := range Frames(pcs) {
		line := fmt.Sprintf("%s\t%s:%d\n", f.Function, f.File, f.Line)
		if b.Len()+len(line) > probe.MaxStack {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
