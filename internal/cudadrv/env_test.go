//go:build cgo && linux

package cudadrv

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// An env is one opened driver with what most tests need on it.
type env struct {
	drvtest.Driver
	drv    *Driver
	ctx    *Context
	stream uintptr
}

// usable reports why the machine's own driver cannot be used.
func usable() error {
	d, err := Open()
	if err != nil {
		return err
	}
	_, err = d.DeviceGet(0)
	return err
}

// open opens the driver that the flag selects.
func open(tb testing.TB) *env {
	tb.Helper()
	return openOn(tb, drvtest.Choose(tb, Library, usable))
}

// standIn opens a stand-in whatever the flag says, for tests that make it fail or look at its books.
func standIn(tb testing.TB, o drvtest.Options, settings ...any) *env {
	tb.Helper()
	return openOn(tb, drvtest.OpenStandIn(tb, o, settings...))
}

func openOn(tb testing.TB, d drvtest.Driver) *env {
	tb.Helper()
	e := &env{Driver: d}
	var err error
	e.drv, err = OpenAt(d.Path)
	require.NoError(tb, err)
	ctx, err := e.drv.Retain(0)
	require.NoError(tb, err)
	e.ctx = &ctx
	e.stream, err = ctx.StreamCreate()
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_ = ctx.StreamDestroy(e.stream)
		_ = ctx.Release()
	})
	return e
}

// load loads PTX and returns one kernel of it.
func (e *env) load(tb testing.TB, ptx, kernel string) uintptr {
	tb.Helper()
	m, err := e.ctx.ModuleLoad([]byte(ptx))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = e.ctx.ModuleUnload(m) })
	f, err := e.ctx.ModuleGetFunction(m, kernel)
	require.NoError(tb, err)
	return f
}

// pinned returns n bytes of page-locked memory as address and slice.
func (e *env) pinned(tb testing.TB, n int64) (uintptr, []byte) {
	tb.Helper()
	p, err := e.ctx.MemHostAlloc(n)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = e.ctx.MemFreeHost(p) })
	return p, unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n)
}

// kernels is the PTX of the tests: empty does nothing, addto adds a scalar to n words, spin runs for a number
// of ns.
const kernels = drvtest.Head + drvtest.Empty + drvtest.Spin + `
.visible .global .align 4 .u32 table[4] = {1, 2, 3, 4};

// addto(u32 *p, u32 x, u32 n)
.visible .entry addto(.param .u64 p, .param .u32 x, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [x];
	ld.param.u32 %r2, [n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.u32 %r6, %r3, %r4, %r5;
	setp.ge.u32 %p1, %r6, %r2;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.u32 %rd3, %r6, 4;
	add.u64 %rd4, %rd2, %rd3;
	ld.global.u32 %r7, [%rd4];
	add.u32 %r7, %r7, %r1;
	st.global.u32 [%rd4], %r7;
DONE:
	ret;
}
`
