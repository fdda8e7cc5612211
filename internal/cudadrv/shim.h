// One shim per driver call. A shim makes the context the calling thread's current one if it is not, does the work and
// returns result and value together, so that one crossing from Go does it all: a goroutine may wake up on another
// thread between two crossings, never inside one, and nothing a shim is given has to outlive it.

#ifndef LASTUSE_SHIM_H
#define LASTUSE_SHIM_H

#include "driver.h"

#include <stdlib.h>
#include <string.h>

// lu_current is the serial of the context that this thread had current after its last shim; 0 is none.
extern _Thread_local uint64_t lu_current;

static int lu_set(const lu_ctx *c) {
	lu_handle h = __atomic_load_n(&c->handle, __ATOMIC_ACQUIRE);
	if (!h)
		return LU_INVALID_CONTEXT;
	int r = c->t->cuCtxSetCurrent(h);
	lu_current = r ? 0 : c->serial;
	return r;
}

// lu_enter is for calls whose stream, event or function names the context: should foreign code have changed the
// thread's context behind our back, the driver takes the stream's context or refuses (see lu_again); memory cannot
// come from the wrong device. A compare of two words.
static inline int lu_enter(const lu_ctx *c) {
	if (__builtin_expect(lu_current == c->serial, 1))
		return LU_SUCCESS;
	return lu_set(c);
}

// lu_enter_sure is for calls that work on whatever context is current. It asks the driver, which is cheap beside what
// such calls cost, instead of trusting that nobody else changed the context.
static inline int lu_enter_sure(const lu_ctx *c) {
	lu_handle now = 0;
	if (lu_current == c->serial && c->t->cuCtxGetCurrent(&now) == LU_SUCCESS && now == c->handle)
		return LU_SUCCESS;
	return lu_set(c);
}

// lu_relax lets this thread make a call that a capture elsewhere in the process forbids (allocate, free, query), as
// none of ours belong to that capture; lu_strict puts the thread's mode back.
static inline int lu_relax(const lu_table *t) {
	int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
	if (t->cuThreadExchangeStreamCaptureMode(&mode))
		return -1;
	return mode;
}

static inline void lu_strict(const lu_table *t, int mode) {
	if (mode >= 0)
		t->cuThreadExchangeStreamCaptureMode(&mode);
}

// lu_enter_for is lu_enter for a stream. The default streams have the same handles in every context.
static inline int lu_enter_for(const lu_ctx *c, lu_handle stream) { return stream > 2 ? lu_enter(c) : lu_enter_sure(c); }

// lu_ready enters and refuses a stream that is under capture.
static inline int lu_ready(const lu_ctx *c, lu_handle stream) {
	int r = lu_enter_for(c, stream), status = 0;
	if (r)
		return r;
	r = c->t->cuStreamIsCapturing(stream, &status);
	if (r == LU_CAPTURE_IMPLICIT || (r == LU_SUCCESS && status))
		return LU_CAPTURING;
	return r;
}

// lu_again reports whether a call that failed with r did so because the thread's context is not the one that lu_enter
// took it for, and sets it right.
static inline int lu_again(const lu_ctx *c, int r) {
	if (__builtin_expect(r != LU_INVALID_CONTEXT && r != LU_INVALID_HANDLE, 1))
		return 0;
	lu_handle now = 0;
	if (c->t->cuCtxGetCurrent(&now) != LU_SUCCESS || now == c->handle)
		return 0;
	return lu_set(c) == LU_SUCCESS;
}

// The body of a shim: TRY enters and calls until that was done in the right context, DO returns what it came to, and
// ENQUEUE does so for work on a stream.
#define TRY(r, enter, call) \
	do { \
		r = (enter); \
		if (!r) \
			r = (call); \
	} while (lu_again(c, r))
#define DO(call) \
	int r; \
	TRY(r, lu_enter(c), call); \
	return r
#define ENQUEUE(stream, call) \
	int r; \
	TRY(r, lu_ready(c, stream), call); \
	return r
#define RELAXED(call) ({ int mode = lu_relax(t), result = (call); lu_strict(t, mode); result; })

#define CTX const lu_ctx *c = (const lu_ctx *)ctx; const lu_table *t = c->t; (void)t
#define TABLE const lu_table *t = (const lu_table *)table

// Devices.

static inline int lu_Init(uintptr_t table) {
	TABLE;
	return t->cuInit(0);
}

