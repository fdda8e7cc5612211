package procfs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestReadMounts(t *testing.T) {
	kind := make(map[string]string)
	readMounts(strings.NewReader(`22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
25 27 0:44 / /home/x\040y rw - fuse.sshfs host: rw
broken line
26 27 0:45 / /x rw -
`), kind)
	require.Equal(t, map[string]string{"0:21": "proc", "254:0": "ext4", "0:44": "fuse.sshfs"}, kind)
}

// TestServed mounts a file system whose server never answers. Looking at a file of it
// would wait for ever.
func TestServed(t *testing.T) {
	self := os.Getpid()
	require.NoError(t, Served(self, 254, 3), "a disk, mounted somewhere else")
	require.ErrorIs(t, Served(self, 0, 99999), ErrServed)
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot mount")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no fuse here: ", err)
	}
	server := os.NewFile(uintptr(fd), "fuse")
	defer server.Close() // which aborts the file system
	dir := filepath.Join(t.TempDir(), "mount")
	require.NoError(t, os.Mkdir(dir, 0o700))
	err = unix.Mount("x", dir, "fuse", 0, "fd="+strconv.Itoa(fd)+",rootmode=40000,user_id=0,group_id=0")
	if err != nil {
		t.Skip("cannot mount: ", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	info, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	var major, minor uint32
	for line := range strings.Lines(string(info)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == dir {
			var ok bool
			major, minor, ok = device(f[2])
			require.True(t, ok)
		}
	}
	mounts.pid = 0 // forget what was read before the mount
	require.ErrorIs(t, Served(self, major, minor), ErrServed)
}

func device(s string) (major, minor uint32, ok bool) {
	a, b, ok := strings.Cut(s, ":")
	x, err1 := strconv.ParseUint(a, 10, 32)
	y, err2 := strconv.ParseUint(b, 10, 32)
	return uint32(x), uint32(y), ok && err1 == nil && err2 == nil
}
