//go:build !cgo || !linux

package cudadrv

import (
	"fmt"
	"time"
)

// Without cgo, or on a system for which there is no driver, the package has the same names and Open says why
// it cannot open one. No other function can be reached then; each returns that error.

var errUnavailable = fmt.Errorf("cuda: open driver: this program was built without cgo, or not for linux: %w", ErrUnavailable)

// A Driver is an opened driver library; here there is none.
type Driver struct{}

// Open returns the reason why there is no driver.
func Open() (*Driver, error) { return nil, errUnavailable }

// OpenAt returns the reason why there is no driver.
func OpenAt(path string) (*Driver, error) { return nil, errUnavailable }

// Version returns 0.
func (d *Driver) Version() int { return 0 }

// A Context is the primary context of one device; here there is none.
type Context struct{}

// Driver returns nil.
func (c *Context) Driver() *Driver { return nil }

// Device returns 0.
func (c *Context) Device() int { return 0 }

// DriverGetVersion fails.
func (d *Driver) DriverGetVersion() (int, error) { return 0, errUnavailable }

// DeviceGetCount fails.
func (d *Driver) DeviceGetCount() (int, error) { return 0, errUnavailable }

// DeviceGet fails.
func (d *Driver) DeviceGet(ordinal int) (int, error) { return 0, errUnavailable }

// DeviceGetName fails.
func (d *Driver) DeviceGetName(device int, buf []byte) (int, error) { return 0, errUnavailable }

// DeviceTotalMem fails.
func (d *Driver) DeviceTotalMem(device int) (int64, error) { return 0, errUnavailable }

// DeviceGetAttribute fails.
func (d *Driver) DeviceGetAttribute(device int, a Attribute) (int, error) { return 0, errUnavailable }

// DeviceCanAccessPeer fails.
func (d *Driver) DeviceCanAccessPeer(device, peer int) (bool, error) { return false, errUnavailable }

// Retain fails.
func (d *Driver) Retain(device int) (Context, error) { return Context{}, errUnavailable }

// Release fails.
func (c *Context) Release() error { return errUnavailable }

// Synchronize fails.
func (c *Context) Synchronize() error { return errUnavailable }

// EnablePeerAccess fails.
func (c *Context) EnablePeerAccess(peer *Context) error { return errUnavailable }

// MemGetInfo fails.
func (c *Context) MemGetInfo() (free, total int64, err error) { return 0, 0, errUnavailable }

// StreamCreate fails.
func (c *Context) StreamCreate() (uintptr, error) { return 0, errUnavailable }

// StreamCreateWithPriority fails.
func (c *Context) StreamCreateWithPriority(priority int) (uintptr, error) { return 0, errUnavailable }

// CtxGetStreamPriorityRange fails.
func (c *Context) CtxGetStreamPriorityRange() (least, greatest int, err error) {
	return 0, 0, errUnavailable
}

// Swap fails.
func (c *Context) Swap() (was uintptr, err error) { return 0, errUnavailable }

// Restore fails.
func (c *Context) Restore(was uintptr) error { return errUnavailable }

// EventCreateTimed fails.
func (c *Context) EventCreateTimed() (uintptr, error) { return 0, errUnavailable }

// EventElapsedTime fails.
func (c *Context) EventElapsedTime(start, end uintptr) (time.Duration, error) {
	return 0, errUnavailable
}

// StreamDestroy fails.
func (c *Context) StreamDestroy(s uintptr) error { return errUnavailable }

// StreamSynchronize fails.
func (c *Context) StreamSynchronize(s uintptr) error { return errUnavailable }

// StreamQuery fails.
func (c *Context) StreamQuery(s uintptr) (bool, error) { return false, errUnavailable }

// StreamWaitEvent fails.
func (c *Context) StreamWaitEvent(s, e uintptr) error { return errUnavailable }

// StreamGetId fails.
func (c *Context) StreamGetId(s uintptr) (uint64, error) { return 0, errUnavailable }

// StreamIsOurs fails.
func (c *Context) StreamIsOurs(s uintptr) (bool, error) { return false, errUnavailable }

// StreamIsCapturing fails.
func (c *Context) StreamIsCapturing(s uintptr) (bool, error) { return false, errUnavailable }

