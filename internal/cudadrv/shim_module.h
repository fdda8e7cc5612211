// Shims: modules and kernels.

#ifndef LASTUSE_SHIM_MODULE_H
#define LASTUSE_SHIM_MODULE_H

#include "shim.h"

enum { LU_LOG = 8192 };

// lu_ModuleLoad loads PTX, a cubin or a fatbin. The data is copied and ended with a zero byte, which PTX needs; the
// driver is free to keep the copy's address until the load is done, never Go's.
static inline lu_loaded lu_ModuleLoad(uintptr_t ctx, const uint8_t *data, size_t n) {
	LU_CTX;
	lu_loaded o = {0, NULL, lu_enter_sure(c)};
	if (o.r)
		return o;
	char *image = calloc(1, n + 64), *log = calloc(1, LU_LOG); // the driver looks at some bytes before it knows what it has
	lu_handle m = 0;
	if (image && log) {
		memcpy(image, data, n);
		int names[2] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER and its size in bytes
		void *values[2] = {log, (void *)(uintptr_t)LU_LOG};
		int mode = lu_relax(t);
		o.r = t->cuModuleLoadDataEx(&m, image, 2, names, values);
		lu_strict(t, mode);
	} else {
		o.r = LU_OUT_OF_MEMORY;
	}
	free(image);
	if (o.r && log && log[0]) {
		log[LU_LOG - 1] = 0;
		o.log = log;
	} else {
		free(log);
	}
	o.module = m;
	return o;
}

static inline int lu_ModuleUnload(uintptr_t ctx, uintptr_t module) {
	LU_CTX;
	int r = lu_enter_sure(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuModuleUnload(module);
	lu_strict(t, mode);
	return r;
}

// lu_name ends a name with a zero byte, and reports false for one that no module has.
static inline int lu_name(char *z, size_t room, const uint8_t *name, size_t n) {
	if (n >= room || memchr(name, 0, n))
		return 0;
	memcpy(z, name, n);
	z[n] = 0;
	return 1;
}

static inline lu_value lu_ModuleGetFunction(uintptr_t ctx, uintptr_t module, const uint8_t *name, size_t n) {
	LU_CTX;
	char z[512];
	lu_handle f = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (o.r)
		return o;
	o.r = lu_name(z, sizeof z, name, n) ? t->cuModuleGetFunction(&f, module, z) : LU_NOT_FOUND;
	o.v = f;
	return o;
}

// lu_ModuleGetGlobal returns address and size of a variable.
static inline lu_pair lu_ModuleGetGlobal(uintptr_t ctx, uintptr_t module, const uint8_t *name, size_t n) {
	LU_CTX;
	char z[512];
	lu_devptr p = 0;
	size_t size = 0;
	lu_pair o = {0, 0, lu_enter_sure(c)};
	if (o.r)
		return o;
	o.r = lu_name(z, sizeof z, name, n) ? t->cuModuleGetGlobal_v2(&p, &size, module, z) : LU_NOT_FOUND;
	o.a = p;
	o.b = size;
	return o;
}

static inline lu_value lu_FuncGetAttribute(uintptr_t ctx, uintptr_t function, int attribute) {
	LU_CTX;
	int v = 0;
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuFuncGetAttribute(&v, attribute, function);
	o.v = (uint64_t)(int64_t)v;
	return o;
}

static inline int lu_FuncSetAttribute(uintptr_t ctx, uintptr_t function, int attribute, int value) {
	LU_CTX;
	LU_DO(t->cuFuncSetAttribute(function, attribute, value));
}

// lu_FuncGetParamInfo returns offset and size of a kernel's i-th parameter.
static inline lu_pair lu_FuncGetParamInfo(uintptr_t ctx, uintptr_t function, size_t i) {
	LU_CTX;
	size_t offset = 0, size = 0;
	lu_pair o = {0, 0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuFuncGetParamInfo ? t->cuFuncGetParamInfo(function, i, &offset, &size) : LU_MISSING;
	o.a = offset;
	o.b = size;
	return o;
}

// lu_OccupancyMaxActive returns how many blocks of so many threads and bytes one multiprocessor runs at once.
static inline lu_value lu_OccupancyMaxActive(uintptr_t ctx, uintptr_t function, int block, size_t shared) {
	LU_CTX;
	int blocks = 0;
	lu_value o = {0, 0};
	LU_TRY(o.r, lu_enter(c), t->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block, shared));
	o.v = blocks;
	return o;
}

// lu_OccupancyBlockSize returns the block that fills the device best, and the least grid that fills it.
static inline lu_pair lu_OccupancyBlockSize(uintptr_t ctx, uintptr_t function, size_t shared) {
	LU_CTX;
	int grid = 0, block = 0;
	lu_pair o = {0, 0, 0};
	LU_TRY(o.r, lu_enter(c), t->cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, shared, 0));
	o.a = grid;
	o.b = block;
	return o;
}

enum { LU_PARAMS = 256 };
enum { LU_TOGETHER = 1, LU_UNASKED = 2 }; // how a kernel is launched

// lu_LaunchKernel launches with n arguments, the i-th at params+at[i]. The driver copies them before it returns. The
// blocks of a launch together all run at once. Where the extent of a cluster is not null, the blocks of each cluster do. An
// unasked one is on a stream that nobody else can be capturing, unless it is the default stream.
static inline int lu_LaunchKernel(uintptr_t ctx, uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		unsigned by, unsigned bz, unsigned shared, uintptr_t stream, const uint8_t *params, const uint16_t *at, int n,
		int how, unsigned cx, unsigned cy, unsigned cz) {
	LU_CTX;
	void *p[LU_PARAMS];
	if (n < 0 || n > LU_PARAMS)
		return LU_INVALID_VALUE;
	for (int i = 0; i < n; i++)
		p[i] = (void *)(params + at[i]);
	if (cx) {
		struct lu_launch_attribute cluster = {.id = 4, .dim = {cx, cy, cz}};
		lu_launch l = {{gx, gy, gz}, {bx, by, bz}, shared, stream, &cluster, 1};
		LU_TAKE(stream, t->cuLaunchKernelEx(&l, function, p, NULL));
	}
	if (how == LU_UNASKED && stream > 2) {
		LU_DO(t->cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, p, NULL));
	}
	LU_TAKE(stream, how == LU_TOGETHER ? t->cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, shared, stream, p)
		: t->cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, p, NULL));
}

#endif
