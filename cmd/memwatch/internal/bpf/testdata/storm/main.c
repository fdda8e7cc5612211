// Four threads that call every function of the stand-in at random, and stop now and
// then so that somebody can compare books. At a stop the program prints its books and
// waits for a line.
//
//	storm SEED STOPS CALLS      calls of each thread between two stops

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"

typedef uint64_t u64;
#define S(name) int name();
#include "symbols.h"
#undef S

enum { THREADS = 4, SPACES = 9, KEEP = 40, SLOTS = 8, FIRST_MAP = 64 };
enum { LINEAR, HOST, LOCKED, ARRAYS, MIPMAPS, RANGES, EXTERNAL, MODULES, LIBRARIES };

typedef struct { u64 addr, gen; } pointer;

typedef struct {
	int id;
	pthread_t thread;
	pointer held[SPACES][KEEP];
	int n[SPACES];
	u64 handles[16];
	int nhandles;
	u64 pool[4];
	int npools;
	u64 own_ctx[4];
	int nctx;
	int capturing;
	unsigned imports, multicasts, pool_imports, captures, creates, destroys; // so far
} worker;

static pthread_barrier_t stop, go;
static long stops, calls;
static u64 seed;

// What one thread gives to another.
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pointer given[SPACES][SLOTS];

static u64 rnd(u64 n) { return storm_random() % n; }

// rarely is true the first time and one time in four from then on: what is rare still
// occurs in a short storm.
static int rarely(unsigned *times) { return (*times)++ == 0 || rnd(4) == 0; }

static void hold(worker *w, int space, u64 addr)
{
	pointer p = { addr, storm_generation(space, addr) };
	if (!p.gen)
		return; // its context is gone already
	if (rnd(3) == 0) {
		pthread_mutex_lock(&mu);
		int i = rnd(SLOTS);
		pointer q = given[space][i];
		given[space][i] = p;
		pthread_mutex_unlock(&mu);
		p = q;
		if (!p.gen)
			return;
	}
	if (w->n[space] < KEEP)
		w->held[space][w->n[space]++] = p;
}

// pick takes a pointer to free. One in eight stays and is freed again later, by this
// thread or another.
static int pick(worker *w, int space, pointer *p)
{
	if (rnd(4) == 0) {
		pthread_mutex_lock(&mu);
		int i = rnd(SLOTS);
		*p = given[space][i];
		if (rnd(8))
			given[space][i].gen = 0;
		pthread_mutex_unlock(&mu);
		return p->gen != 0;
	}
	if (!w->n[space])
		return 0;
	int i = rnd(w->n[space]);
	*p = w->held[space][i];
	if (rnd(8))
		w->held[space][i] = w->held[space][--w->n[space]];
	return 1;
}

static void release(worker *w, int space, int (*f)(u64, u64), u64 more)
{
	pointer p;
	if (!pick(w, space, &p))
		return;
	storm_expect(p.gen);
	f(p.addr, more);
	storm_expect(0);
}

#define HELD(space, call) do { u64 p = 0; if ((call) == 0) hold(w, space, p); } while (0)

