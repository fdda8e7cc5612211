//go:build cgo && linux

package cudadrv

import (
	"errors"
	"reflect"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
	"github.com/lastuse/lastuse/internal/gomemory"
)

// A wrapped is one entry of the table of all wrappers: a use of it that leaves things as they were.
type wrapped struct {
	name string // of the method
	run  func() error
}

// wrappers uses every exported method of Driver and Context at least once.
func wrappers(tb testing.TB, e *env) []wrapped {
	c, d := e.ctx, e.drv
	must := func(v uintptr, err error) uintptr {
		tb.Helper()
		require.NoError(tb, err)
		return v
	}
	g, err := c.MemGetAllocationGranularity()
	require.NoError(tb, err)
	p := must(c.MemAlloc(4096))
	q := must(c.MemAlloc(4096))
	h, _ := e.pinned(tb, 4096)
	foreign := (uintptr(drvtest.Malloc(3*4096)) + 4095) &^ 4095
	ev := must(c.EventCreate())
	va := must(c.MemAddressReserve(2*g, 0))
	mem, err := c.MemCreate(g)
	require.NoError(tb, err)
	module := must(c.ModuleLoad([]byte(kernels)))
	add := must(c.ModuleGetFunction(module, "addto"))
	empty := must(c.ModuleGetFunction(module, "empty"))
	capture := must(c.StreamCreate())
	tb.Cleanup(func() {
		assert.NoError(tb, c.StreamSynchronize(e.stream))
		assert.NoError(tb, c.MemFree(p))
		assert.NoError(tb, c.MemFree(q))
		assert.NoError(tb, c.EventDestroy(ev))
		assert.NoError(tb, c.MemRelease(mem))
		assert.NoError(tb, c.MemAddressFree(va, 2*g))
		assert.NoError(tb, c.ModuleUnload(module))
		assert.NoError(tb, c.StreamDestroy(capture))
	})
	s := e.stream
	var name [64]byte
	image := []byte(kernels)
	var params [3]uint64
	var at [3]uint16
	none := Dim{1, 1, 1}
	list := []wrapped{
		{"Version", func() error { d.Version(); return nil }},
		{"DriverGetVersion", func() error { _, err := d.DriverGetVersion(); return err }},
		{"DeviceGetCount", func() error { _, err := d.DeviceGetCount(); return err }},
		{"DeviceGet", func() error { _, err := d.DeviceGet(0); return err }},
		{"DeviceGetName", func() error { _, err := d.DeviceGetName(0, name[:]); return err }},
		{"DeviceTotalMem", func() error { _, err := d.DeviceTotalMem(0); return err }},
		{"DeviceGetAttribute", func() error { _, err := d.DeviceGetAttribute(0, WarpSize); return err }},
		{"DeviceCanAccessPeer", func() error { _, err := d.DeviceCanAccessPeer(0, 0); return err }},
		{"Retain Release", func() error {
			x, err := d.Retain(0)
			if err != nil {
				return err
			}
			return x.Release()
		}},
		{"Driver Device", func() error { c.Driver(); c.Device(); return nil }},
		{"Synchronize", func() error { return c.Synchronize() }},
		{"MemGetInfo", func() error { _, _, err := c.MemGetInfo(); return err }},
		{"StreamCreate StreamDestroy", func() error {
			x, err := c.StreamCreate()
			if err != nil {
				return err
			}
			return c.StreamDestroy(x)
		}},
		{"StreamCreateWithPriority CtxGetStreamPriorityRange", func() error {
			_, most, err := c.CtxGetStreamPriorityRange()
			if err != nil {
				return err
			}
			x, err := c.StreamCreateWithPriority(most)
			if err != nil {
				return err
			}
			return c.StreamDestroy(x)
		}},
		{"StreamSynchronize", func() error { return c.StreamSynchronize(s) }},
		{"StreamQuery", func() error { _, err := c.StreamQuery(s); return err }},
		{"StreamWaitEvent", func() error { return c.StreamWaitEvent(s, ev) }},
		{"StreamGetId", func() error { _, err := c.StreamGetId(s); return err }},
		{"StreamIsOurs", func() error { _, err := c.StreamIsOurs(s); return err }},
		{"StreamIsCapturing", func() error { _, err := c.StreamIsCapturing(s); return err }},
		{"StreamBeginCapture StreamEndCapture", func() error {
			if err := c.StreamBeginCapture(capture, CaptureThreadLocal); err != nil {
				return err
			}
			graph, err := c.StreamEndCapture(capture)
			if err != nil {
				return err
			}
			return c.GraphDestroy(graph)
		}},
		{"CaptureOwn MemcpyHtoDCaptured MemcpyDtoHCaptured GraphInstantiate GraphExecUpdate GraphLaunch GraphExecDestroy GraphDestroy", func() error {
			if err := c.StreamBeginCapture(capture, CaptureRelaxed); err != nil {
				return err
			}
			err := c.CaptureOwn(capture, true)
			err = errors.Join(err, c.MemsetD8(p, 1, 64, capture), c.LaunchKernel(empty, none, none, 0, capture, nil, nil),
				c.MemcpyHtoDCaptured(p, h, 64, capture), c.MemcpyDtoHCaptured(h, p, 64, capture), c.CaptureOwn(capture, false))
			graph, failed := c.StreamEndCapture(capture)
			if err != nil || failed != nil {
				return errors.Join(err, failed)
			}
			x, err := c.GraphInstantiate(graph)
			if err != nil {
				return err
			}
			_, err = c.GraphExecUpdate(x, graph)
			return errors.Join(err, c.GraphLaunch(x, s), c.StreamSynchronize(s), c.GraphExecDestroy(x), c.GraphDestroy(graph))
		}},
		{"EventCreate EventDestroy", func() error {
			x, err := c.EventCreate()
			if err != nil {
				return err
			}
			return c.EventDestroy(x)
		}},
		{"EventCreateTimed EventElapsedTime", func() error {
			x, err := c.EventCreateTimed()
			if err != nil {
				return err
			}
			_, err = c.EventRecord(x, s)
			if err = errors.Join(err, c.EventSynchronize(x)); err != nil {
				return err
			}
			if _, err := c.EventElapsedTime(x, x); err != nil {
				return err
			}
			return c.EventDestroy(x)
		}},
		{"Swap Restore", func() error {
			was, err := c.Swap()
			if err != nil {
				return err
			}
			return c.Restore(was)
		}},
		{"EventRecord", func() error { _, err := c.EventRecord(ev, s); return err }},
		{"EventQuery", func() error { _, err := c.EventQuery(ev); return err }},
		{"EventSynchronize", func() error { return c.EventSynchronize(ev) }},
		{"MemAlloc MemFree", func() error {
			x, err := c.MemAlloc(4096)
			if err != nil {
				return err
			}
			return c.MemFree(x)
		}},
		{"MemAllocManaged MemFree", func() error {
			x, err := c.MemAllocManaged(4096)
			if err != nil {
				return err
			}
			return c.MemFree(x)
		}},
		{"MemAllocAsync MemFreeAsync", func() error {
			x, err := c.MemAllocAsync(4096, s)
			if err != nil {
				return err
			}
			return c.MemFreeAsync(x, s)
		}},
		{"MemHostAlloc MemFreeHost", func() error {
			x, err := c.MemHostAlloc(4096)
			if err != nil {
				return err
			}
			return c.MemFreeHost(x)
		}},
		{"MemcpyHtoD", func() error { return c.MemcpyHtoD(p, h, 64, s) }},
		{"MemcpyDtoH", func() error { return c.MemcpyDtoH(h, p, 64, s) }},
		{"MemcpyDtoD", func() error { return c.MemcpyDtoD(p, q, 64, s) }},
		{"MemcpyPeer", func() error { return c.MemcpyPeer(p, c, q, 64, s) }},
		{"Memcpy2D", func() error {
			return c.Memcpy2D(Rows{P: p, Pitch: 64}, Rows{P: h, Pitch: 32, Host: true}, 16, 4, s)
		}},
		{"MemHostRegister MemHostUnregister", func() error {
			if err := c.MemHostRegister(foreign, 8192); err != nil {
				return err
			}
			return c.MemHostUnregister(foreign)
		}},
		{"MemsetD8", func() error { return c.MemsetD8(p, 1, 64, s) }},
		{"MemsetD16", func() error { return c.MemsetD16(p, 1, 64, s) }},
		{"MemsetD32", func() error { return c.MemsetD32(p, 1, 64, s) }},
		{"MemGetAllocationGranularity", func() error { _, err := c.MemGetAllocationGranularity(); return err }},
		{"MemAddressReserve MemAddressFree", func() error {
			x, err := c.MemAddressReserve(g, 0)
			if err != nil {
				return err
			}
			return c.MemAddressFree(x, g)
		}},
		{"MemCreateExported MemExport MemImport MemRelease", func() error {
			x, err := c.MemCreateExported(g)
			if err != nil {
				return err
			}
			f, err := c.MemExport(x)
			if err != nil {
				return err
			}
			y, err := c.MemImport(f)
			if err != nil {
				return err
			}
			for _, h := range []uint64{x, y} {
				if err := c.MemRelease(h); err != nil {
					return err
				}
			}
			return syscall.Close(f)
		}},
		{"MemCreate MemRelease", func() error {
			x, err := c.MemCreate(g)
			if err != nil {
				return err
			}
			return c.MemRelease(x)
		}},
		{"MemMap MemSetAccess MemUnmap", func() error {
			if err := c.MemMap(va, g, mem); err != nil {
				return err
			}
			if err := c.MemSetAccess(va, g, c.Device()); err != nil {
				return err
			}
			return c.MemUnmap(va, g)
		}},
		{"ModuleLoad ModuleUnload", func() error {
			x, err := c.ModuleLoad(image)
			if err != nil {
				return err
			}
			return c.ModuleUnload(x)
		}},
		{"ModuleGetFunction", func() error { _, err := c.ModuleGetFunction(module, "addto"); return err }},
		{"ModuleGetGlobal", func() error { _, _, err := c.ModuleGetGlobal(module, "table"); return err }},
		{"OccupancyMaxActive", func() error { _, err := c.OccupancyMaxActive(add, 128, 1024); return err }},
		{"OccupancyBlockSize", func() error { _, _, err := c.OccupancyBlockSize(add, 0); return err }},
		{"LaunchClusterKernel", func() error {
			return c.LaunchClusterKernel(empty, none, none, none, 0, s, params[:0], at[:0])
		}},
		{"LaunchCooperativeKernel", func() error {
			return c.LaunchCooperativeKernel(empty, none, none, 0, s, params[:0], at[:0])
		}},
		{"FuncGetAttribute", func() error { _, err := c.FuncGetAttribute(add, FuncMaxThreadsPerBlock); return err }},
		{"FuncSetAttribute", func() error { return c.FuncSetAttribute(add, FuncDynamicShared, 4096) }},
		{"LaunchKernel", func() error { return c.LaunchKernel(empty, none, none, 0, s, params[:0], at[:0]) }},
		{"LaunchKernelUnasked", func() error { return c.LaunchKernelUnasked(empty, none, none, 0, s, params[:0], at[:0]) }},
		{"LaunchKernel", func() error { // n is 0, so that no thread touches memory
			at[1], at[2] = 8, 16
			params[0] = uint64(p)
			return c.LaunchKernel(add, none, none, 0, s, params[:], at[:])
		}},
	}
	if _, _, _, err := c.FuncGetParamInfo(add, 0); err == nil {
		list = append(list, wrapped{"FuncGetParamInfo", func() error { _, _, _, err := c.FuncGetParamInfo(add, 1); return err }})
	}
	if n, err := d.DeviceGetCount(); err == nil && n > 1 {
		if ok, _ := d.DeviceCanAccessPeer(0, 1); ok {
			peer, err := d.Retain(1)
			require.NoError(tb, err)
			tb.Cleanup(func() { _ = peer.Release() })
			list = append(list, wrapped{"EnablePeerAccess", func() error { return c.EnablePeerAccess(&peer) }})
		}
	}
	return list
}

