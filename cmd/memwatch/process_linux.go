package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/internal/probe"
)

var (
	errGone    = errors.New("no such process")
	errNoTable = errors.New("it has no table: it does not use lastuse, or was told not to keep one")
	errRights  = errors.New("not permitted: run memwatch as root or as the user of that process")
	errStuck   = errors.New("it does not answer")
)

const (
	// maxTables bounds how many tables of one process are read, and maxMaps how much of
	// its list of mappings is searched for them.
	maxTables = 256
	maxMaps   = 16 << 20 // bytes

	// patience is how long a process may keep its files from being read.
	patience = 3 * time.Second
)

// A process is one running program, held by its directory in /proc so that another
// program that gets the same number is never taken for it.
type process struct {
	pid int
	dir *os.File
}

// openProcess opens a process by its number.
func openProcess(pid int) (*process, error) {
	dir, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return nil, procError(err)
	}
	return &process{pid: pid, dir: dir}, nil
}

func (p *process) close() { p.dir.Close() }

// open opens a file below the process's directory. It never blocks on a pipe.
func (p *process) open(name string) (*os.File, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, procError(&fs.PathError{Op: "open", Path: name, Err: err})
	}
	return os.NewFile(uintptr(fd), name), nil
}

// procError gives the errors of /proc the words that a user needs.
func procError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return errGone
	case errors.Is(err, fs.ErrPermission):
		return errRights
	}
	return err
}

// command returns the process's short name, as it chose it.
func (p *process) command() string {
	f, err := p.open("comm")
	if err != nil {
		return "?"
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.Read(b)
	return strings.TrimSuffix(string(b[:n]), "\n")
}

// ended reports whether the process has ended and only waits for its parent to take notice.
// Such a process has no mappings any more.
func (p *process) ended() bool {
	f, err := p.open("stat")
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

// A mapped is one line of a process's maps.
type mapped struct {
	start, end uint64 // addresses
	offset     uint64 // of start in the file
	executable bool
	dev        uint64
	inode      uint64
	name       string
}

// parseMapped reads one line of /proc/PID/maps.
func parseMapped(line string) (m mapped, ok bool) {
	f := strings.SplitN(line, " ", 6)
	if len(f) < 5 {
		return m, false
	}
	from, to, _ := strings.Cut(f[0], "-")
	major, minor, _ := strings.Cut(f[3], ":")
	var errs [6]error
	m.start, errs[0] = strconv.ParseUint(from, 16, 64)
	m.end, errs[1] = strconv.ParseUint(to, 16, 64)
	m.offset, errs[2] = strconv.ParseUint(f[2], 16, 64)
	ma, err := strconv.ParseUint(major, 16, 32)
	errs[3] = err
	mi, err := strconv.ParseUint(minor, 16, 32)
	errs[4] = err
	m.dev = unix.Mkdev(uint32(ma), uint32(mi))
	m.inode, errs[5] = strconv.ParseUint(f[4], 10, 64)
	m.executable = strings.Contains(f[1], "x")
	if len(f) == 6 {
		m.name = strings.TrimLeft(f[5], " ")
	}
	return m, errors.Join(errs[:]...) == nil && m.start < m.end
}

// isTable reports whether m is a mapping of a whole table.
func (m *mapped) isTable() bool {
	name, _ := strings.CutSuffix(m.name, " (deleted)")
	return name == "/memfd:"+probe.Name && m.offset == 0
}

// find returns the process's mappings that are wanted, in the order of their addresses.
func (p *process) find(want func(*mapped) bool) ([]mapped, error) {
	f, err := p.open("maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []mapped
	read := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() && read < maxMaps && len(found) < maxTables {
		read += len(lines.Bytes()) + 1
		if m, ok := parseMapped(lines.Text()); ok && want(&m) {
			found = append(found, m)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, procError(err)
	}
	return found, nil
}

// tables reads all tables of the process.
func (p *process) tables() ([]*probe.Snapshot, error) {
	maps, err := p.find((*mapped).isTable)
	if err != nil {
		return nil, err
	}
	if len(maps) == 0 {
		if p.ended() {
			return nil, errGone
		}
		return nil, errNoTable
	}
	var all []*probe.Snapshot
	var errs []error
	for i := range maps {
		s, err := p.table(&maps[i])
		switch {
		case err == nil:
			all = append(all, s)
		case errors.Is(err, errGone): // the tracker was collected after we saw its mapping
		default:
			errs = append(errs, err)
		}
	}
	if len(all) == 0 && len(errs) == 0 {
		return nil, errGone
	}
	if len(all) == 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// table reads the table of one mapping.
func (p *process) table(m *mapped) (*probe.Snapshot, error) {
	f, err := p.openTable(m)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return probe.Read(f, st.Size())
}

// openTable opens the file behind a mapping: by the mapping itself, which takes
// rights, or by the descriptor that the process keeps.
func (p *process) openTable(m *mapped) (*os.File, error) {
	f, err := p.open(fmt.Sprintf("map_files/%x-%x", m.start, m.end))
	if err == nil {
		return f, m.verify(f)
	}
	fds, err := p.open("fd")
	if err != nil {
		return nil, err
	}
	defer fds.Close()
	names, err := fds.Readdirnames(1 << 16)
	if err != nil {
		return nil, procError(err)
	}
	for _, name := range names {
		var st unix.Stat_t
		path := "fd/" + name
		if unix.Fstatat(int(p.dir.Fd()), path, &st, 0) != nil || st.Ino != m.inode || st.Dev != m.dev {
			continue
		}
		f, err := p.open(path)
		if err != nil {
			return nil, err
		}
		return f, m.verify(f)
	}
	return nil, errGone
}

// verify checks that f is the file that is mapped and lies in memory. Such a file can be
// read without ever waiting for its maker; a hostile process could have mapped
// one of the same name from a file system of its own. On failure f is closed.
func (m *mapped) verify(f *os.File) (err error) {
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
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Ino != m.inode || st.Dev != dev {
		return fmt.Errorf("%w: the mapping %q is not what it says", probe.ErrNotTable, m.name)
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

// pids returns the numbers of all processes.
func pids() ([]int, error) {
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

// inspect reads all tables of a process, for as long as it has patience.
func inspect(ctx context.Context, pid int) (*processRow, error) {
	type answer struct {
		row *processRow
		err error
	}
	done := make(chan answer, 1)
	go func() {
		p, err := openProcess(pid)
		if err != nil {
			done <- answer{err: err}
			return
		}
		defer p.close()
		tables, err := p.tables()
		if err != nil {
			done <- answer{err: err}
			return
		}
		done <- answer{row: newProcessRow(pid, p.command(), tables)}
	}()
	select {
	case a := <-done:
		return a.row, a.err
	case <-time.After(patience):
		return nil, errStuck
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