static inline lu_value lu_DriverGetVersion(uintptr_t table) {
	TABLE;
	int v = 0;
	lu_value o = {0, t->cuDriverGetVersion ? t->cuDriverGetVersion(&v) : LU_MISSING};
	o.v = v;
	return o;
}

static inline const char *lu_ErrorName(uintptr_t table, int code) {
	TABLE;
	const char *s = NULL;
	return t->cuGetErrorName && t->cuGetErrorName(code, &s) == LU_SUCCESS ? s : NULL;
}

static inline const char *lu_ErrorString(uintptr_t table, int code) {
	TABLE;
	const char *s = NULL;
	return t->cuGetErrorString && t->cuGetErrorString(code, &s) == LU_SUCCESS ? s : NULL;
}

static inline lu_value lu_DeviceGetCount(uintptr_t table) {
	TABLE;
	int n = 0;
	lu_value o = {0, t->cuDeviceGetCount(&n)};
	o.v = n;
	return o;
}

static inline lu_value lu_DeviceGet(uintptr_t table, int ordinal) {
	TABLE;
	int d = 0;
	lu_value o = {0, t->cuDeviceGet(&d, ordinal)};
	o.v = d;
	return o;
}

static inline int lu_DeviceGetName(uintptr_t table, int device, char *buf, int n) {
	TABLE;
	return t->cuDeviceGetName(buf, n, device);
}

static inline lu_value lu_DeviceTotalMem(uintptr_t table, int device) {
	TABLE;
	size_t n = 0;
	lu_value o = {0, t->cuDeviceTotalMem_v2(&n, device)};
	o.v = n;
	return o;
}

static inline lu_value lu_DeviceGetAttribute(uintptr_t table, int attribute, int device) {
	TABLE;
	int v = 0;
	lu_value o = {0, t->cuDeviceGetAttribute(&v, attribute, device)};
	o.v = (uint64_t)(int64_t)v;
	return o;
}

static inline lu_value lu_DeviceCanAccessPeer(uintptr_t table, int device, int peer) {
	TABLE;
	int v = 0;
	lu_value o = {0, t->cuDeviceCanAccessPeer(&v, device, peer)};
	o.v = v;
	return o;
}

// Contexts.

static inline int lu_CtxSynchronize(uintptr_t ctx) {
	CTX;
	int r = lu_enter_sure(c);
	return r ? r : t->cuCtxSynchronize();
}

static inline int lu_CtxEnablePeerAccess(uintptr_t ctx, uintptr_t peer) {
	CTX;
	int r = lu_enter_sure(c);
	return r ? r : t->cuCtxEnablePeerAccess(((const lu_ctx *)peer)->handle, 0);
}

static inline lu_pair lu_MemGetInfo(uintptr_t ctx) {
	CTX;
	size_t avail = 0, total = 0;
	lu_pair o = {0, 0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuMemGetInfo_v2(&avail, &total);
	o.a = avail;
	o.b = total;
	return o;
}

// Streams.

static inline lu_value lu_StreamCreate(uintptr_t ctx) {
	CTX;
	lu_handle s = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuStreamCreate(&s, 1); // CU_STREAM_NON_BLOCKING
	o.v = s;
	return o;
}

static inline int lu_StreamDestroy(uintptr_t ctx, uintptr_t stream) {
	CTX;
	DO(t->cuStreamDestroy_v2(stream));
}

static inline int lu_StreamSynchronize(uintptr_t ctx, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, RELAXED(t->cuStreamSynchronize(stream)));
}

static inline int lu_StreamQuery(uintptr_t ctx, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, RELAXED(t->cuStreamQuery(stream)));
}

static inline int lu_StreamWaitEvent(uintptr_t ctx, uintptr_t stream, uintptr_t event) {
	CTX;
	ENQUEUE(stream, t->cuStreamWaitEvent(stream, event, 0));
}

static inline lu_value lu_StreamGetId(uintptr_t ctx, uintptr_t stream) {
	CTX;
	unsigned long long id = 0;
	lu_value o = {0, 0};
	TRY(o.r, lu_enter_for(c, stream), t->cuStreamGetId(stream, &id));
	o.v = id;
	return o;
}

// lu_StreamIsOurs reports in v whether the stream belongs to the context.
static inline lu_value lu_StreamIsOurs(uintptr_t ctx, uintptr_t stream) {
	CTX;
	lu_handle h = 0;
	lu_value o = {0, 0};
	TRY(o.r, lu_enter_for(c, stream), t->cuStreamGetCtx(stream, &h));
	o.v = h == c->handle;
	return o;
}

