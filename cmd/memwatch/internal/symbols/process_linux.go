package symbols

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/python"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/unwind"
)

// A Cache keeps the symbols of files for all processes. It is safe for use by several
// goroutines; the zero Cache is empty.
type Cache struct {
	// Tables says that files are kept open whose unwind tables can be read. It is set before the first use.
	Tables bool

	mu      sync.Mutex
	files   map[string]*File         // nil: unreadable
	tables  map[string]*unwind.Table // likewise
	pythons map[string]*python.Interpreter
}

// maxFiles bounds a Cache; when it is full it starts anew.
const maxFiles = 1024

// read returns the symbols of an open file with this identity.
func (c *Cache) read(f *os.File, id string) *File {
	// One that cannot be read has a name and no functions.
	return keep(c, &c.files, id, func() (*File, error) { return ReadFile(f) })
}

// table returns the unwind tables of an open file with this identity, nil if it has none. They have the file
// open for themselves, as long as they are used.
func (c *Cache) table(f *os.File, id string) *unwind.Table {
	if !c.Tables {
		return nil
	}
	return keep(c, &c.tables, id, func() (*unwind.Table, error) {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		own := os.NewFile(uintptr(fd), f.Name())
		t, err := unwind.Open(own)
		if err != nil {
			own.Close()
		}
		return t, err
	})
}

// python returns what there is of CPython in an open file with this identity, nil if there is none.
func (c *Cache) python(f *os.File, id string) *python.Interpreter {
	return keep(c, &c.pythons, id, func() (*python.Interpreter, error) { return python.Find(f) })
}

// keep returns what is kept of a file, or keeps what read returns of it, which is nil after an error.
func keep[T any](c *Cache, kept *map[string]*T, id string, read func() (*T, error)) *T {
	c.mu.Lock()
	v, ok := (*kept)[id]
	c.mu.Unlock()
	if ok {
		return v
	}
	v, err := read()
	if err != nil {
		v = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if *kept == nil || len(*kept) >= maxFiles {
		*kept = make(map[string]*T)
	}
	(*kept)[id] = v
	return v
}

// A mappedFile is opened when its mapping is seen, and read when a name in it is
// wanted: by then the process may be gone.
type mappedFile struct {
	id    string
	table *unwind.Table // nil: there is none, or it is not wanted
	// nil: there is none
	python *python.Interpreter

	mu   sync.Mutex // protects what follows
	f    *os.File   // nil: it could not be opened, or is read
	syms *File
}

// load reads the file if that was not done yet.
func (m *mappedFile) load(c *Cache) *File {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.f != nil {
		m.syms = c.read(m.f, m.id)
		m.f.Close()
		m.f = nil
	}
	return m.syms
}

func (m *mappedFile) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.f != nil {
		m.f.Close()
		m.f = nil
	}
}

// maxOpen bounds the files of one process that are open and not yet read.
const maxOpen = 512

// A Process names addresses of one process. It is safe for use by several goroutines:
// one that has its mappings read again does not hold up others, who see those of before.
type Process struct {
	pid    int
	cache  *Cache
	latest atomic.Pointer[view]

	mu     sync.Mutex // held by Refresh and Close
	closed bool       // protected by mu
}

// A view is what a process has mapped at one time. It does not change.
type view struct {
	maps  []Mapping
	files map[uint64]*mappedFile // by the start of their mapping
	// nil: there is none
	python *Python
}

// OpenProcess reads the mappings of a process and opens the files of its code, which
// takes a millisecond or so; they are read later. c keeps what is read of files. The
// caller closes the Process.
func OpenProcess(pid int, c *Cache) (*Process, error) {
	p := &Process{pid: pid, cache: c}
	p.latest.Store(new(view))
	return p, p.Refresh()
}

// Close closes the files that were not read.
func (p *Process) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, f := range p.latest.Load().files {
		f.close()
	}
}

