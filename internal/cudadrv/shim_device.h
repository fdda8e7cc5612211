// Shims: devices and contexts.

#ifndef LASTUSE_SHIM_DEVICE_H
#define LASTUSE_SHIM_DEVICE_H

#include "shim.h"

// Devices.

static inline int lu_Init(uintptr_t table) {
	LU_TABLE;
	return t->cuInit(0);
}

static inline lu_value lu_DriverGetVersion(uintptr_t table) {
	LU_TABLE;
	int v = 0;
	lu_value o = {0, t->cuDriverGetVersion ? t->cuDriverGetVersion(&v) : LU_MISSING};
	o.v = v;
	return o;
}

static inline const char *lu_ErrorName(uintptr_t table, int code) {
	LU_TABLE;
	const char *s = NULL;
	return t->cuGetErrorName && t->cuGetErrorName(code, &s) == LU_SUCCESS ? s : NULL;
}

static inline const char *lu_ErrorString(uintptr_t table, int code) {
	LU_TABLE;
	const char *s = NULL;
	return t->cuGetErrorString && t->cuGetErrorString(code, &s) == LU_SUCCESS ? s : NULL;
}

static inline lu_value lu_DeviceGetCount(uintptr_t table) {
	LU_TABLE;
	int n = 0;
	lu_value o = {0, t->cuDeviceGetCount(&n)};
	o.v = n;
	return o;
}

static inline lu_value lu_DeviceGet(uintptr_t table, int ordinal) {
	LU_TABLE;
	int d = 0;
	lu_value o = {0, t->cuDeviceGet(&d, ordinal)};
	o.v = d;
	return o;
}

static inline int lu_DeviceGetName(uintptr_t table, int device, char *buf, int n) {
	LU_TABLE;
	return t->cuDeviceGetName(buf, n, device);
}

static inline lu_value lu_DeviceTotalMem(uintptr_t table, int device) {
	LU_TABLE;
	size_t n = 0;
	lu_value o = {0, t->cuDeviceTotalMem_v2(&n, device)};
	o.v = n;
	return o;
}

static inline lu_value lu_DeviceGetAttribute(uintptr_t table, int attribute, int device) {
	LU_TABLE;
	int v = 0;
	lu_value o = {0, t->cuDeviceGetAttribute(&v, attribute, device)};
	o.v = (uint64_t)(int64_t)v;
	return o;
}

static inline lu_value lu_DeviceCanAccessPeer(uintptr_t table, int device, int peer) {
	LU_TABLE;
	int v = 0;
	lu_value o = {0, t->cuDeviceCanAccessPeer(&v, device, peer)};
	o.v = v;
	return o;
}

// Contexts.

// lu_CtxSwap makes the context the calling thread's current one and returns in v the one that was. The next
// shim looks for itself.
static inline lu_value lu_CtxSwap(uintptr_t ctx) {
	LU_CTX;
	lu_handle was = 0;
	lu_value o = {0, t->cuCtxGetCurrent(&was)};
	if (!o.r && (was != c->handle || lu_current != c->serial))
		o.r = lu_set(c);
	o.v = was;
	return o;
}

// lu_CtxRestore makes the context that lu_CtxSwap found the current one again.
static inline int lu_CtxRestore(uintptr_t ctx, uintptr_t was) {
	LU_CTX;
	lu_handle now = 0;
	if (was != c->handle)
		lu_current = 0; // whoever set it
	if (t->cuCtxGetCurrent(&now) == LU_SUCCESS && now == was)
		return LU_SUCCESS;
	lu_current = 0;
	return t->cuCtxSetCurrent(was);
}

static inline int lu_CtxSynchronize(uintptr_t ctx) {
	LU_CTX;
	int r = lu_enter_sure(c);
	return r ? r : t->cuCtxSynchronize();
}

static inline int lu_CtxEnablePeerAccess(uintptr_t ctx, uintptr_t peer) {
	LU_CTX;
	int r = lu_enter_sure(c);
	return r ? r : t->cuCtxEnablePeerAccess(((const lu_ctx *)peer)->handle, 0);
}

static inline lu_pair lu_MemGetInfo(uintptr_t ctx) {
	LU_CTX;
	size_t avail = 0, total = 0;
	lu_pair o = {0, 0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuMemGetInfo_v2(&avail, &total);
	o.a = avail;
	o.b = total;
	return o;
}

#endif
