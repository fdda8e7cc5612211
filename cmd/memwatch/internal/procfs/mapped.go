package procfs

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/internal/probe"
)

// A Mapped is one line of a process's maps.
type Mapped struct {
	Start, End uint64 // addresses
	Offset     uint64 // of Start in the file
	Executable bool
	Dev        uint64 // of the file, as stat tells it
	Inode      uint64
	Name       string // as the process's maps say
}

// ParseMapped reads one line of /proc/PID/maps.
func ParseMapped(line string) (m Mapped, ok bool) {
	f := strings.SplitN(line, " ", 6)
	if len(f) < 5 {
		return m, false
	}
	from, to, _ := strings.Cut(f[0], "-")
	major, minor, _ := strings.Cut(f[3], ":")
	var errs [6]error
	m.Start, errs[0] = strconv.ParseUint(from, 16, 64)
	m.End, errs[1] = strconv.ParseUint(to, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(f[2], 16, 64)
	ma, err := strconv.ParseUint(major, 16, 32)
	errs[3] = err
	mi, err := strconv.ParseUint(minor, 16, 32)
	errs[4] = err
	m.Dev = unix.Mkdev(uint32(ma), uint32(mi))
	m.Inode, errs[5] = strconv.ParseUint(f[4], 10, 64)
	m.Executable = strings.Contains(f[1], "x")
	if len(f) == 6 {
		m.Name = strings.TrimLeft(f[5], " ")
	}
	return m, errors.Join(errs[:]...) == nil && m.Start < m.End
}

// IsTable reports whether m is a mapping of a whole table.
func (m *Mapped) IsTable() bool {
	name, _ := strings.CutSuffix(m.Name, " (deleted)")
	return name == "/memfd:"+probe.Name && m.Offset == 0
}
