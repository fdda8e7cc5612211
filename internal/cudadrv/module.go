//go:build cgo && linux

package cudadrv

// #include "shim_module.h"
// #cgo nocallback lu_ModuleLoad
// #cgo noescape lu_ModuleLoad
// #cgo nocallback lu_ModuleUnload
// #cgo noescape lu_ModuleUnload
// #cgo nocallback lu_ModuleGetFunction
// #cgo noescape lu_ModuleGetFunction
// #cgo nocallback lu_ModuleGetGlobal
// #cgo noescape lu_ModuleGetGlobal
// #cgo nocallback lu_OccupancyMaxActive
// #cgo noescape lu_OccupancyMaxActive
// #cgo nocallback lu_OccupancyBlockSize
// #cgo noescape lu_OccupancyBlockSize
// #cgo nocallback lu_FuncGetAttribute
// #cgo noescape lu_FuncGetAttribute
// #cgo nocallback lu_FuncSetAttribute
// #cgo noescape lu_FuncSetAttribute
// #cgo nocallback lu_FuncGetParamInfo
// #cgo noescape lu_FuncGetParamInfo
// #cgo nocallback lu_LaunchKernel
// #cgo noescape lu_LaunchKernel
import "C"

import "unsafe"

// ModuleLoad loads PTX, a cubin or a fatbin. The error holds what the driver's compiler said.
func (c *Context) ModuleLoad(data []byte) (uintptr, error) {
	o := C.lu_ModuleLoad(c.c, (*C.uint8_t)(unsafe.SliceData(data)), C.size_t(len(data)))
	if o.r != 0 {
		return 0, c.failLoad(Code(o.r), unsafe.Pointer(o.log))
	}
	return uintptr(o.module), nil
}

// ModuleUnload unloads a module. Its kernels must not be running.
func (c *Context) ModuleUnload(m uintptr) error {
	if r := C.lu_ModuleUnload(c.c, C.uintptr_t(m)); r != 0 {
		return c.fail("cuModuleUnload", Code(r))
	}
	return nil
}

// ModuleGetFunction finds a kernel by its name in the module, as PTX writes it.
func (c *Context) ModuleGetFunction(m uintptr, name string) (uintptr, error) {
	o := C.lu_ModuleGetFunction(c.c, C.uintptr_t(m), (*C.uint8_t)(unsafe.StringData(name)), C.size_t(len(name)))
	if o.r != 0 {
		return 0, c.fail("cuModuleGetFunction", Code(o.r))
	}
	return uintptr(o.v), nil
}

// ModuleGetGlobal finds a variable by its name in the module, and returns its address and its size in bytes.
func (c *Context) ModuleGetGlobal(m uintptr, name string) (p uintptr, n int64, err error) {
	o := C.lu_ModuleGetGlobal(c.c, C.uintptr_t(m), (*C.uint8_t)(unsafe.StringData(name)), C.size_t(len(name)))
	if o.r != 0 {
		return 0, 0, c.fail("cuModuleGetGlobal", Code(o.r))
	}
	return uintptr(o.a), int64(o.b), nil
}

// OccupancyMaxActive returns how many blocks of a kernel one multiprocessor runs at once. shared is in bytes.
func (c *Context) OccupancyMaxActive(f uintptr, threads int, shared int) (int, error) {
	o := C.lu_OccupancyMaxActive(c.c, C.uintptr_t(f), C.int(threads), C.size_t(shared))
	if o.r != 0 {
		return 0, c.fail("cuOccupancyMaxActiveBlocksPerMultiprocessor", Code(o.r))
	}
	return int(o.v), nil
}

// OccupancyBlockSize returns how many threads a block should have to fill the device best, and how many such
// blocks fill it.
func (c *Context) OccupancyBlockSize(f uintptr, shared int) (threads, blocks int, err error) {
	o := C.lu_OccupancyBlockSize(c.c, C.uintptr_t(f), C.size_t(shared))
	if o.r != 0 {
		return 0, 0, c.fail("cuOccupancyMaxPotentialBlockSize", Code(o.r))
	}
	return int(o.b), int(o.a), nil
}

