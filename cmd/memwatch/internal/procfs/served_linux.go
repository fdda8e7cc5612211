package procfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// ErrServed is in the chain of errors about a file whose file system some process
// serves: opening or reading it may never return.
var ErrServed = errors.New("its file system is served by a process, or not known")

// mounts is what was read lately of one process's file systems.
var mounts struct {
	mu   sync.Mutex
	pid  int
	at   time.Time
	kind map[string]string // by device, "major:minor"
}

// Served returns an error unless a device of a process's mappings is a disk or a file
// system of the kernel's own: one that a program mounts may be served by that very
// program. Devices that are not mounted where the process or we can see them are
// trusted only if they are disks.
func Served(pid int, major, minor uint32) error {
	dev := fmt.Sprintf("%d:%d", major, minor)
	mounts.mu.Lock()
	defer mounts.mu.Unlock()
	if mounts.pid != pid || time.Since(mounts.at) > 100*time.Millisecond {
		mounts.pid, mounts.at, mounts.kind = pid, time.Now(), make(map[string]string)
		for _, who := range []string{"self", fmt.Sprint(pid)} {
			f, err := os.Open("/proc/" + who + "/mountinfo")
			if err != nil {
				continue
			}
			readMounts(f, mounts.kind)
			f.Close()
		}
	}
	switch kind, ok := mounts.kind[dev]; {
	case ok && strings.HasPrefix(kind, "fuse"), !ok && major == 0:
		return fmt.Errorf("device %s: %w", dev, ErrServed)
	}
	return nil
}

// readMounts adds the file systems of a mountinfo to kind.
func readMounts(r io.Reader, kind map[string]string) {
	lines := bufio.NewScanner(io.LimitReader(r, maxMaps))
	for lines.Scan() {
		// "22 27 0:21 ROOT MOUNTPOINT OPTIONS [TAGS] - KIND SOURCE OPTIONS"; spaces in
		// names are escaped.
		fields := strings.Fields(lines.Text())
		for i := 6; i+1 < len(fields); i++ {
			if fields[i] == "-" {
				kind[fields[2]] = fields[i+1]
				break
			}
		}
	}
}
