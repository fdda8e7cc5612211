//go:build cgo && linux

package cudadrv

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// A cost is a wrapper with the driver calls behind it: the one it is named for, and all that its shim makes.
type cost struct {
	name  string // of the driver's function, or functions
	calls int    // a round; few where each is slow or takes room in a queue
	run   func() error
	own   []drvtest.Call
	shim  []drvtest.Call // nil: just own
}

func do(function string, args ...any) drvtest.Call {
	c := drvtest.Call{Function: function}
	for _, a := range args {
		switch a := a.(type) {
		case drvtest.Arg:
			c.Args = append(c.Args, a)
		case int:
			c.Args = append(c.Args, drvtest.Value(uint64(a)))
		case int64:
			c.Args = append(c.Args, drvtest.Value(uint64(a)))
		case uint64:
			c.Args = append(c.Args, drvtest.Value(a))
		case uintptr:
			c.Args = append(c.Args, drvtest.Value(uint64(a)))
		case unsafe.Pointer:
			c.Args = append(c.Args, drvtest.Value(uint64(uintptr(a))))
		default:
			panic(a)
		}
	}
	return c
}

func costs(b *testing.B, e *env) []cost {
	c, d, s := e.ctx, e.drv, e.stream
	g, err := c.MemGetAllocationGranularity()
	require.NoError(b, err)
	p, err := c.MemAlloc(1 << 20)
	require.NoError(b, err)
	h, _ := e.pinned(b, 4096)
	ev, err := c.EventCreate()
	require.NoError(b, err)
	va, err := c.MemAddressReserve(g, 0)
	require.NoError(b, err)
	mem, err := c.MemCreate(g)
	require.NoError(b, err)
	empty := e.load(b, kernels, "empty")
	add := e.load(b, kernels, "addto")
	module, err := c.ModuleLoad([]byte(kernels))
	require.NoError(b, err)
	b.Cleanup(func() {
		_ = c.StreamSynchronize(s)
		_ = c.MemFree(p)
		_ = c.EventDestroy(ev)
		_ = c.MemRelease(mem)
		_ = c.MemAddressFree(va, g)
		_ = c.ModuleUnload(module)
	})
	relaxed := drvtest.Malloc(4)
	*(*int32)(relaxed) = 2
	relax := do("cuThreadExchangeStreamCaptureMode", relaxed) // and back, as it exchanges
	out, out2 := drvtest.Out(0), drvtest.Out(1)
	slot := drvtest.Slot(0)
	ready := do("cuStreamIsCapturing", s, out2)
	sure := do("cuCtxGetCurrent", out2)
	prop := drvtest.Malloc(32) // pinned memory on the device
	*(*[4]int32)(prop) = [4]int32{1, 0, 1, int32(c.Device())}
	access := drvtest.Malloc(12)
	*(*[3]int32)(access) = [3]int32{1, int32(c.Device()), 3}
	name := drvtest.Malloc(16)
	copy(unsafe.Slice((*byte)(name), 16), "addto")
	text := drvtest.Malloc(len(kernels) + 1)
	copy(unsafe.Slice((*byte)(text), len(kernels)), kernels)
	logNames, logValues, logText := drvtest.Malloc(8), drvtest.Malloc(16), drvtest.Malloc(8192)
	*(*[2]int32)(logNames) = [2]int32{5, 6}
	*(*[2]uintptr)(logValues) = [2]uintptr{uintptr(logText), 8192}
	one := Dim{1, 1, 1}
	image := []byte(kernels)

	pair := func(make func() (uintptr, error), drop func(uintptr) error) func() error {
		return func() error {
			x, err := make()
			if err != nil {
				return err
			}
			return drop(x)
		}
	}
	list := []cost{
		{"cuDriverGetVersion", 1000, func() error { _, err := d.DriverGetVersion(); return err }, []drvtest.Call{do("cuDriverGetVersion", out)}, nil},
		{"cuDeviceGetCount", 1000, func() error { _, err := d.DeviceGetCount(); return err }, []drvtest.Call{do("cuDeviceGetCount", out)}, nil},
		{"cuDeviceGet", 1000, func() error { _, err := d.DeviceGet(0); return err }, []drvtest.Call{do("cuDeviceGet", out, 0)}, nil},
		{"cuDeviceTotalMem", 1000, func() error { _, err := d.DeviceTotalMem(0); return err }, []drvtest.Call{do("cuDeviceTotalMem_v2", out, 0)}, nil},
		{"cuDeviceGetAttribute", 1000, func() error { _, err := d.DeviceGetAttribute(0, WarpSize); return err }, []drvtest.Call{do("cuDeviceGetAttribute", out, 10, 0)}, nil},
		{"cuStreamIsCapturing", 1000, func() error { _, err := c.StreamIsCapturing(s); return err }, []drvtest.Call{ready}, []drvtest.Call{sure, ready}},
		{"cuStreamGetId", 1000, func() error { _, err := c.StreamGetId(s); return err }, []drvtest.Call{do("cuStreamGetId", s, out)}, nil},
		{"cuStreamGetCtx", 1000, func() error { _, err := c.StreamIsOurs(s); return err }, []drvtest.Call{do("cuStreamGetCtx", s, out)}, nil},
		{"cuStreamQuery", 1000, func() error { _, err := c.StreamQuery(s); return err }, []drvtest.Call{do("cuStreamQuery", s)}, []drvtest.Call{ready, relax, do("cuStreamQuery", s), relax}},
		{"cuStreamSynchronize", 1000, func() error { return c.StreamSynchronize(s) }, []drvtest.Call{do("cuStreamSynchronize", s)}, []drvtest.Call{ready, relax, do("cuStreamSynchronize", s), relax}},
		{"cuEventQuery", 1000, func() error { _, err := c.EventQuery(ev); return err }, []drvtest.Call{do("cuEventQuery", ev)}, []drvtest.Call{relax, do("cuEventQuery", ev), relax}},
		{"cuEventSynchronize", 1000, func() error { return c.EventSynchronize(ev) }, []drvtest.Call{do("cuEventSynchronize", ev)}, []drvtest.Call{relax, do("cuEventSynchronize", ev), relax}},
		{"cuEventRecord", 200, func() error { _, err := c.EventRecord(ev, s); return err }, []drvtest.Call{do("cuEventRecord", ev, s)}, []drvtest.Call{ready, do("cuEventRecord", ev, s)}},
		{"cuStreamWaitEvent", 200, func() error { return c.StreamWaitEvent(s, ev) }, []drvtest.Call{do("cuStreamWaitEvent", s, ev, 0)}, []drvtest.Call{ready, do("cuStreamWaitEvent", s, ev, 0)}},
		{"cuLaunchKernel", 200, func() error { return c.LaunchKernel(empty, one, one, 0, s, nil, nil) },
			[]drvtest.Call{do("cuLaunchKernel", empty, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)}, []drvtest.Call{ready, do("cuLaunchKernel", empty, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)}},
		{"cuMemsetD8Async", 200, func() error { return c.MemsetD8(p, 1, 64, s) }, []drvtest.Call{do("cuMemsetD8Async", p, 1, 64, s)}, []drvtest.Call{ready, do("cuMemsetD8Async", p, 1, 64, s)}},
		{"cuMemsetD16Async", 200, func() error { return c.MemsetD16(p, 1, 64, s) }, []drvtest.Call{do("cuMemsetD16Async", p, 1, 64, s)}, []drvtest.Call{ready, do("cuMemsetD16Async", p, 1, 64, s)}},
		{"cuMemsetD32Async", 200, func() error { return c.MemsetD32(p, 1, 64, s) }, []drvtest.Call{do("cuMemsetD32Async", p, 1, 64, s)}, []drvtest.Call{ready, do("cuMemsetD32Async", p, 1, 64, s)}},
		{"cuMemcpyHtoDAsync", 200, func() error { return c.MemcpyHtoD(p, h, 64, s) }, []drvtest.Call{do("cuMemcpyHtoDAsync_v2", p, h, 64, s)}, []drvtest.Call{ready, do("cuMemcpyHtoDAsync_v2", p, h, 64, s)}},
		{"cuMemcpyDtoHAsync", 200, func() error { return c.MemcpyDtoH(h, p, 64, s) }, []drvtest.Call{do("cuMemcpyDtoHAsync_v2", h, p, 64, s)}, []drvtest.Call{ready, do("cuMemcpyDtoHAsync_v2", h, p, 64, s)}},
		{"cuMemcpyDtoDAsync", 200, func() error { return c.MemcpyDtoD(p, p+4096, 64, s) }, []drvtest.Call{do("cuMemcpyDtoDAsync_v2", p, p+4096, 64, s)}, []drvtest.Call{ready, do("cuMemcpyDtoDAsync_v2", p, p+4096, 64, s)}},
		{"cuMemAllocAsync+cuMemFreeAsync", 200, pair(func() (uintptr, error) { return c.MemAllocAsync(1<<20, s) }, func(x uintptr) error { return c.MemFreeAsync(x, s) }),
			[]drvtest.Call{do("cuMemAllocAsync", out, 1<<20, s), do("cuMemFreeAsync", slot, s)}, []drvtest.Call{ready, do("cuMemAllocAsync", out, 1<<20, s), ready, do("cuMemFreeAsync", slot, s)}},
		{"cuFuncGetAttribute", 1000, func() error { _, err := c.FuncGetAttribute(add, 0); return err }, []drvtest.Call{do("cuFuncGetAttribute", out, 0, add)}, nil},
		{"cuModuleGetFunction", 1000, func() error { _, err := c.ModuleGetFunction(module, "addto"); return err }, []drvtest.Call{do("cuModuleGetFunction", out, module, name)}, []drvtest.Call{sure, do("cuModuleGetFunction", out, module, name)}},
		{"cuMemGetAllocationGranularity", 1000, func() error { _, err := c.MemGetAllocationGranularity(); return err }, []drvtest.Call{do("cuMemGetAllocationGranularity", out, prop, 0)}, nil},
		{"cuEventCreate+cuEventDestroy", 200, pair(c.EventCreate, c.EventDestroy), []drvtest.Call{do("cuEventCreate", out, 2), do("cuEventDestroy_v2", slot)}, []drvtest.Call{sure, do("cuEventCreate", out, 2), do("cuEventDestroy_v2", slot)}},
		{"cuMemGetInfo", 50, func() error { _, _, err := c.MemGetInfo(); return err }, []drvtest.Call{do("cuMemGetInfo_v2", out, out2)}, []drvtest.Call{sure, do("cuMemGetInfo_v2", out, out2)}},
		{"cuMemAddressReserve+cuMemAddressFree", 50, pair(func() (uintptr, error) { return c.MemAddressReserve(g, 0) }, func(x uintptr) error { return c.MemAddressFree(x, g) }),
			[]drvtest.Call{do("cuMemAddressReserve", out, g, 0, 0, 0), do("cuMemAddressFree", slot, g)}, nil},
		{"cuMemCreate+cuMemRelease", 20, func() error {
			x, err := c.MemCreate(g)
			if err != nil {
				return err
			}
			return c.MemRelease(x)
		}, []drvtest.Call{do("cuMemCreate", out, g, prop, 0), do("cuMemRelease", slot)}, []drvtest.Call{relax, do("cuMemCreate", out, g, prop, 0), relax, do("cuMemRelease", slot)}},
		{"cuMemMap+cuMemSetAccess+cuMemUnmap", 20, func() error {
			if err := c.MemMap(va, g, mem); err != nil {
				return err
			}
			if err := c.MemSetAccess(va, g, c.Device()); err != nil {
				return err
			}
			return c.MemUnmap(va, g)
		}, []drvtest.Call{do("cuMemMap", va, g, 0, mem, 0), do("cuMemSetAccess", va, g, access, 1), do("cuMemUnmap", va, g)},
			[]drvtest.Call{do("cuMemMap", va, g, 0, mem, 0), do("cuMemSetAccess", va, g, access, 1), relax, do("cuMemUnmap", va, g), relax}},
		{"cuMemAlloc+cuMemFree", 20, pair(func() (uintptr, error) { return c.MemAlloc(1 << 20) }, c.MemFree), []drvtest.Call{do("cuMemAlloc_v2", out, 1<<20), do("cuMemFree_v2", slot)},
			[]drvtest.Call{sure, relax, do("cuMemAlloc_v2", out, 1<<20), relax, sure, relax, do("cuMemFree_v2", slot), relax}},
		{"cuMemHostAlloc+cuMemFreeHost", 20, pair(func() (uintptr, error) { return c.MemHostAlloc(4096) }, c.MemFreeHost), []drvtest.Call{do("cuMemHostAlloc", out, 4096, 1), do("cuMemFreeHost", slot)},
			[]drvtest.Call{sure, relax, do("cuMemHostAlloc", out, 4096, 1), relax, sure, relax, do("cuMemFreeHost", slot), relax}},
		{"cuStreamCreate+cuStreamDestroy", 20, pair(c.StreamCreate, c.StreamDestroy), []drvtest.Call{do("cuStreamCreate", out, 1), do("cuStreamDestroy_v2", slot)}, []drvtest.Call{sure, do("cuStreamCreate", out, 1), do("cuStreamDestroy_v2", slot)}},
		{"cuModuleLoadDataEx+cuModuleUnload", 5, pair(func() (uintptr, error) { return c.ModuleLoad(image) }, c.ModuleUnload),
			[]drvtest.Call{do("cuModuleLoadDataEx", out, text, 2, logNames, logValues), do("cuModuleUnload", slot)},
			[]drvtest.Call{sure, relax, do("cuModuleLoadDataEx", out, text, 2, logNames, logValues), relax, sure, relax, do("cuModuleUnload", slot), relax}},
	}
	if _, _, _, err := c.FuncGetParamInfo(add, 0); err == nil {
		list = append(list, cost{"cuFuncGetParamInfo", 1000, func() error { _, _, _, err := c.FuncGetParamInfo(add, 1); return err },
			[]drvtest.Call{do("cuFuncGetParamInfo", add, 1, out, out2)}, nil})
	}
	return list
}

