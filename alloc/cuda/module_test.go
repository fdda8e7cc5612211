//go:build cgo && linux

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestLaunch(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "axpy")
	const n = 1000
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i), float32(2*i)
	}
	dx, dy := buffer[float32](t, e.s, n), buffer[float32](t, e.s, n)
	require.NoError(t, dx.CopyFrom(e.s, x))
	require.NoError(t, dy.CopyFrom(e.s, y))
	grid, block := Dim{X: (n + 127) / 128}, Dim{X: 128}
	require.NoError(t,
		k.Launch(e.s, grid, block, 0, dy.Arg(), dx.Arg(), alloc.Scalar(float32(3)), alloc.Scalar(uint32(n))))
	dx.Free() // the launch is enqueued
	// A view: only its part is changed.
	z := buffer[float32](t, e.s, n)
	require.NoError(t, z.Fill(e.s, 1))
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, block, 0, dy.View(10, 20).Arg(), z.View(0, 10).Arg(),
		alloc.Scalar(float32(1)), alloc.Scalar(uint32(10))))
	got := make([]float32, n)
	require.NoError(t, dy.CopyTo(e.s, got))
	for i := range got {
		want := float32(2*i) + 3*float32(i)
		if i >= 10 && i < 20 {
			want++
		}
		require.Equal(t, want, got[i], "element %d", i)
	}
	dy.Free()
	z.Free()
	require.NoError(t, e.pool.Close())
	if e.StandIn != nil {
		b := e.StandIn.Books()
		assert.Zero(t, b.BadAccess)
		assert.Zero(t, b.Pageable)
	}
}

func TestLaunchWideScalar(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "wide")
	p := buffer[uint64](t, e.s, 1)
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, p.Arg(), alloc.Scalar([3]uint64{1, 20, 300})))
	got := make([]uint64, 1)
	require.NoError(t, p.CopyTo(e.s, got))
	assert.EqualValues(t, 321, got[0])
	p.Free()
}

