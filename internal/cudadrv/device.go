//go:build cgo && linux

package cudadrv

// #include "shim_device.h"
// #cgo nocallback lu_DriverGetVersion
// #cgo noescape lu_DriverGetVersion
// #cgo nocallback lu_DeviceGetCount
// #cgo noescape lu_DeviceGetCount
// #cgo nocallback lu_DeviceGet
// #cgo noescape lu_DeviceGet
// #cgo nocallback lu_DeviceGetName
// #cgo noescape lu_DeviceGetName
// #cgo nocallback lu_DeviceTotalMem
// #cgo noescape lu_DeviceTotalMem
// #cgo nocallback lu_DeviceGetAttribute
// #cgo noescape lu_DeviceGetAttribute
// #cgo nocallback lu_DeviceCanAccessPeer
// #cgo noescape lu_DeviceCanAccessPeer
// #cgo nocallback lu_Retain
// #cgo noescape lu_Retain
// #cgo nocallback lu_Release
// #cgo noescape lu_Release
// #cgo nocallback lu_CtxSynchronize
// #cgo noescape lu_CtxSynchronize
// #cgo nocallback lu_CtxSwap
// #cgo noescape lu_CtxSwap
// #cgo nocallback lu_CtxRestore
// #cgo noescape lu_CtxRestore
// #cgo nocallback lu_CtxEnablePeerAccess
// #cgo noescape lu_CtxEnablePeerAccess
// #cgo nocallback lu_MemGetInfo
// #cgo noescape lu_MemGetInfo
import "C"

import (
	"bytes"
	"unsafe"
)

// DriverGetVersion asks the driver for its API version, 1000*major + 10*minor.
func (d *Driver) DriverGetVersion() (int, error) {
	o := C.lu_DriverGetVersion(d.table)
	if o.r != 0 {
		return 0, d.fail("cuDriverGetVersion", Code(o.r))
	}
	return int(o.v), nil
}

// DeviceGetCount returns the number of devices.
func (d *Driver) DeviceGetCount() (int, error) {
	o := C.lu_DeviceGetCount(d.table)
	if o.r != 0 {
		return 0, d.fail("cuDeviceGetCount", Code(o.r))
	}
	return int(o.v), nil
}

// DeviceGet returns the driver's handle of the device with an ordinal.
func (d *Driver) DeviceGet(ordinal int) (int, error) {
	o := C.lu_DeviceGet(d.table, C.int(ordinal))
	if o.r != 0 {
		return 0, d.fail("cuDeviceGet", Code(o.r))
	}
	return int(o.v), nil
}

// DeviceGetName writes a device's name into buf and returns its length in bytes.
func (d *Driver) DeviceGetName(device int, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, d.fail("cuDeviceGetName", CodeInvalidValue)
	}
	r := C.lu_DeviceGetName(d.table, C.int(device), (*C.char)(unsafe.Pointer(unsafe.SliceData(buf))), C.int(len(buf)))
	if r != 0 {
		return 0, d.fail("cuDeviceGetName", Code(r))
	}
	return max(0, bytes.IndexByte(buf, 0)), nil
}

// DeviceTotalMem returns a device's memory in bytes.
func (d *Driver) DeviceTotalMem(device int) (int64, error) {
	o := C.lu_DeviceTotalMem(d.table, C.int(device))
	if o.r != 0 {
		return 0, d.fail("cuDeviceTotalMem", Code(o.r))
	}
	return int64(o.v), nil
}

// DeviceGetAttribute returns one attribute of a device.
func (d *Driver) DeviceGetAttribute(device int, a Attribute) (int, error) {
	o := C.lu_DeviceGetAttribute(d.table, C.int(a), C.int(device))
	if o.r != 0 {
		return 0, d.fail("cuDeviceGetAttribute", Code(o.r))
	}
	return int(o.v), nil
}

// DeviceCanAccessPeer reports whether device could reach peer's memory.
func (d *Driver) DeviceCanAccessPeer(device, peer int) (bool, error) {
	o := C.lu_DeviceCanAccessPeer(d.table, C.int(device), C.int(peer))
	if o.r != 0 {
		return false, d.fail("cuDeviceCanAccessPeer", Code(o.r))
	}
	return o.v != 0, nil
}

// A Context is the primary context of one device. Its methods may be called by any goroutine at any time.
type Context struct {
	c      C.uintptr_t
	drv    *Driver
	device int
}

// Retain retains the primary context of a device. Each Retain wants one [Context.Release].
func (d *Driver) Retain(device int) (Context, error) {
	o := C.lu_Retain(d.table, C.int(device))
	if o.r != 0 {
		return Context{}, d.fail("cuDevicePrimaryCtxRetain", Code(o.r))
	}
	return Context{c: C.uintptr_t(o.v), drv: d, device: device}, nil
}

// Release gives one Retain back. Memory, streams and modules that are left go with the last one in the
// process.
func (c *Context) Release() error {
	if r := C.lu_Release(c.c); r != 0 {
		return c.fail("cuDevicePrimaryCtxRelease", Code(r))
	}
	return nil
}

// Driver returns the driver that the context belongs to.
func (c *Context) Driver() *Driver { return c.drv }

// Device returns the driver's handle of the context's device.
func (c *Context) Device() int { return c.device }

// Swap makes c the calling thread's current context and returns the one that was, 0 for none. The goroutine
// must be locked to its thread until [Context.Restore].
func (c *Context) Swap() (was uintptr, err error) {
	o := C.lu_CtxSwap(c.c)
	if o.r != 0 {
		return 0, c.fail("cuCtxSetCurrent", Code(o.r))
	}
	return uintptr(o.v), nil
}

// Restore makes the context that Swap found the current one again.
func (c *Context) Restore(was uintptr) error {
	if r := C.lu_CtxRestore(c.c, C.uintptr_t(was)); r != 0 {
		return c.fail("cuCtxSetCurrent", Code(r))
	}
	return nil
}

// Synchronize blocks until the device has done all work of the context.
func (c *Context) Synchronize() error {
	if r := C.lu_CtxSynchronize(c.c); r != 0 {
		return c.fail("cuCtxSynchronize", Code(r))
	}
	return nil
}

// EnablePeerAccess lets kernels of c reach the plain allocations of peer. It is no error if they could
// already.
func (c *Context) EnablePeerAccess(peer *Context) error {
	r := Code(C.lu_CtxEnablePeerAccess(c.c, peer.c))
	if r != 0 && r != CodePeerEnabled {
		return c.fail("cuCtxEnablePeerAccess", r)
	}
	return nil
}

// MemGetInfo returns the device's free and total memory in bytes, other processes' use counted.
func (c *Context) MemGetInfo() (free, total int64, err error) {
	o := C.lu_MemGetInfo(c.c)
	if o.r != 0 {
		return 0, 0, c.fail("cuMemGetInfo", Code(o.r))
	}
	return int64(o.a), int64(o.b), nil
}