// BenchmarkDriverCall times each wrapper against C loops on the same thread: ns/op is the wrapper; own-ns/op
// the driver's call alone, from C; shim-ns/op all the driver calls that the wrapper's shim makes, from C;
// bare-ns/op as many cgo calls that do nothing as the wrapper makes. over-ns/op is what is left: wrapper -
// shim - bare in the same round, as the host's clock changes.
//
// A bare call finds its own code in the caches; a call that comes back from the driver does not, the less so
// the longer the driver was at work. So crossing-ns/op is the same driver calls in a cgo call that does
// nothing else, as many as the wrapper makes, and wrap-ns/op = wrapper - crossing is what the wrapper itself
// adds. All are medians over rounds; in a round each goes first in turn, after calls of its own that are not
// timed, and in between the stream is drained, so that no call waits for room in a queue.
func BenchmarkDriverCall(b *testing.B) {
	e := open(b)
	for _, x := range costs(b, e) {
		b.Run("call="+x.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if x.shim == nil {
				x.shim = x.own
			}
			rounds := 60
			if x.calls < 50 {
				rounds = 15
			}
			crossings := 1
			for _, c := range x.name {
				if c == '+' {
					crossings++
				}
			}
			var wrapper, own, shim, bare, over, single, wrap []float64
			cross := drvtest.Crossing(b, e.Path, x.shim...)
			loop := func(calls ...drvtest.Call) float64 {
				drvtest.Loop(b, e.Path, 1+x.calls/10, calls...)
				ns := float64(drvtest.Loop(b, e.Path, x.calls, calls...).Nanoseconds())/float64(x.calls) -
					float64(len(calls))*float64(drvtest.Loop(b, e.Path, 1000, drvtest.Call{}).Nanoseconds())/1000
				_ = e.ctx.StreamSynchronize(e.stream)
				return ns
			}
			run := func(n int) {
				for range n {
					if err := x.run(); err != nil {
						b.Fatal(err)
					}
				}
			}
			for b.Loop() {
				for round := range rounds {
					var w, o, s, c float64
					for turn := range 4 { // who goes first changes
						switch (round + turn) % 4 {
						case 0:
							run(1 + x.calls/10)
							start := time.Now()
							run(x.calls)
							w = float64(time.Since(start).Nanoseconds()) / float64(x.calls)
							_ = e.ctx.StreamSynchronize(e.stream)
						case 1:
							o = loop(x.own...)
						case 2:
							s = loop(x.shim...)
						case 3:
							start := time.Now()
							for i := range x.calls + 1 + x.calls/10 {
								if i == 1+x.calls/10 {
									start = time.Now()
								}
								if !cross() {
									b.Fatal("a call failed")
								}
							}
							c = float64(time.Since(start).Nanoseconds()) / float64(x.calls)
							_ = e.ctx.StreamSynchronize(e.stream)
						}
					}
					start := time.Now()
					for range 1000 * crossings {
						drvtest.Bare()
					}
					n := float64(time.Since(start).Nanoseconds()) / 1000
					wrapper, own, shim, bare, over = append(wrapper, w), append(own, o), append(shim, s), append(bare, n), append(over, w-s-n)
					c += n - n/float64(crossings)
					single, wrap = append(single, c), append(wrap, w-c)
				}
			}
			median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
			b.ReportMetric(median(wrapper), "ns/op")
			b.ReportMetric(median(own), "own-ns/op")
			b.ReportMetric(median(shim), "shim-ns/op")
			b.ReportMetric(median(bare), "bare-ns/op")
			b.ReportMetric(median(over), "over-ns/op")
			b.ReportMetric(median(single), "crossing-ns/op")
			b.ReportMetric(median(wrap), "wrap-ns/op")
		})
	}
}
