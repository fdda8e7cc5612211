package drvtest

import (
	"fmt"
	"runtime"
	"strings"
)

// GoStacks returns the stacks that allocate on the Go heap in every run of f. What happens less often is
// nothing that f does each time: a new chunk, or the 112 bytes of a sudog that the runtime may need for a
// goroutine that waits. Nor do the goroutines count that the runtime makes where none is left to be used
// again.
func GoStacks(runs int64, f func()) (stacks []string) {
	defer func(old int) { runtime.MemProfileRate = old }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	before := profile()
	for range runs {
		f()
	}
	for at, n := range profile() {
		if n -= before[at]; n >= runs {
			stacks = append(stacks, fmt.Sprintf("%d allocations at\n%s", n, at))
		}
	}
	return stacks
}

// profile returns how often each stack has allocated, but for its own and those that are all the runtime's.
func profile() map[string]int64 {
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
		counts := false
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			fmt.Fprintf(&at, "%s\n", f.Function)
			counts = counts || !strings.HasPrefix(f.Function, "runtime.")
			if strings.HasSuffix(f.Function, "drvtest.profile") {
				counts, more = false, false
			}
		}
		if counts {
			all[at.String()] += r.AllocObjects
		}
	}
	return all
}
