//go:build !unix

package bench

import "time"

var started = time.Now()

// cpuTime returns the time since the program has started: the system does not say how much of it
// was its own.
func cpuTime() time.Duration { return time.Since(started) }