// StreamBeginCapture fails.
func (c *Context) StreamBeginCapture(s uintptr, mode int) error { return errUnavailable }

// StreamEndCapture fails.
func (c *Context) StreamEndCapture(s uintptr) (graph uintptr, err error) { return 0, errUnavailable }

// CaptureOwn fails.
func (c *Context) CaptureOwn(s uintptr, on bool) error { return errUnavailable }

// GraphDestroy fails.
func (c *Context) GraphDestroy(graph uintptr) error { return errUnavailable }

// GraphInstantiate fails.
func (c *Context) GraphInstantiate(graph uintptr) (exec uintptr, err error) { return 0, errUnavailable }

// GraphExecUpdate fails.
func (c *Context) GraphExecUpdate(exec, graph uintptr) (bool, error) { return false, errUnavailable }

// GraphExecDestroy fails.
func (c *Context) GraphExecDestroy(exec uintptr) error { return errUnavailable }

// GraphLaunch fails.
func (c *Context) GraphLaunch(exec, s uintptr) error { return errUnavailable }

// EventCreate fails.
func (c *Context) EventCreate() (uintptr, error) { return 0, errUnavailable }

// EventDestroy fails.
func (c *Context) EventDestroy(e uintptr) error { return errUnavailable }

// EventRecord fails.
func (c *Context) EventRecord(e, s uintptr) (captured bool, err error) { return false, errUnavailable }

// EventQuery fails.
func (c *Context) EventQuery(e uintptr) (bool, error) { return false, errUnavailable }

// EventSynchronize fails.
func (c *Context) EventSynchronize(e uintptr) error { return errUnavailable }

// MemAllocManaged fails.
func (c *Context) MemAllocManaged(n int64) (uintptr, error) { return 0, errUnavailable }

// MemAlloc fails.
func (c *Context) MemAlloc(n int64) (uintptr, error) { return 0, errUnavailable }

// MemFree fails.
func (c *Context) MemFree(p uintptr) error { return errUnavailable }

// MemAllocAsync fails.
func (c *Context) MemAllocAsync(n int64, s uintptr) (uintptr, error) { return 0, errUnavailable }

// MemFreeAsync fails.
func (c *Context) MemFreeAsync(p, s uintptr) error { return errUnavailable }

// MemHostAlloc fails.
func (c *Context) MemHostAlloc(n int64) (uintptr, error) { return 0, errUnavailable }

// MemFreeHost fails.
func (c *Context) MemFreeHost(p uintptr) error { return errUnavailable }

// MemcpyHtoD fails.
func (c *Context) MemcpyHtoD(dst, src uintptr, n int64, s uintptr) error { return errUnavailable }

// MemcpyDtoH fails.
func (c *Context) MemcpyDtoH(dst, src uintptr, n int64, s uintptr) error { return errUnavailable }

// MemcpyHtoDCaptured fails.
func (c *Context) MemcpyHtoDCaptured(dst, src uintptr, n int64, s uintptr) error {
	return errUnavailable
}

// MemcpyDtoHCaptured fails.
func (c *Context) MemcpyDtoHCaptured(dst, src uintptr, n int64, s uintptr) error {
	return errUnavailable
}

// MemcpyDtoD fails.
func (c *Context) MemcpyDtoD(dst, src uintptr, n int64, s uintptr) error { return errUnavailable }

// MemcpyPeer fails.
func (c *Context) MemcpyPeer(dst uintptr, from *Context, src uintptr, n int64, s uintptr) error {
	return errUnavailable
}

// Memcpy2D fails.
func (c *Context) Memcpy2D(dst, src Rows, width, height int64, s uintptr) error {
	return errUnavailable
}

// MemHostRegister fails.
func (c *Context) MemHostRegister(p uintptr, n int64) error { return errUnavailable }

// MemHostUnregister fails.
func (c *Context) MemHostUnregister(p uintptr) error { return errUnavailable }

// MemsetD8 fails.
func (c *Context) MemsetD8(p uintptr, x uint8, n int64, s uintptr) error { return errUnavailable }

// MemsetD16 fails.
func (c *Context) MemsetD16(p uintptr, x uint16, n int64, s uintptr) error { return errUnavailable }

// MemsetD32 fails.
func (c *Context) MemsetD32(p uintptr, x uint32, n int64, s uintptr) error { return errUnavailable }

