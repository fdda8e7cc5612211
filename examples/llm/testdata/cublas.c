// A stand-in for cuBLAS that works on this machine's memory at once: what the test opens in its place. It
// knows just what the model calls, and multiplies as the library does, by columns. It wants what the library
// wants: a context on the thread that calls, a workspace, and a stream that is not being captured, as it
// waits for it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13, REAL = 0, BFLOAT16 = 14 };

static uintptr_t stream;
static void *work;
static size_t work_size;

static void *driver(const char *name) {
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return lib ? dlsym(lib, name) : NULL;
}

// ready reports whether the calling thread has a context, where there is a driver.
static int ready(void) {
	void *context = NULL;
	int (*current)(void **) = (int (*)(void **))driver("cuCtxGetCurrent");
	return !current || (!current(&context) && context);
}

int cublasCreate_v2(void **handle) {
	if (!ready())
		return NOT_INITIALIZED;
	*handle = &stream;
	return OK;
}

int cublasDestroy_v2(void *handle) { return handle == &stream && ready() ? OK : INVALID_VALUE; }

int cublasGetVersion_v2(void *handle, int *version) {
	(void)handle;
	*version = 130102;
	return OK;
}

int cublasSetStream_v2(void *handle, uintptr_t s) {
	if (handle != &stream || !s)
		return INVALID_VALUE;
	stream = s;
	work = NULL; // as the library does
	return OK;
}

int cublasSetWorkspace_v2(void *handle, void *p, size_t n) {
	if (handle != &stream || (uintptr_t)p % 256)
		return INVALID_VALUE;
	work = p;
	work_size = n;
	return OK;
}

const char *cublasGetStatusString(int status) {
	return status == INVALID_VALUE ? "invalid value" : status == NOT_INITIALIZED ? "not initialized" : "failed";
}

static float get(const void *p, size_t i) {
	uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;
	float f;
	memcpy(&f, &u, 4);
	return f;
}

static void put(void *p, size_t i, float f) {
	uint32_t u;
	memcpy(&u, &f, 4);
	((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const void *a, int at, int lda,
		const void *b, int bt, int ldb, const float *beta, void *c, int ct, int ldc, int compute, int algorithm) {
	if (!ready())
		return NOT_INITIALIZED;
	if (handle != &stream || !stream || ta != 1 || tb || m < 1 || n < 1 || k < 1 || lda < k || ldb < k || ldc < m || !a || !b ||
		!c || at != BFLOAT16 || bt != BFLOAT16 || (ct != BFLOAT16 && ct != REAL) || compute != 68 || algorithm != -1 || !work)
		return INVALID_VALUE;
	int (*sync)(uintptr_t) = (int (*)(uintptr_t))driver("cuStreamSynchronize");
	if (sync && sync(stream))
		return EXECUTION_FAILED;
	memset(work, 0xdb, work_size);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			float sum = 0;
			for (int l = 0; l < k; l++)
				sum += get(a, l + (size_t)i * lda) * get(b, l + (size_t)j * ldb);
			size_t to = i + (size_t)j * ldc;
			if (ct == REAL)
				((float *)c)[to] = *alpha * sum + (*beta ? *beta * ((float *)c)[to] : 0);
			else
				put(c, to, *alpha * sum + (*beta ? *beta * get(c, to) : 0));
		}
	return OK;
}
