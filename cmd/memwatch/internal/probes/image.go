package probes

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A Placement is a probe in a file.
type Placement struct {
	Probe  *Probe
	Offset uint64 // bytes from the start of the file
	Within int    // bytes from the start of the function
	Cost   Cost
}

// Missing is a probe of a library's table that its file has no place for.
type Missing struct {
	Probe *Probe
	Err   error // nil: the file does not export it
}

// An Image is where the probes of a library go in one file.
type Image struct {
	Library    *Library
	Machine    string // "amd64" or "arm64"
	BuildID    string // hexadecimal; empty if the file has none
	Placements []Placement
	Missing    []Missing
}

// ErrNotLibrary is in the chain of errors about a file that exports nothing of a
// library's table.
var ErrNotLibrary = errors.New("not the library")

// Bounds on what is read of a file.
const (
	maxExports  = 1 << 20
	maxFunction = 4 << 10 // bytes of a function's code
	maxBuildID  = 64
)

// ReadImage finds where the probes of l go in an ELF file. Functions that another
// name stands for too are probed once, under the name that the table has first.
func ReadImage(r io.ReaderAt, l *Library) (*Image, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("probes: %s: %w", l.Name, err)
	}
	m := &Image{Library: l}
	switch f.Machine {
	case elf.EM_X86_64:
		m.Machine = "amd64"
	case elf.EM_AARCH64:
		m.Machine = "arm64"
	default:
		return nil, fmt.Errorf("probes: %s: %w: machine %v", l.Name, ErrNotLibrary, f.Machine)
	}
	m.BuildID = buildID(f)
	syms, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("probes: %s: exports: %w", l.Name, err)
	}
	if len(syms) > maxExports {
		return nil, fmt.Errorf("probes: %s: %w: %d exports", l.Name, ErrNotLibrary, len(syms))
	}
	exports := make(map[string]elf.Symbol, len(syms))
	for _, s := range syms {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			exports[s.Name] = s
		}
	}
	taken := make(map[uint64]bool)
	for i := range l.Probes {
		p := &l.Probes[i]
		s, ok := exports[p.Symbol]
		if !ok {
			m.Missing = append(m.Missing, Missing{Probe: p})
			continue
		}
		if taken[s.Value] {
			continue
		}
		taken[s.Value] = true
		at, err := m.place(f, p, s)
		if err != nil {
			m.Missing = append(m.Missing, Missing{Probe: p, Err: err})
			continue
		}
		m.Placements = append(m.Placements, at)
	}
	if len(m.Placements) == 0 {
		return nil, fmt.Errorf("probes: %s: %w: it exports nothing of it", l.Name, ErrNotLibrary)
	}
	return m, nil
}

// place reads and decodes the head of a function.
func (m *Image) place(f *elf.File, p *Probe, s elf.Symbol) (Placement, error) {
	for _, g := range f.Progs {
		if g.Type != elf.PT_LOAD || g.Flags&elf.PF_X == 0 || s.Value < g.Vaddr || s.Value-g.Vaddr >= g.Filesz {
			continue
		}
		in := s.Value - g.Vaddr
		size := min(g.Filesz-in, maxFunction)
		if s.Size > 0 {
			size = min(size, s.Size)
		} else {
			size = min(size, maxHead)
		}
		code := make([]byte, size)
		if _, err := g.ReadAt(code, int64(in)); err != nil {
			return Placement{}, fmt.Errorf("%s: %w", p.Symbol, err)
		}
		within, cost, err := Place(m.Machine, code)
		if err != nil {
			return Placement{}, fmt.Errorf("%s: %w", p.Symbol, err)
		}
		return Placement{Probe: p, Offset: g.Off + in + uint64(within), Within: within, Cost: cost}, nil
	}
	return Placement{}, fmt.Errorf("%s: %w: no code at %#x", p.Symbol, ErrShape, s.Value)
}

// buildID returns the build ID from the notes of f, or "".
func buildID(f *elf.File) string {
	for _, g := range f.Progs {
		if g.Type != elf.PT_NOTE {
			continue
		}
		notes := make([]byte, min(g.Filesz, 4<<10))
		n, _ := g.ReadAt(notes, 0)
		if id := noteID(f.ByteOrder, notes[:n]); id != "" {
			return id
		}
	}
	return ""
}

// noteID finds the GNU build ID among notes.
func noteID(order binary.ByteOrder, b []byte) string {
	const gnuBuildID = 3
	align := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(b) >= 12 {
		name, desc, kind := order.Uint32(b), order.Uint32(b[4:]), order.Uint32(b[8:])
		b = b[12:]
		if align(name)+align(desc) > uint64(len(b)) {
			return ""
		}
		value := b[align(name):][:desc]
		if kind == gnuBuildID && bytes.Equal(b[:name], []byte("GNU\x00")) && desc > 0 && desc <= maxBuildID {
			return hex.EncodeToString(value)
		}
		b = b[align(name)+align(desc):]
	}
	return ""
}

// A Cache keeps images by build ID and by what the caller knows of the file's
// identity, for a build ID alone can be copied by who wants another's library probed
// in the wrong place. A file without build ID is read each time. It is safe for use
// by several goroutines; the zero Cache is empty.
type Cache struct {
	mu     sync.Mutex
	images map[string]*Image
}

// maxImages bounds a Cache.
const maxImages = 256

// Read returns the image of the file, which the caller must not change. identity is
// what tells the file from all others: device, inode, size and time of change. Of a
// file seen before only the headers are read.
func (c *Cache) Read(r io.ReaderAt, l *Library, identity string) (*Image, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("probes: %s: %w", l.Name, err)
	}
	id := buildID(f)
	key := l.Name + " " + id + " " + identity
	c.mu.Lock()
	m := c.images[key]
	c.mu.Unlock()
	if m != nil {
		return m, nil
	}
	m, err = ReadImage(r, l)
	if err != nil || id == "" {
		return m, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.images == nil || len(c.images) >= maxImages {
		c.images = make(map[string]*Image)
	}
	c.images[key] = m
	return m, nil
}
