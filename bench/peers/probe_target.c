// A program that allocates and frees, with work of its own between, to see what it is slowed down by somebody who watches.
//
//	probe_target LIBRARY cuda|async|malloc
//
// cuda calls cuMemAlloc_v2 and cuMemFree_v2 of the library, async the pair on stream 0, malloc the library's own
// malloc and free, as probe_driver.c has them for bcc's memleak. A line "STEPS PAIRS" on its input makes it do so
// many pairs with so many steps of work between; it answers "ok wall=NS cpu=NS", of the clock and of the processor.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int (*alloc_sync)(uint64_t *, size_t);
static int (*free_sync)(uint64_t);
static int (*alloc_async)(uint64_t *, size_t, void *);
static int (*free_async)(uint64_t, void *);
static int (*wait_all)(void);
static void *(*alloc_c)(size_t);
static void (*free_c)(void *);

static void *library;

static void *find(const char *name, int must)
{
	void *f = dlsym(library, name);
	if (!f && must) {
		fprintf(stderr, "probe_target: %s\n", dlerror());
		exit(1);
	}
	return f;
}

static void check(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "probe_target: %s: %d\n", what, result);
		exit(1);
	}
}

static double now(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static volatile uint64_t sink;

// work is a chain of multiplications: its steps cannot overlap, and no clock is read in it.
static void work(long steps)
{
	uint64_t x = sink;
	for (long i = 0; i < steps; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

__attribute__((noinline)) static void pair(int how)
{
	uint64_t p = 0;
	switch (how) {
	case 'c':
		check(alloc_sync(&p, 1 << 20), "cuMemAlloc");
		check(free_sync(p), "cuMemFree");
		break;
	case 'a':
		check(alloc_async(&p, 1 << 20, 0), "cuMemAllocAsync");
		check(free_async(p, 0), "cuMemFreeAsync");
		break;
	default:
		free_c(alloc_c(1 << 20));
	}
}

int main(int argc, char **argv)
{
	if (argc != 3 || !(library = dlopen(argv[1], RTLD_NOW))) {
		fprintf(stderr, "probe_target: %s\n", argc != 3 ? "two arguments" : dlerror());
		return 1;
	}
	int how = argv[2][0];
	if (how == 'm') {
		alloc_c = (void *(*)(size_t))find("malloc", 1);
		free_c = (void (*)(void *))find("free", 1);
	} else {
		int (*init)(unsigned) = (int (*)(unsigned))find("cuInit", 0);
		if (init) { // a real driver
			void *context;
			check(init(0), "cuInit");
			check(((int (*)(void **, int))find("cuDevicePrimaryCtxRetain", 1))(&context, 0), "cuDevicePrimaryCtxRetain");
			check(((int (*)(void *))find("cuCtxSetCurrent", 1))(context), "cuCtxSetCurrent");
			wait_all = (int (*)(void))find("cuCtxSynchronize", 1);
		}
		alloc_sync = (int (*)(uint64_t *, size_t))find("cuMemAlloc_v2", 1);
		free_sync = (int (*)(uint64_t))find("cuMemFree_v2", 1);
		if (how == 'a') {
			alloc_async = (int (*)(uint64_t *, size_t, void *))find("cuMemAllocAsync", 1);
			free_async = (int (*)(uint64_t, void *))find("cuMemFreeAsync", 1);
		}
	}
	pair(how);
	printf("ok ready\n");
	fflush(stdout);
	long steps, pairs;
	while (scanf("%ld %ld", &steps, &pairs) == 2) {
		double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		for (long i = 0; i < pairs; i++) {
			work(steps);
			pair(how);
			if (wait_all && i % 100 == 99)
				check(wait_all(), "cuCtxSynchronize"); // or a call waits for room in the stream's queue
		}
		printf("ok wall=%.0f cpu=%.0f\n", now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
		fflush(stdout);
	}
	return 0;
}
