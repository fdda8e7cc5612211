// driver.h opens the CUDA driver for the C peers, without its SDK's headers: what is called is declared here. A
// peer defines PEER, its name in messages.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int CUresult;
typedef int CUdevice;
typedef void *CUcontext, *CUstream, *CUmemoryPool;
typedef uint64_t CUdeviceptr;

enum { CUDA_ERROR_OUT_OF_MEMORY = 2 };

// Attributes of a memory pool.
enum { RELEASE_THRESHOLD = 4, RESERVED_CURRENT = 5, RESERVED_HIGH = 6 };

static void *lib;
static CUdevice dev;
static CUcontext ctx;
static CUmemoryPool pool; // the device's own
static CUresult (*stream_create)(CUstream *, unsigned);
static CUresult (*stream_sync)(CUstream);
static CUresult (*mem_alloc)(CUdeviceptr *, size_t);
static CUresult (*mem_free)(CUdeviceptr);
static CUresult (*mem_info)(size_t *, size_t *);
static CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream);
static CUresult (*free_async)(CUdeviceptr, CUstream);
static CUresult (*pool_set)(CUmemoryPool, int, void *);
static CUresult (*pool_get)(CUmemoryPool, int, void *);
static CUresult (*pool_trim)(CUmemoryPool, size_t);

static void *sym(const char *name) {
	void *p = dlsym(lib, name);
	if (!p) {
		fprintf(stderr, PEER ": missing peer: %s not found\n", name);
		exit(1);
	}
	return p;
}

static void ok(CUresult r, const char *what) {
	if (r) {
		fprintf(stderr, PEER ": %s: error %d\n", what, r);
		exit(1);
	}
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// open_driver opens device 0 and its pool, whose release threshold is raised as in a program that cares for speed.
static void open_driver(void) {
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, PEER ": missing peer: %s\n", dlerror());
		exit(1);
	}
	CUresult (*init)(unsigned) = sym("cuInit");
	CUresult (*device)(CUdevice *, int) = sym("cuDeviceGet");
	CUresult (*retain)(CUcontext *, CUdevice) = sym("cuDevicePrimaryCtxRetain");
	CUresult (*setctx)(CUcontext) = sym("cuCtxSetCurrent");
	CUresult (*get_pool)(CUmemoryPool *, CUdevice) = sym("cuDeviceGetDefaultMemPool");
	stream_create = sym("cuStreamCreate");
	stream_sync = sym("cuStreamSynchronize");
	mem_alloc = sym("cuMemAlloc_v2");
	mem_free = sym("cuMemFree_v2");
	mem_info = sym("cuMemGetInfo_v2");
	alloc_async = sym("cuMemAllocAsync");
	free_async = sym("cuMemFreeAsync");
	pool_set = sym("cuMemPoolSetAttribute");
	pool_get = sym("cuMemPoolGetAttribute");
	pool_trim = sym("cuMemPoolTrimTo");
	ok(init(0), "cuInit");
	ok(device(&dev, 0), "cuDeviceGet");
	ok(retain(&ctx, dev), "cuDevicePrimaryCtxRetain");
	ok(setctx(ctx), "cuCtxSetCurrent");
	ok(get_pool(&pool, dev), "cuDeviceGetDefaultMemPool");
	uint64_t keep = UINT64_MAX;
	ok(pool_set(pool, RELEASE_THRESHOLD, &keep), "cuMemPoolSetAttribute");
}