// TestNoAllocation calls every wrapper and counts what that costs the Go heap: nothing.
func TestNoAllocation(t *testing.T) {
	e := open(t)
	seen := map[string]bool{}
	for _, w := range wrappers(t, e) {
		for i := 0; i < len(w.name); {
			j := i
			for j < len(w.name) && w.name[j] != ' ' {
				j++
			}
			seen[w.name[i:j]] = true
			i = j + 1
		}
		t.Run(w.name, func(t *testing.T) {
			require.NoError(t, w.run())
			const runs = 20
			allocs, bytes := gomemory.Count(runs, func() {
				if err := w.run(); err != nil {
					t.Error(err)
				}
			})
			assert.Zero(t, allocs, "allocs per call")
			assert.Zero(t, bytes, "Go bytes in %d calls", runs)
		})
		require.NoError(t, e.ctx.StreamSynchronize(e.stream))
	}
	maybe := map[string]bool{"FuncGetParamInfo": true, "EnablePeerAccess": true} // not on every machine
	for _, x := range []any{e.drv, e.ctx} {
		typ := reflect.TypeOf(x)
		for i := range typ.NumMethod() {
			name := typ.Method(i).Name
			assert.True(t, seen[name] || maybe[name] && e.Real(), "%v: %s is not in the table", typ, name)
		}
	}
}
