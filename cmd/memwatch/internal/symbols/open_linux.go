package symbols

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrReplaced is in the chain of errors about a file that is not the one that is
// mapped, or is no regular file, or is too large.
var ErrReplaced = errors.New("not the mapped file")

// maxFile is the largest file that is looked into, in bytes.
const maxFile = 8 << 30

// OpenMapped opens the file of a mapping of a process: the very file, whatever its
// name stands for now. The caller closes it.
func OpenMapped(pid int, m *Mapping) (*os.File, error) {
	// The kernel's link to the mapped file needs rights; the name needs luck.
	paths := []string{
		fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End),
		fmt.Sprintf("/proc/%d/root%s", pid, m.Path),
	}
	var errs []error
	for _, path := range paths {
		f, err := openRegular(path, m)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("symbols: open: %w", errors.Join(errs...))
}

func openRegular(path string, m *Mapping) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG, st.Size > maxFile,
		st.Ino != m.Inode, unix.Major(st.Dev) != m.Major, unix.Minor(st.Dev) != m.Minor:
		err = ErrReplaced
	}
	if err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
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
