package procfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrNamespace is in the chain of errors about a /proc that calls processes by other numbers than this
// program's namespace does.
var ErrNamespace = errors.New("/proc is that of another PID namespace: mount this one's there, or run in that one (hostPID)")

// CheckNamespace reports whether the numbers in /proc are those of this program's PID namespace, which are
// those that its system calls take and its probes report.
func CheckNamespace() error {
	self, err := os.Readlink("/proc/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("procfs: %w", ErrNamespace)
	}
	return nil
}

// initialPIDs is the number of the PID namespace that a kernel begins with, part of its interface.
const initialPIDs = 0xeffffffc

// Nested reports whether this program is in a PID namespace of its own, as in a container: it sees processes
// by other numbers than the machine does, and none that are outside.
func Nested() bool {
	var st unix.Stat_t
	return unix.Stat("/proc/self/ns/pid", &st) == nil && st.Ino != initialPIDs
}