static void allocate(worker *w)
{
	size_t pitch;
	unsigned p32 = 0, pitch32;
	u64 n = 1 + rnd(1 << 20), s = 1 + w->id, pool = w->npools ? w->pool[rnd(w->npools)] : 0;
	u64 flat[3] = { 1 + rnd(100), rnd(100), 2ull << 32 | 0x20 };
	unsigned flat1[4] = { 1 + rnd(100), rnd(100), 0x02 - 1, 4 };
	u64 cube[5] = { 1 + rnd(50), rnd(50), rnd(50), 4ull << 32 | 0x20, 0 };
	unsigned cube1[6] = { 1 + rnd(50), rnd(50), rnd(50), 0x20, 1, 0 };
	u64 external[5] = { 0, 0, 0, n, 0 };
	char node[128] = { 0 }, handle[64] = { 0 };
	u64 graph = 0x9000 + w->id, made;
	memcpy(node + 104, &n, 8);
	typedef struct { char b[64]; } ipc;
	int (*open1)(u64 *, ipc, unsigned) = (int (*)(u64 *, ipc, unsigned))cuIpcOpenMemHandle;
	int (*open2)(u64 *, ipc, unsigned) = (int (*)(u64 *, ipc, unsigned))cuIpcOpenMemHandle_v2;
	ipc h = { { 0 } };
	(void)handle;
	switch (rnd(40)) {
	case 0: case 1: case 2: case 3: HELD(LINEAR, cuMemAlloc_v2(&p, n)); break;
	case 4: if (cuMemAlloc(&p32, (unsigned)n) == 0) hold(w, LINEAR, p32); break;
	case 5: HELD(LINEAR, cuMemAllocPitch_v2(&p, &pitch, n % 1000 + 1, n % 17 + 1, 4)); break;
	case 6: if (cuMemAllocPitch(&p32, &pitch32, (unsigned)n % 1000 + 1, (unsigned)n % 17 + 1, 4) == 0) hold(w, LINEAR, p32); break;
	case 7: HELD(LINEAR, cuMemAllocManaged(&p, n, 1)); break;
	case 8: HELD(HOST, cuMemHostAlloc(&p, n, 0)); break;
	case 9: HELD(HOST, cuMemAllocHost_v2(&p, n)); break;
	case 10: HELD(HOST, cuMemAllocHost(&p, (unsigned)n)); break;
	case 11: { u64 p = 0x10000000 + rnd(512) * 0x100000 + 2; if (cuMemHostRegister_v2(p, n, 0) == 0) hold(w, LOCKED, p); break; }
	case 12: { u64 p = 0x10000000 + rnd(512) * 0x100000 + 2; if (cuMemHostRegister(p, n, 0) == 0) hold(w, LOCKED, p); break; }
	case 13: case 14: HELD(LINEAR, cuMemAllocAsync(&p, n, s)); break;
	case 15: HELD(LINEAR, cuMemAllocAsync_ptsz(&p, n, s)); break;
	case 16: if (pool) HELD(LINEAR, cuMemAllocFromPoolAsync(&p, n, pool, s)); break;
	case 17: if (pool) HELD(LINEAR, cuMemAllocFromPoolAsync_ptsz(&p, n, pool, s)); break;
	case 18: if (pool) HELD(LINEAR, cuMemPoolImportPointer(&p, pool, 0)); break;
	case 19: HELD(RANGES, cuMemAddressReserve(&p, n, 0, 0ull, 0ull)); break;
	case 20: HELD(ARRAYS, cuArrayCreate_v2(&p, flat)); break;
	case 21: HELD(ARRAYS, cuArrayCreate(&p, flat1)); break;
	case 22: HELD(ARRAYS, cuArray3DCreate_v2(&p, cube)); break;
	case 23: HELD(ARRAYS, cuArray3DCreate(&p, cube1)); break;
	case 24: HELD(MIPMAPS, cuMipmappedArrayCreate(&p, cube, (unsigned)rnd(6))); break;
	case 25: HELD(LINEAR, open1(&p, h, 0)); break;
	case 26: HELD(LINEAR, open2(&p, h, 0)); break;
	case 27: HELD(EXTERNAL, cuImportExternalMemory(&p, external)); break;
	case 28: HELD(LINEAR, cuExternalMemoryGetMappedBuffer(&p, 1ull, external)); break;
	case 29: HELD(MIPMAPS, cuExternalMemoryGetMappedMipmappedArray(&p, 1ull, external)); break;
	case 30: HELD(MODULES, cuModuleLoad(&p, "a")); break;
	case 31: HELD(MODULES, cuModuleLoadData(&p, "a")); break;
	case 32: HELD(MODULES, cuModuleLoadDataEx(&p, "a", 0, 0, 0)); break;
	case 33: HELD(MODULES, cuModuleLoadFatBinary(&p, "a")); break;
	case 34: HELD(LIBRARIES, cuLibraryLoadData(&p, "a", 0ull, 0ull, 0, 0ull, 0ull, 0)); break;
	case 35: HELD(LIBRARIES, cuLibraryLoadFromFile(&p, "a", 0ull, 0ull, 0, 0ull, 0ull, 0)); break;
	case 36:
		if (cuGraphAddMemAllocNode(&made, graph, 0ull, 0ull, node) == 0) {
			memcpy(&made, node + 112, 8);
			hold(w, LINEAR, made);
		}
		break;
	case 37: cuGraphDestroy(graph); break;
	default: HELD(LINEAR, cuMemAlloc_v2(&p, n)); break;
	}
}

