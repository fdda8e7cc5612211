package procfs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/internal/probe"
)

const (
	// maxTables bounds how many tables of one process are read, and maxMaps how much of
	// its list of mappings is searched for them.
	maxTables = 256
	maxMaps   = 16 << 20 // bytes
)

// A Process is one running program, held by its directory in /proc so that another
// program that gets the same number is never taken for it.
type Process struct {
	PID int
	dir *os.File
}

// Open opens a process by its number.
func Open(pid int) (*Process, error) {
	dir, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return nil, procError(err)
	}
	return &Process{PID: pid, dir: dir}, nil
}

func (p *Process) Close() { p.dir.Close() }

// OpenFile opens a file below the process's directory. It never blocks on a pipe.
func (p *Process) OpenFile(name string) (*os.File, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err == nil {
		return os.NewFile(uintptr(fd), name), nil
	}
	f, err := help(p.PID, name, &fs.PathError{Op: "open", Path: name, Err: err})
	return f, procError(err)
}

// procError gives the errors of /proc the words that a user needs.
func procError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return ErrGone
	case errors.Is(err, fs.ErrPermission):
		return ErrRights
	}
	return err
}

// Command returns the process's short name, as it chose it.
func (p *Process) Command() string {
	f, err := p.OpenFile("comm")
	if err != nil {
		return "?"
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.Read(b)
	return strings.TrimSuffix(string(b[:n]), "\n")
}

// Ended reports whether the process has ended and only waits for its parent to take notice.
// Such a process has no mappings any more.
func (p *Process) Ended() bool {
	f, err := p.OpenFile("stat")
	if err != nil {
		return true
	}
	defer f.Close()
	b := make([]byte, 512)
	n, err := f.Read(b)
	if err != nil {
		return true
	}
	// "PID (NAME) STATE ...", where NAME may hold anything, parentheses too.
	text := string(b[:n])
	i := strings.LastIndexByte(text, ')')
	return i >= 0 && i+2 < len(text) && (text[i+2] == 'Z' || text[i+2] == 'X')
}

// Find returns the process's mappings that are wanted, in the order of their addresses.
func (p *Process) Find(want func(*Mapped) bool) ([]Mapped, error) {
	f, err := Maps(p.PID)
	if err != nil {
		return nil, procError(err)
	}
	defer f.Close()
	var found []Mapped
	read := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() && read < maxMaps && len(found) < maxTables {
		read += len(lines.Bytes()) + 1
		if m, ok := ParseMapped(lines.Text()); ok && want(&m) {
			found = append(found, m)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, procError(err)
	}
	return found, nil
}

// Tables are tables of a process that are open. They lie in memory: whatever the process does, reading them
// takes no longer than the bounds of their sizes allow.
type Tables struct {
	files []*os.File
	errs  []error // of those that could not be opened
}

// Tables opens all tables of the process. Close must follow if the error is nil.
func (p *Process) Tables() (*Tables, error) {
	maps, err := p.Find((*Mapped).IsTable)
	if err != nil {
		return nil, err
	}
	if len(maps) == 0 {
		if p.Ended() {
			return nil, ErrGone
		}
		return nil, ErrNoTable
	}
	t := new(Tables)
	for i := range maps {
		f, err := p.OpenTable(&maps[i])
		switch {
		case err == nil:
			t.files = append(t.files, f)
		case errors.Is(err, ErrGone): // the tracker was collected after we saw its mapping
		default:
			t.errs = append(t.errs, err)
		}
	}
	return t, nil
}

// Read returns what the tables say that can be read; if there is none, why.
func (t *Tables) Read() (all []*probe.Snapshot, err error) {
	errs := t.errs
	for _, f := range t.files {
		st, err := f.Stat()
		if err == nil {
			var s *probe.Snapshot
			if s, err = probe.Read(f, st.Size()); err == nil {
				all = append(all, s)
				continue
			}
		}
		errs = append(errs, err)
	}
	switch {
	case len(all) > 0:
		return all, nil
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	}
	return nil, ErrGone
}

// Close closes the files.
func (t *Tables) Close() {
	for _, f := range t.files {
		f.Close()
	}
}

// OpenTable opens the file behind a mapping: by the mapping itself, which takes
// rights, or by the descriptor that the process keeps.
func (p *Process) OpenTable(m *Mapped) (*os.File, error) {
	// Opening a file of a file system that some process serves may take for ever.
	if dev, err := memoryDevice(); err != nil || m.Dev != dev {
		return nil, errors.Join(err, fmt.Errorf("%w: the mapping %q is not what it says", probe.ErrNotTable, m.Name))
	}
	f, err := p.OpenFile(fmt.Sprintf("map_files/%x-%x", m.Start, m.End))
	if err == nil {
		return f, m.verify(f)
	}
	fds, err := p.OpenFile("fd")
	if err != nil {
		return nil, err
	}
	defer fds.Close()
	names, err := fds.Readdirnames(1 << 16)
	if err != nil {
		return nil, procError(err)
	}
	for _, name := range names {
		// What the kernel knows without asking a file system is enough.
		var st unix.Statx_t
		path := "fd/" + name
		if unix.Statx(int(p.dir.Fd()), path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st) != nil ||
			st.Ino != m.Inode || unix.Mkdev(st.Dev_major, st.Dev_minor) != m.Dev {
			continue
		}
		f, err := p.OpenFile(path)
		if err != nil {
			return nil, err
		}
		return f, m.verify(f)
	}
	return nil, ErrGone
}

// verify checks that f is the file that is mapped and lies in memory. Such a file can be
// read without ever waiting for its maker; a hostile process could have mapped
// one of the same name from a file system of its own. On failure f is closed.
func (m *Mapped) verify(f *os.File) (err error) {
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	dev, err := memoryDevice()
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Ino != m.Inode || st.Dev != dev {
		return fmt.Errorf("%w: the mapping %q is not what it says", probe.ErrNotTable, m.Name)
	}
	return nil
}

// memoryDevice returns the number of the device on which the kernel makes all
// files of memfd_create.
func memoryDevice() (uint64, error) {
	fd, err := unix.MemfdCreate("memwatch", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return st.Dev, nil
}

// PIDs returns the numbers of all processes.
func PIDs() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all, nil
}