static inline lu_value lu_StreamIsCapturing(uintptr_t ctx, uintptr_t stream) {
	CTX;
	int status = 0;
	lu_value o = {0, 0};
	TRY(o.r, lu_enter_for(c, stream), t->cuStreamIsCapturing(stream, &status));
	if (o.r == LU_CAPTURE_IMPLICIT) {
		o.r = LU_SUCCESS;
		status = 1;
	}
	o.v = status;
	return o;
}

static inline int lu_StreamBeginCapture(uintptr_t ctx, uintptr_t stream, int mode) {
	CTX;
	DO(t->cuStreamBeginCapture_v2(stream, mode));
}

// lu_StreamEndCapture ends a capture and throws its graph away.
static inline int lu_StreamEndCapture(uintptr_t ctx, uintptr_t stream) {
	CTX;
	lu_handle graph = 0;
	int r = lu_enter(c);
	if (!r)
		r = t->cuStreamEndCapture(stream, &graph);
	if (graph)
		t->cuGraphDestroy(graph);
	return r;
}

// Events.

static inline lu_value lu_EventCreate(uintptr_t ctx) {
	CTX;
	lu_handle e = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuEventCreate(&e, 2); // CU_EVENT_DISABLE_TIMING
	o.v = e;
	return o;
}

static inline int lu_EventDestroy(uintptr_t ctx, uintptr_t event) {
	CTX;
	DO(t->cuEventDestroy_v2(event));
}

static inline int lu_EventRecord(uintptr_t ctx, uintptr_t event, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuEventRecord(event, stream));
}

static inline int lu_EventQuery(uintptr_t ctx, uintptr_t event) {
	CTX;
	DO(RELAXED(t->cuEventQuery(event)));
}

static inline int lu_EventSynchronize(uintptr_t ctx, uintptr_t event) {
	CTX;
	DO(RELAXED(t->cuEventSynchronize(event)));
}

// Memory.

static inline lu_value lu_MemAlloc(uintptr_t ctx, size_t n) {
	CTX;
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

static inline int lu_MemFree(uintptr_t ctx, lu_devptr p) {
	CTX;
	int r = lu_enter_sure(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuMemFree_v2(p);
	lu_strict(t, mode);
	return r;
}

static inline lu_value lu_MemAllocAsync(uintptr_t ctx, size_t n, uintptr_t stream) {
	CTX;
	lu_devptr p = 0;
	lu_value o = {0, 0};
	TRY(o.r, lu_ready(c, stream), t->cuMemAllocAsync(&p, n, stream));
	o.v = p;
	return o;
}

static inline int lu_MemFreeAsync(uintptr_t ctx, lu_devptr p, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemFreeAsync(p, stream));
}

static inline lu_value lu_MemHostAlloc(uintptr_t ctx, size_t n) {
	CTX;
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
	CTX;
	int r = lu_enter_sure(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuMemFreeHost((void *)p);
	lu_strict(t, mode);
	return r;
}

static inline int lu_MemcpyHtoD(uintptr_t ctx, lu_devptr dst, uintptr_t src, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemcpyHtoDAsync_v2(dst, (const void *)src, n, stream));
}

static inline int lu_MemcpyDtoH(uintptr_t ctx, uintptr_t dst, lu_devptr src, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemcpyDtoHAsync_v2((void *)dst, src, n, stream));
}

static inline int lu_MemcpyDtoD(uintptr_t ctx, lu_devptr dst, lu_devptr src, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemcpyDtoDAsync_v2(dst, src, n, stream));
}

static inline int lu_MemcpyPeer(uintptr_t ctx, lu_devptr dst, uintptr_t from, lu_devptr src, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemcpyPeerAsync(dst, c->handle, src, ((const lu_ctx *)from)->handle, n, stream));
}

static inline int lu_MemsetD8(uintptr_t ctx, lu_devptr p, uint8_t x, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemsetD8Async(p, x, n, stream));
}

static inline int lu_MemsetD16(uintptr_t ctx, lu_devptr p, uint16_t x, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemsetD16Async(p, x, n, stream));
}

static inline int lu_MemsetD32(uintptr_t ctx, lu_devptr p, uint32_t x, size_t n, uintptr_t stream) {
	CTX;
	ENQUEUE(stream, t->cuMemsetD32Async(p, x, n, stream));
}

// Mapping. These calls name their device; the context is set only because the driver wants one.

