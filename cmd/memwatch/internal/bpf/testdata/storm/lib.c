// A driver that only keeps books: every function that memwatch probes, with the
// semantics of ownership that memwatch believes in, over a small set of addresses
// that are given out again at once. Calls fail at random before they have an effect.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"

typedef unsigned int u32;
typedef uint64_t u64;

// With the heads of driver 580 or 550 the exported functions are stubs.
#ifdef STUBS
#define F(name) __attribute__((visibility("hidden"), used)) int impl_##name
#if STUBS == 580
#define HEAD "push %rbp\nmov %rsp, %rbp\npush %r12\npop %r12\npop %rbp\n"
#else
#define HEAD "cmpl $0x321cba00, storm_flag(%rip)\nje 1f\n"
#endif
#define S(name)                                                                                                        \
	__asm__(".text\n.balign 16\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" HEAD                      \
		"jmp impl_" #name "\n1: ud2\n.size " #name ", .-" #name "\n");
__attribute__((visibility("hidden"))) int storm_flag = 1;
#include "symbols.h"
#else
#define F(name) int name
#endif

enum { DEVICE, MANAGED, PINNED, POOL, ARRAY, PHYSICAL, REGISTERED, IMPORTED, RANGE, GRAPH, CODE, CLASSES };
enum { LINEAR, HOST, LOCKED, ARRAYS, MIPMAPS, RANGES, EXTERNAL, MODULES, LIBRARIES, SPACES };
enum { BY_CONTEXT, BY_DEVICE, BY_PROCESS };
enum { ENTRIES = 512 };

typedef struct {
	int used, cls, owner, device;
	u64 size, ctx, gen;
} entry;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static entry table[SPACES][ENTRIES];
static storm_books books;
static u64 generation;

static __thread u64 seed = 88172645463325252ull;
static __thread u64 current[64];
static __thread int depth;
static __thread u64 expected;
static __thread int calm;

void storm_seed(u64 s) { seed = s * 2654435761u + 1; }
void storm_expect(u64 gen) { expected = gen; }
void storm_calm(int on) { calm = on; }

u64 storm_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

void storm_read(storm_books *out)
{
	pthread_mutex_lock(&mu);
	*out = books;
	pthread_mutex_unlock(&mu);
}

// chance fails one call in a hundred, and lets others run in the middle of some.
static int chance(void)
{
	u64 r = storm_random();
	if (calm)
		return 0;
	if (r % 64 == 0)
		sched_yield();
	return r % 100 == 1;
}
#define MAYBE_FAIL() do { if (chance()) return 999; } while (0)

static u64 ctx_now(void) { return depth ? current[depth - 1] : 0; }

enum { CTXS = 64 };
static struct { int used, device, refs; } ctxs[CTXS]; // 0 and 1 are the primary contexts of devices 0 and 1
static u64 ctx_handle(int i) { return 0xc0000000ull + (u64)i * 64; }
static int ctx_index(u64 h) { return h < ctx_handle(0) || h >= ctx_handle(CTXS) ? -1 : (int)((h - ctx_handle(0)) / 64); }

static u64 address(int space, int i) { return 0x10000000ull + (u64)i * 0x100000 + (u64)space; }
static entry *at(int space, u64 a)
{
	u64 i = (a - 0x10000000ull) / 0x100000;
	return a < 0x10000000ull || i >= ENTRIES || address(space, i) != a ? NULL : &table[space][i];
}

static void add(int cls, u64 size, int sign)
{
	books.bytes[cls] += sign * (long long)size;
	books.objects[cls] += sign;
}

static void drop(entry *e)
{
	add(e->cls, e->size, -1);
	e->used = 0;
}

// make puts an allocation at a free address, or at want.
static int make(int space, int cls, int owner, u64 ctx, u64 size, u64 want, u64 *out)
{
	int r = 2;
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	int c = ctx_index(ctx_now());
	if (c < 0 || !ctxs[c].used) {
		pthread_mutex_unlock(&mu);
		return 201;
	}
	for (int i = 0; i < ENTRIES; i++) {
		entry *e = &table[space][i];
		if (e->used || (want && address(space, i) != want))
			continue;
		*e = (entry){ 1, cls, owner, ctxs[c].device, size, ctx ? ctx : ctx_now(), ++generation };
		add(cls, size, 1);
		*out = address(space, i);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&mu);
	if (r == 0 && storm_random() % 64 == 0)
		sched_yield(); // between the effect and the return
	return r;
}

u64 storm_generation(int space, u64 a)
{
	pthread_mutex_lock(&mu);
	entry *e = at(space, a);
	u64 g = e && e->used ? e->gen : 0;
	pthread_mutex_unlock(&mu);
	return g;
}

// give frees the allocation that the caller means: its address may have been given
// to another one meanwhile, which a program that frees twice would hit.
static int give(int space, u64 a)
{
	u64 want = expected;
	int r = 1;
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	entry *e = at(space, a);
	if (e && e->used && (!want || e->gen == want)) {
		drop(e);
		r = 0;
	}
	pthread_mutex_unlock(&mu);
	if (storm_random() % 64 == 0)
		sched_yield();
	return r;
}

static void end_context(u64 ctx)
{
	for (int s = 0; s < SPACES; s++)
		for (int i = 0; i < ENTRIES; i++)
			if (table[s][i].used && table[s][i].owner == BY_CONTEXT && table[s][i].ctx == ctx)
				drop(&table[s][i]);
}

// Linear memory.

F(cuMemAlloc_v2)(u64 *p, size_t n) { return make(LINEAR, DEVICE, BY_CONTEXT, 0, n, 0, p); }
F(cuMemAlloc)(u32 *p, u32 n)
{
	u64 a = 0;
	int r = make(LINEAR, DEVICE, BY_CONTEXT, 0, n, 0, &a);
	*p = a;
	return r;
}
F(cuMemAllocPitch_v2)(u64 *p, size_t *pitch, size_t w, size_t h, u32 element)
{
	*pitch = (w + 511) & ~511ull;
	return make(LINEAR, DEVICE, BY_CONTEXT, 0, *pitch * h, 0, p);
}
F(cuMemAllocPitch)(u32 *p, u32 *pitch, u32 w, u32 h, u32 element)
{
	u64 a = 0;
	*pitch = (w + 511) & ~511u;
	int r = make(LINEAR, DEVICE, BY_CONTEXT, 0, (u64)*pitch * h, 0, &a);
	*p = a;
	return r;
}
F(cuMemAllocManaged)(u64 *p, size_t n, u32 flags) { return make(LINEAR, MANAGED, BY_CONTEXT, 0, n, 0, p); }
F(cuMemFree_v2)(u64 p) { return p ? give(LINEAR, p) : 0; }
F(cuMemFree)(u32 p) { return p ? give(LINEAR, p) : 0; }

// Host memory.

F(cuMemHostAlloc)(u64 *p, size_t n, u32 flags) { return make(HOST, PINNED, BY_CONTEXT, 0, n, 0, p); }
F(cuMemAllocHost_v2)(u64 *p, size_t n) { return make(HOST, PINNED, BY_CONTEXT, 0, n, 0, p); }
F(cuMemAllocHost)(u64 *p, u32 n) { return make(HOST, PINNED, BY_CONTEXT, 0, n, 0, p); }
F(cuMemFreeHost)(u64 p) { return give(HOST, p); }
F(cuMemHostRegister_v2)(u64 p, size_t n, u32 flags) { u64 q; return make(LOCKED, REGISTERED, BY_CONTEXT, 0, n, p, &q); }
F(cuMemHostRegister)(u64 p, size_t n, u32 flags) { u64 q; return make(LOCKED, REGISTERED, BY_CONTEXT, 0, n, p, &q); }
F(cuMemHostUnregister)(u64 p) { return give(LOCKED, p); }

// Pools and capture. Streams and pools are numbers of the caller's.

static int pool_class[256], captured[256];

static int pool_make(u64 pool, u64 stream, size_t n, u64 *p)
{
	int cls = pool ? pool_class[pool & 255] : POOL;
	if ((stream && captured[stream & 255]))
		cls = GRAPH;
	return make(LINEAR, cls, BY_DEVICE, 0, n, 0, p);
}
static int pool_give(u64 p, u64 stream)
{
	MAYBE_FAIL();
	return (stream && captured[stream & 255]) ? 0 : give(LINEAR, p);
}
F(cuMemAllocAsync)(u64 *p, size_t n, u64 s) { return pool_make(0, s, n, p); }
F(cuMemAllocAsync_ptsz)(u64 *p, size_t n, u64 s) { return pool_make(0, s, n, p); }
F(cuMemAllocFromPoolAsync)(u64 *p, size_t n, u64 pool, u64 s) { return pool_make(pool, s, n, p); }
F(cuMemAllocFromPoolAsync_ptsz)(u64 *p, size_t n, u64 pool, u64 s) { return pool_make(pool, s, n, p); }
F(cuMemFreeAsync)(u64 p, u64 s) { return pool_give(p, s); }
F(cuMemFreeAsync_ptsz)(u64 p, u64 s) { return pool_give(p, s); }

static int pool_used[256];
static int pool_new(u64 *p, int cls)
{
	int r = 2;
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	for (int i = 1; i < 256; i++)
		if (!pool_used[i]) { // the number of the one destroyed last, often
			pool_used[i] = 1;
			pool_class[i] = cls;
			*p = 0xb000 + i;
			r = 0;
			break;
		}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuMemPoolCreate)(u64 *p, const u32 *props) { return pool_new(p, props[2] == 2 ? PINNED : POOL); }
F(cuMemPoolDestroy)(u64 p)
{
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	pool_used[p & 255] = 0;
	pthread_mutex_unlock(&mu);
	return 0;
}
F(cuMemPoolImportFromShareableHandle)(u64 *p, void *h, int type, u64 flags) { return pool_new(p, IMPORTED); }
F(cuMemPoolImportPointer)(u64 *p, u64 pool, void *data) { return make(LINEAR, IMPORTED, BY_DEVICE, 0, 0, 0, p); }

static int capture(u64 s, int on)
{
	MAYBE_FAIL();
	captured[s & 255] = on;
	return 0;
}
F(cuStreamBeginCapture)(u64 s) { return capture(s, 1); }
F(cuStreamBeginCapture_ptsz)(u64 s) { return capture(s, 1); }
F(cuStreamBeginCapture_v2)(u64 s, int mode) { return capture(s, 1); }
F(cuStreamBeginCapture_v2_ptsz)(u64 s, int mode) { return capture(s, 1); }
F(cuStreamBeginCaptureToGraph)(u64 s, u64 g, void *d, void *e, size_t n, int mode) { return capture(s, 1); }
F(cuStreamBeginCaptureToGraph_ptsz)(u64 s, u64 g, void *d, void *e, size_t n, int mode) { return capture(s, 1); }
F(cuStreamEndCapture)(u64 s, u64 *g) { return capture(s, 0); }
F(cuStreamEndCapture_ptsz)(u64 s, u64 *g) { return capture(s, 0); }

// Physical memory. A handle's number is free again when it is released.

typedef struct {
	int refs, maps, cls;
	u64 size;
} chunk;
static chunk *handles[ENTRIES];
static chunk *mapped[ENTRIES * 4]; // by units of address space

static void collect(chunk *c)
{
	if (c->refs == 0 && c->maps == 0) {
		add(c->cls, c->size, -1);
		free(c);
	}
}
static int create(u64 *h, u64 size, int cls)
{
	MAYBE_FAIL();
	int r = 2;
	pthread_mutex_lock(&mu);
	for (int i = 1; i < ENTRIES; i++)
		if (!handles[i]) {
			chunk *c = calloc(1, sizeof *c);
			*c = (chunk){ 1, 0, cls, size };
			handles[i] = c;
			add(cls, size, 1);
			*h = i;
			r = 0;
			break;
		}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuMemCreate)(u64 *h, size_t n, const void *props, u64 flags) { return create(h, n, PHYSICAL); }
F(cuMemImportFromShareableHandle)(u64 *h, void *os, int type) { return create(h, 0, IMPORTED); }
F(cuMulticastCreate)(u64 *h, const u64 *props) { return create(h, props[1], IMPORTED); }
F(cuMemRelease)(u64 h)
{
	MAYBE_FAIL();
	int r = 1;
	pthread_mutex_lock(&mu);
	if (h < ENTRIES && handles[h]) {
		chunk *c = handles[h];
		if (--c->refs == 0)
			handles[h] = NULL;
		collect(c);
		r = 0;
	}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuMemMap)(u64 a, size_t n, size_t offset, u64 h, u64 flags)
{
	MAYBE_FAIL();
	int r = 1;
	pthread_mutex_lock(&mu);
	u64 i = a >> 16;
	if (h < ENTRIES && handles[h] && i < ENTRIES * 4 && !mapped[i]) {
		mapped[i] = handles[h];
		handles[h]->maps++;
		r = 0;
	}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuMemUnmap)(u64 a, size_t n)
{
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	for (u64 i = a >> 16; i < (a + n) >> 16 && i < ENTRIES * 4; i++)
		if (mapped[i]) {
			chunk *c = mapped[i];
			mapped[i] = NULL;
			c->maps--;
			collect(c);
		}
	pthread_mutex_unlock(&mu);
	return 0;
}
F(cuMemRetainAllocationHandle)(u64 *h, u64 a)
{
	MAYBE_FAIL();
	int r = 1;
	pthread_mutex_lock(&mu);
	u64 i = a >> 16;
	if (i < ENTRIES * 4 && mapped[i])
		for (int j = 1; j < ENTRIES; j++)
			if (handles[j] == mapped[i]) { // released ones have no number any more
				handles[j]->refs++;
				*h = j;
				r = 0;
				break;
			}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuMemAddressReserve)(u64 *p, size_t n, size_t align, u64 want, u64 flags) { return make(RANGES, RANGE, BY_PROCESS, 0, n, 0, p); }
F(cuMemAddressFree)(u64 p, size_t n) { return give(RANGES, p); }

// Arrays: the formats are floats and bytes.

static u64 texel(u32 format) { return format == 0x20 ? 4 : 1; }
F(cuArrayCreate_v2)(u64 *p, const struct { size_t w, h; u32 format, channels; } *d)
{
	return make(ARRAYS, ARRAY, BY_CONTEXT, 0, d->w * (d->h ? d->h : 1) * texel(d->format) * d->channels, 0, p);
}
F(cuArrayCreate)(u64 *p, const struct { u32 w, h, format, channels; } *d)
{
	return make(ARRAYS, ARRAY, BY_CONTEXT, 0, (u64)d->w * (d->h ? d->h : 1) * texel(d->format) * d->channels, 0, p);
}
static u64 volume(u64 w, u64 h, u64 d, u64 t) { return w * (h ? h : 1) * (d ? d : 1) * t; }
F(cuArray3DCreate_v2)(u64 *p, const struct { size_t w, h, d; u32 format, channels, flags; } *d)
{
	return make(ARRAYS, ARRAY, BY_CONTEXT, 0, volume(d->w, d->h, d->d, texel(d->format) * d->channels), 0, p);
}
F(cuArray3DCreate)(u64 *p, const struct { u32 w, h, d, format, channels, flags; } *d)
{
	return make(ARRAYS, ARRAY, BY_CONTEXT, 0, volume(d->w, d->h, d->d, texel(d->format) * d->channels), 0, p);
}
F(cuArrayDestroy)(u64 p) { return give(ARRAYS, p); }
F(cuMipmappedArrayCreate)(u64 *p, const struct { size_t w, h, d; u32 format, channels, flags; } *d, u32 levels)
{
	u64 sum = 0, w = d->w, h = d->h, z = d->d;
	while (levels--) {
		sum += volume(w, h, z, texel(d->format) * d->channels);
		w = w / 2 ? w / 2 : 1;
		h /= 2;
		z /= 2;
	}
	return make(MIPMAPS, ARRAY, BY_CONTEXT, 0, sum, 0, p);
}
F(cuMipmappedArrayDestroy)(u64 p) { return give(MIPMAPS, p); }

// Memory of others.

typedef struct { char b[64]; } ipc;
F(cuIpcOpenMemHandle)(u64 *p, ipc h, u32 flags) { return make(LINEAR, IMPORTED, BY_CONTEXT, 0, 0, 0, p); }
F(cuIpcOpenMemHandle_v2)(u64 *p, ipc h, u32 flags) { return make(LINEAR, IMPORTED, BY_CONTEXT, 0, 0, 0, p); }
F(cuIpcCloseMemHandle)(u64 p) { return give(LINEAR, p); }
F(cuImportExternalMemory)(u64 *p, const u64 *desc) { return make(EXTERNAL, IMPORTED, BY_CONTEXT, 0, desc[3], 0, p); }
F(cuExternalMemoryGetMappedBuffer)(u64 *p, u64 ext, const void *d) { return make(LINEAR, IMPORTED, BY_CONTEXT, 0, 0, 0, p); }
F(cuExternalMemoryGetMappedMipmappedArray)(u64 *p, u64 ext, const void *d) { return make(MIPMAPS, IMPORTED, BY_CONTEXT, 0, 0, 0, p); }
F(cuDestroyExternalMemory)(u64 p) { return give(EXTERNAL, p); }

// Code.

F(cuModuleLoad)(u64 *m, const char *f) { return make(MODULES, CODE, BY_CONTEXT, 0, 0, 0, m); }
F(cuModuleLoadData)(u64 *m, const void *d) { return make(MODULES, CODE, BY_CONTEXT, 0, 0, 0, m); }
F(cuModuleLoadDataEx)(u64 *m, const void *d, u32 n, void *o, void *v) { return make(MODULES, CODE, BY_CONTEXT, 0, 0, 0, m); }
F(cuModuleLoadFatBinary)(u64 *m, const void *d) { return make(MODULES, CODE, BY_CONTEXT, 0, 0, 0, m); }
F(cuModuleUnload)(u64 m) { return give(MODULES, m); }
F(cuLibraryLoadData)(u64 *l, const void *d, void *a, void *b, u32 n, void *c, void *e, u32 m) { return make(LIBRARIES, CODE, BY_PROCESS, 0, 0, 0, l); }
F(cuLibraryLoadFromFile)(u64 *l, const char *f, void *a, void *b, u32 n, void *c, void *e, u32 m) { return make(LIBRARIES, CODE, BY_PROCESS, 0, 0, 0, l); }
F(cuLibraryUnload)(u64 l) { return give(LIBRARIES, l); }

// Graphs.

F(cuGraphAddMemAllocNode)(u64 *node, u64 graph, const void *deps, size_t n, char *params)
{
	u64 size, p = 0;
	memcpy(&size, params + 104, 8);
	int r = make(LINEAR, GRAPH, BY_CONTEXT, graph, size, 0, &p);
	memcpy(params + 112, &p, 8);
	return r;
}
F(cuGraphDestroy)(u64 graph)
{
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	end_context(graph);
	pthread_mutex_unlock(&mu);
	return 0;
}

// Contexts.

static int ctx_new(u64 *c, int device)
{
	MAYBE_FAIL();
	int r = 2;
	pthread_mutex_lock(&mu);
	for (int i = 2; i < CTXS && depth < 60; i++)
		if (!ctxs[i].used) {
			ctxs[i].used = 1;
			ctxs[i].device = device;
			*c = current[depth++] = ctx_handle(i);
			r = 0;
			break;
		}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuCtxCreate)(u64 *c, u32 flags, int device) { return ctx_new(c, device); }
F(cuCtxCreate_v2)(u64 *c, u32 flags, int device) { return ctx_new(c, device); }
F(cuCtxCreate_v3)(u64 *c, void *p, int n, u32 flags, int device) { return ctx_new(c, device); }
F(cuCtxCreate_v4)(u64 *c, void *p, u32 flags, int device) { return ctx_new(c, device); }
F(cuCtxSetCurrent)(u64 c)
{
	MAYBE_FAIL();
	if (!depth)
		depth = 1;
	current[depth - 1] = c;
	return 0;
}
static int ctx_push(u64 c)
{
	MAYBE_FAIL();
	if (depth >= 60)
		return 1;
	current[depth++] = c;
	return 0;
}
F(cuCtxPushCurrent)(u64 c) { return ctx_push(c); }
F(cuCtxPushCurrent_v2)(u64 c) { return ctx_push(c); }
static int ctx_pop(u64 *c)
{
	MAYBE_FAIL();
	if (!depth)
		return 201;
	*c = current[--depth];
	return 0;
}
F(cuCtxPopCurrent)(u64 *c) { return ctx_pop(c); }
F(cuCtxPopCurrent_v2)(u64 *c) { return ctx_pop(c); }
static int ctx_end(u64 c)
{
	MAYBE_FAIL();
	int i = ctx_index(c), r = 201;
	pthread_mutex_lock(&mu);
	if (i >= 2 && ctxs[i].used) {
		end_context(c);
		ctxs[i].used = 0;
		for (int d = 0; d < depth; d++)
			if (current[d] == c)
				current[d] = 0;
		r = 0;
	}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuCtxDestroy)(u64 c) { return ctx_end(c); }
F(cuCtxDestroy_v2)(u64 c) { return ctx_end(c); }
F(cuCtxDetach)(u64 c) { return ctx_end(c); }
F(cuDevicePrimaryCtxRetain)(u64 *c, int device)
{
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	ctxs[device].used = 1;
	ctxs[device].device = device;
	ctxs[device].refs++;
	*c = ctx_handle(device);
	pthread_mutex_unlock(&mu);
	return 0;
}
static int primary_release(int device)
{
	MAYBE_FAIL();
	int r = 201;
	pthread_mutex_lock(&mu);
	if (ctxs[device].refs > 0) {
		if (--ctxs[device].refs == 0) {
			end_context(ctx_handle(device));
			ctxs[device].used = 0;
		}
		r = 0;
	}
	pthread_mutex_unlock(&mu);
	return r;
}
F(cuDevicePrimaryCtxRelease)(int device) { return primary_release(device); }
F(cuDevicePrimaryCtxRelease_v2)(int device) { return primary_release(device); }
static int primary_reset(int device)
{
	MAYBE_FAIL();
	pthread_mutex_lock(&mu);
	end_context(ctx_handle(device));
	for (int s = 0; s < SPACES; s++)
		for (int i = 0; i < ENTRIES; i++)
			if (table[s][i].used && table[s][i].owner == BY_DEVICE && table[s][i].device == device)
				drop(&table[s][i]);
	ctxs[device].refs = ctxs[device].used = 0;
	pthread_mutex_unlock(&mu);
	return 0;
}
F(cuDevicePrimaryCtxReset)(int device) { return primary_reset(device); }
F(cuDevicePrimaryCtxReset_v2)(int device) { return primary_reset(device); }