func TestLaunchErrors(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "write")
	p := buffer[uint32](t, e.s, 1)
	one := Dim{X: 1}
	v := alloc.Scalar(uint32(7))
	freed := buffer[uint32](t, e.s, 1)
	freed.Free()
	sized := k.params != nil
	pool, err := alloc.NewPool(e.dev, alloc.Options{})
	require.NoError(t, err)
	defer pool.Close()
	other, err := pool.NewStream()
	require.NoError(t, err)
	closed, err := pool.NewStream()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	hostDev, err := host.Open(host.Options{})
	require.NoError(t, err)
	hostPool, err := alloc.NewPool(hostDev, alloc.Options{})
	require.NoError(t, err)
	defer hostPool.Close()
	onHost, err := hostPool.NewStream()
	require.NoError(t, err)
	_, loadOnHost := LoadModule(hostPool, []byte(testPTX))
	tests := []struct {
		name string
		err  error
		is   error
		want string
		skip bool
	}{
		{"too few", k.Launch(e.s, one, one, 0, p.Arg()), ErrArguments,
			"cuda: launch write: 1 arguments, kernel takes 2", !sized},
		{"too many", k.Launch(e.s, one, one, 0, p.Arg(), v, v), ErrArguments, "3 arguments, kernel takes 2",
			!sized},
		{"size", k.Launch(e.s, one, one, 0, p.Arg(), alloc.Scalar(uint64(7))), ErrArguments,
			"argument 1 is 8 bytes, kernel takes 4", !sized},
		{"no grid", k.Launch(e.s, Dim{}, one, 0, p.Arg(), v), ErrArguments,
			"cuda: launch write: grid of 0 blocks: want 1 to 2^31-1 each way", false},
		{"negative grid", k.Launch(e.s, Dim{X: 1, Y: -1}, one, 0, p.Arg(), v), ErrArguments,
			"grid of 1 x -1 blocks", false},
		{"large block", k.Launch(e.s, one, Dim{X: 32, Y: 64}, 0, p.Arg(), v), ErrArguments,
			"block of 32 x 64 threads: want 1 to ", false},
		{"huge block", k.Launch(e.s, one, Dim{1 << 30, 1 << 30, 1 << 30}, 0, p.Arg(), v), ErrArguments,
			"block of 1073741824 x 1073741824 x 1073741824 threads", false},
		{"overflowing block", k.Launch(e.s, one, Dim{2, 1 << 30, 1 << 30}, 0, p.Arg(), v), ErrArguments,
			"block of 2 x 1073741824 x", false},
		{"negative shared", k.Launch(e.s, one, one, -4, p.Arg(), v), ErrArguments,
			"-4 bytes of shared memory", false},
		{"too much shared", k.Launch(e.s, one, one, 1<<40, p.Arg(), v), ErrArguments,
			"1099511627776 bytes of shared memory", false},
		{"no stream", k.Launch(nil, one, one, 0, p.Arg(), v), nil, "alloc: launch: no stream: nil", false},
		{"no kernel", (*Kernel)(nil).Launch(e.s, one, one, 0), ErrArguments,
			"cuda: launch: no kernel: nil, or not made by a module", false},
		{"zero kernel", new(Kernel).Launch(e.s, one, one, 0), ErrArguments, "cuda: launch: no kernel", false},
		{"zero argument", k.Launch(e.s, one, one, 0, p.Arg(), alloc.Arg{}), alloc.ErrType,
			"alloc: launch: argument 1: the zero Arg", false},
		{"pointer", k.Launch(e.s, one, one, 0, p.Arg(), alloc.Scalar("text")), alloc.ErrType,
			"alloc: launch: argument 1: string is a Go pointer", false},
		{"another pool's stream", k.Launch(other, one, one, 0, p.Arg(), v), alloc.ErrForeign,
			"alloc: launch: argument 0: buffer belongs to another pool", false},
		{"closed stream", k.Launch(closed, one, one, 0, alloc.Scalar(uint64(0)), v), alloc.ErrClosed,
			"alloc: launch: stream closed: Close it behind its last use", false},
		{"host's stream", k.Launch(onHost, one, one, 0, p.Arg(), v), alloc.ErrForeign, "cuda: launch write: kernel is on " + e.dev.Name() + ", stream is on host and belongs to another pool: use one of the kernel's device", false},
		{"host's pool", loadOnHost, ErrUnavailable, "cuda: load module: pool is on host, which is no GPU",
			false},
		{"another device's kind", host.Launch(e.s, func(host.Args) {}), nil,
			"host: launch: " + e.dev.Name() + " is no host device", false},
		{"shared", k.Launch(e.s, one, one, e.dev.Info().Limits.Shared+1, p.Arg(), v), ErrArguments, fmt.Sprintf("%d bytes of shared memory: there are %d", e.dev.Info().Limits.Shared+1, e.dev.Info().Limits.Shared), false},
		{"freed", k.Launch(e.s, one, one, 0, freed.Arg(), v), alloc.ErrFreed, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.skip {
				t.Skip("the driver does not tell kernels' parameters")
			}
			require.Error(t, tt.err)
			if tt.is != nil {
				assert.ErrorIs(t, tt.err, tt.is)
			}
			assert.Contains(t, tt.err.Error(), tt.want)
		})
	}
	require.NoError(t, k.Launch(e.s, one, one, 0, p.Arg(), v), "failed launches leave nothing behind")
	require.NoError(t, k.Launch(e.s, one, one, e.dev.Info().Limits.Shared, p.Arg(), v),
		"all of the shared memory")
	got := make([]uint32, 1)
	require.NoError(t, p.CopyTo(e.s, got))
	assert.EqualValues(t, 7, got[0])
	p.Free()
	require.NoError(t, e.pool.Close())
}

