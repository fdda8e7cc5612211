//go:build cgo && linux

package cuda

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/half"
)

// halfPTX: widen(y, x) makes a float32 of each Float16; narrow(f, b, x) makes a Float16 and a BFloat16 of
// each float32.
const halfPTX = `.version 7.0
.target sm_80
.address_size 64
.visible .entry widen(.param .u64 y, .param .u64 x)
{
	.reg .b16 %h<2>;
	.reg .f32 %f<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<7>;
	ld.param.u64 %rd1, [y];
	ld.param.u64 %rd2, [x];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	mul.wide.u32 %rd3, %r4, 2;
	mul.wide.u32 %rd4, %r4, 4;
	add.u64 %rd5, %rd2, %rd3;
	add.u64 %rd6, %rd1, %rd4;
	ld.global.b16 %h1, [%rd5];
	cvt.f32.f16 %f1, %h1;
	st.global.f32 [%rd6], %f1;
	ret;
}
.visible .entry narrow(.param .u64 f, .param .u64 b, .param .u64 x)
{
	.reg .b16 %h<3>;
	.reg .f32 %f<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [f];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [x];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	mul.wide.u32 %rd4, %r4, 2;
	mul.wide.u32 %rd5, %r4, 4;
	add.u64 %rd6, %rd3, %rd5;
	add.u64 %rd7, %rd1, %rd4;
	add.u64 %rd8, %rd2, %rd4;
	ld.global.f32 %f1, [%rd6];
	cvt.rn.f16.f32 %h1, %f1;
	cvt.rn.bf16.f32 %h2, %f1;
	st.global.b16 [%rd7], %h1;
	st.global.b16 [%rd8], %h2;
	ret;
}
`

// The device converts as package half does: every Float16, and float32s of all sizes with those half-way
// between two Float16s or BFloat16s.
func TestHalf(t *testing.T) {
	e := start(t, alloc.Options{})
	if e.StandIn != nil {
		t.Skip("the stand-in driver knows no numbers of 16 bits")
	}
	const n = 1 << 16
	all, bits := make([]half.Float16, n), make([]float32, 0, 3*n)
	for i := range all {
		all[i] = half.Float16(i)
		bits = append(bits, half.Float16(i).Float32(), math.Float32frombits(uint32(i)<<16|1<<15),
			math.Float32frombits(uint32(i)*65521+uint32(i)))
	}
	for i := 1; i < n; i++ { // half-way
		bits[3*i+2] = (bits[3*i] + bits[3*i-3]) / 2
	}
	x, y := buffer[half.Float16](t, e.s, n), buffer[float32](t, e.s, n)
	require.NoError(t, x.CopyFrom(e.s, all))
	widen, narrow := e.kernel(t, halfPTX, "widen"), e.kernel(t, halfPTX, "narrow")
	require.NoError(t, widen.Launch(e.s, Dim{X: n / 256}, Dim{X: 256}, 0, y.Arg(), x.Arg()))
	wide := make([]float32, n)
	require.NoError(t, y.CopyTo(e.s, wide))
	for i, h := range all {
		want := h.Float32()
		require.True(t, want == wide[i] || want != want && wide[i] != wide[i], "%#04x is %v", i, wide[i])
	}
	m := len(bits)
	from := buffer[float32](t, e.s, m)
	f, b := buffer[half.Float16](t, e.s, m), buffer[half.BFloat16](t, e.s, m)
	require.NoError(t, from.CopyFrom(e.s, bits))
	require.NoError(t, narrow.Launch(e.s, Dim{X: m / 256}, Dim{X: 256}, 0, f.Arg(), b.Arg(), from.Arg()))
	fs, bs := make([]half.Float16, m), make([]half.BFloat16, m)
	require.NoError(t, f.CopyTo(e.s, fs))
	require.NoError(t, b.CopyTo(e.s, bs))
	nans := 0
	for i, v := range bits {
		if v != v { // the device has one NaN
			nans++
			assert.True(t, fs[i].Float32() != fs[i].Float32() && bs[i].Float32() != bs[i].Float32(), "%v", v)
			continue
		}
		require.Equal(t, half.ToFloat16(v), fs[i], "%v", v)
		require.Equal(t, half.ToBFloat16(v), bs[i], "%v", v)
	}
	assert.Positive(t, nans)
	for _, free := range []func(){x.Free, y.Free, from.Free, f.Free, b.Free} {
		free()
	}
}
