package alloc

import "math/bits"

// Sizes.
//
// All sizes of blocks are multiples of unit. A small block's size is one of the
// size classes: the multiples of unit up to 8 units, from there on eight classes for each
// doubling, so a class wastes at most 1/9 = 11.1 % of what it hands out beyond the
// unit that alignment asks for. A large block's size is a multiple of 1/1024 of the
// power of two below it (never of less than unit), so rounding wastes less than
// 0.1 %; the same steps are the bins of the best fit, which therefore is one: see bins.
const (
	unit      = MinAlign
	unitShift = 9

	// smallMax is the largest size in bytes that is served from runs of one size
	// class. Below it, runs keep short-lived little blocks from splitting the
	// large ones; above it, slots that wait in runs for their size to come again would cost
	// more memory than the best fit costs time. Measured with sizes
	// that come and go at random: against 32 KiB, 64 KiB takes up to 14 % less time and up to
	// 4 % more memory, 16 KiB up to 11 % more time and up to 4 % less memory. From 256 KiB
	// on memory goes up by 3 % and more for mixes up to 512 KiB too.
	smallMax = 32 << 10

	numClasses = 32 // classOf(smallMax) + 1

	// maxSize is the largest size in bytes that can be asked for: less than what 48 bits of
	// address reach, which is more than any device has. It leaves room for rounding.
	maxSize = 1<<48 - 1
)

// classOf returns the size class for size bytes, where 0 < size <= smallMax.
func classOf(size int64) int {
	u := uint(size+unit-1) >> unitShift // units, at least 1
	if u <= 8 {
		return int(u) - 1
	}
	// u-1 has its leading bit at e+3; the three bits after it choose the class.
	e := bits.Len(u-1) - 4
	return 8*(e+1) + int((u-1)>>e) - 8
}

// classSize returns the size in bytes of blocks of class c.
func classSize(c int) int64 {
	if c < 8 {
		return int64(c+1) << unitShift
	}
	e := c/8 - 1
	return int64(c%8+8+1) << e << unitShift
}

// runSlots returns how many blocks a run of class c is cut into: enough that the run is at
// least 64 KiB, and eight at least.
func runSlots(c int) int {
	return int(max(8, (64<<10)/classSize(c)))
}

const (
	rowBits = 10
	rowBins = 1 << rowBits // bins for each doubling of size
	maxRows = 64 - unitShift - rowBits
)

// roundLarge rounds size up to the size of a large block: the least size that its
// bin holds.
func roundLarge(size int64) int64 {
	u := uint64(size+unit-1) >> unitShift
	if u < 2*rowBins {
		return int64(u << unitShift)
	}
	e := bits.Len64(u) - rowBits - 1
	step := uint64(1)<<e - 1
	return int64((u + step) &^ step << unitShift)
}

// binOf returns the bin that holds blocks of size bytes, a multiple of unit: its row
// and its place in the row. Every block in a later bin is larger than every block in
// this one.
func binOf(size int64) (row, col uint) {
	u := uint64(size) >> unitShift
	if u < rowBins {
		return 0, uint(u)
	}
	e := uint(bits.Len64(u) - rowBits - 1)
	return e + 1, uint(u>>e) - rowBins
}
