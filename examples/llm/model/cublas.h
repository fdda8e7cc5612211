// What the model needs of cuBLAS, as its ABI has it; no header of CUDA's is used. Device addresses and
// streams are integers, so that Go never holds them as pointers.

#include <dlfcn.h>
#include <stdbool.h>
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
	int (*gemm)(void *, int, int, int, int, int, const void *, uintptr_t, int, int, uintptr_t, int, int, const void *, uintptr_t,
		int, int, int, int);
	const char *(*text)(int);
} llm_cublas;

// llm_cublas_open opens the library and makes a handle in the thread's current context. On failure it returns
// null, and in why what is missing.
static inline llm_cublas *llm_cublas_open(const char *path, char **why) {
	llm_cublas *l = calloc(1, sizeof *l);
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
		{"cublasGemmEx", &l->gemm}, {"cublasGetStatusString", &l->text},
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
		free(l);
		return NULL;
	}
	return l;
}

static inline void llm_cublas_close(llm_cublas *l) {
	l->destroy(l->handle);
	free(l);
}

static inline int llm_cublas_version(llm_cublas *l) {
	int v = 0;
	l->version(l->handle, &v);
	return v;
}

// llm_cublas_multiply enqueues y = w*x, or y += w*x, on the stream. A row of x has so many inputs, one of y
// so many outputs, and w a row of inputs for each output. The library's order is Fortran's, in which the same
// memory holds the transposed matrices: so w is the one that it is told to transpose. The workspace comes
// after the stream, which brings back the library's own.
static inline int llm_cublas_multiply(llm_cublas *l, uintptr_t stream, uintptr_t work, size_t work_size, int rows,
		int inputs, int outputs, uintptr_t y, uintptr_t w, uintptr_t x, bool wide, bool adding) {
	enum { REAL = 0, BFLOAT16 = 14, NO = 0, TRANSPOSED = 1, COMPUTE_REAL = 68, DEFAULT = -1 };
	const float one = 1, beta = adding; // read before the call returns
	int r = l->set_stream(l->handle, stream);
	if (!r)
		r = l->set_workspace(l->handle, work, work_size);
	return r ? r : l->gemm(l->handle, TRANSPOSED, NO, outputs, rows, inputs, &one, w, BFLOAT16, inputs, x, BFLOAT16, inputs,
		&beta, y, wide ? REAL : BFLOAT16, outputs, COMPUTE_REAL, DEFAULT);
}

static inline const char *llm_cublas_text(llm_cublas *l, int r) { return l->text(r); }
