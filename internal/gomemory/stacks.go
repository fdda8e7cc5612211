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
	runtime.MemProfileRate = 0 // but while f runs
	for range 5 {
		if stacks = oneTry(runs, f, except); len(stacks) == 0 {
			break
		}
	}
	return stacks
}

// oneTry is Stacks without another one.
func oneTry(runs int64, f func(), except []string) (stacks []string) {
	before := profile()
	runtime.MemProfileRate = 1
	for range runs {
		f()
	}
	runtime.MemProfileRate = 0
	made := make(map[string]int64)
	for stack, n := range profile() {
		if n -= before[stack]; n > 0 {
			if at := functions(&stack, except); at != "" {
				made[at] += n
			}
		}
	}
	for at, n := range made {
		if n >= runs {
			stacks = append(stacks, fmt.Sprintf("%d allocations at\n%s", n, at))
		}
	}
	return stacks
}

// A trace has the return addresses of a stack.
type trace = [len(runtime.MemProfileRecord{}.Stack0)]uintptr

// profile returns how often each stack has allocated.
func profile() map[trace]int64 {
	runtime.GC() // twice: the profile lags behind
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1000)
	n, ok := runtime.MemProfile(records, true)
	for !ok {
		records = make([]runtime.MemProfileRecord, n+1000)
		n, ok = runtime.MemProfile(records, true)
	}
	all := make(map[trace]int64, n)
	for _, r := range records[:n] {
		all[r.Stack0] += r.AllocObjects // there is one for each size
	}
	return all
}

// functions returns the functions of a stack, or nothing if it does not count: if all of it is the runtime's,
// or the innermost function outside of Go's own packages is of one in except.
func functions(stack *trace, except []string) string {
	var at strings.Builder
	counts, owner := false, ""
	record := runtime.MemProfileRecord{Stack0: *stack}
	frames := runtime.CallersFrames(record.Stack())
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&at, "%s\n", f.Function)
		counts = counts || !strings.HasPrefix(f.Function, "runtime.")
		if owner == "" && !standard(f.Function) {
			owner = f.Function
		}
	}
	if !counts || slices.ContainsFunc(except, func(p string) bool { return strings.HasPrefix(owner, p+".") }) {
		return ""
	}
	return at.String()
}

// standard reports whether a function, by its full name, is of one of Go's own packages.
func standard(name string) bool {
	host, _, path := strings.Cut(name, "/")
	return !path || !strings.Contains(host, ".")
}
