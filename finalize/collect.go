package finalize

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Collect runs a collection of the Go heap and waits until the cleanups that it
// queued have run, because runtime.GC returns before they have. It reports whether
// they had all run when it returned; after wait it gives up.
//
// It blocks the caller for a collection, milliseconds and more: it belongs at the end
// of every list of things to try.
func Collect(wait time.Duration) bool {
	runtime.GC()
	c := readCleanups()
	queued, deadline := c.queued, time.Now().Add(wait)
	for pause := 20 * time.Microsecond; c.executed < queued; pause = min(2*pause, time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		// The cleanups run on goroutines of the runtime's: let them.
		runtime.Gosched()
		time.Sleep(pause)
		c = readCleanups()
	}
	return true
}

// cleanups are the runtime's own counts of the cleanups of this process.
type cleanups struct{ queued, executed uint64 }

func readCleanups() cleanups {
	samples := [...]metrics.Sample{
		{Name: "/gc/cleanups/queued:cleanups"},
		{Name: "/gc/cleanups/executed:cleanups"},
	}
	metrics.Read(samples[:])
	return cleanups{queued: samples[0].Value.Uint64(), executed: samples[1].Value.Uint64()}
}
