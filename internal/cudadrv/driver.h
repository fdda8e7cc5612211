// The driver's symbols as this package sees them, and one shim per call.
//
// No CUDA header is used: the few types the calls need are declared here as the driver's ABI has them. Handles are
// integers of pointer size, so that Go never holds a driver handle as a pointer.

#ifndef LASTUSE_DRIVER_H
#define LASTUSE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t lu_handle; // a context, stream, event, module, function or graph
typedef unsigned long long lu_devptr;

typedef struct {
	int type, id;
} lu_location;

// lu_prop is CUmemAllocationProp: what kind of physical memory cuMemCreate makes, and where.
typedef struct {
	int type, handle_types;
	lu_location location;
	void *win32;
	struct {
		unsigned char compression, rdma;
		unsigned short usage;
		unsigned char reserved[4];
	} flags;
} lu_prop;

typedef struct {
	lu_location location;
	int flags;
} lu_access;

// lu_copy2d is CUDA_MEMCPY2D: one side of a copy of rows, and the other.
typedef struct {
	struct {
		size_t x, y;
		int type; // 1: host, 2: device
		const void *host;
		lu_devptr device;
		void *array;
		size_t pitch;
	} src, dst;
	size_t width, height;
} lu_copy2d;

// lu_launch is CUlaunchConfig, with CUlaunchAttribute.
typedef struct {
	unsigned grid[3], block[3], shared;
	lu_handle stream;
	const struct lu_launch_attribute {
		int id; // 4: the cluster's extent
		int pad;
		unsigned dim[16];
	} *attributes;
	unsigned count;
} lu_launch;

// lu_update is CUgraphExecUpdateResultInfo: why a graph's executable cannot be updated.
typedef struct {
	int result;
	lu_handle node, from;
} lu_update;

enum {
	LU_SUCCESS = 0,
	LU_INVALID_VALUE = 1,
	LU_OUT_OF_MEMORY = 2,
	LU_INVALID_CONTEXT = 201,
	LU_INVALID_HANDLE = 400,
	LU_NOT_FOUND = 500,
	LU_NOT_READY = 600,
	LU_CAPTURE_IMPLICIT = 906,

	LU_CAPTURING = -1, // ours: the stream is under capture and nothing was enqueued
	LU_MISSING = -2,   // ours: the driver does not have the call
	LU_CAPTURED = -3,  // ours: a capture of ours has taken the call
};

