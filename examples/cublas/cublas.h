// What this example needs of cuBLAS, as its ABI has it; no header of CUDA's is used. Device addresses and streams are
// integers, so that Go never holds them as pointers.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	void *library, *handle;
	int (*create)(void **);
	int (*destroy)(void *);
	int (*version)(void *, int *);
	int (*set_stream)(void *, uintptr_t);
	int (*set_workspace)(void *, uintptr_t, size_t);
	int (*sgemm)(void *, int, int, int, int, int, const float *, uintptr_t, int, uintptr_t, int, const float *, uintptr_t, int);
	const char *(*text)(int);
} cublas;

// cublas_open opens the library and makes a handle in the thread's current context. On failure it returns null, and in
// why what is missing.
static inline cublas *cublas_open(const char *path, char **why) {
	cublas *l = calloc(1, sizeof *l);
	void *lib = l ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		*why = strdup(l ? dlerror() : "out of memory");
		free(l);
		return NULL;
	}
	l->library = lib;
	struct { const char *name; void *to; } symbols[] = {
		{"cublasCreate_v2", &l->create}, {"cublasDestroy_v2", &l->destroy}, {"cublasGetVersion_v2", &l->version},
		{"cublasSetStream_v2", &l->set_stream}, {"cublasSetWorkspace_v2", &l->set_workspace},
		{"cublasSgemm_v2", &l->sgemm}, {"cublasGetStatusString", &l->text},
	};
	for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *f = dlsym(lib, symbols[i].name);
		if (!f) {
			char text[100];
			snprintf(text, sizeof text, "it has no %s: too old, or not cuBLAS", symbols[i].name);
			*why = strdup(text);
			dlclose(lib);
			free(l);
			return NULL;
		}
		memcpy(symbols[i].to, &f, sizeof f);
	}
	int r = l->create(&l->handle);
	if (r) {
		*why = strdup(l->text(r));
		dlclose(lib);
		free(l);
		return NULL;
	}
	return l;
}

// cublas_close ends the handle. The library itself stays, for the next to open it.
static inline void cublas_close(cublas *l) {
	l->destroy(l->handle);
	free(l);
}

static inline int cublas_version(cublas *l) {
	int v = 0;
	l->version(l->handle, &v);
	return v;
}

// cublas_multiply enqueues c = a*b on the stream, for matrices of n rows in the order of C. The library's order is
// Fortran's, in which the same memory is the transposed matrix: so it is told to compute b*a. The workspace comes after
// the stream, which brings back the library's own.
static inline int cublas_multiply(cublas *l, uintptr_t stream, uintptr_t work, size_t work_size, int n, uintptr_t c,
		uintptr_t a, uintptr_t b) {
	const float one = 1, zero = 0; // read before the call returns
	int r = l->set_stream(l->handle, stream);
	if (!r)
		r = l->set_workspace(l->handle, work, work_size);
	return r ? r : l->sgemm(l->handle, 0, 0, n, n, n, &one, b, n, a, n, &zero, c, n);
}

static inline const char *cublas_text(cublas *l, int r) { return l->text(r); }
