package probes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestTables holds the tables to what the rest takes for granted.
func TestTables(t *testing.T) {
	require.Less(t, len(All()), 512, "the kernel's table of descriptors")
	seen := make(map[string]bool)
	for i, p := range All() {
		require.Equal(t, i, int(p.ID()))
		require.False(t, seen[p.Symbol], "%s is there twice", p.Symbol)
		seen[p.Symbol] = true
		require.True(t, p.Op.Valid(), p.Symbol)
		d := p.Descriptor() // fits, or the package would not have started
		require.NotZero(t, d.Emit, p.Symbol)
		if making(p.Op) {
			require.NotZero(t, p.Addr.kind, "%s: an allocation has an address", p.Symbol)
			require.Equal(t, p.Result == Pointer, p.Addr.kind == result, p.Symbol)
		}
		if freeing(p.Op) {
			for _, s := range []Source{p.Addr, p.Aux, p.Stream, p.list} {
				require.NotEqual(t, output, s.kind, "%s: a free is reported on entry", p.Symbol)
			}
		}
		require.Nil(t, p.where.unless(p.location != noLocation), p.Symbol)
		require.Equal(t, p.shape != noShape, len(p.shapeOf) > 0, p.Symbol)
		require.LessOrEqual(t, len(p.Size), 3, p.Symbol)
	}
	n := 0
	for i := range cuda.Probes {
		if !strings.HasPrefix(cuda.Probes[i].Symbol, "cuCtx") {
			n++
		}
	}
	t.Logf("CUDA driver: %d probes, %d without the tracking of contexts", len(cuda.Probes), n)
}

func (s Source) unless(ok bool) error {
	if (s.kind != nothing) != ok {
		return ErrShape
	}
	return nil
}

func TestLibraryOf(t *testing.T) {
	for base, want := range map[string]*Library{
		"libcuda.so": &cuda, "libcuda.so.1": &cuda, "libcuda.so.580.159.03": &cuda,
		"libc10.so": &torch, "libc10_cuda.so": nil,
		"libOpenCL.so.1.0.0": &openCL, "libamdhip64.so.6": &hip, "libze_loader.so.1": &levelZero,
		"libcudart.so.12": nil, "libcuda.sox": nil, "": nil,
	} {
		require.Same(t, want, LibraryOf(base), base)
	}
}

func find(t *testing.T, symbol string) *Probe {
	for _, p := range All() {
		if p.Symbol == symbol {
			return p
		}
	}
	t.Fatalf("no probe %s", symbol)
	return nil
}

