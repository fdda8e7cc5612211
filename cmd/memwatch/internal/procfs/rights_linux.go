package procfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A memwatch that has given up its rights still has to look at processes. What the
// kernel refuses it is asked of a helper that has kept them (see [SetHelper]), or read
// from a file that was opened in time ([Hold]).
var rights struct {
	mu     sync.Mutex
	helper func(pid int, name string) (*os.File, error)
	held   map[int]*os.File // maps, by process
}

// SetHelper has f asked for files below /proc/PID that this program may not open.
func SetHelper(f func(pid int, name string) (*os.File, error)) {
	rights.mu.Lock()
	defer rights.mu.Unlock()
	rights.helper = f
}

// Hold opens a process's list of mappings and keeps it open: the kernel asks for rights
// when it is opened, not when it is read.
func Hold(pid int) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return procError(err)
	}
	rights.mu.Lock()
	defer rights.mu.Unlock()
	if rights.held == nil {
		rights.held = make(map[int]*os.File)
	}
	if old := rights.held[pid]; old != nil {
		old.Close()
	}
	rights.held[pid] = f
	return nil
}

// OpenAt opens a file below /proc/PID, without ever waiting for a pipe's other end.
func OpenAt(pid int, name string) (*os.File, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/%s", pid, name), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err == nil {
		return os.NewFile(uintptr(fd), name), nil
	}
	return help(pid, name, &fs.PathError{Op: "open", Path: name, Err: err})
}

// help asks the helper for what could not be opened for want of rights.
func help(pid int, name string, refused error) (*os.File, error) {
	rights.mu.Lock()
	ask := rights.helper
	rights.mu.Unlock()
	if ask == nil || !errors.Is(refused, fs.ErrPermission) {
		return nil, refused
	}
	return ask(pid, name)
}

// Maps opens a process's list of mappings.
func Maps(pid int) (io.ReadCloser, error) {
	f, err := OpenAt(pid, "maps")
	if err == nil {
		return f, nil
	}
	rights.mu.Lock()
	held := rights.held[pid]
	rights.mu.Unlock()
	if held == nil || !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(held, 0, maxMaps)), nil
}
