// driver_pair times alloc+free pairs of the CUDA driver from a C loop: plain
// memory, the stream-ordered pool with its release threshold raised, and a bare
// kernel launch. It prints lines that benchstat reads.
//
//	cc -O2 -o driver_pair driver_pair.c -ldl && ./driver_pair [count]
//
// No CUDA headers are needed: what is called is declared here.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int CUresult;
typedef int CUdevice;
typedef void *CUcontext, *CUstream, *CUmemoryPool;
typedef uint64_t CUdeviceptr;

static void *lib;

static void *sym(const char *name) {
	void *p = dlsym(lib, name);
	if (!p) {
		fprintf(stderr, "driver_pair: missing peer: %s not found\n", name);
		exit(1);
	}
	return p;
}

static void ok(CUresult r, const char *what) {
	if (r) {
		fprintf(stderr, "driver_pair: %s: error %d\n", what, r);
		exit(1);
	}
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv) {
	int count = argc > 1 ? atoi(argv[1]) : 10;
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "driver_pair: missing peer: %s\n", dlerror());
		return 1;
	}
	CUresult (*init)(unsigned) = sym("cuInit");
	CUresult (*device)(CUdevice *, int) = sym("cuDeviceGet");
	CUresult (*retain)(CUcontext *, CUdevice) = sym("cuDevicePrimaryCtxRetain");
	CUresult (*setctx)(CUcontext) = sym("cuCtxSetCurrent");
	CUresult (*stream)(CUstream *, unsigned) = sym("cuStreamCreate");
	CUresult (*sync)(CUstream) = sym("cuStreamSynchronize");
	CUresult (*mem_alloc)(CUdeviceptr *, size_t) = sym("cuMemAlloc_v2");
	CUresult (*mem_free)(CUdeviceptr) = sym("cuMemFree_v2");
	CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream) = sym("cuMemAllocAsync");
	CUresult (*free_async)(CUdeviceptr, CUstream) = sym("cuMemFreeAsync");
	CUresult (*get_pool)(CUmemoryPool *, CUdevice) = sym("cuDeviceGetDefaultMemPool");
	CUresult (*set_attr)(CUmemoryPool, int, void *) = sym("cuMemPoolSetAttribute");

	CUdevice dev;
	CUcontext ctx;
	CUstream s;
	CUmemoryPool pool;
	ok(init(0), "cuInit");
	ok(device(&dev, 0), "cuDeviceGet");
	ok(retain(&ctx, dev), "cuDevicePrimaryCtxRetain");
	ok(setctx(ctx), "cuCtxSetCurrent");
	ok(stream(&s, 1), "cuStreamCreate");
	ok(get_pool(&pool, dev), "cuDeviceGetDefaultMemPool");
	uint64_t keep = UINT64_MAX; // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: as a program that cares for speed sets it
	ok(set_attr(pool, 4, &keep), "cuMemPoolSetAttribute");

	struct { const char *name; size_t size; } sizes[] = {
		{"256B", 256}, {"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20},
		{"16MiB", 16 << 20}, {"64MiB", 64 << 20}, {"1GiB", 1 << 30},
	};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CUdeviceptr p;
		for (int c = 0; c < count; c++) {
			int n = 20000;
			for (int k = 0; k < 100; k++) {
				ok(alloc_async(&p, sizes[i].size, s), "cuMemAllocAsync");
				ok(free_async(p, s), "cuMemFreeAsync");
			}
			ok(sync(s), "cuStreamSynchronize");
			double begin = now();
			for (int k = 0; k < n; k++) {
				alloc_async(&p, sizes[i].size, s);
				free_async(p, s);
			}
			printf("BenchmarkMakeFree/size=%s/pool=driver-async %d %.1f ns/op\n", sizes[i].name, n, (now() - begin) / n);
			ok(sync(s), "cuStreamSynchronize");
		}
		for (int c = 0; c < count; c++) {
			int n = sizes[i].size >= (16 << 20) ? 100 : 1000;
			double begin = now();
			for (int k = 0; k < n; k++) {
				mem_alloc(&p, sizes[i].size);
				mem_free(p);
			}
			printf("BenchmarkMakeFree/size=%s/pool=driver-plain %d %.1f ns/op\n", sizes[i].name, n, (now() - begin) / n);
		}
		fflush(stdout);
	}
	return 0;
}