func TestLaunchNoAllocation(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "axpy")
	x, y := buffer[float32](t, e.s, 64), buffer[float32](t, e.s, 64)
	defer x.Free()
	defer y.Free()
	a := float32(2)
	launch := func() {
		if err := k.Launch(e.s, Dim{X: 1}, Dim{X: 64}, 0, y.Arg(), x.Arg(), alloc.Scalar(a),
			alloc.Scalar(uint32(0))); err != nil {
			t.Error(err)
		}
	}
	noGoMemory(t, 50, launch)
	require.NoError(t, e.s.Sync())
}

func TestLoadErrors(t *testing.T) {
	e := start(t, alloc.Options{})
	for name, text := range map[string]string{
		"garbage": "\x01\x02\x03",
		"syntax":  drvtest.Head + ".visible .entry k()\n{\n\tnonsense.u32 %r1;\n\tret;\n}\n",
	} {
		_, err := LoadModule(e.pool, []byte(text))
		var ce *Error
		require.ErrorAs(t, err, &ce, name)
		assert.Equal(t, "cuModuleLoadData", ce.Call)
		if name == "syntax" {
			assert.Contains(t, ce.Log, "line 6", "what the compiler said")
			assert.Contains(t, err.Error(), "line 6")
		}
	}
	m, err := LoadModule(e.pool, []byte(testPTX))
	require.NoError(t, err)
	_, err = m.Kernel("absent")
	assert.ErrorContains(t, err, "cuda: kernel absent: cuda: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500)")
	k, err := m.Kernel("empty")
	require.NoError(t, err)
	require.NoError(t, m.Unload())
	require.NoError(t, m.Unload(), "again")
	err = k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0)
	require.ErrorIs(t, err, ErrUnloaded)
	assert.ErrorContains(t, err, "module is unloaded: Unload it behind the last use, or load it anew")
	_, err = m.Kernel("empty")
	assert.ErrorIs(t, err, ErrUnloaded)
}

// Two modules with kernels of one name and other contents stay apart.
func TestSameName(t *testing.T) {
	e := start(t, alloc.Options{})
	p := buffer[uint32](t, e.s, 2)
	defer p.Free()
	var ks [2]*Kernel
	for i := range ks {
		ks[i] = e.kernel(t, constant(i+10), "constant")
	}
	for i, k := range ks {
		require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, p.View(i, i+1).Arg()))
	}
	got := make([]uint32, 2)
	require.NoError(t, p.CopyTo(e.s, got))
	assert.Equal(t, []uint32{10, 11}, got)
}

// constant is a kernel that writes v.
func constant(v int) string {
	return drvtest.Head + fmt.Sprintf(`.visible .entry constant(.param .u64 p)
{
	.reg .b32 %%r<2>;
	.reg .b64 %%rd<3>;
	ld.param.u64 %%rd1, [p];
	cvta.to.global.u64 %%rd2, %%rd1;
	mov.u32 %%r1, %d;
	st.global.u32 [%%rd2], %%r1;
	ret;
}
`, v)
}

// Modules are in the books while they are loaded, and unloaded once, whoever does it.
func TestModuleBooks(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	before := e.pool.Tracker().Bytes()
	m, err := LoadModule(e.pool, []byte(testPTX))
	require.NoError(t, err)
	assert.EqualValues(t, 64<<10, m.Bytes())
	assert.EqualValues(t, before+64<<10, e.pool.Tracker().Bytes())
	var named bool
	for _, a := range e.pool.Tracker().Stats().Accounts {
		named = named || strings.Contains(a.Name, "modules (measured)") && a.Live == 64<<10
	}
	assert.True(t, named, "an account that says its bytes are measured")
	require.NoError(t, m.Unload())
	require.NoError(t, m.Unload())
	assert.Equal(t, before, e.pool.Tracker().Bytes())
	assert.EqualValues(t, 1, e.StandIn.Calls(t, "cuModuleUnload"))

	func() { // dropped: the net unloads it
		m, err := LoadModule(e.pool, []byte(testPTX))
		require.NoError(t, err)
		_, err = m.Kernel("empty")
		require.NoError(t, err)
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		return e.StandIn.Books().Modules == 0 && e.pool.Tracker().Bytes() == before
	}, 10*time.Second, 10*time.Millisecond)
	assert.EqualValues(t, 2, e.StandIn.Calls(t, "cuModuleUnload"))

	m, err = LoadModule(e.pool, []byte(testPTX))
	require.NoError(t, err)
	require.NoError(t, e.pool.Close())
	require.NoError(t, e.dev.Close(), "closing the device unloads what is left")
	assert.Zero(t, e.StandIn.Books().Modules)
	assert.Equal(t, before, e.pool.Tracker().Bytes())
	require.NoError(t, m.Unload())
	assert.EqualValues(t, 3, e.StandIn.Calls(t, "cuModuleUnload"))
}

