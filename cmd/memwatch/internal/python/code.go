package python

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Text is a str as the probe copied it.
type Text struct {
	Length uint64 // characters
	State  uint32
	Bytes  []byte // from behind PyASCIIObject on, as much as there was room for
}

// maxText is the length of the longest name that is believed, in characters.
const maxText = 64 << 10

// String returns what the text says, or its beginning if not all was copied. What is no name gives "".
func (t *Text) String(l *Layout) string {
	if t.Length > maxText {
		return ""
	}
	// Behind whether it is interned, which is 3 at most and has 2 bits, and from 3.14 on 16. Others are not
	// set.
	bits := t.State >> 2
	if t.State&0xffff <= 3 {
		bits = t.State >> 16
	}
	kind, compact, ascii := int(bits&7), bits>>3&1 != 0, bits>>4&1 != 0
	b := t.Bytes
	if skip := int(l.Compact) - int(l.ASCII); !ascii {
		if skip < 0 || skip > len(b) {
			return ""
		}
		b = b[skip:]
	}
	if !compact || kind != 1 && kind != 2 && kind != 4 {
		return ""
	}
	n := len(b) / kind
	whole := t.Length <= uint64(n)
	if whole {
		n = int(t.Length)
	}
	var s strings.Builder
	for i := range n {
		var c uint32
		switch at := b[i*kind:]; kind {
		case 1:
			c = uint32(at[0])
		case 2:
			c = uint32(binary.LittleEndian.Uint16(at))
		default:
			c = binary.LittleEndian.Uint32(at)
		}
		if c == 0 { // names have none: this is something else
			return ""
		}
		r := rune(c)
		if c > utf8.MaxRune || utf16.IsSurrogate(r) { // a byte of a file's name that is none of a character
			r = utf8.RuneError
		}
		s.WriteRune(r)
	}
	if !whole && n > 0 {
		s.WriteRune('…')
	}
	return s.String()
}

// A Code is what is kept of a code object.
type Code struct {
	File, Name string
	First      int
	table      []byte
}

// NewCode keeps what a code object says. The table is not copied.
func NewCode(l *Layout, file, name *Text, first int32, table []byte) *Code {
	return &Code{File: file.String(l), Name: name.String(l), First: int(first), table: table}
}

// Size returns about how many bytes a Code takes.
func (c *Code) Size() int { return 128 + len(c.File) + len(c.Name) + len(c.table) }

// Kinds of entries of a line table, in bits 3 to 6 of their first byte: Objects/locations.md of CPython.
const (
	oneLine0 = 10 // a line further by 0, 1 or 2
	noColumn = 13
	long     = 14
	noPlace  = 15
)

// maxLine is the largest line that is believed.
const maxLine = 1 << 26

// Line returns the line of the instruction at so many bytes from the beginning of the bytecode, 0 if it has
// none or the table does not say. An instruction before the first is where the function begins.
func (c *Code) Line(at int64) int {
	if at < 0 {
		return place(int64(c.First))
	}
	line, end := int64(c.First), int64(0)
	for b := c.table; len(b) > 0; {
		head := b[0]
		if head&0x80 == 0 {
			return 0
		}
		b = b[1:]
		kind := head >> 3 & 15
		end += 2 * (int64(head&7) + 1)
		switch {
		case kind == long || kind == noColumn:
			n, delta := varint(b)
			if n == 0 {
				return 0
			}
			line += signed(delta)
		case kind >= oneLine0 && kind < noColumn:
			line += int64(kind - oneLine0)
		}
		if line < -maxLine || line > maxLine {
			return 0
		}
		if at < end {
			if kind == noPlace {
				return 0
			}
			return place(line)
		}
		for len(b) > 0 && b[0]&0x80 == 0 { // the rest of the entry
			b = b[1:]
		}
	}
	return 0
}

// place returns a line if it can be one.
func place(line int64) int {
	if line < 1 || line > maxLine {
		return 0
	}
	return int(line)
}

// varint reads a number of six bits a byte, the lowest first, and returns how many bytes it took, 0 if it
// does not end or is too large.
func varint(b []byte) (n int, v uint32) {
	for shift := 0; n < len(b) && shift < 30; shift += 6 {
		v |= uint32(b[n]&0x3f) << shift
		n++
		if b[n-1]&0x40 == 0 {
			return n, v
		}
	}
	return 0, 0
}

// signed returns a number whose lowest bit is its sign.
func signed(v uint32) int64 {
	if v&1 != 0 {
		return -int64(v >> 1)
	}
	return int64(v >> 1)
}
