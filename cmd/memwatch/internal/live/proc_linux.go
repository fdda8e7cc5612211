//go:build linux && (amd64 || arm64)

package live

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// nameOf returns what a process is called: its command, and of an interpreter of Python what that runs.
func nameOf(pid int) string {
	name := comm(pid)
	if !strings.HasPrefix(name, "python") {
		return name
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return name
	}
	defer f.Close()
	b := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, b) // the end comes sooner, as a rule
	if s := script(strings.Split(string(b[:n]), "\x00")); s != "" {
		name += " " + s
	}
	return name
}

// script returns the script, or the module, that a command line of Python names, without folders, and
// nothing if it is code itself.
func script(args []string) string {
	const longest = 48 // bytes
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-m" && i+1 < len(args):
			return "-m " + args[i+1][:min(len(args[i+1]), longest)]
		case a == "-W" || a == "-X": // what follows is theirs
			i++
		case a == "" || a == "-" || strings.HasPrefix(a, "-c"):
			return ""
		case a[0] != '-':
			name := filepath.Base(a)
			return name[:min(len(name), longest)]
		}
	}
	return ""
}

// comm returns the short name of a process, as it chose it.
func comm(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(string(b[:min(len(b), 64)]), "\n")
}
