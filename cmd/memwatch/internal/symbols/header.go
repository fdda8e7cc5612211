package symbols

import (
	"bytes"
	"encoding/binary"
)

// This file reads the header of a table of lines in DWARF 5 as far as it says how many folders and files
// there are: debug/dwarf makes room for as many before it has seen any.

// maxPlaces bounds the folders and the files of one table.
const maxPlaces = 1 << 20

// A header is what is left of a table of lines. What does not fit in there sets bad.
type header struct {
	rest  []byte
	order binary.ByteOrder
	wide  bool // offsets have eight bytes
	bad   bool
}

// honest reports whether the table at an offset says of no more folders and files than there may be. Earlier
// versions do not say how many there are.
func honest(section []byte, offset int64, order binary.ByteOrder) bool {
	if offset < 0 || offset > int64(len(section)) {
		return false
	}
	h := &header{rest: section[offset:], order: order}
	if h.number(4) == 0xffffffff {
		h.wide = true
		h.skip(8)
	}
	if version := h.number(2); version < 5 {
		return !h.bad
	}
	h.skip(2)
	h.offset()
	h.skip(5)
	h.skip(max(h.number(1), 1) - 1) // of each operation
	return h.list() && h.list()
}

// list passes over the folders or the files; false: there are too many, or they are not understood.
func (h *header) list() bool {
	forms := make([]uint64, h.number(1))
	for k := range forms {
		h.varint()
		forms[k] = h.varint()
	}
	count := h.varint()
	if count > min(maxPlaces, uint64(len(h.rest))) {
		return false
	}
	for range count {
		for _, form := range forms {
			h.value(form)
		}
		if h.bad {
			return false
		}
	}
	return !h.bad
}

// value passes over a value of one of the forms that such lists have.
func (h *header) value(form uint64) {
	const (
		data2, data4, data8, str, block     = 0x05, 0x06, 0x07, 0x08, 0x09
		data1, strp, udata, strx            = 0x0b, 0x0e, 0x0f, 0x1a
		sup, data16, lineStrp, strx1, strx4 = 0x1d, 0x1e, 0x1f, 0x25, 0x28
	)
	switch {
	case form == str:
		n := bytes.IndexByte(h.rest, 0)
		h.bad = h.bad || n < 0
		h.skip(uint64(n + 1))
	case form == block:
		h.skip(h.varint())
	case form == data1, form == data2, form == data4, form == data8, form == data16:
		h.skip(map[uint64]uint64{data1: 1, data2: 2, data4: 4, data8: 8, data16: 16}[form])
	case form == strp, form == lineStrp, form == sup:
		h.offset()
	case form == udata, form == strx:
		h.varint()
	case strx1 <= form && form <= strx4:
		h.skip(form - strx1 + 1)
	default:
		h.bad = true
	}
}

func (h *header) skip(n uint64) {
	if n > uint64(len(h.rest)) {
		h.bad, h.rest = true, nil
		return
	}
	h.rest = h.rest[n:]
}

// number reads a number of n bytes, at most four.
func (h *header) number(n uint64) (v uint64) {
	b := h.rest
	if h.skip(n); h.bad {
		return 0
	}
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(h.order.Uint16(b))
	}
	return uint64(h.order.Uint32(b))
}

// offset passes over an offset or a length.
func (h *header) offset() {
	if h.wide {
		h.skip(8)
	} else {
		h.skip(4)
	}
}

func (h *header) varint() uint64 {
	v, n := binary.Uvarint(h.rest)
	if h.bad = h.bad || n <= 0; h.bad {
		return 0
	}
	h.skip(uint64(n))
	return v
}
