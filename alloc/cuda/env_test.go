//go:build cgo && linux

package cuda

import (
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/internal/cudadrv"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
	"github.com/lastuse/lastuse/internal/gomemory"
	"github.com/lastuse/lastuse/internal/tier"
	"github.com/lastuse/lastuse/tracker"
)

// usable reports why the machine's own driver cannot be used.
func usable() error {
	_, err := describeFirst(cudadrv.Library)
	return err
}

func describeFirst(library string) (Info, error) {
	all, err := devices(library)
	if err == nil && len(all) == 0 {
		err = ErrUnavailable
	}
	if err != nil {
		return Info{}, err
	}
	return all[0], nil
}

// An env is an open device with a pool and a stream.
type env struct {
	drvtest.Driver
	dev  *Device
	pool *alloc.Pool
	s    *alloc.Stream
}

// choose returns the driver that the flag -driver selects.
func choose(tb testing.TB) drvtest.Driver {
	tb.Helper()
	return drvtest.Choose(tb, cudadrv.Library, usable)
}

// apart has the pools of env give each buffer an allocation of its own, for compute-sanitizer. Tests that
// count what pools hold fail then.
var apart = flag.Bool("apart", false, "one device allocation per buffer")

// ordered puts the order checker around the devices of env.
var ordered = flag.Bool("ordered", false, "all tests under the order checker")

// TestMain runs all tests, and with -tags long once more under the order checker.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	plain := flag.Lookup("test.bench").Value.String() != "" || flag.Lookup("test.fuzz").Value.String() != "" ||
		os.Getenv(importer) != "" || *holdChild > 0 || *brokenChild
	if tier.Long && code == 0 && !plain && !*ordered {
		*ordered = true
		code = m.Run()
	}
	os.Exit(code)
}

// checked returns the device for a pool.
func (e *env) checked(tb testing.TB) alloc.Device {
	if *ordered {
		return alloctest.Ordered(tb, e.dev)
	}
	return e.dev
}

// start opens device 0 of the driver that the flag selects, and a pool.
func start(tb testing.TB, o alloc.Options) *env {
	tb.Helper()
	return startOn(tb, choose(tb), o)
}

// startStandIn opens a stand-in whatever the flag says, after settings of it.
func startStandIn(tb testing.TB, o alloc.Options, settings ...any) *env {
	tb.Helper()
	return startOn(tb, drvtest.OpenStandIn(tb, drvtest.Options{}, settings...), o)
}

func startOn(tb testing.TB, d drvtest.Driver, o alloc.Options) *env {
	tb.Helper()
	return startWith(tb, d, 0, Options{}, o)
}

// startWith opens a device with options.
func startWith(tb testing.TB, d drvtest.Driver, ordinal int, of Options, o alloc.Options) *env {
	tb.Helper()
	e := &env{Driver: d}
	var err error
	e.dev, err = open(d.Path, ordinal, of)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = e.dev.Close() })
	if o.Tracker == nil {
		o.Tracker = tracker.New(tracker.Options{Rate: 1})
	}
	o.Apart = o.Apart || *apart && !o.Check && o.Trace == nil
	e.pool, err = alloc.NewPool(e.checked(tb), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = e.pool.Close() })
	e.s, err = e.pool.NewStream()
	require.NoError(tb, err)
	return e
}

// checkers is the package of the order checker.
var checkers = reflect.TypeFor[alloctest.Order]().PkgPath()

// noGoMemory fails tb if runs of f allocate on the Go heap. What the order checker keeps is not counted.
func noGoMemory(tb testing.TB, runs int, f func()) {
	tb.Helper()
	if *ordered {
		assert.Empty(tb, gomemory.Stacks(int64(runs), f, checkers))
		return
	}
	allocs, bytes := gomemory.Count(runs, f)
	assert.Zero(tb, allocs)
	assert.Zero(tb, bytes)
}

func buffer[T any](tb testing.TB, s *alloc.Stream, n int) alloc.Buffer[T] {
	tb.Helper()
	b, err := alloc.Make[T](s, n)
	require.NoError(tb, err)
	return b
}

// module loads PTX for the time of the test.
func (e *env) module(tb testing.TB, ptx string) *Module {
	tb.Helper()
	m, err := LoadModule(e.pool, []byte(ptx))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = m.Unload() })
	return m
}

// kernel returns one kernel of a module of its own.
func (e *env) kernel(tb testing.TB, ptx, name string) *Kernel {
	tb.Helper()
	k, err := e.module(tb, ptx).Kernel(name)
	require.NoError(tb, err)
	return k
}

// testPTX: empty does nothing; axpy(y, x, a, n) adds a*x to y; spin(ns) runs for so long; write(p, v) writes
// one word; fault writes to address 64; wide takes a structure of 24 bytes and writes its three words' sum to
// p.
const testPTX = drvtest.Head + drvtest.Empty + drvtest.Spin + `
.visible .entry axpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<5>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [y];
	ld.param.u64 %rd2, [x];
	ld.param.f32 %f1, [a];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.u32 %r5, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd4, %rd2;
	mul.wide.u32 %rd5, %r5, 4;
	add.u64 %rd6, %rd3, %rd5;
	add.u64 %rd7, %rd4, %rd5;
	ld.global.f32 %f2, [%rd7];
	ld.global.f32 %f3, [%rd6];
	fma.rn.f32 %f4, %f1, %f2, %f3;
	st.global.f32 [%rd6], %f4;
DONE:
	ret;
}

.visible .entry write(.param .u64 p, .param .u32 v)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [v];
	cvta.to.global.u64 %rd2, %rd1;
	st.global.u32 [%rd2], %r1;
	ret;
}

.visible .entry fault()
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	mov.u64 %rd1, 64;
	mov.u32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}

.visible .entry wide(.param .u64 p, .param .align 8 .b8 v[24])
{
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [v];
	ld.param.u64 %rd3, [v+8];
	ld.param.u64 %rd4, [v+16];
	add.u64 %rd5, %rd2, %rd3;
	add.u64 %rd6, %rd5, %rd4;
	cvta.to.global.u64 %rd7, %rd1;
	st.global.u64 [%rd7], %rd6;
	ret;
}
`
