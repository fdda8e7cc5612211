// What this example needs of cuBLAS, as its ABI has it; no header of CUDA's is used. Handles and device addresses are
// integers, so that Go never holds them as pointers.

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	void *handle;
	int (*create)(void **);
	int (*destroy)(void *);
	int (*set_stream)(void *, uintptr_t);
	int (*sgemm)(void *, int, int, int, int, int, const float *, uintptr_t, int, uintptr_t, int, const float *, uintptr_t, int);
	const char *(*text)(int);
} cublas;

// cublas_open opens the library and makes a handle. On failure it returns null, and in why what is missing.
static inline cublas *cublas_open(const char *path, char **why) {
	cublas *l = calloc(1, sizeof *l);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l || !lib) {
		const char *e = lib ? "out of memory" : dlerror();
		*why = strdup(e);
		free(l);
		return NULL;
	}
	struct { const char *name; void *to; } symbols[] = {
		{"cublasCreate_v2", &l->create}, {"cublasDestroy_v2", &l->destroy}, {"cublasSetStream_v2", &l->set_stream},
		{"cublasSgemm_v2", &l->sgemm}, {"cublasGetStatusString", &l->text},
	};
	for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *f = dlsym(lib, symbols[i].name);
		if (!f) {
			*why = strdup(dlerror());
			free(l);
			return NULL;
		}
		memcpy(symbols[i].to, &f, sizeof f);
	}
	int r = l->create(&l->handle);
	if (r) {
		*why = strdup(l->text(r));
		free(l);
		return NULL;
	}
	return l;
}

static inline void cublas_close(cublas *l) {
	l->destroy(l->handle);
	free(l);
}

// cublas_multiply enqueues c = a*b on the stream, for matrices of n rows in the order of C. The library's order is
// Fortran's, in which the same memory is the transposed matrix: so it is told to compute b*a.
static inline int cublas_multiply(cublas *l, uintptr_t stream, int n, uintptr_t c, uintptr_t a, uintptr_t b) {
	const float one = 1, zero = 0; // read before the call returns
	int r = l->set_stream(l->handle, stream);
	return r ? r : l->sgemm(l->handle, 0, 0, n, n, n, &one, b, n, a, n, &zero, c, n);
}

static inline const char *cublas_text(cublas *l, int r) { return l->text(r); }

// product is c = a*b in this machine's memory.
static inline void product(float *c, const float *a, const float *b, long n) {
	for (long i = 0; i < n; i++) {
		for (long j = 0; j < n; j++)
			c[i * n + j] = 0;
		for (long k = 0; k < n; k++)
			for (long j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
	}
}
