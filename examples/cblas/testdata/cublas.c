// A stand-in for cuBLAS that works on this machine's memory at once: what the test opens in its place. It knows just
// what the example calls, and multiplies as the library does, by columns.

#include <stddef.h>
#include <stdint.h>

enum { OK = 0, INVALID_VALUE = 7 };

static uintptr_t stream;

int cublasCreate_v2(void **handle) {
	*handle = &stream;
	return OK;
}

int cublasDestroy_v2(void *handle) { return handle == &stream ? OK : INVALID_VALUE; }

int cublasSetStream_v2(void *handle, uintptr_t s) {
	if (handle != &stream || !s)
		return INVALID_VALUE;
	stream = s;
	return OK;
}

const char *cublasGetStatusString(int status) { return status == INVALID_VALUE ? "invalid value" : "ok"; }

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
		const float *b, int ldb, const float *beta, float *c, int ldc) {
	if (handle != &stream || !stream || ta || tb || m < 1 || n < 1 || k < 1 || lda < m || ldb < k || ldc < m || !a || !b || !c)
		return INVALID_VALUE;
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