static inline lu_prop lu_pinned_on(const lu_ctx *c) {
	lu_prop p = {0};
	p.type = 1;          // CU_MEM_ALLOCATION_TYPE_PINNED
	p.location.type = 1; // CU_MEM_LOCATION_TYPE_DEVICE
	p.location.id = c->device;
	return p;
}

static inline lu_value lu_MemGetAllocationGranularity(uintptr_t ctx) {
	CTX;
	size_t n = 0;
	lu_prop p = lu_pinned_on(c);
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuMemGetAllocationGranularity(&n, &p, 0); // the smallest that works
	o.v = n;
	return o;
}

static inline lu_value lu_MemAddressReserve(uintptr_t ctx, size_t n, size_t align) {
	CTX;
	lu_devptr p = 0;
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuMemAddressReserve(&p, n, align, 0, 0);
	o.v = p;
	return o;
}

static inline int lu_MemAddressFree(uintptr_t ctx, lu_devptr p, size_t n) {
	CTX;
	int r = lu_enter(c);
	return r ? r : t->cuMemAddressFree(p, n);
}

static inline lu_value lu_MemCreate(uintptr_t ctx, size_t n) {
	CTX;
	unsigned long long h = 0;
	lu_prop p = lu_pinned_on(c);
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
	CTX;
	int r = lu_enter(c);
	return r ? r : t->cuMemRelease(h);
}

static inline int lu_MemMap(uintptr_t ctx, lu_devptr p, size_t n, unsigned long long h) {
	CTX;
	int r = lu_enter(c);
	return r ? r : t->cuMemMap(p, n, 0, h, 0);
}

static inline int lu_MemUnmap(uintptr_t ctx, lu_devptr p, size_t n) {
	CTX;
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
	CTX;
	lu_access a = {{1, device}, 3}; // CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	int r = lu_enter(c);
	return r ? r : t->cuMemSetAccess(p, n, &a, 1);
}

// Modules.

enum { LU_LOG = 8192 };

// lu_ModuleLoad loads PTX, a cubin or a fatbin. The data is copied and ended with a zero byte, which PTX needs; the
// driver is free to keep the copy's address until the load is done, never Go's.
static inline lu_loaded lu_ModuleLoad(uintptr_t ctx, const uint8_t *data, size_t n) {
	CTX;
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
	CTX;
	int r = lu_enter_sure(c);
	if (r)
		return r;
	int mode = lu_relax(t);
	r = t->cuModuleUnload(module);
	lu_strict(t, mode);
	return r;
}

static inline lu_value lu_ModuleGetFunction(uintptr_t ctx, uintptr_t module, const uint8_t *name, size_t n) {
	CTX;
	char z[512];
	lu_handle f = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (o.r)
		return o;
	if (n >= sizeof z) {
		o.r = LU_NOT_FOUND;
		return o;
	}
	memcpy(z, name, n);
	z[n] = 0;
	o.r = t->cuModuleGetFunction(&f, module, z);
	o.v = f;
	return o;
}

static inline lu_value lu_FuncGetAttribute(uintptr_t ctx, uintptr_t function, int attribute) {
	CTX;
	int v = 0;
	lu_value o = {0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuFuncGetAttribute(&v, attribute, function);
	o.v = (uint64_t)(int64_t)v;
	return o;
}

// lu_FuncGetParamInfo returns offset and size of a kernel's i-th parameter.
static inline lu_pair lu_FuncGetParamInfo(uintptr_t ctx, uintptr_t function, size_t i) {
	CTX;
	size_t offset = 0, size = 0;
	lu_pair o = {0, 0, lu_enter(c)};
	if (!o.r)
		o.r = t->cuFuncGetParamInfo ? t->cuFuncGetParamInfo(function, i, &offset, &size) : LU_MISSING;
	o.a = offset;
	o.b = size;
	return o;
}

enum { LU_PARAMS = 256 };

// lu_LaunchKernel launches with n arguments, the i-th at params+at[i]. The driver copies them before it returns.
static inline int lu_LaunchKernel(uintptr_t ctx, uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		unsigned by, unsigned bz, unsigned shared, uintptr_t stream, const uint8_t *params, const uint16_t *at, int n) {
	CTX;
	void *p[LU_PARAMS];
	if (n < 0 || n > LU_PARAMS)
		return LU_INVALID_VALUE;
	for (int i = 0; i < n; i++)
		p[i] = (void *)(params + at[i]);
	ENQUEUE(stream, t->cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, p, NULL));
}

#undef CTX
#undef TRY
#undef DO
#undef ENQUEUE
#undef RELAXED
#undef TABLE

#endif
