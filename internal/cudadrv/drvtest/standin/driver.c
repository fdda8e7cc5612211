// The stand-in driver's calls, its books and its streams. standin.h says what it is for.
//
// One lock guards all of it. A stream's thread takes one piece of work from its queue under the lock, does it without
// the lock, and wakes everybody. A recording of an event is a mark of its own, so that recording the event again does not
// change what earlier waits stand for.

#define _GNU_SOURCE
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int result;
typedef unsigned long long devptr;
typedef uintptr_t handle;

enum {
	OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, DEINITIALIZED = 4, NO_DEVICE = 100, INVALID_DEVICE = 101,
	INVALID_IMAGE = 200, INVALID_CONTEXT = 201, PEER_UNSUPPORTED = 217, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500,
	NOT_READY = 600, ILLEGAL_ADDRESS = 700, PEER_ENABLED = 704, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901, CAPTURE_UNMATCHED = 903, CAPTURED_EVENT = 907
};

// FUNCTIONS lists every export: X(name, parameters, arguments).
#define FUNCTIONS(X) \
	X(cuInit, (unsigned flags)) \
	X(cuDriverGetVersion, (int *version)) \
	X(cuGetErrorName, (int code, const char **out)) \
	X(cuGetErrorString, (int code, const char **out)) \
	X(cuDeviceGetCount, (int *n)) \
	X(cuDeviceGet, (int *device, int ordinal)) \
	X(cuDeviceGetName, (char *buf, int n, int device)) \
	X(cuDeviceTotalMem_v2, (size_t *n, int device)) \
	X(cuDeviceGetAttribute, (int *v, int attribute, int device)) \
	X(cuDeviceCanAccessPeer, (int *can, int device, int peer)) \
	X(cuDevicePrimaryCtxRetain, (handle *out, int device)) \
	X(cuDevicePrimaryCtxRelease_v2, (int device)) \
	X(cuCtxGetCurrent, (handle *out)) \
	X(cuCtxSetCurrent, (handle ctx)) \
	X(cuCtxSynchronize, (void)) \
	X(cuCtxCreate_v2, (handle *out, unsigned flags, int device)) \
	X(cuCtxDestroy_v2, (handle ctx)) \
	X(cuCtxEnablePeerAccess, (handle peer, unsigned flags)) \
	X(cuThreadExchangeStreamCaptureMode, (int *mode)) \
	X(cuStreamCreate, (handle *out, unsigned flags)) \
	X(cuStreamDestroy_v2, (handle stream)) \
	X(cuStreamSynchronize, (handle stream)) \
	X(cuStreamQuery, (handle stream)) \
	X(cuStreamWaitEvent, (handle stream, handle event, unsigned flags)) \
	X(cuStreamGetId, (handle stream, unsigned long long *id)) \
	X(cuStreamGetCtx, (handle stream, handle *out)) \
	X(cuStreamIsCapturing, (handle stream, int *status)) \
	X(cuStreamBeginCapture_v2, (handle stream, int mode)) \
	X(cuStreamEndCapture, (handle stream, handle *graph)) \
	X(cuGraphDestroy, (handle graph)) \
	X(cuEventCreate, (handle *out, unsigned flags)) \
	X(cuEventDestroy_v2, (handle event)) \
	X(cuEventRecord, (handle event, handle stream)) \
	X(cuEventQuery, (handle event)) \
	X(cuEventSynchronize, (handle event)) \
	X(cuMemGetInfo_v2, (size_t *avail, size_t *total)) \
	X(cuMemAlloc_v2, (devptr *out, size_t n)) \
	X(cuMemFree_v2, (devptr p)) \
	X(cuMemAllocAsync, (devptr *out, size_t n, handle stream)) \
	X(cuMemFreeAsync, (devptr p, handle stream)) \
	X(cuMemHostAlloc, (void **out, size_t n, unsigned flags)) \
	X(cuMemFreeHost, (void *p)) \
	X(cuMemcpyHtoDAsync_v2, (devptr dst, const void *src, size_t n, handle stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *dst, devptr src, size_t n, handle stream)) \
	X(cuMemcpyDtoDAsync_v2, (devptr dst, devptr src, size_t n, handle stream)) \
	X(cuMemcpyPeerAsync, (devptr dst, handle to, devptr src, handle from, size_t n, handle stream)) \
	X(cuMemsetD8Async, (devptr p, unsigned char x, size_t n, handle stream)) \
	X(cuMemsetD16Async, (devptr p, unsigned short x, size_t n, handle stream)) \
	X(cuMemsetD32Async, (devptr p, unsigned x, size_t n, handle stream)) \
	X(cuMemGetAllocationGranularity, (size_t *n, const void *prop, int option)) \
	X(cuMemAddressReserve, (devptr *out, size_t n, size_t align, devptr at, unsigned long long flags)) \
	X(cuMemAddressFree, (devptr p, size_t n)) \
	X(cuMemCreate, (unsigned long long *out, size_t n, const void *prop, unsigned long long flags)) \
	X(cuMemRelease, (unsigned long long h)) \
	X(cuMemMap, (devptr p, size_t n, size_t offset, unsigned long long h, unsigned long long flags)) \
	X(cuMemUnmap, (devptr p, size_t n)) \
	X(cuMemSetAccess, (devptr p, size_t n, const void *access, size_t count)) \
	X(cuModuleLoadDataEx, (handle *out, const void *image, unsigned n, int *options, void **values)) \
	X(cuModuleUnload, (handle module)) \
	X(cuModuleGetFunction, (handle *out, handle module, const char *name)) \
	X(cuFuncGetAttribute, (int *v, int attribute, handle function)) \
	X(cuFuncGetParamInfo, (handle function, size_t i, size_t *offset, size_t *size)) \
	X(cuLaunchKernel, (handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream, void **params, void **extra))

// The exported symbols. memwatch places its probes by the first instructions, so these are the real drivers': a frame
// and a compare in 580, a compare, a jump and an indirect jump in 535 and 550.
__attribute__((visibility("hidden"))) unsigned standin_alive = 0;

#if STANDIN_HEAD == 580 && defined(__x86_64__)
#define EXPORT(name) \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" \
		"push %rbp\nmov %rsp,%rbp\npush %r12\npush %rbx\nsub $8,%rsp\n" \
		"cmpl $0x321cba00,standin_alive(%rip)\nje 1f\n" \
		"add $8,%rsp\npop %rbx\npop %r12\npop %rbp\njmp do_" #name "\n" \
		"1: mov $4,%eax\nadd $8,%rsp\npop %rbx\npop %r12\npop %rbp\nret\n.size " #name ",.-" #name "\n");