static void give_back(worker *w)
{
	typedef int (*f)(u64, u64);
	u64 s = 1 + w->id;
	switch (rnd(20)) {
	case 0: case 1: case 2: case 3: release(w, LINEAR, (f)cuMemFree_v2, 0); break;
	case 4: release(w, LINEAR, (f)cuMemFree, 0); break;
	case 5: release(w, LINEAR, (f)cuMemFreeAsync, s); break;
	case 6: release(w, LINEAR, (f)cuMemFreeAsync_ptsz, s); break;
	case 7: release(w, LINEAR, (f)cuIpcCloseMemHandle, 0); break;
	case 8: release(w, HOST, (f)cuMemFreeHost, 0); break;
	case 9: release(w, LOCKED, (f)cuMemHostUnregister, 0); break;
	case 10: release(w, RANGES, (f)cuMemAddressFree, 0); break;
	case 11: release(w, ARRAYS, (f)cuArrayDestroy, 0); break;
	case 12: release(w, MIPMAPS, (f)cuMipmappedArrayDestroy, 0); break;
	case 13: release(w, EXTERNAL, (f)cuDestroyExternalMemory, 0); break;
	case 14: release(w, MODULES, (f)cuModuleUnload, 0); break;
	case 15: release(w, LIBRARIES, (f)cuLibraryUnload, 0); break;
	case 16: cuMemFree_v2(0ull); break;
	default: release(w, HOST, (f)cuMemFreeHost, 0); release(w, ARRAYS, (f)cuArrayDestroy, 0); break;
	}
}

static void physical(worker *w)
{
	unsigned props[8] = { 1, 0, 1, 0 };
	u64 multicast[2] = { 1, 4096 }, h = 0, base = (u64)(FIRST_MAP + w->id * 16) << 16;
	u64 any = w->nhandles ? w->handles[rnd(w->nhandles)] : 0;
	switch (rnd(8)) {
	case 0: if (w->nhandles < 16 && cuMemCreate(&h, 1 + rnd(1 << 20), props, 0ull) == 0) w->handles[w->nhandles++] = h; break;
	case 1: if (w->nhandles < 16 && rarely(&w->imports) && cuMemImportFromShareableHandle(&h, 0ull, 1) == 0) w->handles[w->nhandles++] = h; break;
	case 2: if (w->nhandles < 16 && rarely(&w->multicasts) && cuMulticastCreate(&h, multicast) == 0) w->handles[w->nhandles++] = h; break;
	case 3: case 4: if (any) cuMemMap(base + (rnd(16) << 16), 0x10000ull, 0ull, any, 0ull); break;
	case 5: { u64 i = rnd(16); cuMemUnmap(base + (i << 16), (1 + rnd(16 - i)) << 16); break; }
	case 6: if (w->nhandles < 16 && cuMemRetainAllocationHandle(&h, base + (rnd(16) << 16) + 5) == 0) w->handles[w->nhandles++] = h; break;
	case 7:
		if (w->nhandles) {
			int i = rnd(w->nhandles);
			if (cuMemRelease(w->handles[i]) == 0)
				w->handles[i] = w->handles[--w->nhandles];
		}
		break;
	}
}

// capture begins one with each function in turn.
static int capture(worker *w, u64 s)
{
	switch (w->captures++ % 6) {
	case 0: return cuStreamBeginCapture(s);
	case 1: return cuStreamBeginCapture_ptsz(s);
	case 2: return cuStreamBeginCapture_v2(s, 0);
	case 3: return cuStreamBeginCapture_v2_ptsz(s, 0);
	case 4: return cuStreamBeginCaptureToGraph(s, 1ull, 0ull, 0ull, 0ull, 0);
	default: return cuStreamBeginCaptureToGraph_ptsz(s, 1ull, 0ull, 0ull, 0ull, 0);
	}
}

static void pools(worker *w)
{
	unsigned props[32] = { 1, 0, 1, 0 };
	u64 p = 0, s = 1 + w->id;
	switch (rnd(12)) {
	case 0: props[2] = 1 + rnd(2); if (w->npools < 4 && cuMemPoolCreate(&p, props) == 0) w->pool[w->npools++] = p; break;
	case 1: if (w->npools < 4 && rarely(&w->pool_imports) && cuMemPoolImportFromShareableHandle(&p, 0ull, 1, 0ull) == 0) w->pool[w->npools++] = p; break;
	case 2: if (w->npools && cuMemPoolDestroy(w->pool[w->npools - 1]) == 0) w->npools--; break;
	case 3: case 4: case 5: case 6: case 7: case 8: if (!w->capturing) w->capturing = capture(w, s) == 0; break;
	case 9: if (w->capturing) w->capturing = cuStreamEndCapture(s, &p) != 0; break;
	default: if (w->capturing) w->capturing = cuStreamEndCapture_ptsz(s, &p) != 0; break;
	}
}

