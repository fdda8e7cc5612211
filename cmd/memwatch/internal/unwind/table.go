package unwind

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

// ErrTable is in the chain of errors about tables that cannot be, or are of a kind that
// is not read.
var ErrTable = errors.New("unreadable unwind table")

// ErrNoRow is in the chain of errors about an address of which the tables say nothing.
var ErrNoRow = errors.New("no unwind table for this address")

// Bounds on what is read of a file.
const (
	maxSegments = 128
	maxEntry    = 64 << 10 // bytes of one entry
	maxCommon   = 4 << 10  // bytes of what several entries have in common
	block       = 512      // rows of the index that are read at once
)

// A Table finds the rows of one ELF file by the addresses that the file was linked for.
// It may be used by several goroutines.
type Table struct {
	r     io.ReaderAt
	loads []segment
	index uint64 // address of .eh_frame_hdr, which those in it count from
	first uint64 // address of the index's first row
	rows  uint64 // each of eight bytes: where a function begins, and its entry
}

// A segment is a part of the file that is loaded.
type segment struct{ addr, offset, size uint64 }

// Open reads where the tables of an ELF file are. The Table reads from r as long as it
// is used.
func Open(r io.ReaderAt) (*Table, error) {
	var h elf.Header64
	if err := binary.Read(io.NewSectionReader(r, 0, int64(binary.Size(h))), binary.LittleEndian, &h); err != nil {
		return nil, fmt.Errorf("unwind: open: %w", err)
	}
	if string(h.Ident[:4]) != elf.ELFMAG || elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 ||
		elf.Data(h.Ident[elf.EI_DATA]) != elf.ELFDATA2LSB || elf.Machine(h.Machine) != elf.EM_X86_64 {
		return nil, fmt.Errorf("unwind: open: %w: not of x86-64", ErrTable)
	}
	if h.Phnum > maxSegments || int(h.Phentsize) != binary.Size(elf.Prog64{}) || h.Phoff > 1<<62 {
		return nil, fmt.Errorf("unwind: open: %w: %d program headers of %d bytes", ErrTable, h.Phnum, h.Phentsize)
	}
	segments := make([]elf.Prog64, h.Phnum)
	at := io.NewSectionReader(r, int64(h.Phoff), int64(h.Phnum)*int64(h.Phentsize))
	if err := binary.Read(at, binary.LittleEndian, segments); err != nil {
		return nil, fmt.Errorf("unwind: open: %w", err)
	}
	t := &Table{r: r}
	for _, p := range segments {
		switch elf.ProgType(p.Type) {
		case elf.PT_LOAD:
			t.loads = append(t.loads, segment{p.Vaddr, p.Off, p.Filesz})
		case elf.PT_GNU_EH_FRAME:
			t.index = p.Vaddr
		}
	}
	if t.index == 0 {
		return nil, fmt.Errorf("unwind: open: %w: there is none", ErrTable)
	}
	return t, t.readIndex()
}

// The encoding of the index that linkers write: pairs of signed words of four bytes that
// count from the index's own beginning.
const sortedPairs = encoding(relativeToIndex | signed4)

// readIndex reads the head of .eh_frame_hdr.
func (t *Table) readIndex() error {
	head, err := t.bytes(t.index, 32)
	if err != nil {
		return err
	}
	c := &cursor{b: head, addr: t.index}
	version, frames, count, pairs := c.byte(), encoding(c.byte()), encoding(c.byte()), encoding(c.byte())
	c.pointer(frames) // of .eh_frame, which is found by the index alone
	n := c.pointer(count)
	if c.err != nil || version != 1 || pairs != sortedPairs {
		return fmt.Errorf("unwind: open: %w: index of version %d, encoded as %#x", ErrTable, version, byte(pairs))
	}
	t.first = c.here()
	left, err := t.left(t.first)
	if err != nil || n > left/8 {
		return fmt.Errorf("unwind: open: %w: an index of %d functions", ErrTable, n)
	}
	t.rows = n
	return nil
}

// Address returns the address that the file was linked for of the byte at offset.
func (t *Table) Address(offset uint64) (uint64, bool) {
	for _, l := range t.loads {
		if offset >= l.offset && offset-l.offset < l.size {
			return l.addr + (offset - l.offset), true
		}
	}
	return 0, false
}

// left returns how many bytes of the file are loaded at an address and behind it.
func (t *Table) left(addr uint64) (uint64, error) {
	for _, l := range t.loads {
		if addr >= l.addr && addr-l.addr < l.size {
			return l.size - (addr - l.addr), nil
		}
	}
	return 0, fmt.Errorf("unwind: %w: %#x is not in the file", ErrTable, addr)
}

// bytes reads what is loaded at an address, n bytes or as many as there are.
func (t *Table) bytes(addr uint64, n uint64) ([]byte, error) {
	for _, l := range t.loads {
		if addr < l.addr || addr-l.addr >= l.size {
			continue
		}
		b := make([]byte, min(n, l.size-(addr-l.addr)))
		offset := l.offset + (addr - l.addr)
		if offset > 1<<62 {
			break
		}
		got, err := t.r.ReadAt(b, int64(offset))
		if got == 0 && err != nil {
			return nil, fmt.Errorf("unwind: %w", err)
		}
		return b[:got], nil
	}
	return nil, fmt.Errorf("unwind: %w: %#x is not in the file", ErrTable, addr)
}

// entry returns the address of the entry of the last function that begins at addr or
// before it.
func (t *Table) entry(addr uint64) (uint64, error) {
	pair := func(b []byte, i int) (begin, entry uint64) {
		word := func(b []byte) uint64 { return t.index + uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }
		return word(b[8*i:]), word(b[8*i+4:])
	}
	low, high := uint64(0), t.rows // the first that begins behind addr is between them
	for high-low > block {
		mid := low + (high-low)/2
		b, err := t.bytes(t.first+8*mid, 8)
		if err != nil || len(b) < 8 {
			return 0, errors.Join(fmt.Errorf("unwind: %w: its index is cut off", ErrTable), err)
		}
		if begin, _ := pair(b, 0); begin > addr {
			high = mid
		} else {
			low = mid
		}
	}
	if high == 0 {
		return 0, ErrNoRow
	}
	b, err := t.bytes(t.first+8*low, 8*(high-low))
	if err != nil || uint64(len(b)) < 8*(high-low) {
		return 0, errors.Join(fmt.Errorf("unwind: %w: its index is cut off", ErrTable), err)
	}
	i := sort.Search(int(high-low), func(i int) bool {
		begin, _ := pair(b, i)
		return begin > addr
	})
	if i == 0 {
		return 0, ErrNoRow
	}
	_, entry := pair(b, i-1)
	return entry, nil
}

// Row returns what holds at an address. The error's chain has ErrNoRow if the tables say
// nothing of it, and ErrTable if what they say cannot be.
func (t *Table) Row(addr uint64) (*Row, error) {
	at, err := t.entry(addr)
	if err != nil {
		return nil, err
	}
	f, err := t.function(at)
	if err != nil {
		return nil, err
	}
	if addr < f.begin || addr-f.begin >= f.size {
		return nil, ErrNoRow
	}
	return f.row(addr)
}
