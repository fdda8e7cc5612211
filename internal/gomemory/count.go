// Package gomemory tells tests what a function allocates on the Go heap: how much ([Count]), or where and by
// whom ([Stacks]), which leaves out what those that only watch allocate.
package gomemory

import (
	"math"
	"runtime"
	"testing"
)

// Count returns how many allocations one call of f makes on the Go heap and how many bytes so many runs of
// it take: the least of a few tries, since other goroutines of the runtime may allocate meanwhile.
func Count(runs int, f func()) (allocs float64, bytes uint64) {
	allocs, bytes = math.MaxFloat64, math.MaxUint64
	for try := 0; try < 5 && (allocs > 0 || bytes > 0); try++ {
		allocs = min(allocs, testing.AllocsPerRun(runs, f))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		bytes = min(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	return allocs, bytes
}