// LU_SYMBOLS lists every call: X(name in the library, needed, parameters). A symbol that is not needed may be
// missing from older drivers; its shim then returns LU_MISSING. The names carry the suffix of the newest ABI that
// every supported driver exports; cuGetProcAddress is not used, because it returned the exported addresses in every
// case tried and tools that watch a process attach to the exports.
#define LU_SYMBOLS(X) \
	X(cuInit, 1, (unsigned)) \
	X(cuDriverGetVersion, 1, (int *)) \
	X(cuGetErrorName, 1, (int, const char **)) \
	X(cuGetErrorString, 1, (int, const char **)) \
	X(cuDeviceGetCount, 1, (int *)) \
	X(cuDeviceGet, 1, (int *, int)) \
	X(cuDeviceGetName, 1, (char *, int, int)) \
	X(cuDeviceTotalMem_v2, 1, (size_t *, int)) \
	X(cuDeviceGetAttribute, 1, (int *, int, int)) \
	X(cuDeviceCanAccessPeer, 1, (int *, int, int)) \
	X(cuDevicePrimaryCtxRetain, 1, (lu_handle *, int)) \
	X(cuDevicePrimaryCtxRelease_v2, 1, (int)) \
	X(cuCtxGetCurrent, 1, (lu_handle *)) \
	X(cuCtxSetCurrent, 1, (lu_handle)) \
	X(cuCtxSynchronize, 1, (void)) \
	X(cuCtxEnablePeerAccess, 1, (lu_handle, unsigned)) \
	X(cuThreadExchangeStreamCaptureMode, 1, (int *)) \
	X(cuStreamCreate, 1, (lu_handle *, unsigned)) \
	X(cuStreamCreateWithPriority, 1, (lu_handle *, unsigned, int)) \
	X(cuCtxGetStreamPriorityRange, 1, (int *, int *)) \
	X(cuStreamDestroy_v2, 1, (lu_handle)) \
	X(cuStreamSynchronize, 1, (lu_handle)) \
	X(cuStreamQuery, 1, (lu_handle)) \
	X(cuStreamWaitEvent, 1, (lu_handle, lu_handle, unsigned)) \
	X(cuStreamGetId, 1, (lu_handle, unsigned long long *)) \
	X(cuStreamGetCtx, 1, (lu_handle, lu_handle *)) \
	X(cuStreamIsCapturing, 1, (lu_handle, int *)) \
	X(cuStreamBeginCapture_v2, 1, (lu_handle, int)) \
	X(cuStreamEndCapture, 1, (lu_handle, lu_handle *)) \
	X(cuGraphDestroy, 1, (lu_handle)) \
	X(cuGraphInstantiateWithFlags, 1, (lu_handle *, lu_handle, unsigned long long)) \
	X(cuGraphExecUpdate_v2, 1, (lu_handle, lu_handle, lu_update *)) \
	X(cuGraphExecDestroy, 1, (lu_handle)) \
	X(cuGraphLaunch, 1, (lu_handle, lu_handle)) \
	X(cuEventCreate, 1, (lu_handle *, unsigned)) \
	X(cuEventDestroy_v2, 1, (lu_handle)) \
	X(cuEventRecord, 1, (lu_handle, lu_handle)) \
	X(cuEventQuery, 1, (lu_handle)) \
	X(cuEventSynchronize, 1, (lu_handle)) \
	X(cuEventElapsedTime, 1, (float *, lu_handle, lu_handle)) \
	X(cuMemGetInfo_v2, 1, (size_t *, size_t *)) \
	X(cuMemAlloc_v2, 1, (lu_devptr *, size_t)) \
	X(cuMemFree_v2, 1, (lu_devptr)) \
	X(cuMemAllocManaged, 1, (lu_devptr *, size_t, unsigned)) \
	X(cuMemAllocAsync, 1, (lu_devptr *, size_t, lu_handle)) \
	X(cuMemFreeAsync, 1, (lu_devptr, lu_handle)) \
	X(cuMemHostAlloc, 1, (void **, size_t, unsigned)) \
	X(cuMemFreeHost, 1, (void *)) \
	X(cuMemcpyHtoDAsync_v2, 1, (lu_devptr, const void *, size_t, lu_handle)) \
	X(cuMemcpyDtoHAsync_v2, 1, (void *, lu_devptr, size_t, lu_handle)) \
	X(cuMemcpyDtoDAsync_v2, 1, (lu_devptr, lu_devptr, size_t, lu_handle)) \
	X(cuMemcpyPeerAsync, 1, (lu_devptr, lu_handle, lu_devptr, lu_handle, size_t, lu_handle)) \
	X(cuMemcpy2DAsync_v2, 1, (const lu_copy2d *, lu_handle)) \
	X(cuMemHostRegister_v2, 1, (void *, size_t, unsigned)) \
	X(cuMemHostUnregister, 1, (void *)) \
	X(cuMemsetD8Async, 1, (lu_devptr, unsigned char, size_t, lu_handle)) \
	X(cuMemsetD16Async, 1, (lu_devptr, unsigned short, size_t, lu_handle)) \
	X(cuMemsetD32Async, 1, (lu_devptr, unsigned, size_t, lu_handle)) \
	X(cuMemGetAllocationGranularity, 1, (size_t *, const lu_prop *, int)) \
	X(cuMemAddressReserve, 1, (lu_devptr *, size_t, size_t, lu_devptr, unsigned long long)) \
	X(cuMemAddressFree, 1, (lu_devptr, size_t)) \
	X(cuMemCreate, 1, (unsigned long long *, size_t, const lu_prop *, unsigned long long)) \
	X(cuMemRelease, 1, (unsigned long long)) \
	X(cuMemExportToShareableHandle, 1, (void *, unsigned long long, int, unsigned long long)) \
	X(cuMemImportFromShareableHandle, 1, (unsigned long long *, void *, int)) \
	X(cuMemMap, 1, (lu_devptr, size_t, size_t, unsigned long long, unsigned long long)) \
	X(cuMemUnmap, 1, (lu_devptr, size_t)) \
	X(cuMemSetAccess, 1, (lu_devptr, size_t, const lu_access *, size_t)) \
	X(cuModuleLoadDataEx, 1, (lu_handle *, const void *, unsigned, int *, void **)) \
	X(cuModuleUnload, 1, (lu_handle)) \
	X(cuModuleGetFunction, 1, (lu_handle *, lu_handle, const char *)) \
	X(cuModuleGetGlobal_v2, 1, (lu_devptr *, size_t *, lu_handle, const char *)) \
	X(cuFuncGetAttribute, 1, (int *, int, lu_handle)) \
	X(cuFuncSetAttribute, 1, (lu_handle, int, int)) \
	X(cuFuncGetParamInfo, 0, (lu_handle, size_t, size_t *, size_t *)) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 1, (int *, lu_handle, int, size_t)) \
	X(cuOccupancyMaxPotentialBlockSize, 1, (int *, int *, lu_handle, size_t (*)(int), size_t, int)) \
	X(cuLaunchKernel, 1, (lu_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, lu_handle, void **, void **)) \
	X(cuLaunchCooperativeKernel, 1, (lu_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, lu_handle, void **)) \
	X(cuLaunchKernelEx, 1, (const lu_launch *, lu_handle, void **, void **))

// lu_table holds the address of every symbol of one library. It is filled once and lives as long as the process, as
// the library does.
typedef struct lu_table {
#define X(name, needed, params) int (*name) params;
	LU_SYMBOLS(X)
#undef X
	void *library;
	struct lu_table *next;
	struct lu_ctx *contexts;
} lu_table;

// lu_ctx is one life of a device's primary context, from its first retain to its last release. Records are never freed: a
// call that meets a released one fails with CUDA_ERROR_INVALID_CONTEXT. The serial tells a thread that had the context of
// an earlier life as its current one to set it again although the handle may be the same.
typedef struct lu_ctx {
	const lu_table *t;
	lu_handle handle;
	uint64_t serial;
	int device, refs;
	struct lu_ctx *next;
} lu_ctx;

typedef struct {
	uint64_t v;
	int32_t r;
} lu_value;

typedef struct {
	uint64_t a, b;
	int32_t r;
} lu_pair;

typedef struct {
	float v;
	int32_t r;
} lu_float;

typedef struct {
	uint64_t table;
	char *why; // malloc'ed; null when the library is open
} lu_opened;

typedef struct {
	uint64_t module;
	char *log; // malloc'ed by the shim; null unless the driver wrote one and the load failed
	int32_t r;
} lu_loaded;

lu_opened lu_Open(const char *path);
const char *lu_Missing(uintptr_t table, int i);
lu_value lu_Retain(uintptr_t table, int device);
int lu_Release(uintptr_t ctx);

#endif
