//go:build cgo && linux

package cuda

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// globalPTX: count adds table[i] to a counter for i below n; scale makes p[0] the factor.
const globalPTX = drvtest.Head + `
.visible .global .align 4 .u32 table[4] = {1, 20, 300, 4000};
.visible .global .align 8 .u64 counter;
.visible .const .align 4 .f32 factor = 0f40200000;
.visible .entry count(.param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<8>;
	ld.param.u32 %r1, [n];
	mov.u32 %r2, 0;
	mov.u64 %rd1, table;
LOOP:
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra DONE;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	cvt.u64.u32 %rd4, %r3;
	ld.global.u64 %rd5, [counter];
	add.u64 %rd6, %rd5, %rd4;
	st.global.u64 [counter], %rd6;
	add.u32 %r2, %r2, 1;
	bra LOOP;
DONE:
	ret;
}
.visible .entry scale(.param .u64 p)
{
	.reg .f32 %f<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	ld.const.f32 %f1, [factor];
	st.global.f32 [%rd2], %f1;
	ret;
}
`

func TestGlobal(t *testing.T) {
	e := start(t, alloc.Options{})
	m, err := LoadModule(e.pool, []byte(globalPTX))
	require.NoError(t, err)
	count, err := m.Kernel("count")
	require.NoError(t, err)
	raw, err := m.Global("table")
	require.NoError(t, err)
	assert.EqualValues(t, 16, raw.Bytes())
	assert.Equal(t, 16, raw.Len())
	table, err := GlobalOf[uint32](m, "table")
	require.NoError(t, err)
	assert.Equal(t, 4, table.Len())
	assert.Equal(t, raw.Ptr(), table.Ptr())
	counter, err := GlobalOf[uint64](m, "counter")
	require.NoError(t, err)

	was := make([]uint32, 4)
	require.NoError(t, table.CopyTo(e.s, was))
	assert.Equal(t, []uint32{1, 20, 300, 4000}, was, "what the source says")
	one := Dim{X: 1}
	require.NoError(t, count.Launch(e.s, one, one, 0, alloc.Scalar(uint32(4))))
	require.NoError(t, table.CopyFrom(e.s, []uint32{5, 6}))
	require.NoError(t, count.Launch(e.s, one, one, 0, alloc.Scalar(uint32(3))))
	sum := make([]uint64, 1)
	require.NoError(t, counter.CopyTo(e.s, sum))
	assert.EqualValues(t, 4321+5+6+300, sum[0])

	scale, err := m.Kernel("scale")
	require.NoError(t, err)
	factor, err := GlobalOf[float32](m, "factor")
	require.NoError(t, err)
	p := buffer[float32](t, e.s, 2)
	require.NoError(t, scale.Launch(e.s, one, one, 0, p.View(0, 1).Arg()))
	require.NoError(t, factor.CopyFrom(e.s, []float32{7}))
	require.NoError(t, scale.Launch(e.s, one, one, 0, p.View(1, 2).Arg()))
	got := make([]float32, 2)
	require.NoError(t, p.CopyTo(e.s, got))
	assert.Equal(t, []float32{2.5, 7}, got)
	p.Free()

	// A second module of the same text has variables of its own.
	other, err := LoadModule(e.pool, []byte(globalPTX))
	require.NoError(t, err)
	fresh, err := GlobalOf[uint64](other, "counter")
	require.NoError(t, err)
	require.NoError(t, fresh.CopyTo(e.s, sum))
	assert.Zero(t, sum[0])
	require.NoError(t, other.Unload())

	require.NoError(t, m.Unload())
	require.ErrorIs(t, counter.CopyTo(e.s, sum), ErrUnloaded)
	_, err = m.Global("table")
	require.ErrorIs(t, err, ErrUnloaded)
	require.NoError(t, e.pool.Close())
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().BadAccess)
		assert.Zero(t, e.StandIn.Books().Pageable)
	}
}

