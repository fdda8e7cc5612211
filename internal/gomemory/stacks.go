package gomemory

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Stacks returns the stacks that allocate on the Go heap in every run of f. What happens less often is
// nothing that f does each time: a new chunk, or the 112 bytes of a sudog that the runtime may need for a
// goroutine that waits. Nor do the goroutines count that the runtime makes where none is left to be used
// again, or what others allocate meanwhile, which is not found at every try. What the packages in except
// allocate for themselves is left out too: stacks whose innermost function outside of Go's own packages is
// theirs.
func Stacks(runs int64, f func(), except ...string) (stacks []string) {
	defer func(old int) { runtime.MemProfileRate = old }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	for range 5 {
		if stacks = oneTry(runs, f, except); len(stacks) == 0 {
			break
		}
	}
	return stacks
}

// oneTry is Stacks without another one.
func oneTry(runs int64, f func(), except []string) (stacks []string) {
	before := profile(except)
	for range runs {
		f()
	}
	for at, n := range profile(except) {
		if n -= before[at]; n >= runs {
			stacks = append(stacks, fmt.Sprintf("%d allocations at\n%s", n, at))
		}
	}
	return stacks
}

// profile returns how often each stack has allocated, but for its own, those that are all the runtime's, and
// those of the packages in except.
func profile(except []string) map[string]int64 {
	runtime.GC() // twice: the profile lags behind
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1000)
	n, ok := runtime.MemProfile(records, true)
	for !ok {
		records = make([]runtime.MemProfileRecord, n+1000)
		n, ok = runtime.MemProfile(records, true)
	}
	all := make(map[string]int64)
	for _, r := range records[:n] {
		var at strings.Builder
		counts, owner := false, ""
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			fmt.Fprintf(&at, "%s\n", f.Function)
			counts = counts || !strings.HasPrefix(f.Function, "runtime.")
			if owner == "" && !standard(f.Function) {
				owner = f.Function
			}
			if strings.HasSuffix(f.Function, "gomemory.profile") {
				counts, more = false, false
			}
		}
		if counts && !slices.ContainsFunc(except, func(p string) bool { return strings.HasPrefix(owner, p+".") }) {
			all[at.String()] += r.AllocObjects
		}
	}
	return all
}

// standard reports whether a function, by its full name, is of one of Go's own packages.
func standard(name string) bool {
	host, _, path := strings.Cut(name, "/")
	return !path || !strings.Contains(host, ".")
}
