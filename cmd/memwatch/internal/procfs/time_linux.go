package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Ticks is how many clock ticks a second has in /proc.
const Ticks = 100

// SinceBoot returns the nanoseconds since boot, the clock of start times.
func SinceBoot() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// StartTime returns when a process started, in clock ticks since boot. With its number it tells a process
// from all others. It is an error if the process is gone or a zombie.
func StartTime(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	s := string(b)
	// The name in parentheses may hold anything, parentheses and spaces too.
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("procfs: process %d: unreadable state", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, os.ErrProcessDone
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// StartBoot returns when a process started in nanoseconds since boot, rounded down to a clock tick; for one
// that is gone, when nothing had started yet.
func StartBoot(pid int) int64 {
	start, _ := StartTime(pid)
	return int64(start) * int64(time.Second/Ticks)
}
