// Shims: memory, copies and fills.

#ifndef LASTUSE_SHIM_MEMORY_H
#define LASTUSE_SHIM_MEMORY_H

#include "shim.h"

static inline lu_value lu_MemAlloc(uintptr_t ctx, size_t n) {
	LU_CTX;
	lu_devptr p = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (o.r)
		return o;
	int mode = lu_relax(t);
	o.r = t->cuMemAlloc_v2(&p, n);
	lu_strict(t, mode);
	o.v = p;
	return o;
}

static inline lu_value lu_MemAllocManaged(uintptr_t ctx, size_t n) {
	LU_CTX;
	lu_devptr p = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (o.r)
		return o;
	int mode = lu_relax(t);
	o.r = t->cuMemAllocManaged(&p, n, 1); // reached by every device
	lu_strict(t, mode);
	o.v = p;
	return o;
}

static inline int lu_MemFree(uintptr_t ctx, lu_devptr p) {
	LU_CTX;
	int r = lu_enter_sure(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuMemFree_v2(p);
	lu_strict(t, mode);
	return r;
}

static inline lu_value lu_MemAllocAsync(uintptr_t ctx, size_t n, uintptr_t stream) {
	LU_CTX;
	lu_devptr p = 0;
	lu_value o = {0, 0};
	LU_TRY(o.r, lu_ready(c, stream), t->cuMemAllocAsync(&p, n, stream));
	o.v = p;
	return o;
}

static inline int lu_MemFreeAsync(uintptr_t ctx, lu_devptr p, uintptr_t stream) {
	LU_CTX;
	LU_ENQUEUE(stream, t->cuMemFreeAsync(p, stream));
}

static inline lu_value lu_MemHostAlloc(uintptr_t ctx, size_t n) {
	LU_CTX;
	void *p = NULL;
	lu_value o = {0, lu_enter_sure(c)};
	if (o.r)
		return o;
	int mode = lu_relax(t);
	o.r = t->cuMemHostAlloc(&p, n, 1); // CU_MEMHOSTALLOC_PORTABLE: pinned for every context
	lu_strict(t, mode);
	o.v = (uintptr_t)p;
	return o;
}

static inline int lu_MemFreeHost(uintptr_t ctx, uintptr_t p) {
	LU_CTX;
	int r = lu_enter_sure(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuMemFreeHost((void *)p);
	lu_strict(t, mode);
	return r;
}

static inline int lu_MemcpyHtoD(uintptr_t ctx, lu_devptr dst, uintptr_t src, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_ENQUEUE(stream, t->cuMemcpyHtoDAsync_v2(dst, (const void *)src, n, stream));
}

static inline int lu_MemcpyDtoH(uintptr_t ctx, uintptr_t dst, lu_devptr src, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_ENQUEUE(stream, t->cuMemcpyDtoHAsync_v2((void *)dst, src, n, stream));
}

// lu_MemcpyHtoDCaptured and lu_MemcpyDtoHCaptured are the two above for host memory that stays as it is as long as a
// graph has it.
static inline int lu_MemcpyHtoDCaptured(uintptr_t ctx, lu_devptr dst, uintptr_t src, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemcpyHtoDAsync_v2(dst, (const void *)src, n, stream));
}

static inline int lu_MemcpyDtoHCaptured(uintptr_t ctx, uintptr_t dst, lu_devptr src, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemcpyDtoHAsync_v2((void *)dst, src, n, stream));
}

static inline int lu_MemcpyDtoD(uintptr_t ctx, lu_devptr dst, lu_devptr src, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemcpyDtoDAsync_v2(dst, src, n, stream));
}

static inline int lu_MemcpyPeer(uintptr_t ctx, lu_devptr dst, uintptr_t from, lu_devptr src, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemcpyPeerAsync(dst, c->handle, src, ((const lu_ctx *)from)->handle, n, stream));
}

// lu_Memcpy2D copies rows of width bytes. A side is page-locked host memory where host has its bit, 1 for the
// destination and 2 for the source.
static inline int lu_Memcpy2D(uintptr_t ctx, uint64_t dst, size_t dst_pitch, uint64_t src, size_t src_pitch, size_t width,
		size_t height, int host, uintptr_t stream) {
	LU_CTX;
	lu_copy2d m = {.width = width, .height = height};
	m.dst.type = host & 1 ? 1 : 2;
	m.dst.host = host & 1 ? (void *)(uintptr_t)dst : NULL;
	m.dst.device = host & 1 ? 0 : dst;
	m.dst.pitch = dst_pitch;
	m.src.type = host & 2 ? 1 : 2;
	m.src.host = host & 2 ? (void *)(uintptr_t)src : NULL;
	m.src.device = host & 2 ? 0 : src;
	m.src.pitch = src_pitch;
	LU_TAKE(stream, t->cuMemcpy2DAsync_v2(&m, stream));
}

// lu_MemHostRegister page-locks memory that somebody else has allocated, for every context.
static inline int lu_MemHostRegister(uintptr_t ctx, uintptr_t p, size_t n) {
	LU_CTX;
	int r = lu_enter_sure(c);
	return r ? r : LU_RELAXED(t->cuMemHostRegister_v2((void *)p, n, 1)); // CU_MEMHOSTREGISTER_PORTABLE
}

static inline int lu_MemHostUnregister(uintptr_t ctx, uintptr_t p) {
	LU_CTX;
	int r = lu_enter_sure(c);
	return r ? r : LU_RELAXED(t->cuMemHostUnregister((void *)p));
}

static inline int lu_MemsetD8(uintptr_t ctx, lu_devptr p, uint8_t x, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemsetD8Async(p, x, n, stream));
}

static inline int lu_MemsetD16(uintptr_t ctx, lu_devptr p, uint16_t x, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemsetD16Async(p, x, n, stream));
}

static inline int lu_MemsetD32(uintptr_t ctx, lu_devptr p, uint32_t x, size_t n, uintptr_t stream) {
	LU_CTX;
	LU_TAKE(stream, t->cuMemsetD32Async(p, x, n, stream));
}

#endif
