//go:build linux && (amd64 || arm64)

package live

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Clock returns the time now in the clock of the events.
func Clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// podLogs is the folder in which a kubelet keeps a folder for each pod of the node.
const podLogs = "/var/log/pods"

// ticks is how many clock ticks a second has in /proc.
const ticks = 100

// sinceBoot returns the nanoseconds since boot, the clock of start times.
func sinceBoot() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// allPIDs returns the numbers of all processes.
func allPIDs() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var pids []int
	self := os.Getpid()
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid != self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// comm returns the short name of a process, as it chose it.
func comm(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(string(b[:min(len(b), 64)]), "\n")
}

// startTime returns when a process started, in clock ticks since boot. With its number
// it tells a process from all others. It is an error if the process is gone or a
// zombie.
func startTime(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	s := string(b)
	// The name in parentheses may hold anything, parentheses and spaces too.
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("live: process %d: unreadable state", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, os.ErrProcessDone
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// startBoot returns when a process started in nanoseconds since boot, rounded down to a clock tick; for one that
// is gone, when nothing had started yet.
func startBoot(pid int) int64 {
	start, _ := startTime(pid)
	return int64(start) * int64(time.Second/ticks)
}
