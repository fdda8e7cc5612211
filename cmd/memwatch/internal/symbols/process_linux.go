package symbols

import (
	"fmt"
	"os"
	"sort"
	"sync"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// A Cache keeps the symbols of files for all processes. It is safe for use by several
// goroutines; the zero Cache is empty.
type Cache struct {
	mu    sync.Mutex
	files map[string]*File // nil: unreadable
}

// maxFiles bounds a Cache; when it is full it starts anew.
const maxFiles = 1024

// read returns the symbols of an open file with this identity.
func (c *Cache) read(f *os.File, id string) *File {
	c.mu.Lock()
	s, ok := c.files[id]
	c.mu.Unlock()
	if ok {
		return s
	}
	s, err := ReadFile(f)
	if err != nil {
		s = nil // it has a name and no functions
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) >= maxFiles {
		c.files = make(map[string]*File)
	}
	c.files[id] = s
	return s
}

// A mappedFile is opened when its mapping is seen, and read when a name in it is
// wanted: by then the process may be gone.
type mappedFile struct {
	f    *os.File // nil: it could not be opened, or is read
	id   string
	syms *File
}

// load reads the file if that was not done yet.
func (m *mappedFile) load(c *Cache) *File {
	if m.f != nil {
		m.syms = c.read(m.f, m.id)
		m.close()
	}
	return m.syms
}

func (m *mappedFile) close() {
	if m.f != nil {
		m.f.Close()
		m.f = nil
	}
}

// maxOpen bounds the files of one process that are open and not yet read.
const maxOpen = 512

// A Process names addresses of one process. It is not safe for use by several
// goroutines.
type Process struct {
	pid   int
	cache *Cache
	maps  []Mapping
	files map[uint64]*mappedFile // by the start of their mapping
}

// OpenProcess reads the mappings of a process and opens the files of its code, which
// takes a millisecond or so; they are read later. c keeps what is read of files. The
// caller closes the Process.
func OpenProcess(pid int, c *Cache) (*Process, error) {
	p := &Process{pid: pid, cache: c, files: make(map[uint64]*mappedFile)}
	return p, p.Refresh()
}

// Close closes the files that were not read.
func (p *Process) Close() {
	for _, f := range p.files {
		f.close()
	}
}

// Refresh reads the mappings again and opens the files of code that was not mapped
// before. When the process is gone, what was known stays.
func (p *Process) Refresh() error {
	f, err := procfs.Maps(p.pid)
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	defer f.Close()
	maps, err := ParseMaps(f)
	if err != nil || len(maps) == 0 {
		return err
	}
	files := make(map[uint64]*mappedFile)
	open := 0
	for i := range maps {
		m := &maps[i]
		if !m.Exec {
			continue
		}
		if old := p.at(m.Start); old != nil && old.Start == m.Start && old.Inode == m.Inode && old.Offset == m.Offset && p.files[m.Start] != nil {
			files[m.Start] = p.files[m.Start]
			delete(p.files, m.Start)
			continue
		}
		files[m.Start] = new(mappedFile)
		if open == maxOpen {
			continue
		}
		// A file that cannot be opened has addresses and a name, and no functions.
		if f, err := OpenMapped(p.pid, m); err == nil {
			if id, err := Identity(f); err == nil {
				files[m.Start] = &mappedFile{f: f, id: id}
				open++
				continue
			}
			f.Close()
		}
	}
	p.Close()
	p.maps, p.files = maps, files
	return nil
}

// file returns the symbols of a mapping, nil if there are none.
func (p *Process) file(m *Mapping) *File {
	if f := p.files[m.Start]; f != nil {
		return f.load(p.cache)
	}
	return nil
}

// Maps returns the mappings of files, which the caller must not change.
func (p *Process) Maps() []Mapping { return p.maps }

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
		for _, f := range p.named(at) {
			f.PC = pc
			frames = append(frames, f)
		}
		if len(frames) >= maxFrames {
			break
		}
	}
	return frames
}

// maxFrames is about how many frames a stack has, with the inlined ones.
const maxFrames = 200

// named names an address: at least one frame.
func (p *Process) named(at uint64) (all []heap.Frame) {
	m := p.at(at)
	if m == nil {
		return []heap.Frame{{}}
	}
	offset := at - m.Start + m.Offset
	if s := p.file(m); s != nil {
		if addr, ok := s.address(offset); ok {
			all, offset = s.lookup(addr), addr
		}
	}
	if len(all) == 0 { // the place can be looked up by whoever has the file's symbols
		all = []heap.Frame{{Func: fmt.Sprintf("%s+%#x", m.Base(), offset)}}
	}
	for i := range all {
		all[i].Module = m.Base()
	}
	return all
}

// Go returns what is known of the process's main program if that is a Go program:
// the first code that is mapped. bias is what to add to its addresses. It returns nil
// for programs of other languages, also if a library of theirs is written in Go.
func (p *Process) Go() (info *GoInfo, bias uint64) {
	for i := range p.maps {
		m := &p.maps[i]
		if !m.Exec {
			continue
		}
		s := p.file(m)
		if s == nil || s.Go == nil {
			return nil, 0
		}
		addr, ok := s.address(m.Offset)
		if !ok {
			return nil, 0
		}
		return s.Go, m.Start - addr
	}
	return nil, 0
}