// TestTranslate gives calls as the kernel reports them and compares events as text.
func TestTranslate(t *testing.T) {
	const ok, failed = Success, Failure
	for _, c := range []struct {
		symbol string
		phase  Phase
		ret    uint64
		words  []uint64
		want   string
	}{
		{"cuMemAlloc_v2", ok, 0, []uint64{0x7000, 100}, "alloc addr=0x7000 size=100 dev=-1 stack=0x9 g=5"},
		{"cuMemAlloc_v2", failed, 2, []uint64{0xbad, 100}, "fail size=100 code=2 aux=0x1 stack=0x9 text=cuMemAlloc_v2"},
		{"cuMemAlloc_v2", failed, 201, []uint64{0xbad, 100}, "fail size=100 code=201 stack=0x9 text=cuMemAlloc_v2"},
		{"cuMemAlloc", ok, 0, []uint64{0xffff_ffff_0000_7000, 0xffff_ffff_0000_0064}, "alloc addr=0x7000 size=100 dev=-1 stack=0x9 g=5"},
		{"cuMemAllocPitch_v2", ok, 0, []uint64{0x7000, 512, 10}, "alloc addr=0x7000 size=5120 dev=-1 stack=0x9 g=5"},
		{"cuMemAllocPitch_v2", ok, 0, []uint64{0x7000, 1 << 60, 1 << 10}, "alloc addr=0x7000 size=18446744073709551615 dev=-1 stack=0x9 g=5"},
		{"cuMemFree_v2", Entry, 0, []uint64{0x7000}, "free addr=0x7000 dev=-1 stack=0x9 g=5"},
		{"cuMemFree_v2", failed, 1, []uint64{0x7000}, "undo addr=0x7000 code=1"},
		{"cuMemAllocFromPoolAsync_ptsz", ok, 0, []uint64{0x7000, 0x57, 0xb0, 8}, "alloc addr=0x7000 size=8 class=pool owner=device dev=-1 stream=0x57 pool=0xb0 stack=0x9 g=5"},
		{"cuMemCreate", ok, 0, []uint64{0xa, 3<<32 | 1, 4096}, "create addr=0xa size=4096 class=physical dev=3 stack=0x9 g=5"},
		{"cuMemCreate", ok, 0, []uint64{0xa, 3<<32 | 2, 4096}, "create addr=0xa size=4096 class=physical dev=-1 stack=0x9 g=5"},
		{"cuMemPoolCreate", ok, 0, []uint64{0xb0, 0<<32 | 2}, "poolcreate addr=0xb0 class=pinned dev=-1 stack=0x9 g=5"},
		{"cuMemMap", ok, 0, []uint64{0x10000, 0xa, 8192}, "map addr=0x10000 size=8192 dev=-1 aux=0xa stack=0x9 g=5"},
		{"cuMemUnmap", failed, 1, []uint64{0x10000, 8192}, "undo addr=0x10000 code=1"},
		{"cuMemRetainAllocationHandle", ok, 0, []uint64{0x10008, 0xa}, "retain addr=0x10008 dev=-1 aux=0xa stack=0x9 g=5"},
		{"cuArray3DCreate_v2", ok, 0, []uint64{0xaa, 10, 20, 30, 4<<32 | 0x20}, "alloc space=arrays addr=0xaa size=96000 class=array dev=-1 stack=0x9 g=5"},
		{"cuArrayCreate", ok, 0, []uint64{0xaa, 20<<32 | 10, 2<<32 | 0x10}, "alloc space=arrays addr=0xaa size=800 class=array dev=-1 stack=0x9 g=5"},
		{"cuMipmappedArrayCreate", ok, 0, []uint64{0xaa, 4, 4, 0, 1<<32 | 1, 3}, "alloc space=mipmaps addr=0xaa size=21 class=array dev=-1 stack=0x9 g=5"},
		{"cuCtxCreate_v2", ok, 0, []uint64{0xc0, 1}, "ctxcreate addr=0xc0 dev=1 begin=1 stack=0x9 g=5"},
		{"cuDevicePrimaryCtxReset_v2", ok, 0, []uint64{1}, "reset dev=1 stack=0x9 g=5"},
		{"cuCtxSetCurrent", failed, 201, []uint64{0xc0}, ""},
		{"cuGraphAddMemAllocNode", ok, 0, []uint64{0x7000, 0x66, 64}, "alloc addr=0x7000 size=64 class=graph dev=-1 ctx=0x66 stack=0x9 g=5"},
		{"hipSetDevice", ok, 0, []uint64{0, 0}, "ctxset addr=0x1 stack=0x9 g=5"},
		{"hipMalloc3D", ok, 0, []uint64{0x7000, 128, 3, 4}, "alloc addr=0x7000 size=1536 dev=-1 stack=0x9 g=5"},
		{"hipMalloc3DArray", ok, 0, []uint64{0xaa, 32, 0, 2, 3, 4}, "alloc space=arrays addr=0xaa size=96 class=array dev=-1 stack=0x9 g=5"},
		{"clCreateBuffer", ok, 0x77, []uint64{0, 256}, "alloc space=objects addr=0x77 size=256 owner=process dev=-1 stack=0x9 g=5"},
		{"clCreateBuffer", failed, 0, []uint64{0xffff_fffc, 256}, "fail size=256 code=-4 aux=0x1 stack=0x9 text=clCreateBuffer"},
		{"clCreateImage", ok, 0x77, []uint64{0, 0x10DE<<32 | 0x10B5, 0x10F1, 10, 20, 99, 99}, "alloc space=objects addr=0x77 size=3200 class=array owner=process dev=-1 stack=0x9 g=5"},
		{"clCreateImage3D", ok, 0x77, []uint64{0, 0x10D2<<32 | 0x10B5, 2, 3, 4}, "alloc space=objects addr=0x77 size=96 class=array owner=process dev=-1 stack=0x9 g=5"},
		{"clReleaseMemObject", Entry, 0, []uint64{0x77}, "drop space=objects addr=0x77 dev=-1 stack=0x9 g=5"},
		{"clEnqueueSVMFree", Entry, 0, []uint64{2, 0x1, 0x2}, "free addr=0x1 dev=-1 stack=0x9 g=5; free addr=0x2 dev=-1 stack=0x9 g=5"},
		{"zeMemAllocShared", ok, 0, []uint64{0x7000, 0xc, 64}, "alloc addr=0x7000 size=64 class=managed dev=-1 ctx=0xc stack=0x9 g=5"},
		{"zeMemAllocHost", failed, 0x70000002, []uint64{0x7000, 0xc, 64}, "fail size=64 code=1879048194 aux=0x1 stack=0x9 text=zeMemAllocHost"},
		{torch.Probes[0].Symbol, Entry, 0, []uint64{0x7000, 1, 512}, "alloc space=blocks addr=0x7000 size=512 class=block owner=process dev=-1 stack=0x9 g=5"},
		{torch.Probes[0].Symbol, Entry, 0, []uint64{0x7000, 1, 1<<64 - 512}, "free space=blocks addr=0x7000 class=block owner=process dev=-1 g=5"},
		{"zeImageCreate", ok, 0, []uint64{0xaa, 0xc, 6, 10, 1<<32 | 20, 2}, "alloc space=arrays addr=0xaa size=3200 class=array dev=-1 ctx=0xc stack=0x9 g=5"},
	} {
		r := Raw{Probe: find(t, c.symbol).ID(), Phase: c.phase, PID: 1, TID: 2, Time: 3e9, Begin: 1e9, Ret: c.ret, Stack: 9, Goroutine: 5}
		copy(r.Words[:], c.words)
		var got []string
		for _, e := range Translate(nil, &r) {
			if e.Op != heap.CtxCreate {
				e.Begin = 0
			}
			words := strings.SplitN(e.String(), " ", 4)
			got = append(got, strings.Join(append(words[1:2], words[3:]...), " "))
		}
		require.Equal(t, c.want, strings.Join(got, "; "), "%s", c.symbol)
	}
	require.Empty(t, Translate(nil, &Raw{Probe: 65535}))
	long := Translate(nil, &Raw{Probe: find(t, "clEnqueueSVMFree").ID(), Words: [8]uint64{1 << 31, 1, 2, 3, 4, 5, 6}})
	require.Len(t, long, 7)
	require.Equal(t, heap.Lost, long[6].Op)
	require.Equal(t, uint64(1<<31-6), long[6].Size)
}

// FuzzTranslate feeds the heap what a hostile program could make the kernel report.
func FuzzTranslate(f *testing.F) {
	f.Add(uint16(0), uint8(1), uint64(0), uint64(1), uint64(2), uint64(3))
	f.Fuzz(func(t *testing.T, id uint16, phase uint8, ret, a, b, c uint64) {
		r := Raw{Probe: id, Phase: Phase(phase % 3), PID: 1, TID: 1, Time: 1, Ret: ret, Words: [8]uint64{a, b, c, a ^ b, b ^ c, a, b, c}}
		h := heap.New(heap.Options{})
		for _, e := range Translate(nil, &r) {
			h.Apply(&e)
		}
		for _, p := range h.Snapshot(heap.Query{}).Processes {
			require.GreaterOrEqual(t, p.Live, int64(0))
		}
	})
}