// MemGetAllocationGranularity fails.
func (c *Context) MemGetAllocationGranularity() (int64, error) { return 0, errUnavailable }

// MemAddressReserve fails.
func (c *Context) MemAddressReserve(n, align int64) (uintptr, error) { return 0, errUnavailable }

// MemAddressFree fails.
func (c *Context) MemAddressFree(p uintptr, n int64) error { return errUnavailable }

// MemCreate fails.
func (c *Context) MemCreate(n int64) (uint64, error) { return 0, errUnavailable }

// MemCreateExported fails.
func (c *Context) MemCreateExported(n int64) (uint64, error) { return 0, errUnavailable }

// MemExport fails.
func (c *Context) MemExport(h uint64) (int, error) { return 0, errUnavailable }

// MemImport fails.
func (c *Context) MemImport(file int) (uint64, error) { return 0, errUnavailable }

// MemRelease fails.
func (c *Context) MemRelease(h uint64) error { return errUnavailable }

// MemMap fails.
func (c *Context) MemMap(p uintptr, n int64, h uint64) error { return errUnavailable }

// MemUnmap fails.
func (c *Context) MemUnmap(p uintptr, n int64) error { return errUnavailable }

// MemSetAccess fails.
func (c *Context) MemSetAccess(p uintptr, n int64, device int) error { return errUnavailable }

// ModuleLoad fails.
func (c *Context) ModuleLoad(data []byte) (uintptr, error) { return 0, errUnavailable }

// ModuleUnload fails.
func (c *Context) ModuleUnload(m uintptr) error { return errUnavailable }

// ModuleGetFunction fails.
func (c *Context) ModuleGetFunction(m uintptr, name string) (uintptr, error) {
	return 0, errUnavailable
}

// FuncGetAttribute fails.
func (c *Context) FuncGetAttribute(f uintptr, a FuncAttribute) (int, error) { return 0, errUnavailable }

// FuncSetAttribute fails.
func (c *Context) FuncSetAttribute(f uintptr, a FuncAttribute, v int) error { return errUnavailable }

// FuncGetParamInfo fails.
func (c *Context) FuncGetParamInfo(f uintptr, i int) (offset, size int, ok bool, err error) {
	return 0, 0, false, errUnavailable
}

// LaunchKernel fails.
func (c *Context) LaunchKernel(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64, at []uint16) error {
	return errUnavailable
}

// ModuleGetGlobal fails.
func (c *Context) ModuleGetGlobal(m uintptr, name string) (p uintptr, n int64, err error) {
	return 0, 0, errUnavailable
}

// OccupancyMaxActive fails.
func (c *Context) OccupancyMaxActive(f uintptr, threads int, shared int) (int, error) {
	return 0, errUnavailable
}

// OccupancyBlockSize fails.
func (c *Context) OccupancyBlockSize(f uintptr, shared int) (threads, blocks int, err error) {
	return 0, 0, errUnavailable
}

// LaunchKernelUnasked fails.
func (c *Context) LaunchKernelUnasked(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64,
	at []uint16) error {
	return errUnavailable
}

// LaunchClusterKernel fails.
func (c *Context) LaunchClusterKernel(f uintptr, grid, block, cluster Dim, shared uint32, s uintptr, params []uint64,
	at []uint16) error {
	return errUnavailable
}

// LaunchCooperativeKernel fails.
func (c *Context) LaunchCooperativeKernel(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64,
	at []uint16) error {
	return errUnavailable
}

// A Compiler is an opened NVRTC library; here there is none.
type Compiler struct{ Major, Minor int }

// OpenCompiler returns the reason why there is none.
func OpenCompiler(paths ...string) (*Compiler, error) { return nil, errUnavailable }

// Compile fails.
func (c *Compiler) Compile(s Source) (image []byte, lowered []string, err error) {
	return nil, nil, errUnavailable
}

// Ranges is the opened library that tells profilers of ranges; here there is none.
type Ranges struct{}

// OpenRanges returns nil.
func OpenRanges(paths ...string) *Ranges { return nil }

// Start does nothing.
func (r *Ranges) Start(name string) uint64 { return 0 }

// End does nothing.
func (r *Ranges) End(id uint64) {}
