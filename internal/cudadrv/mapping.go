//go:build cgo && linux

package cudadrv

// #include "shim_mapping.h"
// #cgo nocallback lu_MemGetAllocationGranularity
// #cgo noescape lu_MemGetAllocationGranularity
// #cgo nocallback lu_MemAddressReserve
// #cgo noescape lu_MemAddressReserve
// #cgo nocallback lu_MemAddressFree
// #cgo noescape lu_MemAddressFree
// #cgo nocallback lu_MemCreate
// #cgo noescape lu_MemCreate
// #cgo nocallback lu_MemRelease
// #cgo noescape lu_MemRelease
// #cgo nocallback lu_MemExport
// #cgo noescape lu_MemExport
// #cgo nocallback lu_MemImport
// #cgo noescape lu_MemImport
// #cgo nocallback lu_MemMap
// #cgo noescape lu_MemMap
// #cgo nocallback lu_MemUnmap
// #cgo noescape lu_MemUnmap
// #cgo nocallback lu_MemSetAccess
// #cgo noescape lu_MemSetAccess
import "C"

import "syscall"

// MemGetAllocationGranularity returns the unit, in bytes, of every size and address of the calls in this
// file.
func (c *Context) MemGetAllocationGranularity() (int64, error) {
	o := C.lu_MemGetAllocationGranularity(c.c)
	if o.r != 0 {
		return 0, c.fail("cuMemGetAllocationGranularity", Code(o.r))
	}
	return int64(o.v), nil
}

// MemAddressReserve takes n bytes of addresses with no memory behind them, aligned to align, a power of two,
// or for 0 as the driver likes.
func (c *Context) MemAddressReserve(n, align int64) (uintptr, error) {
	o := C.lu_MemAddressReserve(c.c, C.size_t(n), C.size_t(align))
	if o.r != 0 {
		return 0, c.fail("cuMemAddressReserve", Code(o.r))
	}
	return uintptr(o.v), nil
}

// MemAddressFree gives a reserved range back; nothing may be mapped in it.
func (c *Context) MemAddressFree(p uintptr, n int64) error {
	if r := C.lu_MemAddressFree(c.c, C.lu_devptr(p), C.size_t(n)); r != 0 {
		return c.fail("cuMemAddressFree", Code(r))
	}
	return nil
}

// MemCreate makes n bytes of physical memory on the context's device and returns its handle.
func (c *Context) MemCreate(n int64) (uint64, error) { return c.memCreate(n, 0) }

// MemCreateExported is MemCreate for memory that MemExport takes.
func (c *Context) MemCreateExported(n int64) (uint64, error) { return c.memCreate(n, 1) }

func (c *Context) memCreate(n int64, exported C.int) (uint64, error) {
	o := C.lu_MemCreate(c.c, C.size_t(n), exported)
	if o.r != 0 {
		return 0, c.fail("cuMemCreate", Code(o.r))
	}
	return uint64(o.v), nil
}

// MemExport returns a new file that stands for a handle's memory, which lives for as long as the file does.
func (c *Context) MemExport(h uint64) (int, error) {
	syscall.ForkLock.RLock() // the shim keeps the file from children
	defer syscall.ForkLock.RUnlock()
	o := C.lu_MemExport(c.c, C.ulonglong(h))
	if o.r != 0 {
		return 0, c.fail("cuMemExportToShareableHandle", Code(o.r))
	}
	return int(o.v), nil
}

// MemImport returns a handle of the memory that a file of MemExport stands for, of this process or another.
func (c *Context) MemImport(file int) (uint64, error) {
	o := C.lu_MemImport(c.c, C.int(file))
	if o.r != 0 {
		return 0, c.fail("cuMemImportFromShareableHandle", Code(o.r))
	}
	return uint64(o.v), nil
}

// MemRelease gives the handle back; its memory lives on until it is unmapped too.
func (c *Context) MemRelease(h uint64) error {
	if r := C.lu_MemRelease(c.c, C.ulonglong(h)); r != 0 {
		return c.fail("cuMemRelease", Code(r))
	}
	return nil
}

// MemMap puts a handle's n bytes behind the addresses at p.
func (c *Context) MemMap(p uintptr, n int64, h uint64) error {
	if r := C.lu_MemMap(c.c, C.lu_devptr(p), C.size_t(n), C.ulonglong(h)); r != 0 {
		return c.fail("cuMemMap", Code(r))
	}
	return nil
}

// MemUnmap takes the memory from behind [p, p+n), which must hold whole mappings.
func (c *Context) MemUnmap(p uintptr, n int64) error {
	if r := C.lu_MemUnmap(c.c, C.lu_devptr(p), C.size_t(n)); r != 0 {
		return c.fail("cuMemUnmap", Code(r))
	}
	return nil
}

// MemSetAccess lets a device read and write the mapped range [p, p+n).
func (c *Context) MemSetAccess(p uintptr, n int64, device int) error {
	if r := C.lu_MemSetAccess(c.c, C.lu_devptr(p), C.size_t(n), C.int(device)); r != 0 {
		return c.fail("cuMemSetAccess", Code(r))
	}
	return nil
}