// FuncGetAttribute returns one attribute of a kernel.
func (c *Context) FuncGetAttribute(f uintptr, a FuncAttribute) (int, error) {
	o := C.lu_FuncGetAttribute(c.c, C.uintptr_t(f), C.int(a))
	if o.r != 0 {
		return 0, c.fail("cuFuncGetAttribute", Code(o.r))
	}
	return int(o.v), nil
}

// FuncSetAttribute changes one attribute of a kernel.
func (c *Context) FuncSetAttribute(f uintptr, a FuncAttribute, v int) error {
	if r := C.lu_FuncSetAttribute(c.c, C.uintptr_t(f), C.int(a), C.int(v)); r != 0 {
		return c.fail("cuFuncSetAttribute", Code(r))
	}
	return nil
}

// FuncGetParamInfo returns offset and size in bytes of a kernel's i-th parameter, and ok false when it has
// none. Drivers before 12.4 cannot tell: [ErrMissing].
func (c *Context) FuncGetParamInfo(f uintptr, i int) (offset, size int, ok bool, err error) {
	o := C.lu_FuncGetParamInfo(c.c, C.uintptr_t(f), C.size_t(i))
	if Code(o.r) == CodeInvalidValue {
		return 0, 0, false, nil
	}
	if o.r != 0 {
		return 0, 0, false, c.fail("cuFuncGetParamInfo", Code(o.r))
	}
	return int(o.a), int(o.b), true, nil
}

// LaunchKernel enqueues a kernel. Its i-th argument lies at params[at[i]], aligned as its type wants; the
// bytes are copied before the call returns. shared is in bytes.
func (c *Context) LaunchKernel(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64, at []uint16) error {
	if r := c.launch(f, grid, block, shared, s, params, at, 0, Dim{}); r != 0 {
		return c.fail("cuLaunchKernel", Code(r))
	}
	return nil
}

// LaunchKernelUnasked is LaunchKernel for a stream that nobody but the caller captures: the driver is asked
// only if it is the default stream, which belongs to all.
func (c *Context) LaunchKernelUnasked(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64,
	at []uint16) error {
	if r := c.launch(f, grid, block, shared, s, params, at, C.LU_UNASKED, Dim{}); r != 0 {
		return c.fail("cuLaunchKernel", Code(r))
	}
	return nil
}

// LaunchCooperativeKernel is LaunchKernel for blocks that all run at once, so that they can wait for one
// another.
func (c *Context) LaunchCooperativeKernel(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64,
	at []uint16) error {
	if r := c.launch(f, grid, block, shared, s, params, at, C.LU_TOGETHER, Dim{}); r != 0 {
		return c.fail("cuLaunchCooperativeKernel", Code(r))
	}
	return nil
}

// LaunchClusterKernel is LaunchKernel for blocks in clusters of an extent; those of one cluster run at once.
func (c *Context) LaunchClusterKernel(f uintptr, grid, block, cluster Dim, shared uint32, s uintptr, params []uint64,
	at []uint16) error {
	if r := c.launch(f, grid, block, shared, s, params, at, 0, cluster); r != 0 {
		return c.fail("cuLaunchKernelEx", Code(r))
	}
	return nil
}

func (c *Context) launch(f uintptr, grid, block Dim, shared uint32, s uintptr, params []uint64, at []uint16,
	how C.int, cluster Dim) C.int {
	return C.lu_LaunchKernel(c.c, C.uintptr_t(f), C.uint(grid.X), C.uint(grid.Y), C.uint(grid.Z),
		C.uint(block.X), C.uint(block.Y), C.uint(block.Z), C.uint(shared), C.uintptr_t(s),
		(*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(params))), (*C.uint16_t)(unsafe.SliceData(at)), C.int(len(at)),
		how, C.uint(cluster.X), C.uint(cluster.Y), C.uint(cluster.Z))
}
