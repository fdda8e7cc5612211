// Shims: mapping. These calls name their device; the context is set only because the driver wants one.

#ifndef LASTUSE_SHIM_MAPPING_H
#define LASTUSE_SHIM_MAPPING_H

#include "shim.h"

#include <fcntl.h>

static inline lu_prop lu_pinned_on(const lu_ctx *c) {
	lu_prop p = {0};
	p.type = 1;          // CU_MEM_ALLOCATION_TYPE_PINNED
	p.location.type = 1; // CU_MEM_LOCATION_TYPE_DEVICE
	p.location.id = c->device;
	return p;
}

static inline lu_value lu_MemGetAllocationGranularity(uintptr_t ctx) {
	LU_CTX;
	size_t n = 0;
	lu_prop p = lu_pinned_on(c);
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuMemGetAllocationGranularity(&n, &p, 0); // the smallest that works
	o.v = n;
	return o;
}

static inline lu_value lu_MemAddressReserve(uintptr_t ctx, size_t n, size_t align) {
	LU_CTX;
	lu_devptr p = 0;
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuMemAddressReserve(&p, n, align, 0, 0);
	o.v = p;
	return o;
}

static inline int lu_MemAddressFree(uintptr_t ctx, lu_devptr p, size_t n) {
	LU_CTX;
	int r = lu_enter(c);
	return r ? r : t->cuMemAddressFree(p, n);
}

enum { LU_FILE = 1 }; // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

// lu_MemCreate makes memory, which other processes can have too where it is to be exported.
static inline lu_value lu_MemCreate(uintptr_t ctx, size_t n, int exported) {
	LU_CTX;
	unsigned long long h = 0;
	lu_prop p = lu_pinned_on(c);
	p.handle_types = exported ? LU_FILE : 0;
	lu_value o = {0, lu_enter(c)};
	if (o.r)
		return o;
	int mode = lu_relax(t);
	o.r = t->cuMemCreate(&h, n, &p, 0);
	lu_strict(t, mode);
	o.v = h;
	return o;
}

static inline int lu_MemRelease(uintptr_t ctx, unsigned long long h) {
	LU_CTX;
	int r = lu_enter(c);
	return r ? r : t->cuMemRelease(h);
}

// lu_MemExport returns a file that stands for the memory.
static inline lu_value lu_MemExport(uintptr_t ctx, unsigned long long h) {
	LU_CTX;
	int file = -1;
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuMemExportToShareableHandle(&file, h, LU_FILE, 0);
	if (!o.r)
		fcntl(file, F_SETFD, FD_CLOEXEC);
	o.v = (uint64_t)file;
	return o;
}

// lu_MemImport returns the memory that a file stands for. The file stays the caller's.
static inline lu_value lu_MemImport(uintptr_t ctx, int file) {
	LU_CTX;
	unsigned long long h = 0;
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuMemImportFromShareableHandle(&h, (void *)(uintptr_t)file, LU_FILE);
	o.v = h;
	return o;
}

static inline int lu_MemMap(uintptr_t ctx, lu_devptr p, size_t n, unsigned long long h) {
	LU_CTX;
	int r = lu_enter(c);
	return r ? r : t->cuMemMap(p, n, 0, h, 0);
}

static inline int lu_MemUnmap(uintptr_t ctx, lu_devptr p, size_t n) {
	LU_CTX;
	int r = lu_enter(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuMemUnmap(p, n);
	lu_strict(t, mode);
	return r;
}

// lu_MemSetAccess lets one device read and write a mapped range.
static inline int lu_MemSetAccess(uintptr_t ctx, lu_devptr p, size_t n, int device) {
	LU_CTX;
	lu_access a = {{1, device}, 3}; // CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	int r = lu_enter(c);
	return r ? r : t->cuMemSetAccess(p, n, &a, 1);
}

#endif