// A kernel alone keeps its module loaded.
func TestKernelKeepsModule(t *testing.T) {
	e := start(t, alloc.Options{})
	k := func() *Kernel {
		m, err := LoadModule(e.pool, []byte(testPTX))
		require.NoError(t, err)
		k, err := m.Kernel("empty")
		require.NoError(t, err)
		return k
	}()
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0))
	require.NoError(t, e.s.Sync())
}

// Unloading waits for kernels that run, and for launches under way.
func TestUnloadWhileRunning(t *testing.T) {
	e := start(t, alloc.Options{})
	m, err := LoadModule(e.pool, []byte(testPTX))
	require.NoError(t, err)
	spin, err := m.Kernel("spin")
	require.NoError(t, err)
	write, err := m.Kernel("write")
	require.NoError(t, err)
	p := buffer[uint32](t, e.s, 1)
	defer p.Free()
	one := Dim{X: 1}
	require.NoError(t, spin.Launch(e.s, one, one, 0, alloc.Scalar(uint64(50*time.Millisecond))))
	require.NoError(t, write.Launch(e.s, one, one, 0, p.Arg(), alloc.Scalar(uint32(99))))
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				err := write.Launch(e.s, one, one, 0, p.Arg(), alloc.Scalar(uint32(99)))
				if errors.Is(err, ErrUnloaded) {
					return
				}
				assert.NoError(t, err)
			}
		}()
	}
	require.NoError(t, m.Unload())
	wg.Wait()
	got := make([]uint32, 1)
	require.NoError(t, p.CopyTo(e.s, got))
	assert.EqualValues(t, 99, got[0])
}

// Memory for a module is found by giving back what the pool keeps idle.
func TestLoadReclaims(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 64<<20)
	b := buffer[byte](t, e.s, 60<<20)
	b.Free()
	require.NoError(t, e.s.Sync())
	e.StandIn.Set(t, "taken", 64<<20-e.StandIn.Books().Device[0]-e.StandIn.Books().Handle[0])
	m, err := LoadModule(e.pool, []byte(testPTX))
	require.NoError(t, err)
	require.NoError(t, m.Unload())
}

// The driver is asked whether a stream is being captured where others may have its handle, and only there.
func TestLaunchAsks(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	k := e.kernel(t, testPTX, "empty")
	wrapped, err := e.pool.WrapStream(func() uintptr { h, err := e.dev.NewStream(); require.NoError(t, err); return h }())
	require.NoError(t, err)
	given, err := e.pool.NewStream()
	require.NoError(t, err)
	given.Handle()
	for _, c := range []struct {
		name string
		s    *alloc.Stream
		asks int
	}{{"nobody else's", e.s, 0}, {"given away", given, 1}, {"wrapped", wrapped, 1}, {"everybody's", e.pool.DefaultStream(), 1}} {
		assert.Equal(t, c.asks == 0 || c.s == e.pool.DefaultStream(), c.s.Private(), c.name)
		require.NoError(t, k.Launch(c.s, Dim{X: 1}, Dim{X: 1}, 0))
		before := e.StandIn.Calls(t, "cuStreamIsCapturing")
		require.NoError(t, k.Launch(c.s, Dim{X: 1}, Dim{X: 1}, 0))
		assert.EqualValues(t, c.asks, e.StandIn.Calls(t, "cuStreamIsCapturing")-before, c.name)
	}
}
