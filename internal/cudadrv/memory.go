//go:build cgo && linux

package cudadrv

// #include "shim_memory.h"
// #cgo nocallback lu_MemAlloc
// #cgo noescape lu_MemAlloc
// #cgo nocallback lu_MemAllocManaged
// #cgo noescape lu_MemAllocManaged
// #cgo nocallback lu_MemFree
// #cgo noescape lu_MemFree
// #cgo nocallback lu_MemAllocAsync
// #cgo noescape lu_MemAllocAsync
// #cgo nocallback lu_MemFreeAsync
// #cgo noescape lu_MemFreeAsync
// #cgo nocallback lu_MemHostAlloc
// #cgo noescape lu_MemHostAlloc
// #cgo nocallback lu_MemFreeHost
// #cgo noescape lu_MemFreeHost
// #cgo nocallback lu_MemcpyHtoD
// #cgo noescape lu_MemcpyHtoD
// #cgo nocallback lu_MemcpyDtoH
// #cgo noescape lu_MemcpyDtoH
// #cgo nocallback lu_MemcpyHtoDCaptured
// #cgo noescape lu_MemcpyHtoDCaptured
// #cgo nocallback lu_MemcpyDtoHCaptured
// #cgo noescape lu_MemcpyDtoHCaptured
// #cgo nocallback lu_MemcpyDtoD
// #cgo noescape lu_MemcpyDtoD
// #cgo nocallback lu_MemcpyPeer
// #cgo noescape lu_MemcpyPeer
// #cgo nocallback lu_Memcpy2D
// #cgo noescape lu_Memcpy2D
// #cgo nocallback lu_MemHostRegister
// #cgo noescape lu_MemHostRegister
// #cgo nocallback lu_MemHostUnregister
// #cgo noescape lu_MemHostUnregister
// #cgo nocallback lu_MemsetD8
// #cgo noescape lu_MemsetD8
// #cgo nocallback lu_MemsetD16
// #cgo noescape lu_MemsetD16
// #cgo nocallback lu_MemsetD32
// #cgo noescape lu_MemsetD32
import "C"

// Device addresses and sizes below are in bytes. Host addresses are those of memory from MemHostAlloc and are
// passed as integers, because no Go memory may stand behind them: the driver reads and writes it after the
// call.

// MemAlloc allocates n bytes of device memory. It may wait for the device.
func (c *Context) MemAlloc(n int64) (uintptr, error) {
	o := C.lu_MemAlloc(c.c, C.size_t(n))
	if o.r != 0 {
		return 0, c.fail("cuMemAlloc", Code(o.r))
	}
	return uintptr(o.v), nil
}

// MemAllocManaged allocates n bytes that the host reaches too; MemFree frees them.
func (c *Context) MemAllocManaged(n int64) (uintptr, error) {
	o := C.lu_MemAllocManaged(c.c, C.size_t(n))
	if o.r != 0 {
		return 0, c.fail("cuMemAllocManaged", Code(o.r))
	}
	return uintptr(o.v), nil
}

// MemFree frees what MemAlloc returned. It waits until the device is idle.
func (c *Context) MemFree(p uintptr) error {
	if r := C.lu_MemFree(c.c, C.lu_devptr(p)); r != 0 {
		return c.fail("cuMemFree", Code(r))
	}
	return nil
}

// MemAllocAsync allocates n bytes from the driver's own pool, in order on the stream.
func (c *Context) MemAllocAsync(n int64, s uintptr) (uintptr, error) {
	o := C.lu_MemAllocAsync(c.c, C.size_t(n), C.uintptr_t(s))
	if o.r != 0 {
		return 0, c.fail("cuMemAllocAsync", Code(o.r))
	}
	return uintptr(o.v), nil
}

// MemFreeAsync gives memory back to the driver's pool, in order on the stream.
func (c *Context) MemFreeAsync(p, s uintptr) error {
	if r := C.lu_MemFreeAsync(c.c, C.lu_devptr(p), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemFreeAsync", Code(r))
	}
	return nil
}

// MemHostAlloc allocates n bytes of page-locked host memory, known to every context.
func (c *Context) MemHostAlloc(n int64) (uintptr, error) {
	o := C.lu_MemHostAlloc(c.c, C.size_t(n))
	if o.r != 0 {
		return 0, c.fail("cuMemHostAlloc", Code(o.r))
	}
	return uintptr(o.v), nil
}

// MemFreeHost frees what MemHostAlloc returned.
func (c *Context) MemFreeHost(p uintptr) error {
	if r := C.lu_MemFreeHost(c.c, C.uintptr_t(p)); r != 0 {
		return c.fail("cuMemFreeHost", Code(r))
	}
	return nil
}

