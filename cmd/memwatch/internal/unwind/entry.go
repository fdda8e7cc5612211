package unwind

import (
	"fmt"
	"strings"
)

// A function is one entry of .eh_frame: the program that makes the rows of its
// addresses.
type function struct {
	common
	begin, size uint64
	program     []byte
	at          uint64 // address of the program
}

// What the entries of many functions have in common.
type common struct {
	codeAlign uint64
	dataAlign int64
	pointers  encoding
	augmented bool // entries have more fields, and say how many bytes they are
	signal    bool // the frame was made by a signal: its caller was interrupted, and did not call
	initial   []byte
	initialAt uint64
}

// record returns the body of an entry, and the address of what is common to it and
// others, which is 0 of the common part itself.
func (t *Table) record(addr uint64, bound uint64) (body *cursor, ofCommon uint64, err error) {
	b, err := t.bytes(addr, 8)
	if err != nil {
		return nil, 0, err
	}
	c := &cursor{b: b, addr: addr}
	n := c.word(4)
	if c.err == nil && (n < 4 || n > bound) { // all ones: a length of 64 bits, which no compiler writes
		c.fail("an entry of %d bytes at %#x", n, addr)
	}
	back := c.word(4)
	if c.err != nil {
		return nil, 0, c.err
	}
	if b, err = t.bytes(addr+8, n-4); err != nil && n > 4 {
		return nil, 0, err
	}
	if uint64(len(b)) < n-4 {
		return nil, 0, fmt.Errorf("unwind: %w: an entry that is cut off at %#x", ErrTable, addr)
	}
	if back != 0 {
		ofCommon = addr + 4 - back
	}
	return &cursor{b: b, addr: addr + 8}, ofCommon, nil
}

// function reads the entry at an address.
func (t *Table) function(addr uint64) (*function, error) {
	c, at, err := t.record(addr, maxEntry)
	if err != nil {
		return nil, err
	}
	if at == 0 {
		return nil, fmt.Errorf("unwind: %w: no function at %#x", ErrTable, addr)
	}
	f := new(function)
	if f.common, err = t.common(at); err != nil {
		return nil, err
	}
	f.begin = c.pointer(f.pointers)
	f.size = c.pointer(f.pointers & 0x0f)
	if f.augmented {
		c.take(c.uleb())
	}
	f.at, f.program = c.here(), c.take(uint64(len(c.b)-c.at))
	return f, c.err
}

// common reads what entries have in common.
func (t *Table) common(addr uint64) (m common, err error) {
	c, at, err := t.record(addr, maxCommon)
	if err != nil {
		return m, err
	}
	if at != 0 {
		return m, fmt.Errorf("unwind: %w: nothing common at %#x", ErrTable, addr)
	}
	if v := c.byte(); v != 1 && v != 3 {
		c.fail("version %d", v)
	}
	var s strings.Builder
	for b := c.byte(); b != 0; b = c.byte() {
		s.WriteByte(b)
	}
	m.codeAlign, m.dataAlign = c.uleb(), c.sleb()
	if column := c.uleb(); column != returnColumn {
		c.fail("the return address in column %d", column)
	}
	augmentation, augmented := strings.CutPrefix(s.String(), "z")
	if m.augmented = augmented; augmented {
		n := c.uleb()
		more := &cursor{b: c.take(n), addr: c.here() - n}
		for _, what := range augmentation {
			switch what {
			case 'R':
				m.pointers = encoding(more.byte())
			case 'P': // who handles exceptions
				more.pointer(encoding(more.byte()))
			case 'L': // how their tables are encoded
				more.byte()
			case 'S':
				m.signal = true
			default:
				c.fail("augmentation %q", s.String())
			}
		}
		if c.err == nil {
			c.err = more.err
		}
	} else if augmentation != "" {
		c.fail("augmentation %q", s.String())
	}
	if m.pointers&^relativeToHere > 0x0f || m.codeAlign > 64 || m.dataAlign < -64 || m.dataAlign > 64 {
		c.fail("addresses encoded as %#x, units of %d and %d bytes", byte(m.pointers), m.codeAlign, m.dataAlign)
	}
	m.initialAt, m.initial = c.here(), c.take(uint64(len(c.b)-c.at))
	return m, c.err
}
