//go:build cgo && linux

package cuda

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestAttributes(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "axpy")
	a, err := k.Attributes()
	require.NoError(t, err)
	assert.Equal(t, k.block, a.Threads)
	assert.Positive(t, a.Registers)
	assert.GreaterOrEqual(t, a.DynamicShared, 48<<10)
	assert.Zero(t, a.Shared)
	assert.GreaterOrEqual(t, a.Binary[0], 5)
	assert.LessOrEqual(t, a.PTX[1], 9)
}

func TestOccupancy(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "empty")
	l := e.dev.Info().Limits
	threads, blocks, err := k.SuggestBlock(0)
	require.NoError(t, err)
	assert.Zero(t, threads%l.Warp)
	assert.Zero(t, blocks%l.Multiprocessors)
	most, err := k.MaxActive(Dim{X: threads}, 0)
	require.NoError(t, err)
	assert.Equal(t, blocks, most*l.Multiprocessors, "the grid that it suggests fills the device")
	few, err := k.MaxActive(Dim{X: 32, Y: 32}, l.Shared)
	require.NoError(t, err)
	assert.Equal(t, 1, few, "all of the shared memory")
	many, err := k.MaxActive(Dim{X: 32}, 0)
	require.NoError(t, err)
	assert.Greater(t, many, most)

	noGoMemory(t, 20, func() {
		_, err1 := k.MaxActive(Dim{X: 32}, 0)
		_, _, err2 := k.SuggestBlock(0)
		_, err3 := k.Attributes()
		if err1 != nil || err2 != nil || err3 != nil {
			t.Error(err1, err2, err3)
		}
	})

	_, err = k.MaxActive(Dim{X: 32, Y: 64}, 0)
	require.ErrorIs(t, err, ErrArguments)
	require.ErrorContains(t, err, "cuda: occupancy of empty: block of 32 x 64 threads")
	_, err = k.MaxActive(Dim{X: 32}, l.Shared+1)
	require.ErrorIs(t, err, ErrArguments)
	_, err = k.MaxActive(Dim{}, 0)
	require.ErrorIs(t, err, ErrArguments)
	_, _, err = k.SuggestBlock(-1)
	require.ErrorIs(t, err, ErrArguments)
	_, err = (*Kernel)(nil).Attributes()
	require.ErrorContains(t, err, "no kernel")
	require.NoError(t, k.module.Unload())
	_, err = k.MaxActive(Dim{X: 32}, 0)
	require.ErrorIs(t, err, ErrUnloaded)
}

func TestCooperative(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "write")
	p := buffer[uint32](t, e.s, 1)
	defer p.Free()
	block := Dim{X: 64}
	n, err := k.MaxActive(block, 0)
	require.NoError(t, err)
	most := n * e.dev.Info().Limits.Multiprocessors
	launch := func(blocks int) error {
		return k.LaunchCooperative(e.s, Dim{X: blocks}, block, 0, p.Arg(), alloc.Scalar(uint32(blocks)))
	}
	require.NoError(t, launch(most))
	got := make([]uint32, 1)
	require.NoError(t, p.CopyTo(e.s, got))
	assert.EqualValues(t, most, got[0])
	err = launch(most + 1)
	require.ErrorContains(t, err, "cuda: launch write: the blocks of a cooperative launch run at once: have at most ")
	require.ErrorContains(t, err, "(MaxActive, ")
	require.NoError(t, launch(1), "nothing is broken")
	noGoMemory(t, 20, func() {
		if launch(1) != nil {
			t.Error("launch")
		}
	})

	e.dev.info.Limits.Cooperative = false
	err = launch(1)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "use Launch")
}

// rank is a kernel that writes how many blocks its cluster has, where there are clusters, to p.
const rank = `.version 7.8
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 p)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %cluster_nctarank;
	st.global.u32 [%rd2], %r1;
	ret;
}
`

