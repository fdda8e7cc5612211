package symbols

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
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
		var m Mapping
		var perms string
		line := sc.Text()
		if _, err := fmt.Sscanf(line, "%x-%x %s %x %x:%x %d", &m.Start, &m.End, &perms, &m.Offset, &m.Major, &m.Minor, &m.Inode); err != nil || m.End <= m.Start {
			return nil, fmt.Errorf("symbols: %w: %q", ErrMaps, line)
		}
		if m.Inode == 0 {
			continue
		}
		// The path is what follows the sixth field, spaces and all.
		rest := line
		for range 5 {
			_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		m.Path = strings.TrimLeft(rest, " ")
		m.Exec = strings.IndexByte(perms, 'x') == 2
		all = append(all, m)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("symbols: maps: %w", err)
	}
	return all, nil
}
