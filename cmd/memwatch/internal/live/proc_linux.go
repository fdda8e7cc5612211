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

// A program of Python is called by what it runs, too. That stands in memory of the process, which can
// keep who reads it waiting: it is read by a goroutine of its own, and few of these may wait.

// A named is what a process is called, which started at that tick.
type named struct {
	pid   uint32
	start uint64
	name  string
}

const mostNaming = 64 // goroutines

// title has a process called by its script as well, if its command is an interpreter of Python.
func (w *Watcher) title(pid int, start uint64, command string) {
	if !strings.HasPrefix(command, "python") {
		return
	}
	if w.naming.Add(1) > mostNaming {
		w.naming.Add(-1)
		return
	}
	go func() {
		defer w.naming.Add(-1)
		s := script(w.arguments(pid))
		if s == "" {
			return
		}
		select {
		case w.names <- named{uint32(pid), start, command + " " + s}:
		default: // it keeps its command's name
		}
	}()
}

// arguments returns the beginning of the command line of a process.
func arguments(pid int) []string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, b) // the end comes sooner, as a rule
	return strings.Split(string(b[:n]), "\x00")
}

// script returns the script, or the module, that a command line of Python names, without folders, and
// nothing if it is code itself.
func script(args []string) string {
	cut := func(s string) string {
		const longest = 48 // bytes
		return strings.ToValidUTF8(s[:min(len(s), longest)], "")
	}
	next := func(i int) string {
		if i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "" || a == "-":
			return ""
		case a[0] != '-':
			return cut(filepath.Base(a))
		case a == "--check-hash-based-pycs":
			i++
		}
		if strings.HasPrefix(a, "--") {
			continue
		}
		// Options of one letter may stand together; what the last one takes follows in the word,
		// or is the next.
		at := strings.IndexAny(a, "cmWX")
		if at < 0 {
			continue
		}
		value, apart := a[at+1:], at+1 == len(a)
		switch {
		case a[at] == 'c':
			return ""
		case a[at] == 'm' && apart:
			value = next(i)
			fallthrough
		case a[at] == 'm':
			if value == "" {
				return ""
			}
			return "-m " + cut(value)
		case apart:
			i++
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