// MemcpyHtoD enqueues a copy of n bytes from page-locked host memory.
func (c *Context) MemcpyHtoD(dst, src uintptr, n int64, s uintptr) error {
	if r := C.lu_MemcpyHtoD(c.c, C.lu_devptr(dst), C.uintptr_t(src), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemcpyHtoDAsync", Code(r))
	}
	return nil
}

// MemcpyDtoH enqueues a copy of n bytes to page-locked host memory.
func (c *Context) MemcpyDtoH(dst, src uintptr, n int64, s uintptr) error {
	if r := C.lu_MemcpyDtoH(c.c, C.uintptr_t(dst), C.lu_devptr(src), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemcpyDtoHAsync", Code(r))
	}
	return nil
}

// MemcpyHtoDCaptured is MemcpyHtoD, and a capture of the caller's own takes it: the memory must stay as it is
// for as long as the graph may be launched.
func (c *Context) MemcpyHtoDCaptured(dst, src uintptr, n int64, s uintptr) error {
	r := C.lu_MemcpyHtoDCaptured(c.c, C.lu_devptr(dst), C.uintptr_t(src), C.size_t(n), C.uintptr_t(s))
	if r != 0 {
		return c.fail("cuMemcpyHtoDAsync", Code(r))
	}
	return nil
}

// MemcpyDtoHCaptured is MemcpyDtoH in the same way.
func (c *Context) MemcpyDtoHCaptured(dst, src uintptr, n int64, s uintptr) error {
	r := C.lu_MemcpyDtoHCaptured(c.c, C.uintptr_t(dst), C.lu_devptr(src), C.size_t(n), C.uintptr_t(s))
	if r != 0 {
		return c.fail("cuMemcpyDtoHAsync", Code(r))
	}
	return nil
}

// MemcpyDtoD enqueues a copy of n bytes within the device.
func (c *Context) MemcpyDtoD(dst, src uintptr, n int64, s uintptr) error {
	if r := C.lu_MemcpyDtoD(c.c, C.lu_devptr(dst), C.lu_devptr(src), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemcpyDtoDAsync", Code(r))
	}
	return nil
}

// MemcpyPeer enqueues, on a stream of c, a copy of n bytes from the memory of another device's context.
func (c *Context) MemcpyPeer(dst uintptr, from *Context, src uintptr, n int64, s uintptr) error {
	if r := C.lu_MemcpyPeer(c.c, C.lu_devptr(dst), from.c, C.lu_devptr(src), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemcpyPeerAsync", Code(r))
	}
	return nil
}

// Memcpy2D enqueues a copy of rows of width bytes.
func (c *Context) Memcpy2D(dst, src Rows, width, height int64, s uintptr) error {
	host := C.int(0)
	if dst.Host {
		host |= 1
	}
	if src.Host {
		host |= 2
	}
	r := C.lu_Memcpy2D(c.c, C.uint64_t(dst.P), C.size_t(dst.Pitch), C.uint64_t(src.P), C.size_t(src.Pitch),
		C.size_t(width), C.size_t(height), host, C.uintptr_t(s))
	if r != 0 {
		return c.fail("cuMemcpy2DAsync", Code(r))
	}
	return nil
}

// MemHostRegister page-locks n bytes of memory that somebody else has allocated and keeps until
// MemHostUnregister.
func (c *Context) MemHostRegister(p uintptr, n int64) error {
	if r := C.lu_MemHostRegister(c.c, C.uintptr_t(p), C.size_t(n)); r != 0 {
		return c.fail("cuMemHostRegister", Code(r))
	}
	return nil
}

// MemHostUnregister gives what MemHostRegister took back to its owner.
func (c *Context) MemHostUnregister(p uintptr) error {
	if r := C.lu_MemHostUnregister(c.c, C.uintptr_t(p)); r != 0 {
		return c.fail("cuMemHostUnregister", Code(r))
	}
	return nil
}

// MemsetD8 enqueues the writing of n times the byte x.
func (c *Context) MemsetD8(p uintptr, x uint8, n int64, s uintptr) error {
	if r := C.lu_MemsetD8(c.c, C.lu_devptr(p), C.uint8_t(x), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemsetD8Async", Code(r))
	}
	return nil
}

// MemsetD16 enqueues the writing of n times the two bytes of x.
func (c *Context) MemsetD16(p uintptr, x uint16, n int64, s uintptr) error {
	if r := C.lu_MemsetD16(c.c, C.lu_devptr(p), C.uint16_t(x), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemsetD16Async", Code(r))
	}
	return nil
}

// MemsetD32 enqueues the writing of n times the four bytes of x.
func (c *Context) MemsetD32(p uintptr, x uint32, n int64, s uintptr) error {
	if r := C.lu_MemsetD32(c.c, C.lu_devptr(p), C.uint32_t(x), C.size_t(n), C.uintptr_t(s)); r != 0 {
		return c.fail("cuMemsetD32Async", Code(r))
	}
	return nil
}