static void contexts(worker *w)
{
	u64 c = 0;
	int device = rnd(2), made = 1;
	switch (rnd(10)) {
	case 0: case 1: case 2: case 3:
		if (w->nctx == 4)
			break;
		switch (w->creates++ % 4) {
		case 0: made = cuCtxCreate(&c, 0, device); break;
		case 1: made = cuCtxCreate_v2(&c, 0, device); break;
		case 2: made = cuCtxCreate_v3(&c, 0ull, 0, 0, device); break;
		default: made = cuCtxCreate_v4(&c, 0ull, 0, device); break;
		}
		break;
	case 4: if (w->nctx) cuCtxPushCurrent(w->own_ctx[rnd(w->nctx)]); break;
	case 5: if (w->nctx) cuCtxPushCurrent_v2(w->own_ctx[rnd(w->nctx)]); break;
	case 6: cuCtxPopCurrent(&c); c = 0; break;
	case 7: cuCtxPopCurrent_v2(&c); c = 0; break;
	default:
		if (w->nctx) {
			u64 x = w->own_ctx[w->nctx - 1];
			int r;
			switch (w->destroys++ % 3) {
			case 0: r = cuCtxDestroy(x); break;
			case 1: r = cuCtxDestroy_v2(x); break;
			default: r = cuCtxDetach(x); break;
			}
			w->nctx -= r == 0;
		}
	}
	if (!made)
		w->own_ctx[w->nctx++] = c;
	// Never long without a context.
	if (rnd(2))
		cuCtxSetCurrent(0xc0000000ull + 64 * rnd(2));
}

static void *work(void *arg)
{
	worker *w = arg;
	storm_seed(seed + w->id);
	for (long i = 0; i < stops; i++) {
		storm_calm(1);
		u64 c;
		cuDevicePrimaryCtxRetain(&c, w->id % 2);
		cuCtxSetCurrent(c);
		storm_calm(0);
		for (long j = 0; j < calls; j++) {
			u64 r = rnd(100);
			if (r < 45)
				allocate(w);
			else if (r < 85)
				give_back(w);
			else if (r < 94)
				physical(w);
			else if (r < 98)
				pools(w);
			else
				contexts(w);
		}
		pthread_barrier_wait(&stop);
		pthread_barrier_wait(&go);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static worker workers[THREADS];
	char line[16];
	if (argc != 4)
		return 2;
	seed = strtoull(argv[1], 0, 10);
	stops = atol(argv[2]);
	calls = atol(argv[3]);
	storm_seed(seed + 100);
	pthread_barrier_init(&stop, 0, THREADS + 1);
	pthread_barrier_init(&go, 0, THREADS + 1);
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof line, stdin))
		return 1;
	for (int i = 0; i < THREADS; i++) {
		workers[i].id = i;
		pthread_create(&workers[i].thread, 0, work, &workers[i]);
	}
	for (long i = 0; i < stops; i++) {
		pthread_barrier_wait(&stop);
		u64 c;
		switch (i % 8) { // what is about a device is done while all others wait
		case 3: cuDevicePrimaryCtxReset(rnd(2)); break;
		case 4: cuDevicePrimaryCtxReset_v2(rnd(2)); break;
		case 5: cuDevicePrimaryCtxRetain(&c, rnd(2)); break;
		case 6: for (int j = rnd(12); j > 0; j--) cuDevicePrimaryCtxRelease(0); break;
		case 7: for (int j = rnd(12); j > 0; j--) cuDevicePrimaryCtxRelease_v2(1); break;
		}
		storm_books b;
		storm_read(&b);
		for (int j = 0; j < 11; j++)
			printf("%lld %lld ", b.bytes[j], b.objects[j]);
		printf("\n");
		if (!fgets(line, sizeof line, stdin))
			return 1;
		pthread_barrier_wait(&go);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, 0);
	return 0;
}
