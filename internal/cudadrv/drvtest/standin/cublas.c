// A stand-in for cuBLAS: what the tests of programs that call it open in its place. It knows what the examples call.
// Work with vectors it does as the library does: by kernels that it launches on the stream that it was told, so that a
// capture takes them. Products are made at once, in this machine's memory, behind a wait for the stream. It wants what
// the library wants: where there is a driver, a context on the thread that calls; factors where the pointer mode says;
// and for sums and products a workspace that was given behind the stream.

#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>

#include "library.inc"

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13, REAL = 0, BFLOAT16 = 14 };

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
static void *work;
static size_t work_size;
static int on_device;

static int ready(void) { return !driver("cuCtxGetCurrent") || current(); }

int cublasCreate_v2(void **handle) {
	int (*load)(uintptr_t *, const void *, unsigned, int *, void **) =
		(int (*)(uintptr_t *, const void *, unsigned, int *, void **))driver("cuModuleLoadDataEx");
	if (!ready() || (load && load(&module, ptx, 0, NULL, NULL)))
		return NOT_INITIALIZED;
	*handle = &stream;
	return OK;
}

int cublasDestroy_v2(void *handle) {
	int (*unload)(uintptr_t) = (int (*)(uintptr_t))driver("cuModuleUnload");
	return handle == &stream && ready() && (!unload || !unload(module)) ? OK : INVALID_VALUE;
}

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
	if (handle != &stream || (uintptr_t)p % 256 || n < 4)
		return INVALID_VALUE;
	work = p;
	work_size = n;
	return OK;
}

int cublasSetPointerMode_v2(void *handle, int mode) {
	on_device = mode;
	return handle == &stream ? OK : INVALID_VALUE;
}

const char *cublasGetStatusString(int status) {
	return status == INVALID_VALUE ? "invalid value" : status == NOT_INITIALIZED ? "not initialized" : "failed";
}

// wrong returns what is wrong with a call whose factors lie on the device, or not.
static int wrong(void *handle, int device, int needs_work, int fits) {
	if (!ready())
		return NOT_INITIALIZED;
	return handle != &stream || !stream || on_device != device || (needs_work && !work) || !fits ? INVALID_VALUE : OK;
}

static int run(const char *kernel, void **params) {
	int (*find)(uintptr_t *, uintptr_t, const char *) = (int (*)(uintptr_t *, uintptr_t, const char *))driver("cuModuleGetFunction");
	int (*launch)(uintptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uintptr_t, void **, void **) =
		(int (*)(uintptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uintptr_t, void **, void **))
			driver("cuLaunchKernel");
	uintptr_t f;
	if (!find || find(&f, module, kernel) || launch(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL))
		return EXECUTION_FAILED;
	return OK;
}

int cublasSdot_v2(void *handle, int n, uint64_t x, int incx, uint64_t y, int incy, uint64_t to) {
	int r = wrong(handle, 1, 1, n >= 1 && incx == 1 && incy == 1);
	return r ? r : run("dot", (void *[]){&n, &x, &y, &to, &work});
}

int cublasSaxpy_v2(void *handle, int n, uint64_t a, uint64_t x, int incx, uint64_t y, int incy) {
	int r = wrong(handle, 1, 0, n >= 1 && incx == 1 && incy == 1);
	return r ? r : run("axpy", (void *[]){&n, &a, &x, &y});
}

int cublasSscal_v2(void *handle, int n, uint64_t a, uint64_t x, int incx) {
	int r = wrong(handle, 1, 0, n >= 1 && incx == 1);
	return r ? r : run("scale", (void *[]){&n, &a, &x});
}

static float get(const void *p, int type, size_t i) {
	if (type == REAL)
		return ((const float *)p)[i];
	uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;
	float f;
	memcpy(&f, &u, 4);
	return f;
}

static void put(void *p, int type, size_t i, float f) {
	if (type == REAL) {
		((float *)p)[i] = f;
		return;
	}
	uint32_t u;
	memcpy(&u, &f, 4);
	((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// A matrix lies column after column, each lead elements behind the one before.
typedef struct {
	void *at;
	int type, lead;
} matrix;

// multiply makes c of m by n elements of a, or with ta of a transposed, times b.
static int multiply(void *handle, int ta, int m, int n, int k, float alpha, matrix a, matrix b, float beta, matrix c) {
	int fits = m >= 1 && n >= 1 && k >= 1 && a.lead >= (ta ? k : m) && b.lead >= k && c.lead >= m && a.at && b.at && c.at;
	int r = wrong(handle, 0, 1, fits);
	if (r)
		return r;
	int (*sync)(uintptr_t) = (int (*)(uintptr_t))driver("cuStreamSynchronize");
	if (sync && sync(stream))
		return EXECUTION_FAILED;
	memset(work, 0xdb, work_size);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			float sum = 0;
			for (int l = 0; l < k; l++)
				sum += get(a.at, a.type, ta ? l + (size_t)i * a.lead : i + (size_t)l * a.lead) * get(b.at, b.type, l + (size_t)j * b.lead);
			size_t to = i + (size_t)j * c.lead;
			put(c.at, c.type, to, alpha * sum + (beta ? beta * get(c.at, c.type, to) : 0));
		}
	return OK;
}

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, void *a, int lda, void *b, int ldb,
		const float *beta, void *c, int ldc) {
	if (tb)
		return INVALID_VALUE;
	return multiply(handle, ta, m, n, k, *alpha, (matrix){a, REAL, lda}, (matrix){b, REAL, ldb}, *beta, (matrix){c, REAL, ldc});
}

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, void *a, int at, int lda, void *b, int bt,
		int ldb, const float *beta, void *c, int ct, int ldc, int compute, int algorithm) {
	if (tb || at != BFLOAT16 || bt != BFLOAT16 || (ct != BFLOAT16 && ct != REAL) || compute != 68 || algorithm != -1)
		return INVALID_VALUE;
	return multiply(handle, ta, m, n, k, *alpha, (matrix){a, at, lda}, (matrix){b, bt, ldb}, *beta, (matrix){c, ct, ldc});
}
