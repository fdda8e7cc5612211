package symbols

import (
	"fmt"
	"os"
	"sort"
	"sync"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// A Cache keeps the symbols of files for all processes. It is safe for use by several
// goroutines; the zero Cache is empty.
type Cache struct {
	mu    sync.Mutex
	files map[string]*File // nil: unreadable
}

// maxFiles bounds a Cache; when it is full it starts anew.
const maxFiles = 1024

// Read returns the symbols of the file of a mapping of a process.
func (c *Cache) Read(pid int, m *Mapping) (*File, error) {
	f, err := OpenMapped(pid, m)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	id, err := Identity(f)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	s, ok := c.files[id]
	c.mu.Unlock()
	if ok {
		if s == nil {
			return nil, fmt.Errorf("symbols: %w", ErrFile)
		}
		return s, nil
	}
	s, err = ReadFile(f)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) >= maxFiles {
		c.files = make(map[string]*File)
	}
	c.files[id] = s
	return s, err
}

// A Process names addresses of one process. It is not safe for use by several
// goroutines.
type Process struct {
	pid   int
	cache *Cache
	maps  []Mapping
	files map[uint64]*File // by the start of their mapping; nil: unreadable
}

// OpenProcess reads the mappings of a process. c keeps what is read of files.
func OpenProcess(pid int, c *Cache) (*Process, error) {
	p := &Process{pid: pid, cache: c, files: make(map[uint64]*File)}
	return p, p.Refresh()
}

// Refresh reads the mappings again and the symbols of code that was not mapped
// before. When the process is gone, what was known stays.
func (p *Process) Refresh() error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	defer f.Close()
	maps, err := ParseMaps(f)
	if err != nil || len(maps) == 0 {
		return err
	}
	files := make(map[uint64]*File)
	for i := range maps {
		m := &maps[i]
		if !m.Exec {
			continue
		}
		if old := p.at(m.Start); old != nil && old.Start == m.Start && old.Inode == m.Inode && old.Offset == m.Offset {
			files[m.Start] = p.files[m.Start]
			continue
		}
		// A file that cannot be read has addresses and a name, and no functions.
		files[m.Start], _ = p.cache.Read(p.pid, m)
	}
	p.maps, p.files = maps, files
	return nil
}

// Maps returns the mappings of files, which the caller must not change.
func (p *Process) Maps() []Mapping { return p.maps }

// File returns the symbols of a mapping, nil if there are none.
func (p *Process) File(m *Mapping) *File { return p.files[m.Start] }

// at returns the mapping of an address, or nil.
func (p *Process) at(pc uint64) *Mapping {
	i := sort.Search(len(p.maps), func(i int) bool { return p.maps[i].End > pc })
	if i == len(p.maps) || p.maps[i].Start > pc {
		return nil
	}
	return &p.maps[i]
}

// FileOffset returns the place of an address in the file that is mapped there.
func (p *Process) FileOffset(pc uint64) (uint64, bool) {
	m := p.at(pc)
	if m == nil {
		return 0, false
	}
	return pc - m.Start + m.Offset, true
}

// Known reports whether pc is in a known mapping.
func (p *Process) Known(pc uint64) bool { return p.at(pc) != nil }

// Frames names return addresses, innermost first. A return address is behind its
// call, which may be the last instruction of its line or function, so that the byte
// before it is looked up. pcs[0] is named exactly where exact says so.
func (p *Process) Frames(pcs []uint64, exact bool) []heap.Frame {
	frames := make([]heap.Frame, 0, len(pcs))
	for i, pc := range pcs {
		at := pc
		if pc > 0 && !(exact && i == 0) {
			at--
		}
		f := heap.Frame{}
		if m := p.at(at); m != nil {
			if s := p.files[m.Start]; s != nil {
				if addr, ok := s.address(at - m.Start + m.Offset); ok {
					f = s.lookup(addr)
				}
			}
			f.Module = m.Base()
		}
		f.PC = pc
		frames = append(frames, f)
	}
	return frames
}

// Go returns the first Go program among the mapped files: its main program, or a
// plugin. bias is what to add to its addresses. It returns nil if there is none.
func (p *Process) Go() (info *GoInfo, bias uint64) {
	for i := range p.maps {
		m := &p.maps[i]
		s := p.files[m.Start]
		if s == nil || s.Go == nil {
			continue
		}
		if addr, ok := s.address(m.Offset); ok {
			return s.Go, m.Start - addr
		}
	}
	return nil, 0
}