func TestGlobalErrors(t *testing.T) {
	e := start(t, alloc.Options{})
	m := e.module(t, globalPTX)
	g, err := GlobalOf[uint32](m, "table")
	require.NoError(t, err)
	_, absent := m.Global("absent")
	_, odd := GlobalOf[[3]byte](m, "table")
	_, empty := GlobalOf[struct{}](m, "table")
	text, err := GlobalOf[string](m, "table")
	require.NoError(t, err) // 16 bytes: found out when Go memory is named
	closed, err := e.pool.NewStream()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, tt := range map[string]struct {
		err  error
		is   error
		want string
	}{
		"absent": {absent, nil, "cuda: global absent: cuda: cuModuleGetGlobal: CUDA_ERROR_NOT_FOUND (500): " +
			"the module has none of that name: declare it extern \"C\", or have it among CompileOptions.Names"},
		"odd":     {odd, alloc.ErrSize, "cuda: global table: it has 16 bytes, an element 3"},
		"empty":   {empty, alloc.ErrSize, "an element 0"},
		"pointer": {text.CopyFrom(e.s, []string{"a"}), alloc.ErrType, "string is a Go pointer"},
		"long":    {g.CopyFrom(e.s, make([]uint32, 5)), alloc.ErrSize, "cuda: global table: copy: 5 elements of 4"},
		"zero":    {Global[byte]{}.CopyTo(e.s, make([]byte, 1)), ErrArguments, "the zero Global"},
		"stream":  {g.CopyTo(nil, make([]uint32, 1)), nil, "no stream"},
		"closed":  {g.CopyTo(closed, make([]uint32, 1)), alloc.ErrClosed, "stream closed"},
	} {
		require.Error(t, tt.err, name)
		if tt.is != nil {
			assert.ErrorIs(t, tt.err, tt.is, name)
		}
		assert.ErrorContains(t, tt.err, tt.want, name)
	}
}

// A capture takes kernels that use variables, and no copies of these.
func TestGlobalCaptured(t *testing.T) {
	e := start(t, alloc.Options{})
	m := e.module(t, globalPTX)
	counter, err := GlobalOf[uint64](m, "counter")
	require.NoError(t, err)
	count, err := m.Kernel("count")
	require.NoError(t, err)
	sum := make([]uint64, 1)
	launch := func() error { return count.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint32(2))) }
	g, err := e.s.Capture(func() error {
		err := counter.CopyTo(e.s, sum)
		require.ErrorIs(t, err, alloc.ErrCapturing)
		require.ErrorContains(t, err, "copy behind its Launch")
		return launch()
	})
	require.NoError(t, err)
	require.NoError(t, g.Launch(e.s))
	require.NoError(t, g.Launch(e.s))
	require.NoError(t, counter.CopyTo(e.s, sum))
	assert.EqualValues(t, 2*(1+20), sum[0])

	// What a graph copies is what there was, and the module stays for it.
	seven := []uint64{7}
	require.NoError(t, g.Update(func() error { return errors.Join(counter.CopyFrom(e.s, seven), launch()) }))
	seven[0] = 8
	for range 2 {
		require.NoError(t, g.Launch(e.s))
		require.NoError(t, counter.CopyTo(e.s, sum))
		assert.EqualValues(t, 7+1+20, sum[0])
	}
	require.NoError(t, g.Update(func() error { return counter.CopyFrom(e.s, seven) }))
	require.NoError(t, m.Unload())
	require.NoError(t, g.Launch(e.s))
	require.NoError(t, e.s.Sync())
	require.ErrorIs(t, counter.CopyFrom(e.s, seven), ErrUnloaded)
	g.Close()
	if e.StandIn != nil {
		require.Eventually(t, func() bool { return e.StandIn.Books().Modules == 0 }, 10*time.Second, time.Millisecond)
		assert.Zero(t, e.StandIn.Books().BadAccess)
	}
}

// A variable alone keeps its module loaded.
func TestGlobalKeepsModule(t *testing.T) {
	e := start(t, alloc.Options{})
	g := func() Global[uint32] {
		m, err := LoadModule(e.pool, []byte(globalPTX))
		require.NoError(t, err)
		g, err := GlobalOf[uint32](m, "table")
		require.NoError(t, err)
		return g
	}()
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	got := make([]uint32, 4)
	require.NoError(t, g.CopyTo(e.s, got))
	assert.EqualValues(t, 4000, got[3])
}

func TestGlobalNoAllocation(t *testing.T) {
	e := start(t, alloc.Options{})
	m := e.module(t, globalPTX)
	g, err := GlobalOf[uint32](m, "table")
	require.NoError(t, err)
	words := make([]uint32, 4)
	noGoMemory(t, 50, func() {
		if g.CopyFrom(e.s, words) != nil || g.CopyTo(e.s, words) != nil {
			t.Error("copy")
		}
	})
}
