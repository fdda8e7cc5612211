package symbols

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// A Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Start, End uint64 // addresses
	Offset     uint64 // of Start in the file, bytes
	Exec       bool
	Major      uint32 // of the file's device
	Minor      uint32
	Inode      uint64
	Path       string // as the process's maps say: another name may be there now
}

// Base returns the last element of the mapping's path, without the mark of a file
// that was removed.
func (m *Mapping) Base() string {
	path := strings.TrimSuffix(m.Path, " (deleted)")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// names returns what the path may stand for: the kernel writes a line break in it as \012, and these four
// characters as they are.
func (m *Mapping) names() []string {
	if name := strings.ReplaceAll(m.Path, `\012`, "\n"); name != m.Path {
		return []string{m.Path, name}
	}
	return []string{m.Path}
}

// Bounds on a process's maps.
const (
	maxMappings = 64 << 10
	maxLine     = 8 << 10
)

// ErrMaps is in the chain of errors about a list of mappings that cannot be.
var ErrMaps = errors.New("unreadable list of mappings")

// ParseMaps reads /proc/PID/maps. Only mappings of files are returned. Beyond 65,536
// mappings the rest is passed over.
func ParseMaps(r io.Reader) ([]Mapping, error) {
	var all []Mapping
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 4<<10), maxLine)
	for n := 0; sc.Scan() && n < maxMappings; n++ {
		l, ok := procfs.ParseMapped(sc.Text())
		if !ok {
			return nil, fmt.Errorf("symbols: %w: %q", ErrMaps, sc.Text())
		}
		if l.Inode == 0 {
			continue
		}
		all = append(all, Mapping{
			Start: l.Start, End: l.End, Offset: l.Offset, Exec: l.Executable, Inode: l.Inode, Path: l.Name,
			Major: unix.Major(l.Dev), Minor: unix.Minor(l.Dev),
		})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("symbols: maps: %w", err)
	}
	return all, nil
}
