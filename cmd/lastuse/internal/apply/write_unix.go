//go:build unix

package apply

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFile waits until no other run holds the file. Closing it unlocks.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch err {
		case unix.EINTR:
			continue
		case unix.ENOTSUP, unix.ENOSYS, unix.EINVAL, unix.ENOLCK:
			return nil // a file system without locks: the comparison has to do
		}
		return err
	}
}

// keepOwner gives a file the owner of the one that it replaces, where that needs
// a change and we may make it.
func keepOwner(f *os.File, old fs.FileInfo) error {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(want.Uid) == os.Getuid() && int(want.Gid) == os.Getgid() {
		return nil
	}
	if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil && os.Getuid() == 0 {
		return err
	}
	return nil
}
