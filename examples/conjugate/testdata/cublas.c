// A stand-in for cuBLAS: what the test opens in its place. It knows just what the solver calls, and does its work as
// the library does: by kernels that it launches on the stream that it was told, so that a capture takes them. It wants
// a context on the thread that calls, factors on the device, and for a sum a workspace that was given behind the
// stream.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

// Each kernel is one thread that goes through the vectors.
static const char ptx[] =
	".version 6.5\n.target sm_50\n.address_size 64\n"
	".visible .entry dot(.param .u32 n, .param .u64 x, .param .u64 y, .param .u64 to, .param .u64 work)\n{\n"
	".reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<5>;\n"
	"ld.param.u32 %r1, [n];\nld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u64 %rd3, [to];\n"
	"ld.param.u64 %rd4, [work];\nmov.f32 %f1, 0f00000000;\n"
	"LOOP:\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
	"ld.global.f32 %f2, [%rd1];\nld.global.f32 %f3, [%rd2];\nfma.rn.f32 %f1, %f2, %f3, %f1;\n"
	"st.global.f32 [%rd4], %f1;\n"
	"add.u64 %rd1, %rd1, 4;\nadd.u64 %rd2, %rd2, 4;\nsub.u32 %r1, %r1, 1;\nbra LOOP;\n"
	"DONE:\nst.global.f32 [%rd3], %f1;\nret;\n}\n"
	".visible .entry axpy(.param .u32 n, .param .u64 a, .param .u64 x, .param .u64 y)\n{\n"
	".reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<5>;\n"
	"ld.param.u32 %r1, [n];\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [x];\nld.param.u64 %rd3, [y];\n"
	"ld.global.f32 %f1, [%rd1];\n"
	"LOOP:\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
	"ld.global.f32 %f2, [%rd2];\nld.global.f32 %f3, [%rd3];\nfma.rn.f32 %f3, %f1, %f2, %f3;\n"
	"st.global.f32 [%rd3], %f3;\n"
	"add.u64 %rd2, %rd2, 4;\nadd.u64 %rd3, %rd3, 4;\nsub.u32 %r1, %r1, 1;\nbra LOOP;\n"
	"DONE:\nret;\n}\n"
	".visible .entry scale(.param .u32 n, .param .u64 a, .param .u64 x)\n{\n"
	".reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<5>;\n"
	"ld.param.u32 %r1, [n];\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [x];\n"
	"ld.global.f32 %f1, [%rd1];\n"
	"LOOP:\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
	"ld.global.f32 %f2, [%rd2];\nmul.f32 %f2, %f1, %f2;\nst.global.f32 [%rd2], %f2;\n"
	"add.u64 %rd2, %rd2, 4;\nsub.u32 %r1, %r1, 1;\nbra LOOP;\n"
	"DONE:\nret;\n}\n";

static uintptr_t stream, module;
static uint64_t work;
static int on_device;

static void *driver(const char *name) {
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return lib ? dlsym(lib, name) : NULL;
}

// ready reports whether the calling thread has a context.
static int ready(void) {
	uintptr_t context = 0;
	int (*current)(uintptr_t *) = (int (*)(uintptr_t *))driver("cuCtxGetCurrent");
	return current && !current(&context) && context;
}

static int run(const char *kernel, void **params) {
	int (*find)(uintptr_t *, uintptr_t, const char *) = (int (*)(uintptr_t *, uintptr_t, const char *))driver("cuModuleGetFunction");
	int (*launch)(uintptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uintptr_t, void **, void **) =
		(int (*)(uintptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uintptr_t, void **, void **))
			driver("cuLaunchKernel");
	uintptr_t f;
	if (find(&f, module, kernel) || launch(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL))
		return EXECUTION_FAILED;
	return OK;
}

int cublasCreate_v2(void **handle) {
	int (*load)(uintptr_t *, const void *, unsigned, int *, void **) =
		(int (*)(uintptr_t *, const void *, unsigned, int *, void **))driver("cuModuleLoadDataEx");
	if (!ready() || load(&module, ptx, 0, NULL, NULL))
		return NOT_INITIALIZED;
	*handle = &stream;
	return OK;
}

int cublasDestroy_v2(void *handle) {
	int (*unload)(uintptr_t) = (int (*)(uintptr_t))driver("cuModuleUnload");
	return handle == &stream && ready() && !unload(module) ? OK : INVALID_VALUE;
}

int cublasSetStream_v2(void *handle, uintptr_t s) {
	if (handle != &stream || !s)
		return INVALID_VALUE;
	stream = s;
	work = 0; // as the library does
	return OK;
}

int cublasSetWorkspace_v2(void *handle, uint64_t p, size_t n) {
	if (handle != &stream || p % 256 || n < 4)
		return INVALID_VALUE;
	work = p;
	return OK;
}

int cublasSetPointerMode_v2(void *handle, int mode) {
	on_device = mode;
	return handle == &stream ? OK : INVALID_VALUE;
}

const char *cublasGetStatusString(int status) {
	return status == INVALID_VALUE ? "invalid value" : status == NOT_INITIALIZED ? "not initialized" : "failed";
}

static int wrong(void *handle, int n, int incx, int incy) {
	return !ready() ? NOT_INITIALIZED : handle != &stream || !stream || !on_device || n < 1 || incx != 1 || incy != 1 ? INVALID_VALUE : OK;
}

int cublasSdot_v2(void *handle, int n, uint64_t x, int incx, uint64_t y, int incy, uint64_t to) {
	int r = wrong(handle, n, incx, incy);
	if (!r && !work)
		r = INVALID_VALUE;
	return r ? r : run("dot", (void *[]){&n, &x, &y, &to, &work});
}

int cublasSaxpy_v2(void *handle, int n, uint64_t a, uint64_t x, int incx, uint64_t y, int incy) {
	int r = wrong(handle, n, incx, incy);
	return r ? r : run("axpy", (void *[]){&n, &a, &x, &y});
}

int cublasSscal_v2(void *handle, int n, uint64_t a, uint64_t x, int incx) {
	int r = wrong(handle, n, incx, 1);
	return r ? r : run("scale", (void *[]){&n, &a, &x});
}
