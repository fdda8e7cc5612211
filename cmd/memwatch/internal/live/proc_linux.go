//go:build linux && (amd64 || arm64)

package live

import (
	"fmt"
	"os"
	"strconv"
	"strings"

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

// allPIDs returns the numbers of all processes.
func allPIDs() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
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