#elif STANDIN_HEAD == 550 && defined(__x86_64__)
#define EXPORT(name) \
	__asm__(".data\n.p2align 3\nto_" #name ": .quad do_" #name "\n" \
		".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" \
		"cmpl $0x321cba00,standin_alive(%rip)\nje 1f\njmp *to_" #name "(%rip)\n" \
		"1: mov $4,%eax\nret\n.size " #name ",.-" #name "\n");
#else
#define EXPORT(name) \
	__asm__(".text\n.globl " #name "\n.type " #name ",%function\n.set " #name ",do_" #name "\n");
#endif
#define X(name, params) __attribute__((visibility("hidden"))) result do_##name params;
FUNCTIONS(X)
#undef X
#define X(name, params) EXPORT(name)
FUNCTIONS(X)
#undef X

enum {
#define X(name, params) F_##name,
	FUNCTIONS(X)
#undef X
	F_COUNT
};

static const char *const function_names[] = {
#define X(name, params) #name,
	FUNCTIONS(X)
#undef X
};

static struct {
	long long calls, skip, times;
	int code;
} functions[F_COUNT];

typedef struct mark {
	int refs, done;
} mark;

typedef struct work {
	struct work *next;
	enum { COPY, FILL, KERNEL, SIGNAL, WAIT, RELEASE } kind;
	uint64_t dst, src;
	size_t n;
	int width;
	unsigned pattern;
	mark *m;
	ptx_kernel *k;
	unsigned grid[3], block[3];
	unsigned char params[4096];
} work;

typedef struct stream {
	struct stream *next; // of the live ones, or of those whose handle waits for another life
	struct context *ctx;
	unsigned long long id;
	work *first, **last;
	int running, started, closed, lives;
	int capturing, mode; // 1 active, 2 invalidated
} stream;

typedef struct event {
	struct event *next;
	struct context *ctx;
	mark *m;
	int captured;
} event;

typedef struct range {
	struct range *next;
	uint64_t p;
	size_t n;
	enum { PLAIN, ASYNC, PINNED, RESERVED, MAPPED } kind;
	int device;
	unsigned access; // MAPPED: bit i is device i
	struct memory *memory;
} range;

typedef struct memory { // what cuMemCreate makes
	struct memory *next;
	off_t at;
	size_t n;
	int device, refs, released;
} memory;

typedef struct module {
	struct module *next;
	struct context *ctx;
	ptx_kernel *kernels;
	long long bytes;
} module;

typedef struct context {
	int device, retains, sticky;
	unsigned peers;
	stream legacy;
} context;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long long devices = 2, memory_bytes = 1ll << 30, granularity = 2 << 20, version = 13000, delay, taken;
static int initialized, held;
static context contexts[STANDIN_DEVICES];
static stream *streams, *old_streams;
static event *events;
static range *ranges;
static memory *memories;
static module *modules;
static standin_books books;
static unsigned long long next_id = 16;
static int physical = -1;
static unsigned generation = 1; // changes with every range
static off_t physical_end;
static _Thread_local context *current;
static _Thread_local int thread_mode;

// Tests' side.

int standin_set(const char *setting, long long value) {
	pthread_mutex_lock(&mu);
	int r = 0;
	if (!strcmp(setting, "devices"))
		devices = value;
	else if (!strcmp(setting, "memory"))
		memory_bytes = value;
	else if (!strcmp(setting, "granularity"))
		granularity = value;
	else if (!strcmp(setting, "version"))
		version = value;
	else if (!strcmp(setting, "delay"))
		delay = value;
	else if (!strcmp(setting, "taken"))
		taken = value;
	else
		r = -1;
	pthread_mutex_unlock(&mu);
	return r;
}

static int function_index(const char *name) {
	for (int i = 0; i < F_COUNT; i++)
		if (!strcmp(function_names[i], name))
			return i;
	return -1;
}

int standin_fail(const char *function, long long skip, long long times, int code) {
	int i = function_index(function);
	if (i < 0)
		return -1;
	pthread_mutex_lock(&mu);
	functions[i].skip = skip;
	functions[i].times = times;
	functions[i].code = code;
	pthread_mutex_unlock(&mu);
	return 0;
}

void standin_hold(int on) {
	pthread_mutex_lock(&mu);
	held = on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mu);
}

void standin_deinit(int on) {
	__atomic_store_n(&standin_alive, on ? 0x321cba00 : 0, __ATOMIC_SEQ_CST);
}

void standin_heal(void) {
	pthread_mutex_lock(&mu);
	for (int i = 0; i < STANDIN_DEVICES; i++)
		contexts[i].sticky = 0;
	pthread_mutex_unlock(&mu);
}

void standin_read(standin_books *out) {
	pthread_mutex_lock(&mu);
	*out = books;
	out->retains = 0;
	for (int i = 0; i < STANDIN_DEVICES; i++)
		out->retains += contexts[i].retains;
	pthread_mutex_unlock(&mu);
}

long long standin_calls(const char *function) {
	int i = function_index(function);
	if (i < 0)
		return -1;
	pthread_mutex_lock(&mu);
	long long n = functions[i].calls;
	pthread_mutex_unlock(&mu);
	return n;
}

// The start of every call, under the lock: what it would fail with before it looks at its arguments.

enum { NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT };

static result begin(int f, int needs) {
	pthread_mutex_lock(&mu);
	books.calls++;
	functions[f].calls++;
	if (__atomic_load_n(&standin_alive, __ATOMIC_RELAXED))
		return DEINITIALIZED;
	if (functions[f].skip > 0) {
		functions[f].skip--;
	} else if (functions[f].times > 0) {
		functions[f].times--;
		return functions[f].code;
	}
	if (needs >= NEEDS_INIT && !initialized)
		return NOT_INITIALIZED;
	if (needs >= NEEDS_CONTEXT && (!current || !current->retains))
		return INVALID_CONTEXT;
	if (needs >= NEEDS_CONTEXT && current->sticky)
		return current->sticky;
	return OK;
}

static result end(result r) {
	pthread_mutex_unlock(&mu);
	return r;
}

#define BEGIN(f, needs) \
	result r = begin(F_##f, needs); \
	if (r) \
		return end(r)

// forbidden is the rule of captures: some calls break every capture that was not begun as relaxed, on whatever thread
// they are made, unless the calling thread's mode is relaxed.
static result forbidden(void) {
	if (thread_mode == 2)
		return OK;
	result r = OK;
	for (stream *s = streams; s; s = s->next)
		if (s->capturing == 1 && s->mode == 0) {
			s->capturing = 2;
			books.broken_capture++;
			r = CAPTURE_UNSUPPORTED;
		}
	return r;
}

#define FORBIDDEN() \
	if ((r = forbidden())) \
		return end(r)

// Memory.

static range *add_range(int kind, uint64_t p, size_t n, int device) {
	range *a = calloc(1, sizeof *a);
	a->kind = kind;
	a->p = p;
	a->n = n;
	a->device = device;
	a->next = ranges;
	ranges = a;
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
	return a;
}

static range *find_range(uint64_t p, int kind) {
	for (range *a = ranges; a; a = a->next)
		if ((int)a->kind == kind && p >= a->p && p < a->p + a->n)
			return a;
	return NULL;
}

static void drop_range(range *a) {
	range **at = &ranges;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	free(a);
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
}

static long long used(int device) {
	return books.device_bytes[device] + books.async_bytes[device] + books.handle_bytes[device] + books.module_bytes[device] +
		(device == 0 ? taken : 0);
}

// reachable reports whether [p, p+n) is memory that a device may touch, and whose.
static int reachable(int device, uint64_t p, size_t n) {
	while (n > 0) {
		range *a = NULL;
		for (range *b = ranges; b; b = b->next)
			if (b->kind != RESERVED && p >= b->p && p < b->p + b->n) {
				int ok = b->kind == PINNED || b->device == device || (contexts[device].peers >> b->device & 1);
				if (b->kind == MAPPED)
					ok = b->access >> device & 1;
				a = ok ? b : NULL;
				break;
			}
		if (!a)
			return 0;
		size_t here = a->p + a->n - p;
		if (here >= n)
			return 1;
		p += here;
		n -= here;
	}
	return 1;
}

static int anywhere(uint64_t p, size_t n) {
	for (int d = 0; d < devices; d++)
		if (reachable(d, p, n))
			return 1;
	return 0;
}

static int pinned(const void *p, size_t n) {
	range *a = find_range((uintptr_t)p, PINNED);
	return a && (uintptr_t)p + n <= a->p + a->n;
}

static size_t pages(size_t n) { return (n + 4095) & ~(size_t)4095; }

static void *fresh(size_t n) {
	void *p = mmap(NULL, pages(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

// Streams.

static void drop_mark(mark *m) {
	if (m && --m->refs == 0)
		free(m);
}

static void drop_memory(memory *h) {
	if (--h->refs > 0)
		return;
	memory **at = &memories;
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	fallocate(physical, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, h->at, (off_t)pages(h->n));
	books.handle_bytes[h->device] -= (long long)h->n;
	books.handles--;
	free(h);
}

static void stick(context *c, int code) {
	if (!c->sticky)
		c->sticky = code;
}

// A launch remembers the range that its kernel touched last, for as long as no range has come or gone.
typedef struct {
	context *ctx;
	unsigned generation;
	uint64_t p;
	size_t n;
} launch;

static int reach(void *arg, uint64_t p, size_t n) {
	launch *l = arg;
	if (l->generation == __atomic_load_n(&generation, __ATOMIC_ACQUIRE) && p >= l->p && p + n <= l->p + l->n)
		return 1;
	pthread_mutex_lock(&mu);
	int ok = reachable(l->ctx->device, p, n);
	books.bad_access += !ok;
	l->n = 0;
	for (range *a = ranges; ok && a; a = a->next)
		if (a->kind != RESERVED && p >= a->p && p + n <= a->p + a->n) {
			l->generation = generation;
			l->p = a->p;
			l->n = a->n;
		}
	pthread_mutex_unlock(&mu);
	return ok;
}

static void release(uint64_t p) {
	range *a = find_range(p, ASYNC);
	if (!a)
		return;
	books.async_bytes[a->device] -= (long long)a->n;
	books.allocations--;
	munmap((void *)a->p, pages(a->n));
	drop_range(a);
}

// perform does one piece of work. It is called under the lock and gives it up while it touches memory.
static void perform(stream *s, work *w) {
	context *c = s->ctx;
	int code = OK;
	if (w->kind == COPY || w->kind == FILL) {
		size_t n = w->n;
		int ok = w->kind == FILL ? reachable(c->device, w->dst, n) : 1;
		if (w->kind == COPY) // host memory need not be known to the driver; whoever gave a bad address crashes
			ok = (w->width & 1 || anywhere(w->dst, n)) && (w->width & 2 || anywhere(w->src, n));
		if (!ok) {
			books.bad_access++;
			stick(c, ILLEGAL_ADDRESS);
			return;
		}
		pthread_mutex_unlock(&mu);
		if (w->kind == COPY)
			memmove((void *)w->dst, (void *)w->src, n);
		else
			for (size_t i = 0; i < n; i += w->width)
				memcpy((char *)w->dst + i, &w->pattern, w->width);
		pthread_mutex_lock(&mu);
	} else if (w->kind == KERNEL) {
		launch l = {c, 0, 0, 0};
		pthread_mutex_unlock(&mu);
		code = ptx_run(w->k, w->grid, w->block, w->params, reach, &l);
		pthread_mutex_lock(&mu);
		if (code)
			stick(c, code);
	} else if (w->kind == RELEASE) {
		release(w->dst);
	}
}

static void *run(void *arg) {
	stream *s = arg;
	pthread_mutex_lock(&mu);
	for (;;) {
		work *w = s->first;
		if (!w && s->closed)
			break;
		if (!w || held || (w->kind == WAIT && !w->m->done && !s->ctx->sticky)) {
			pthread_cond_wait(&changed, &mu);
			continue;
		}
		s->running = 1;
		if (delay && w->kind != WAIT) {
			struct timespec t = {delay / 1000000, delay % 1000000 * 1000};
			pthread_mutex_unlock(&mu);
			nanosleep(&t, NULL);
			pthread_mutex_lock(&mu);
		}
		if (!s->ctx->sticky)
			perform(s, w);
		s->first = w->next;
		if (!s->first)
			s->last = &s->first;
		if (w->kind == SIGNAL)
			w->m->done = 1;
		drop_mark(w->m);
		free(w);
		s->running = 0;
		pthread_cond_broadcast(&changed);
	}
	s->started = 0;
	s->next = old_streams;
	old_streams = s;
	pthread_mutex_unlock(&mu);
	return NULL;
}

static int idle(const stream *s) { return !s->first && !s->running; }

static void drain(stream *s) {
	while (!idle(s) && !s->ctx->sticky)
		pthread_cond_wait(&changed, &mu);
}

static void drain_device(int device) {
again:
	drain(&contexts[device].legacy);
	for (stream *s = streams; s; s = s->next)
		if (s->ctx->device == device && !idle(s) && !s->ctx->sticky) {
			drain(s);
			goto again;
		}
}

static void push(stream *s, work *w) {
	w->next = NULL;
	*s->last = w;
	s->last = &w->next;
	if (!s->started) {
		pthread_t t;
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 256 << 10);
		pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
		s->started = pthread_create(&t, &a, run, s) == 0;
		pthread_attr_destroy(&a);
	}
	pthread_cond_broadcast(&changed);
}

static work *new_work(int kind) {
	work *w = malloc(sizeof *w);
	memset(w, 0, offsetof(work, params));
	w->kind = kind;
	return w;
}

// find_stream returns the stream of a handle. A handle of an older life of the stream is the newer stream's, as for the
// real driver.
static result find_stream(handle h, stream **out) {
	if (h <= 2) {
		*out = &current->legacy;
		return OK;
	}
	for (stream *s = streams; s; s = s->next)
		if ((handle)s == h) {
			*out = s;
			if (s->ctx != current)
				return INVALID_HANDLE;
			return s->ctx->sticky ? s->ctx->sticky : OK;
		}
	return INVALID_HANDLE;
}

static result find_event(handle h, event **out) {
	for (event *e = events; e; e = e->next)
		if ((handle)e == h) {
			*out = e;
			return e->ctx->sticky ? e->ctx->sticky : OK;
		}
	return INVALID_HANDLE;
}

#define STREAM(s, h) \
	stream *s; \
	if ((r = find_stream(h, &s))) \
	return end(r)
#define EVENT(e, h) \
	event *e; \
	if ((r = find_event(h, &e))) \
	return end(r)
// RECORDED ends a call that a capture takes into its graph.
#define RECORDED(s) \
	if (s->capturing) \
	return end(s->capturing == 1 ? OK : CAPTURE_INVALIDATED)

// Devices and contexts.

result do_cuInit(unsigned flags) {
	(void)flags;
	BEGIN(cuInit, NEEDS_NOTHING);
	if (devices == 0)
		return end(NO_DEVICE);
	if (!initialized) {
		initialized = 1;
		physical = memfd_create("standin.memory", MFD_CLOEXEC);
		for (int i = 0; i < STANDIN_DEVICES; i++) {
			contexts[i].device = i;
			contexts[i].legacy.ctx = &contexts[i];
			contexts[i].legacy.id = 1 + i;
			contexts[i].legacy.last = &contexts[i].legacy.first;
		}
	}
	return end(OK);
}

result do_cuDriverGetVersion(int *out) {
	BEGIN(cuDriverGetVersion, NEEDS_NOTHING);
	*out = (int)version;
	return end(OK);
}

static const struct { int code; const char *name, *text; } codes[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
	{218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
	{716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
	{903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
	{907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
};

result do_cuGetErrorName(int code, const char **out) {
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == code) {
			*out = codes[i].name;
			return OK;
		}
	*out = NULL;
	return INVALID_VALUE;
}

result do_cuGetErrorString(int code, const char **out) {
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == code) {
			*out = codes[i].text;
			return OK;
		}
	*out = NULL;
	return INVALID_VALUE;
}

result do_cuDeviceGetCount(int *n) {
	BEGIN(cuDeviceGetCount, NEEDS_INIT);
	*n = (int)devices;
	return end(OK);
}

#define DEVICE(d) \
	if (d < 0 || d >= devices) \
	return end(INVALID_DEVICE)

result do_cuDeviceGet(int *device, int ordinal) {
	BEGIN(cuDeviceGet, NEEDS_INIT);
	DEVICE(ordinal);
	*device = ordinal;
	return end(OK);
}

result do_cuDeviceGetName(char *buf, int n, int device) {
	BEGIN(cuDeviceGetName, NEEDS_INIT);
	DEVICE(device);
	snprintf(buf, n, "stand-in");
	return end(OK);
}

result do_cuDeviceTotalMem_v2(size_t *n, int device) {
	BEGIN(cuDeviceTotalMem_v2, NEEDS_INIT);
	DEVICE(device);
	*n = memory_bytes;
	return end(OK);
}

result do_cuDeviceGetAttribute(int *v, int attribute, int device) {
	static const struct { int attribute, value; } known[] = {
		{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32}, {16, 4},
		{19, 1}, {38, 1 << 20}, {39, 2048}, {40, 2}, {41, 1}, {75, 9}, {76, 0}, {88, 0}, {97, 232448}, {102, 1}, {115, 1},
	};
	BEGIN(cuDeviceGetAttribute, NEEDS_INIT);
	DEVICE(device);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].attribute == attribute) {
			*v = known[i].value;
			return end(OK);
		}
	return end(INVALID_VALUE);
}

result do_cuDeviceCanAccessPeer(int *can, int device, int peer) {
	BEGIN(cuDeviceCanAccessPeer, NEEDS_INIT);
	DEVICE(device);
	DEVICE(peer);
	*can = device != peer;
	return end(OK);
}

result do_cuDevicePrimaryCtxRetain(handle *out, int device) {
	BEGIN(cuDevicePrimaryCtxRetain, NEEDS_INIT);
	DEVICE(device);
	contexts[device].retains++;
	*out = (handle)&contexts[device];
	return end(OK);
}

// The last release ends everything that was made in the context.
result do_cuDevicePrimaryCtxRelease_v2(int device) {
	BEGIN(cuDevicePrimaryCtxRelease_v2, NEEDS_INIT);
	DEVICE(device);
	context *c = &contexts[device];
	if (!c->retains)
		return end(INVALID_CONTEXT);
	if (--c->retains == 0) {
		drain_device(device);
		c->peers = 0;
	}
	return end(OK);
}

result do_cuCtxGetCurrent(handle *out) {
	BEGIN(cuCtxGetCurrent, NEEDS_INIT);
	*out = (handle)current;
	return end(OK);
}

result do_cuCtxSetCurrent(handle ctx) {
	BEGIN(cuCtxSetCurrent, NEEDS_INIT);
	current = (context *)ctx;
	return end(OK);
}

// A context beside the primary one: an empty one of its device.
result do_cuCtxCreate_v2(handle *out, unsigned flags, int device) {
	(void)flags;
	BEGIN(cuCtxCreate_v2, NEEDS_INIT);
	DEVICE(device);
	context *c = calloc(1, sizeof *c);
	c->device = device;
	c->retains = 1;
	c->legacy.ctx = c;
	c->legacy.last = &c->legacy.first;
	current = c;
	*out = (handle)c;
	return end(OK);
}

result do_cuCtxDestroy_v2(handle ctx) {
	BEGIN(cuCtxDestroy_v2, NEEDS_INIT);
	for (int i = 0; i < STANDIN_DEVICES; i++)
		if ((handle)&contexts[i] == ctx)
			return end(INVALID_CONTEXT);
	if ((handle)current == ctx)
		current = NULL;
	free((void *)ctx);
	return end(OK);
}

result do_cuCtxSynchronize(void) {
	BEGIN(cuCtxSynchronize, NEEDS_CONTEXT);
	FORBIDDEN();
	drain_device(current->device);
	return end(current->sticky);
}

result do_cuCtxEnablePeerAccess(handle peer, unsigned flags) {
	(void)flags;
	BEGIN(cuCtxEnablePeerAccess, NEEDS_CONTEXT);
	context *c = (context *)peer;
	if (c == current)
		return end(INVALID_DEVICE);
	if (current->peers >> c->device & 1)
		return end(PEER_ENABLED);
	current->peers |= 1u << c->device;
	return end(OK);
}

result do_cuThreadExchangeStreamCaptureMode(int *mode) {
	BEGIN(cuThreadExchangeStreamCaptureMode, NEEDS_INIT);
	int old = thread_mode;
	thread_mode = *mode;
	*mode = old;
	return end(OK);
}

// Streams and captures.

result do_cuStreamCreate(handle *out, unsigned flags) {
	(void)flags;
	BEGIN(cuStreamCreate, NEEDS_CONTEXT);
	stream *s = old_streams;
	if (s) {
		old_streams = s->next;
		books.stream_reuses++;
	} else {
		s = calloc(1, sizeof *s);
	}
	int lives = s->lives + 1;
	memset(s, 0, sizeof *s);
	s->lives = lives;
	s->ctx = current;
	s->id = next_id++;
	s->last = &s->first;
	s->next = streams;
	streams = s;
	books.streams++;
	*out = (handle)s;
	return end(OK);
}

result do_cuStreamDestroy_v2(handle h) {
	BEGIN(cuStreamDestroy_v2, NEEDS_CONTEXT);
	if (h <= 2)
		return end(INVALID_HANDLE);
	STREAM(s, h);
	stream **at = &streams;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	books.streams--;
	s->closed = 1;
	if (!s->started) {
		s->next = old_streams;
		old_streams = s;
	}
	pthread_cond_broadcast(&changed);
	return end(OK);
}

result do_cuStreamSynchronize(handle h) {
	BEGIN(cuStreamSynchronize, NEEDS_CONTEXT);
	STREAM(s, h);
	if (s->capturing) {
		s->capturing = 2;
		books.broken_capture++;
		return end(CAPTURE_UNSUPPORTED);
	}
	FORBIDDEN();
	drain(s);
	return end(s->ctx->sticky);
}

result do_cuStreamQuery(handle h) {
	BEGIN(cuStreamQuery, NEEDS_CONTEXT);
	STREAM(s, h);
	FORBIDDEN();
	return end(idle(s) ? OK : NOT_READY);
}

result do_cuStreamGetId(handle h, unsigned long long *id) {
	BEGIN(cuStreamGetId, NEEDS_CONTEXT);
	STREAM(s, h);
	*id = s->id;
	return end(OK);
}

result do_cuStreamGetCtx(handle h, handle *out) {
	BEGIN(cuStreamGetCtx, NEEDS_CONTEXT);
	STREAM(s, h);
	*out = (handle)s->ctx;
	return end(OK);
}

result do_cuStreamIsCapturing(handle h, int *status) {
	BEGIN(cuStreamIsCapturing, NEEDS_CONTEXT);
	STREAM(s, h);
	*status = s->capturing;
	return end(OK);
}

result do_cuStreamBeginCapture_v2(handle h, int mode) {
	BEGIN(cuStreamBeginCapture_v2, NEEDS_CONTEXT);
	STREAM(s, h);
	if (h <= 2 || s->capturing)
		return end(CAPTURE_UNSUPPORTED);
	s->capturing = 1;
	s->mode = mode;
	return end(OK);
}

result do_cuStreamEndCapture(handle h, handle *graph) {
	BEGIN(cuStreamEndCapture, NEEDS_CONTEXT);
	STREAM(s, h);
	if (!s->capturing)
		return end(CAPTURE_UNMATCHED);
	int status = s->capturing;
	s->capturing = 0;
	*graph = status == 1 ? (handle)malloc(1) : 0;
	return end(status == 1 ? OK : CAPTURE_INVALIDATED);
}

result do_cuGraphDestroy(handle graph) {
	BEGIN(cuGraphDestroy, NEEDS_INIT);
	free((void *)graph);
	return end(OK);
}

// Events.

result do_cuEventCreate(handle *out, unsigned flags) {
	(void)flags;
	BEGIN(cuEventCreate, NEEDS_CONTEXT);
	event *e = calloc(1, sizeof *e);
	e->ctx = current;
	e->next = events;
	events = e;
	books.events++;
	*out = (handle)e;
	return end(OK);
}

result do_cuEventDestroy_v2(handle h) {
	BEGIN(cuEventDestroy_v2, NEEDS_CONTEXT);
	EVENT(e, h);
	event **at = &events;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	drop_mark(e->m);
	free(e);
	books.events--;
	return end(OK);
}

result do_cuEventRecord(handle h, handle hs) {
	BEGIN(cuEventRecord, NEEDS_CONTEXT);
	EVENT(e, h);
	STREAM(s, hs);
	if (e->ctx != s->ctx)
		return end(INVALID_HANDLE);
	e->captured = s->capturing;
	RECORDED(s);
	drop_mark(e->m);
	e->m = calloc(1, sizeof *e->m);
	e->m->refs = 2;
	work *w = new_work(SIGNAL);
	w->m = e->m;
	push(s, w);
	return end(OK);
}

result do_cuEventQuery(handle h) {
	BEGIN(cuEventQuery, NEEDS_CONTEXT);
	EVENT(e, h);
	if (e->captured)
		return end(CAPTURED_EVENT);
	FORBIDDEN();
	return end(!e->m || e->m->done ? OK : NOT_READY);
}

result do_cuEventSynchronize(handle h) {
	BEGIN(cuEventSynchronize, NEEDS_CONTEXT);
	EVENT(e, h);
	if (e->captured)
		return end(CAPTURED_EVENT);
	FORBIDDEN();
	mark *m = e->m;
	context *c = e->ctx;
	if (m) {
		m->refs++;
		while (!m->done && !c->sticky)
			pthread_cond_wait(&changed, &mu);
		drop_mark(m);
	}
	return end(c->sticky);
}

result do_cuStreamWaitEvent(handle hs, handle h, unsigned flags) {
	(void)flags;
	BEGIN(cuStreamWaitEvent, NEEDS_CONTEXT);
	EVENT(e, h);
	STREAM(s, hs);
	if (e->captured && !s->capturing)
		return end(CAPTURED_EVENT);
	RECORDED(s);
	if (!e->m)
		return end(OK);
	work *w = new_work(WAIT);
	w->m = e->m;
	w->m->refs++;
	push(s, w);
	return end(OK);
}

// Allocation.

result do_cuMemGetInfo_v2(size_t *avail, size_t *total) {
	BEGIN(cuMemGetInfo_v2, NEEDS_CONTEXT);
	long long left = memory_bytes - used(current->device);
	*avail = left > 0 ? left : 0;
	*total = memory_bytes;
	return end(OK);
}

static result allocate(devptr *out, size_t n, int kind, long long *count) {
	if (n == 0)
		return INVALID_VALUE;
	if ((long long)n > memory_bytes - used(current->device))
		return OUT_OF_MEMORY;
	void *p = fresh(n);
	if (!p)
		return OUT_OF_MEMORY;
	add_range(kind, (uintptr_t)p, n, current->device);
	*count += (long long)n;
	books.allocations++;
	*out = (uintptr_t)p;
	return OK;
}

result do_cuMemAlloc_v2(devptr *out, size_t n) {
	BEGIN(cuMemAlloc_v2, NEEDS_CONTEXT);
	FORBIDDEN();
	return end(allocate(out, n, PLAIN, &books.device_bytes[current->device]));
}

result do_cuMemFree_v2(devptr p) {
	BEGIN(cuMemFree_v2, NEEDS_CONTEXT);
	FORBIDDEN();
	if (!p)
		return end(OK);
	range *a = find_range(p, PLAIN);
	if (!a)
		a = find_range(p, ASYNC);
	if (!a || a->p != p)
		return end(INVALID_VALUE);
	int device = a->device;
	drain_device(device);
	if (!(a = find_range(p, PLAIN))) {
		release(p);
		return end(OK);
	}
	books.device_bytes[device] -= (long long)a->n;
	books.allocations--;
	munmap((void *)a->p, pages(a->n));
	drop_range(a);
	return end(OK);
}

result do_cuMemAllocAsync(devptr *out, size_t n, handle h) {
	BEGIN(cuMemAllocAsync, NEEDS_CONTEXT);
	STREAM(s, h);
	RECORDED(s);
	return end(allocate(out, n, ASYNC, &books.async_bytes[current->device]));
}

result do_cuMemFreeAsync(devptr p, handle h) {
	BEGIN(cuMemFreeAsync, NEEDS_CONTEXT);
	STREAM(s, h);
	range *a = find_range(p, ASYNC);
	if (!a || a->p != p)
		return end(INVALID_VALUE);
	work *w = new_work(RELEASE);
	w->dst = p;
	push(s, w);
	return end(OK);
}

result do_cuMemHostAlloc(void **out, size_t n, unsigned flags) {
	(void)flags;
	BEGIN(cuMemHostAlloc, NEEDS_CONTEXT);
	FORBIDDEN();
	void *p = n ? fresh(n) : NULL;
	if (!p)
		return end(n ? OUT_OF_MEMORY : INVALID_VALUE);
	add_range(PINNED, (uintptr_t)p, n, current->device);
	books.pinned_bytes += (long long)n;
	books.allocations++;
	*out = p;
	return end(OK);
}

result do_cuMemFreeHost(void *p) {
	BEGIN(cuMemFreeHost, NEEDS_CONTEXT);
	FORBIDDEN();
	range *a = find_range((uintptr_t)p, PINNED);
	if (!a || a->p != (uintptr_t)p)
		return end(INVALID_VALUE);
	for (int d = 0; d < devices; d++)
		drain_device(d);
	books.pinned_bytes -= (long long)a->n;
	books.allocations--;
	munmap(p, pages(a->n));
	drop_range(a);
	return end(OK);
}

// Copies and fills. In a copy, bits 1 and 2 of the width say that destination or source is host memory.

static result enqueue_copy(stream *s, uint64_t dst, uint64_t src, size_t n, int host) {
	if ((!(host & 1) && !anywhere(dst, n)) || (!(host & 2) && !anywhere(src, n)))
		return INVALID_VALUE;
	if (n == 0)
		return OK;
	work *w = new_work(COPY);
	w->dst = dst;
	w->src = src;
	w->n = n;
	w->width = host;
	push(s, w);
	return OK;
}

result do_cuMemcpyHtoDAsync_v2(devptr dst, const void *src, size_t n, handle h) {
	BEGIN(cuMemcpyHtoDAsync_v2, NEEDS_CONTEXT);
	STREAM(s, h);
	RECORDED(s);
	books.pageable += !pinned(src, n);
	return end(enqueue_copy(s, dst, (uintptr_t)src, n, 2));
}

result do_cuMemcpyDtoHAsync_v2(void *dst, devptr src, size_t n, handle h) {
	BEGIN(cuMemcpyDtoHAsync_v2, NEEDS_CONTEXT);
	STREAM(s, h);
	RECORDED(s);
	books.pageable += !pinned(dst, n);
	return end(enqueue_copy(s, (uintptr_t)dst, src, n, 1));
}

result do_cuMemcpyDtoDAsync_v2(devptr dst, devptr src, size_t n, handle h) {
	BEGIN(cuMemcpyDtoDAsync_v2, NEEDS_CONTEXT);
	STREAM(s, h);
	RECORDED(s);
	return end(enqueue_copy(s, dst, src, n, 0));
}

result do_cuMemcpyPeerAsync(devptr dst, handle to, devptr src, handle from, size_t n, handle h) {
	BEGIN(cuMemcpyPeerAsync, NEEDS_CONTEXT);
	STREAM(s, h);
	RECORDED(s);
	if (!reachable(((context *)to)->device, dst, n) || !reachable(((context *)from)->device, src, n))
		return end(INVALID_VALUE);
	return end(enqueue_copy(s, dst, src, n, 0));
}

static result enqueue_fill(handle h, uint64_t p, unsigned x, int width, size_t n) {
	stream *s;
	result r = find_stream(h, &s);
	if (r)
		return end(r);
	RECORDED(s);
	if (p % width || !anywhere(p, n * width))
		return end(INVALID_VALUE);
	work *w = new_work(FILL);
	w->dst = p;
	w->n = n * width;
	w->width = width;
	w->pattern = x;
	push(s, w);
	return end(OK);
}

result do_cuMemsetD8Async(devptr p, unsigned char x, size_t n, handle h) {
	BEGIN(cuMemsetD8Async, NEEDS_CONTEXT);
	return enqueue_fill(h, p, x, 1, n);
}

result do_cuMemsetD16Async(devptr p, unsigned short x, size_t n, handle h) {
	BEGIN(cuMemsetD16Async, NEEDS_CONTEXT);
	return enqueue_fill(h, p, x, 2, n);
}

result do_cuMemsetD32Async(devptr p, unsigned x, size_t n, handle h) {
	BEGIN(cuMemsetD32Async, NEEDS_CONTEXT);
	return enqueue_fill(h, p, x, 4, n);
}

// Mapping. All physical memory is one file, in which nothing is ever used twice.

typedef struct { int type, id; } location;
typedef struct { int type, handle_types; location at; } prop;
typedef struct { location at; int flags; } access_desc;

result do_cuMemGetAllocationGranularity(size_t *n, const void *p, int option) {
	(void)option;
	BEGIN(cuMemGetAllocationGranularity, NEEDS_INIT);
	const prop *q = p;
	if (q->type != 1 || q->at.type != 1)
		return end(INVALID_VALUE);
	DEVICE(q->at.id);
	*n = granularity;
	return end(OK);
}

result do_cuMemAddressReserve(devptr *out, size_t n, size_t align, devptr at, unsigned long long flags) {
	(void)at, (void)flags;
	BEGIN(cuMemAddressReserve, NEEDS_INIT);
	if (n == 0 || n % granularity || (align & (align - 1)))
		return end(INVALID_VALUE);
	size_t extra = align > (size_t)granularity ? align : (size_t)granularity;
	char *p = mmap(NULL, n + extra, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return end(OUT_OF_MEMORY);
	size_t lead = (extra - (uintptr_t)p % extra) % extra;
	if (lead)
		munmap(p, lead);
	if (extra - lead)
		munmap(p + lead + n, extra - lead);
	add_range(RESERVED, (uintptr_t)p + lead, n, -1);
	books.reserved_bytes += (long long)n;
	*out = (uintptr_t)p + lead;
	return end(OK);
}

static int mapped_in(uint64_t p, size_t n) {
	for (range *a = ranges; a; a = a->next)
		if (a->kind == MAPPED && a->p < p + n && p < a->p + a->n)
			return 1;
	return 0;
}

result do_cuMemAddressFree(devptr p, size_t n) {
	BEGIN(cuMemAddressFree, NEEDS_INIT);
	range *a = find_range(p, RESERVED);
	if (!a || a->p != p || a->n != n || mapped_in(p, n))
		return end(INVALID_VALUE);
	munmap((void *)p, n);
	books.reserved_bytes -= (long long)n;
	drop_range(a);
	return end(OK);
}

result do_cuMemCreate(unsigned long long *out, size_t n, const void *p, unsigned long long flags) {
	(void)flags;
	BEGIN(cuMemCreate, NEEDS_INIT);
	FORBIDDEN();
	const prop *q = p;
	if (n == 0 || n % granularity || q->type != 1 || q->at.type != 1)
		return end(INVALID_VALUE);
	DEVICE(q->at.id);
	if ((long long)n > memory_bytes - used(q->at.id))
		return end(OUT_OF_MEMORY);
	if (ftruncate(physical, physical_end + (off_t)n))
		return end(OUT_OF_MEMORY);
	memory *h = calloc(1, sizeof *h);
	h->at = physical_end;
	h->n = n;
	h->device = q->at.id;
	h->refs = 1;
	h->next = memories;
	memories = h;
	physical_end += (off_t)n;
	books.handle_bytes[h->device] += (long long)n;
	books.handles++;
	*out = (uintptr_t)h;
	return end(OK);
}

static memory *find_memory(unsigned long long id) {
	memory *h = memories;
	while (h && (uintptr_t)h != id)
		h = h->next;
	return h && !h->released ? h : NULL;
}

result do_cuMemRelease(unsigned long long id) {
	BEGIN(cuMemRelease, NEEDS_INIT);
	memory *h = find_memory(id);
	if (!h)
		return end(INVALID_VALUE);
	h->released = 1;
	drop_memory(h);
	return end(OK);
}

result do_cuMemMap(devptr p, size_t n, size_t offset, unsigned long long id, unsigned long long flags) {
	BEGIN(cuMemMap, NEEDS_INIT);
	range *a = find_range(p, RESERVED);
	memory *h = find_memory(id);
	if (!a || p + n > a->p + a->n || p % granularity || !h || h->n != n || offset || flags || mapped_in(p, n))
		return end(INVALID_VALUE);
	if (mmap((void *)p, n, PROT_NONE, MAP_SHARED | MAP_FIXED, physical, h->at) == MAP_FAILED)
		return end(OUT_OF_MEMORY);
	range *m = add_range(MAPPED, p, n, h->device);
	m->memory = h;
	h->refs++;
	books.mapped_bytes += (long long)n;
	return end(OK);
}

result do_cuMemUnmap(devptr p, size_t n) {
	BEGIN(cuMemUnmap, NEEDS_INIT);
	FORBIDDEN();
	for (uint64_t at = p; at < p + n;) {
		range *a = find_range(at, MAPPED);
		if (!a || a->p != at || a->p + a->n > p + n)
			return end(INVALID_VALUE);
		at += a->n;
	}
	for (uint64_t at = p; at < p + n;) {
		range *a = find_range(at, MAPPED);
		at += a->n;
		mmap((void *)a->p, a->n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		books.mapped_bytes -= (long long)a->n;
		drop_memory(a->memory);
		drop_range(a);
	}
	return end(OK);
}

result do_cuMemSetAccess(devptr p, size_t n, const void *access, size_t count) {
	BEGIN(cuMemSetAccess, NEEDS_INIT);
	const access_desc *d = access;
	for (size_t i = 0; i < count; i++)
		DEVICE(d[i].at.id);
	for (uint64_t at = p; at < p + n;) {
		range *a = find_range(at, MAPPED);
		if (!a || a->p != at || a->p + a->n > p + n)
			return end(INVALID_VALUE);
		at += a->n;
	}
	for (uint64_t at = p; at < p + n;) {
		range *a = find_range(at, MAPPED);
		at += a->n;
		for (size_t i = 0; i < count; i++)
			a->access = d[i].flags == 3 ? a->access | 1u << d[i].at.id : a->access & ~(1u << d[i].at.id);
		mprotect((void *)a->p, a->n, a->access ? PROT_READ | PROT_WRITE : PROT_NONE);
	}
	return end(OK);
}

// Modules. A cubin or fatbin is known by its first bytes; what is run is the PTX text in it.

static const char *find_text(const unsigned char *image, char *log) {
	uint32_t magic;
	memcpy(&magic, image, 4);
	size_t n = 0;
	if (magic == 0xba55ed50) { // fatbin: header size and size of what follows
		uint16_t head;
		uint64_t rest;
		memcpy(&head, image + 6, 2);
		memcpy(&rest, image + 8, 8);
		n = head + rest;
	} else if (magic == 0x464c457f) { // ELF: the section headers come last
		uint64_t off;
		uint16_t size, count;
		memcpy(&off, image + 40, 8);
		memcpy(&size, image + 58, 2);
		memcpy(&count, image + 60, 2);
		n = off + (size_t)size * count;
	} else {
		return (const char *)image;
	}
	const char *s = memmem(image, n, ".version", 8);
	if (!s)
		snprintf(log, PTX_LOG, "no PTX in the image");
	return s;
}

result do_cuModuleLoadDataEx(handle *out, const void *image, unsigned n, int *options, void **values) {
	BEGIN(cuModuleLoadDataEx, NEEDS_CONTEXT);
	FORBIDDEN();
	char log[PTX_LOG] = "";
	const char *text = find_text(image, log);
	ptx_kernel *k = text ? ptx_parse(text, log) : NULL;
	if (log[0]) {
		char *to = NULL;
		size_t size = 0;
		for (unsigned i = 0; i < n; i++) {
			to = options[i] == 5 ? values[i] : to;
			size = options[i] == 6 ? (size_t)values[i] : size;
		}
		if (to && size)
			snprintf(to, size, "%s", log);
		return end(text ? INVALID_PTX : INVALID_IMAGE);
	}
	long long bytes = 64 << 10;
	if (bytes > memory_bytes - used(current->device)) {
		ptx_free(k);
		return end(OUT_OF_MEMORY);
	}
	module *m = calloc(1, sizeof *m);
	m->ctx = current;
	m->kernels = k;
	m->bytes = bytes;
	for (; k; k = k->next)
		k->module = m;
	m->next = modules;
	modules = m;
	books.modules++;
	books.module_bytes[current->device] += bytes;
	*out = (handle)m;
	return end(OK);
}

static module *find_module(handle h) {
	module *m = modules;
	while (m && (handle)m != h)
		m = m->next;
	return m;
}

result do_cuModuleUnload(handle h) {
	BEGIN(cuModuleUnload, NEEDS_CONTEXT);
	FORBIDDEN();
	module *m = find_module(h);
	if (!m)
		return end(INVALID_HANDLE);
	drain_device(m->ctx->device);
	module **at = &modules;
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	books.modules--;
	books.module_bytes[m->ctx->device] -= m->bytes;
	ptx_free(m->kernels);
	free(m);
	return end(OK);
}

static ptx_kernel *find_kernel(handle h) {
	for (module *m = modules; m; m = m->next)
		for (ptx_kernel *k = m->kernels; k; k = k->next)
			if ((handle)k == h)
				return k;
	return NULL;
}

result do_cuModuleGetFunction(handle *out, handle h, const char *name) {
	BEGIN(cuModuleGetFunction, NEEDS_CONTEXT);
	module *m = find_module(h);
	if (!m)
		return end(INVALID_HANDLE);
	for (ptx_kernel *k = m->kernels; k; k = k->next)
		if (!strcmp(k->name, name)) {
			*out = (handle)k;
			return end(OK);
		}
	return end(NOT_FOUND);
}

result do_cuFuncGetAttribute(int *v, int attribute, handle h) {
	BEGIN(cuFuncGetAttribute, NEEDS_CONTEXT);
	ptx_kernel *k = find_kernel(h);
	if (!k)
		return end(INVALID_HANDLE);
	static const int values[] = {1024, 0, 0, 0, 16};
	if (attribute < 0 || attribute > 4)
		return end(INVALID_VALUE);
	*v = values[attribute];
	return end(OK);
}

result do_cuFuncGetParamInfo(handle h, size_t i, size_t *offset, size_t *size) {
	BEGIN(cuFuncGetParamInfo, NEEDS_CONTEXT);
	ptx_kernel *k = find_kernel(h);
	if (!k)
		return end(INVALID_HANDLE);
	if (i >= (size_t)k->params)
		return end(INVALID_VALUE);
	*offset = k->param_offset[i];
	*size = k->param_size[i];
	return end(OK);
}

result do_cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		handle h, void **params, void **extra) {
	(void)extra;
	BEGIN(cuLaunchKernel, NEEDS_CONTEXT);
	STREAM(s, h);
	RECORDED(s);
	ptx_kernel *k = find_kernel(f);
	if (!k)
		return end(INVALID_HANDLE);
	if (((module *)k->module)->ctx != s->ctx)
		return end(INVALID_HANDLE);
	if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024 || bz > 64 || gy > 65535 || gz > 65535 || shared > 48 << 10)
		return end(INVALID_VALUE);
	if (k->params && !params)
		return end(INVALID_VALUE);
	work *w = new_work(KERNEL);
	w->k = k;
	unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	memcpy(w->grid, grid, sizeof grid);
	memcpy(w->block, block, sizeof block);
	for (int i = 0; i < k->params; i++)
		memcpy(w->params + k->param_offset[i], params[i], k->param_size[i]);
	push(s, w);
	return end(OK);
}
