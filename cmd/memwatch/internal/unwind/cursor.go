package unwind

import (
	"encoding/binary"
	"fmt"
)

// A cursor reads on in bytes that were loaded at an address. After an error it returns
// zeroes.
type cursor struct {
	b    []byte
	at   int
	addr uint64 // of b[0]
	err  error
}

func (c *cursor) here() uint64 { return c.addr + uint64(c.at) }
func (c *cursor) more() bool   { return c.err == nil && c.at < len(c.b) }

// take returns the next n bytes, or nil.
func (c *cursor) take(n uint64) []byte {
	if c.err == nil && n > uint64(len(c.b)-c.at) {
		c.err = fmt.Errorf("unwind: %w: cut off at %#x", ErrTable, c.here())
	}
	if c.err != nil {
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// word reads an unsigned number of 1, 2, 4 or 8 bytes.
func (c *cursor) word(n uint64) uint64 {
	var all [8]byte
	copy(all[:], c.take(n))
	return binary.LittleEndian.Uint64(all[:])
}

// uleb reads an unsigned number of seven bits a byte. What does not fit into 64 bits is cut.
func (c *cursor) uleb() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := c.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		b := c.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// An encoding says how an address is written: its form in the lower half, what it counts
// from in the upper.
type encoding byte

const (
	signed4         = 0x0b
	relativeToHere  = 0x10
	relativeToIndex = 0x30
	noPointer       = encoding(0xff)
)

// pointer reads an address. Of those that count from something other than where they
// stand, only the number is read.
func (c *cursor) pointer(e encoding) uint64 {
	if e == noPointer {
		return 0
	}
	here := c.here()
	var v uint64
	switch e & 0x0f {
	case 0x00, 0x04, 0x0c:
		v = c.word(8)
	case 0x01:
		v = c.uleb()
	case 0x02:
		v = c.word(2)
	case 0x03:
		v = c.word(4)
	case 0x09:
		v = uint64(c.sleb())
	case 0x0a:
		v = uint64(int64(int16(c.word(2))))
	case signed4:
		v = uint64(int64(int32(c.word(4))))
	default:
		c.fail("an address encoded as %#x", byte(e))
	}
	if e&0x70 == relativeToHere {
		v += here
	}
	return v
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("unwind: %w: "+format, append([]any{ErrTable}, args...)...)
	}
}
