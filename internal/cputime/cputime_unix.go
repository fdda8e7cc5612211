//go:build unix

// Package cputime says how long this process has been on a processor: on a machine that is shared, that says
// more of the work done than the clock.
package cputime

import (
	"syscall"
	"time"
)

// Process returns how long this process has been on processors, all of them added up, with what the kernel
// did for it. Only the sum is exact: how much of it was the kernel's is estimated at each tick of a clock. It
// returns 0 where the system does not say.
func Process() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
