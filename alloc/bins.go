package alloc

import "math/bits"

// Bins hold idle blocks by size and find the best fit for a request in constant
// time, however many blocks there are.
//
// A row of 1,024 bins stands for each doubling of the size. Up to 1 MiB a bin
// holds blocks of one size exactly. Above, it holds sizes less than 1/1024 apart; since
// requests are rounded up to the least size of a bin (roundLarge), any block in the
// bin of a request fits it, and no block in a later bin fits better by more than that.
// Two levels of bitmaps over each row and one over the rows find the next bin that is
// not empty with four bit scans at most. A tree gives the same answer after a walk whose steps
// each miss the cache once it holds tens of thousands of blocks.
//
// Within a bin the last one in is the first one out: it is the likeliest to be in
// the caches, the device's too.
type bins struct {
	rows  uint64 // bit r: rows[r] holds a block
	bytes int64  // in all blocks
	row   [maxRows]*binRow
}

// A binRow is made when its first block comes, 8 KiB a row, and stays.
type binRow struct {
	words uint16 // bit w: bits[w] is not 0
	bits  [rowBins / 64]uint64
	head  [rowBins]*block
}

// put adds b, which is in no list.
func (s *bins) put(b *block) {
	s.bytes += b.size
	r, c := binOf(b.size)
	row := s.row[r]
	if row == nil {
		row = new(binRow)
		s.row[r] = row
	}
	next := row.head[c]
	b.next, b.prev = next, nil
	if next != nil {
		next.prev = b
	} else {
		row.bits[c/64] |= 1 << (c % 64)
		row.words |= 1 << (c / 64)
		s.rows |= 1 << r
	}
	row.head[c] = b
}

// take removes b, which put added.
func (s *bins) take(b *block) {
	s.bytes -= b.size
	if b.next != nil {
		b.next.prev = b.prev
	}
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		s.behead(b)
	}
	b.next, b.prev = nil, nil
}

// behead removes b, the first of its bin, except for its own links.
func (s *bins) behead(b *block) {
	r, c := binOf(b.size)
	row := s.row[r]
	row.head[c] = b.next
	if b.next != nil {
		return
	}
	if row.bits[c/64] &^= 1 << (c % 64); row.bits[c/64] != 0 {
		return
	}
	if row.words &^= 1 << (c / 64); row.words != 0 {
		return
	}
	s.rows &^= 1 << r
}

// find returns the best block of at least size bytes, or nil. It stays in the bins.
// The size is one that roundLarge returns.
func (s *bins) find(size int64) *block {
	r, c := binOf(size)
	return s.from(r, c)
}

// from returns the first block in bin (r, c) or, if that is empty, in the next bin that
// is not.
func (s *bins) from(r, c uint) *block {
	if s.rows>>r&1 != 0 && c < rowBins {
		row := s.row[r]
		w := c / 64
		if m := row.bits[w] >> (c % 64); m != 0 {
			return row.head[c+uint(bits.TrailingZeros64(m))]
		}
		if m := row.words >> (w + 1); m != 0 {
			return row.first(w + 1 + uint(bits.TrailingZeros16(m)))
		}
	}
	if m := s.rows >> (r + 1); m != 0 {
		row := s.row[r+1+uint(bits.TrailingZeros64(m))]
		return row.first(uint(bits.TrailingZeros16(row.words)))
	}
	return nil
}

// first returns the first block whose bin is in word w, which is not 0.
func (row *binRow) first(w uint) *block {
	return row.head[w*64+uint(bits.TrailingZeros64(row.bits[w]))]
}

// after returns the block that follows b in the order in which from meets them, or
// nil.
func (s *bins) after(b *block) *block {
	if b.next != nil {
		return b.next
	}
	r, c := binOf(b.size)
	return s.from(r, c+1)
}

// largest returns a block of the last bin that is not empty, or nil.
func (s *bins) largest() *block {
	if s.rows == 0 {
		return nil
	}
	return s.last(s.rows)
}

// last returns a block of the last bin in the last of some rows, none of which is empty.
func (s *bins) last(rows uint64) *block {
	row := s.row[bits.Len64(rows)-1]
	w := bits.Len16(row.words) - 1
	return row.head[w*64+bits.Len64(row.bits[w])-1]
}

// before returns the block that precedes b's bin, or nil: with next inside a bin it
// walks from the largest down.
func (s *bins) before(b *block) *block {
	if b.next != nil {
		return b.next
	}
	r, c := binOf(b.size)
	row := s.row[r]
	w := c / 64
	if m := row.bits[w] & (1<<(c%64) - 1); m != 0 {
		return row.head[w*64+uint(bits.Len64(m))-1]
	}
	if m := row.words & (1<<w - 1); m != 0 {
		w = uint(bits.Len16(m)) - 1
		return row.head[w*64+uint(bits.Len64(row.bits[w]))-1]
	}
	if m := s.rows & (1<<r - 1); m != 0 {
		return s.last(m)
	}
	return nil
}
