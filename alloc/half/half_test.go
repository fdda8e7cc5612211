package half

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// A format is one of the two types, by its numbers of bits.
type format struct {
	name           string
	exponent, bits int // of the fraction
	to             func(float32) uint16
	from           func(uint16) float32
}

var formats = []format{
	{"Float16", 5, 10, func(x float32) uint16 { return uint16(ToFloat16(x)) },
		func(h uint16) float32 { return Float16(h).Float32() }},
	{"BFloat16", 8, 7, func(x float32) uint16 { return uint16(ToBFloat16(x)) },
		func(h uint16) float32 { return BFloat16(h).Float32() }},
}

// value returns what the bits of h mean, by the definition.
func (f format) value(h uint16) float64 {
	bias := 1<<(f.exponent-1) - 1
	e, m := int(h>>f.bits)&(1<<f.exponent-1), float64(int(h)&(1<<f.bits-1))
	v := math.Ldexp(1+math.Ldexp(m, -f.bits), e-bias)
	switch {
	case e == 0:
		v = math.Ldexp(m, 1-bias-f.bits)
	case e == 1<<f.exponent-1 && m == 0:
		v = math.Inf(1)
	case e == 1<<f.exponent-1:
		v = math.NaN()
	}
	return math.Copysign(v, 1-2*float64(h>>15))
}

// nearest returns x rounded to the format, as a float64.
func (f format) nearest(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	bias := 1<<(f.exponent-1) - 1
	_, e := math.Frexp(x)
	unit := max(e-1, 1-bias) - f.bits
	v := math.Ldexp(math.RoundToEven(math.Ldexp(x, -unit)), unit)
	if math.Abs(v) >= math.Ldexp(1, bias+1) {
		return math.Copysign(math.Inf(1), x)
	}
	return math.Copysign(v, x)
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// Every value of 16 bits means what it should, and comes back.
func TestEveryValue(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			quiet := uint16(1) << (f.bits - 1)
			for i := range 1 << 16 {
				h := uint16(i)
				x, want := f.from(h), f.value(h)
				require.True(t, same(float64(x), want), "%#04x is %v, want %v", h, x, want)
				back := h
				if math.IsNaN(want) {
					back |= quiet
					require.Equal(t, h>>15 == 1, math.Signbit(float64(x)), "%#04x", h)
				}
				require.Equal(t, back, f.to(x), "%#04x: %v", h, x)
			}
		})
	}
}

// What lies between two values goes to the nearer one, from half-way to the even one, on both sides of zero
// and beyond the largest.
func TestRounding(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			ends := 0
			for i := range 1<<15 - 1<<f.bits { // what is finite
				h := uint16(i)
				lo := f.from(h)
				if f.name == "BFloat16" && i == 1<<15-1<<f.bits-1 {
					ends++
					require.EqualValues(t, 1<<15-1<<f.bits, f.to(math.MaxFloat32), "infinity")
					continue // what lies half-way to the next is no float32
				}
				hi := float64(f.from(h + 1))
				if math.IsInf(hi, 0) {
					ends++
					hi = math.Ldexp(1, 1<<(f.exponent-1))
				}
				middle := float32((float64(lo) + hi) / 2)
				require.Equal(t, hi-float64(middle), float64(middle)-float64(lo), "half-way above %v", lo)
				even := h + h&1
				for _, sign := range []uint16{0, 1 << 15} {
					at := func(x float32) uint16 {
						return f.to(math.Float32frombits(math.Float32bits(x) | uint32(sign)<<16))
					}
					require.Equal(t, even|sign, at(middle), "half-way from %v to %v", lo, hi)
					require.Equal(t, h|sign, at(math.Nextafter32(middle, 0)), "below %v", middle)
					more := math.Nextafter32(middle, float32(math.Inf(1)))
					require.Equal(t, (h+1)|sign, at(more), "above %v", middle)
				}
			}
			assert.Equal(t, 1, ends)
		})
	}
}

// Numbers of all sizes are rounded as the definition says.
func TestAgainstDefinition(t *testing.T) {
	for _, f := range formats {
		for i := uint64(0); i < 1<<32; i += 2039 { // a prime
			x := math.Float32frombits(uint32(i))
			got, want := f.value(f.to(x)), f.nearest(float64(x))
			if !same(got, want) {
				t.Fatalf("%s: %v becomes %v, want %v", f.name, x, got, want)
			}
		}
	}
}

func TestString(t *testing.T) {
	for _, tt := range []struct {
		x    fmt.Stringer
		want string
	}{
		{ToFloat16(0.1), "0.1"}, {ToFloat16(65504), "6.55e+04"}, {ToFloat16(-2), "-2"}, {ToFloat16(6e-8), "6e-08"},
		{ToBFloat16(0.1), "0.1"}, {ToBFloat16(3.14159), "3.14"}, {ToBFloat16(float32(math.Inf(-1))), "-Inf"},
		{Float16(0x7e00), "NaN"}, {Float16(0x8000), "-0"},
	} {
		assert.Equal(t, tt.want, tt.x.String())
	}
}

// They are element types like others.
func TestBuffers(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	s := p.DefaultStream()
	numbers := []float32{1, -2.5, 0.1, 70000}
	b, err := alloc.Make[BFloat16](s, len(numbers))
	require.NoError(t, err)
	require.NoError(t, b.CopyFrom(s, Encode[BFloat16](nil, numbers)))
	require.NoError(t, b.View(0, 1).Fill(s, ToBFloat16(8)))
	got := make([]BFloat16, len(numbers))
	require.NoError(t, b.CopyTo(s, got))
	assert.Equal(t, []float32{8, -2.5, 0.100097656, 70144}, Decode(nil, got))
	b.Free()
	assert.Equal(t, []float32{0, 1, -2.5, 0.099975586, float32(math.Inf(1))},
		Decode([]float32{0}, Encode[Float16](nil, numbers)))
	require.NoError(t, p.Close())
}

func BenchmarkEncode(b *testing.B) {
	src, dst := make([]float32, 1<<16), make([]Float16, 0, 1<<16)
	for i := range src {
		src[i] = float32(i) - 1<<15
	}
	for b.Loop() {
		dst = Encode(dst[:0], src)
	}
	b.SetBytes(int64(4 * len(src)))
}
