// A stand-in for cuBLAS that works on this machine's memory at once: what the test opens in its place. It knows just
// what the example calls, and multiplies as the library does, by columns. Beside a driver it wants what the library
// wants: a context on the thread that calls; and it waits for the stream, as it does not queue.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

static uintptr_t stream;
static void *work;
static size_t work_size;

// ready reports whether the calling thread has a context, where there is a driver.
static int ready(void) {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *context = NULL;
	int (*current)(void **) = driver ? (int (*)(void **))dlsym(driver, "cuCtxGetCurrent") : NULL;
	return !current || (!current(&context) && context);
}

static int wait_for(uintptr_t s) {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*sync)(uintptr_t) = driver ? (int (*)(uintptr_t))dlsym(driver, "cuStreamSynchronize") : NULL;
	return sync ? sync(s) : 0;
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

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
		const float *b, int ldb, const float *beta, float *c, int ldc) {
	if (!ready())
		return NOT_INITIALIZED;
	if (handle != &stream || !stream || ta || tb || m < 1 || n < 1 || k < 1 || lda < m || ldb < k || ldc < m || !a || !b || !c)
		return INVALID_VALUE;
	if (wait_for(stream))
		return EXECUTION_FAILED;
	if (work)
		memset(work, 0xdb, work_size);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			float sum = 0;
			for (int l = 0; l < k; l++)
				sum += a[i + (size_t)l * lda] * b[l + (size_t)j * ldb];
			float *to = &c[i + (size_t)j * ldc];
			*to = *alpha * sum + (*beta ? *beta * *to : 0);
		}
	return OK;
}