// Refresh reads the mappings again and opens the files of code that was not mapped
// before. When the process is gone, what was known stays.
func (p *Process) Refresh() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	f, err := procfs.Maps(p.pid)
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	defer f.Close()
	maps, err := ParseMaps(f)
	if err != nil || len(maps) == 0 {
		return err
	}
	before, now := p.latest.Load(), &view{maps: maps, files: make(map[uint64]*mappedFile)}
	open, mains := 0, 0
	for i := range maps {
		m := &maps[i]
		if !m.Exec {
			continue
		}
		mains++
		if old := before.at(m.Start); old != nil && old.Start == m.Start && old.Inode == m.Inode && old.Offset == m.Offset && before.files[m.Start] != nil {
			now.files[m.Start] = before.files[m.Start]
			continue
		}
		now.files[m.Start] = new(mappedFile)
		if open == maxOpen {
			continue
		}
		// A file that cannot be opened has addresses and a name, and no functions.
		if f, err := OpenMapped(p.pid, m); err == nil {
			if id, err := Identity(f); err == nil {
				m := &mappedFile{f: f, id: id, table: p.cache.table(f, id)}
				if mains == 1 || strings.HasPrefix(maps[i].Base(), "libpython") {
					m.python = p.cache.python(f, id)
				}
				now.files[maps[i].Start] = m
				open++
				continue
			}
			f.Close()
		}
	}
	now.python = now.findPython()
	p.latest.Store(now)
	for start, f := range before.files {
		if now.files[start] != f {
			f.close()
		}
	}
	return nil
}

// file returns the symbols of a mapping, nil if there are none.
func (p *Process) file(v *view, m *Mapping) *File {
	if f := v.files[m.Start]; f != nil {
		return f.load(p.cache)
	}
	return nil
}

// Maps returns the mappings of files, which the caller must not change.
func (p *Process) Maps() []Mapping { return p.latest.Load().maps }

// at returns the mapping of an address, or nil.
func (v *view) at(pc uint64) *Mapping {
	i := sort.Search(len(v.maps), func(i int) bool { return v.maps[i].End > pc })
	if i == len(v.maps) || v.maps[i].Start > pc {
		return nil
	}
	return &v.maps[i]
}

// FileOffset returns the place of an address in the file that is mapped there.
func (p *Process) FileOffset(pc uint64) (uint64, bool) {
	m := p.latest.Load().at(pc)
	if m == nil {
		return 0, false
	}
	return pc - m.Start + m.Offset, true
}

// Known reports whether pc is in a known mapping.
func (p *Process) Known(pc uint64) bool { return p.latest.Load().at(pc) != nil }

// Table returns the unwind tables of the file that is mapped at an address, nil if it has none that can be
// read or the Cache does not keep them, and the address by which they know it. Known reports whether a file
// is mapped there. It never waits.
func (p *Process) Table(pc uint64) (t *unwind.Table, addr uint64, known bool) {
	v := p.latest.Load()
	m := v.at(pc)
	if m == nil {
		return nil, 0, false
	}
	f := v.files[m.Start]
	if f == nil || f.table == nil {
		return nil, 0, true
	}
	addr, ok := f.table.Address(pc - m.Start + m.Offset)
	if !ok {
		return nil, 0, true
	}
	return f.table, addr, true
}

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
	v := p.latest.Load()
	m := v.at(at)
	if m == nil {
		return []heap.Frame{{}}
	}
	offset := at - m.Start + m.Offset
	if s := p.file(v, m); s != nil {
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

// A Python is the CPython of a process.
type Python struct {
	*python.Interpreter
	Code []Mapping // of its code
	Bias uint64    // is to be added to its addresses
}

// Python returns the CPython of the process, which is in its main program or in a library of that name, nil
// if there is none. It never waits.
func (p *Process) Python() *Python { return p.latest.Load().python }

// findPython returns the CPython of the files of a view.
func (v *view) findPython() (found *Python) {
	for i := range v.maps {
		m := &v.maps[i]
		f := v.files[m.Start]
		if !m.Exec || f == nil || f.python == nil {
			continue
		}
		bias, ok := f.python.Bias(m.Start, m.Offset)
		if ok && found == nil {
			found = &Python{Interpreter: f.python, Bias: bias}
		}
		if ok && found.Interpreter == f.python {
			found.Code = append(found.Code, *m)
		}
	}
	return found
}

// Go returns what is known of the process's main program if that is a Go program:
// the first code that is mapped. bias is what to add to its addresses. It returns nil
// for programs of other languages, also if a library of theirs is written in Go.
func (p *Process) Go() (info *GoInfo, bias uint64) {
	v := p.latest.Load()
	for i := range v.maps {
		m := &v.maps[i]
		if !m.Exec {
			continue
		}
		s := p.file(v, m)
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
