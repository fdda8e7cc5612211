package symbols

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// ErrReplaced is in the chain of errors about a file that is not the one that is
// mapped, or is no regular file, or is too large.
var ErrReplaced = errors.New("not the mapped file")

// maxFile is the largest file that is looked into, in bytes.
const maxFile = 8 << 30

// OpenMapped opens the file of a mapping of a process: the very file, whatever its
// name stands for now. The caller closes it.
func OpenMapped(pid int, m *Mapping) (*os.File, error) {
	if err := procfs.Served(pid, m.Major, m.Minor); err != nil {
		return nil, fmt.Errorf("symbols: open: %s: %w", m.Path, err)
	}
	// The kernel's link to the mapped file needs rights; the name needs luck: it is that
	// of the process's own root, or after rights were given up of ours.
	opens := []func() (*os.File, error){
		func() (*os.File, error) { return procfs.OpenAt(pid, fmt.Sprintf("map_files/%x-%x", m.Start, m.End)) },
	}
	for _, name := range m.names() {
		opens = append(opens, func() (*os.File, error) { return procfs.OpenAt(pid, "root"+name) }, func() (*os.File, error) {
			fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
			if err != nil {
				return nil, &os.PathError{Op: "open", Path: name, Err: err}
			}
			return os.NewFile(uintptr(fd), name), nil
		})
	}
	var errs []error
	for _, open := range opens {
		f, err := open()
		if err == nil {
			err = verify(f, m)
		}
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("symbols: open: %w", errors.Join(errs...))
}

// verify checks that f is the mapped file, and closes it if it is not.
func verify(f *os.File, m *Mapping) error {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG, st.Size > maxFile,
		st.Ino != m.Inode, unix.Major(st.Dev) != m.Major, unix.Minor(st.Dev) != m.Minor:
		err = ErrReplaced
	}
	if err != nil {
		f.Close()
		return &os.PathError{Op: "open", Path: m.Path, Err: err}
	}
	return nil
}

// Identity returns what tells an open file from all others, and from itself after a
// change.
func Identity(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", fmt.Errorf("symbols: %w", err)
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d", st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec), nil
}
