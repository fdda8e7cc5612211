// What the solver needs of cuBLAS, as its ABI has it; no header of CUDA's is used. Device addresses and
// streams are integers, so that Go never holds them as pointers. Results and factors lie on the device.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	void *library, *handle;
	int (*create)(void **);
	int (*destroy)(void *);
	int (*set_stream)(void *, uintptr_t);
	int (*set_workspace)(void *, uintptr_t, size_t);
	int (*set_pointer_mode)(void *, int);
	int (*dot)(void *, int, uintptr_t, int, uintptr_t, int, uintptr_t);
	int (*axpy)(void *, int, uintptr_t, uintptr_t, int, uintptr_t, int);
	int (*scale)(void *, int, uintptr_t, uintptr_t, int);
	const char *(*text)(int);
} linear_cublas;

// linear_cublas_open opens the library and makes a handle in the thread's current context. On failure it
// returns null, and in why what is missing.
static inline linear_cublas *linear_cublas_open(const char *path, char **why) {
	linear_cublas *l = calloc(1, sizeof *l);
	void *lib = l ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		*why = strdup(l ? dlerror() : "out of memory");
		free(l);
		return NULL;
	}
	l->library = lib;
	struct { const char *name; void *to; } symbols[] = {
		{"cublasCreate_v2", &l->create}, {"cublasDestroy_v2", &l->destroy}, {"cublasSetStream_v2", &l->set_stream},
		{"cublasSetWorkspace_v2", &l->set_workspace}, {"cublasSetPointerMode_v2", &l->set_pointer_mode},
		{"cublasSdot_v2", &l->dot}, {"cublasSaxpy_v2", &l->axpy}, {"cublasSscal_v2", &l->scale},
		{"cublasGetStatusString", &l->text},
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
	int r = l->create(&l->handle), made = !r;
	if (!r)
		r = l->set_pointer_mode(l->handle, 1);
	if (r) {
		*why = strdup(l->text(r));
		if (made)
			l->destroy(l->handle);
		dlclose(lib);
		free(l);
		return NULL;
	}
	return l;
}

// The library itself stays, for the next to open it.
static inline void linear_cublas_close(linear_cublas *l) {
	l->destroy(l->handle);
	free(l);
}

// The workspace comes after the stream, which brings back the library's own.
static inline int linear_cublas_dot(linear_cublas *l, uintptr_t stream, uintptr_t work, size_t work_size, int n, uintptr_t to,
		uintptr_t x, uintptr_t y) {
	int r = l->set_stream(l->handle, stream);
	if (!r)
		r = l->set_workspace(l->handle, work, work_size);
	return r ? r : l->dot(l->handle, n, x, 1, y, 1, to);
}

static inline int linear_cublas_axpy(linear_cublas *l, uintptr_t stream, int n, uintptr_t y, uintptr_t a, uintptr_t x) {
	int r = l->set_stream(l->handle, stream);
	return r ? r : l->axpy(l->handle, n, a, x, 1, y, 1);
}

static inline int linear_cublas_scale(linear_cublas *l, uintptr_t stream, int n, uintptr_t x, uintptr_t a) {
	int r = l->set_stream(l->handle, stream);
	return r ? r : l->scale(l->handle, n, a, x, 1);
}

static inline const char *linear_cublas_text(linear_cublas *l, int r) { return l->text(r); }
