//go:build unix

package early

import (
	"syscall"
	"time"
)

// processorTime returns how long this process has been on a processor, with what the kernel did for it. Only the
// sum is exact: how much of it was the kernel's is estimated at each tick of a clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