func TestClusters(t *testing.T) {
	e := start(t, alloc.Options{})
	if !e.dev.Info().Limits.Clusters {
		t.Skip(e.dev.Name(), " knows no clusters")
	}
	k := e.kernel(t, testPTX, "write")
	p := buffer[uint32](t, e.s, 1)
	defer p.Free()
	launch := func(grid, cluster Dim) error {
		return k.LaunchClusters(e.s, grid, Dim{X: 32}, cluster, 0, p.Arg(), alloc.Scalar(uint32(9)))
	}
	got := make([]uint32, 1)
	g, err := e.s.Capture(func() error { return launch(Dim{X: 4, Y: 6}, Dim{X: 2, Y: 3}) })
	require.NoError(t, err)
	require.NoError(t, g.Launch(e.s))
	g.Close()
	require.NoError(t, p.CopyTo(e.s, got))
	assert.EqualValues(t, 9, got[0])
	if e.Real() {
		k := e.kernel(t, rank, "rank")
		require.NoError(t, k.LaunchClusters(e.s, Dim{X: 8}, Dim{X: 32}, Dim{X: 4}, 0, p.Arg()))
		require.NoError(t, p.CopyTo(e.s, got))
		assert.EqualValues(t, 4, got[0])
	} else {
		assert.EqualValues(t, 1, e.StandIn.Calls(t, "cuLaunchKernelEx"))
	}
	for _, tt := range []struct{ grid, cluster Dim }{
		{Dim{X: 3}, Dim{X: 2}}, {Dim{X: 2}, Dim{X: 2, Y: 2}}, {Dim{X: 16}, Dim{X: 16}}, {Dim{X: 2}, Dim{}},
	} {
		err := launch(tt.grid, tt.cluster)
		require.ErrorIs(t, err, ErrArguments)
		assert.ErrorContains(t, err, "cuda: launch write: grid of "+tt.grid.String()+" blocks in clusters of ")
	}
	assert.ErrorContains(t, launch(Dim{}, Dim{X: 2}), "grid of 0 blocks: want 1 to 2^31-1 each way")
	assert.ErrorContains(t, (*Kernel)(nil).LaunchClusters(e.s, Dim{X: 3}, Dim{X: 1}, Dim{X: 2}, 0), "no kernel")
	noGoMemory(t, 20, func() {
		if launch(Dim{X: 2}, Dim{X: 2}) != nil {
			t.Error("launch")
		}
	})
	e.dev.info.Limits.Clusters = false
	err = launch(Dim{X: 2}, Dim{X: 2})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "knows no clusters: use Launch")
}

// With SyncLaunches a kernel that fails is named with the line that launched it, and none after it.
func TestSyncLaunches(t *testing.T) {
	d := choose(t)
	if brokenElsewhere(t, d) {
		return
	}
	e := startWith(t, d, 0, Options{SyncLaunches: true}, alloc.Options{})
	write, fault, spin := e.kernel(t, testPTX, "write"), e.kernel(t, testPTX, "fault"), e.kernel(t, testPTX, "spin")
	p := buffer[uint32](t, e.s, 1)
	defer p.Free()
	one := Dim{X: 1}
	require.NoError(t, spin.Launch(e.s, one, one, 0, alloc.Scalar(uint64(20*time.Millisecond))))
	idle, err := e.dev.ctx.StreamQuery(e.s.LaunchHandle())
	require.NoError(t, err)
	assert.True(t, idle, "it has run")

	_, _, line, _ := runtime.Caller(0)
	err = fault.Launch(e.s, one, one, 0) // one line below the call above
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorContains(t, err, "cuda: launch fault at ")
	require.ErrorContains(t, err, "occupancy_test.go:"+strconv.Itoa(line+1)+": the kernel failed")
	err = write.Launch(e.s, one, one, 0, p.Arg(), alloc.Scalar(uint32(1)))
	require.ErrorContains(t, err, "what came before failed")
}

// A launch that is captured does not wait: its kernel runs with the graph.
func TestSyncLaunchesCapturing(t *testing.T) {
	e := startWith(t, choose(t), 0, Options{SyncLaunches: true}, alloc.Options{})
	k := e.kernel(t, testPTX, "empty")
	require.NoError(t, e.dev.ctx.StreamBeginCapture(e.s.Handle(), 0))
	err := k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0)
	require.ErrorIs(t, err, alloc.ErrCapturing, "by somebody else")
	graph, err := e.dev.ctx.StreamEndCapture(e.s.Handle())
	require.NoError(t, err, "who is not disturbed")
	require.NoError(t, e.dev.ctx.GraphDestroy(graph))
}

func TestRanges(t *testing.T) {
	file := t.TempDir() + "/ranges"
	t.Setenv("STANDIN_RANGES", file)
	r := newRanger(drvtest.Build(t, drvtest.Options{Ranges: true}))
	require.NotNil(t, r)
	old := rangers
	rangers = func() *ranger { return r }
	defer func() { rangers = old }()
	_, _, line, _ := runtime.Caller(0)
	outer := StartRange("step") // one line below
	inner := StartRange(strings.Repeat("x", 300))
	outer.End()
	inner.End()
	Range{}.End()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "+ 1 step (occupancy_test.go:"+strconv.Itoa(line+1)+")\n+ 2 "+strings.Repeat("x", 255)+"\n- 1 \n- 2 \n",
		string(text))
	require.NoError(t, os.Setenv("STANDIN_RANGES", ""))
	noGoMemory(t, 50, func() { StartRange("step").End() })
	for i := range 2 * maxRanges {
		StartRange(strconv.Itoa(i)).End()
	}
	assert.LessOrEqual(t, len(r.texts), maxRanges)

	assert.Nil(t, newRanger("/nonexistent/libnvtx3interop.so.1"))
	assert.Nil(t, newRanger("libc.so.6"), "it lacks the calls")
	rangers = old
	StartRange("whatever this machine has").End()
}
