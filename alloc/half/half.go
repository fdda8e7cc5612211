// Package half has the two floating-point types of 16 bits that GPUs compute with, as element types of
// buffers, and their conversions.
//
//	b, err := alloc.Make[half.BFloat16](s, len(weights))
//	err = b.CopyFrom(s, half.Encode[half.BFloat16](nil, weights))
//	k.Launch(s, grid, block, 0, b.Arg(), alloc.Scalar(half.ToFloat16(0.5)))
//
// A [Float16] has 1 sign, 5 exponent and 10 fraction bits (IEEE 754 binary16, CUDA's __half); a [BFloat16]
// is the upper half of a float32 (CUDA's __nv_bfloat16). They are numbers without arithmetic: Go converts
// them to float32, computes, and converts back. Every 16-bit value has its float32 exactly. The way back
// rounds to the nearest value and to the even one of two as near; what is too large becomes an infinity;
// what is too small loses bits, then becomes a zero of its sign. A NaN stays one, quiet, with its sign and
// the upper bits of its fraction.
package half

import (
	"math"
	"strconv"
)

// A Float16 is a number of IEEE 754's binary16: up to 65,504, with 11 significant bits.
type Float16 uint16

// A BFloat16 is a number with the range of a float32 and 8 significant bits.
type BFloat16 uint16

// Number is either type.
type Number interface{ Float16 | BFloat16 }

const (
	sign32     = 1 << 31
	infinity32 = 0x7f800000
	sign16     = 1 << 15

	infinityF16 = 0x7c00
	quietF16    = 0x200 // the fraction's upper bit, which a quiet NaN has set
	quietBF16   = 0x40

	dropF16  = 23 - 10             // bits of a float32's fraction that a Float16 has no room for
	rebias   = (127 - 15) << 23    // between the exponents of both
	leastF16 = (127 - 14) << 23    // the bits of 2^-14, the least Float16 with all its bits
	overF16  = 0x477ff000          // the bits of 65,520, half-way from the largest Float16 to the next
	unitF16  = 1.0 / (1 << 24)     // the least Float16 above zero
	anchor   = unitF16 * (1 << 23) // 0.5, whose neighbours in float32 lie unitF16 away
	halfBF16 = 1<<15 - 1           // a little less than half of what a BFloat16 drops
	halfF16  = 1<<(dropF16-1) - 1  // the same for a Float16
	fraction = 1<<10 - 1           // of a Float16
)

// ToFloat16 returns the Float16 nearest to x.
func ToFloat16(x float32) Float16 {
	b := math.Float32bits(x)
	s := Float16(b>>16) & sign16
	b &^= sign32
	switch {
	case b > infinity32:
		return s | infinityF16 | quietF16 | Float16(b>>dropF16)&fraction
	case b >= overF16:
		return s | infinityF16
	case b >= leastF16:
		b -= rebias
		return s | Float16((b+halfF16+b>>dropF16&1)>>dropF16)
	}
	// The sum is rounded to a whole number of units, which is what the fraction's bits count.
	return s | Float16(math.Float32bits(math.Float32frombits(b)+anchor)-math.Float32bits(anchor))
}

// Float32 returns the float32 of the same value.
func (h Float16) Float32() float32 {
	s := uint32(h&sign16) << 16
	e, m := uint32(h)&infinityF16, uint32(h)&fraction
	switch e {
	case 0:
		return math.Float32frombits(s | math.Float32bits(float32(m)*unitF16))
	case infinityF16:
		return math.Float32frombits(s | infinity32 | m<<dropF16)
	}
	return math.Float32frombits(s | (e|m)<<dropF16 + rebias)
}

// String returns the shortest text that tells the value from its neighbours.
func (h Float16) String() string {
	return shortest(h.Float32(), func(x float32) bool { return ToFloat16(x) == h })
}

// ToBFloat16 returns the BFloat16 nearest to x.
func ToBFloat16(x float32) BFloat16 {
	b := math.Float32bits(x)
	if b&^sign32 > infinity32 {
		return BFloat16(b>>16) | quietBF16
	}
	return BFloat16((b + halfBF16 + b>>16&1) >> 16)
}

// Float32 returns the float32 of the same value.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// String returns the shortest text that tells the value from its neighbours.
func (h BFloat16) String() string {
	return shortest(h.Float32(), func(x float32) bool { return ToBFloat16(x) == h })
}

// shortest returns the shortest decimal text of x that is read as a number which same accepts.
func shortest(x float32, same func(float32) bool) string {
	for digits := range 9 {
		text := strconv.FormatFloat(float64(x), 'g', digits+1, 32)
		if y, err := strconv.ParseFloat(text, 32); err == nil && same(float32(y)) {
			return text
		}
	}
	return strconv.FormatFloat(float64(x), 'g', -1, 32)
}

// Encode appends the numbers nearest to those of src to dst.
func Encode[H Number](dst []H, src []float32) []H {
	switch dst := any(&dst).(type) {
	case *[]Float16:
		for _, x := range src {
			*dst = append(*dst, ToFloat16(x))
		}
	case *[]BFloat16:
		for _, x := range src {
			*dst = append(*dst, ToBFloat16(x))
		}
	}
	return dst
}

// Decode appends the numbers of src to dst.
func Decode[H Number](dst []float32, src []H) []float32 {
	switch src := any(src).(type) {
	case []Float16:
		for _, x := range src {
			dst = append(dst, x.Float32())
		}
	case []BFloat16:
		for _, x := range src {
			dst = append(dst, x.Float32())
		}
	}
	return dst
}
