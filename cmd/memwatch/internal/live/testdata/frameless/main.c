// Allocates by ways that differ in the middle, each another size, so that the size tells which
// functions must be on the stack: outer, middle and inner have four forms each.
//
//	frameless [BYTES]       of stack besides what the functions need
//
// With each line that it reads all ways are taken as often as the line says, on the first thread and then on
// another, so many times a second as its second number says, or as it can. What was allocated before is
// freed. It answers with the nanoseconds that a thread worked for each allocation and the free before it.

#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cuMemAlloc_v2(uint64_t *p, uint64_t n);
int cuMemFree_v2(uint64_t p);

#define FRAME __attribute__((noinline, noclone))

static __thread uint64_t made[64];
static __thread volatile int sink;

static void make(int way, int size)
{
	if (made[way])
		cuMemFree_v2(made[way]);
	cuMemAlloc_v2(&made[way], size);
}

// The forms of a function: one that keeps nothing, one that keeps what it computes, one whose frame's size
// varies, and one whose frame is aligned.
#define FORMS(name, next)                                                                                              \
	FRAME int name##0(int way, int size) { return next + 1; }                                                      \
	FRAME int name##1(int way, int size)                                                                           \
	{                                                                                                              \
		int a = sink * 3, b = sink ^ 5, c = sink + 7, d = sink - way, e = sink * size;                         \
		int r = next;                                                                                          \
		return r + a * b + c * d + e;                                                                          \
	}                                                                                                              \
	FRAME int name##2(int way, int size)                                                                           \
	{                                                                                                              \
		char *p = alloca(way + 17);                                                                            \
		memset(p, way, way + 17);                                                                              \
		int r = next;                                                                                          \
		return r + p[way];                                                                                     \
	}                                                                                                              \
	FRAME int name##3(int way, int size)                                                                           \
	{                                                                                                              \
		volatile char p[64] __attribute__((aligned(64)));                                                      \
		p[way & 63] = size;                                                                                    \
		int r = next;                                                                                          \
		return r + p[size & 63];                                                                               \
	}
FORMS(inner, (make(way, size), sink))
static int (*const inner[])(int, int) = { inner0, inner1, inner2, inner3 };
#ifdef MIXED // functions without frame pointers between others that have them
#undef FRAME
#define FRAME __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#endif
FORMS(middle, inner[way & 3](way, size))
static int (*const middle[])(int, int) = { middle0, middle1, middle2, middle3 };
#undef FRAME
#define FRAME __attribute__((noinline, noclone))
FORMS(outer, middle[way >> 2 & 3](way, size))
static int (*const outer[])(int, int) = { outer0, outer1, outer2, outer3 };

FRAME int all(int base)
{
	for (int way = 0; way < 64; way++)
		sink += outer[way >> 4](way, base + way);
	return sink;
}

static double now(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// repeat takes all ways n times and returns how long the thread worked. It returns to the function that names
// the thread.
static inline __attribute__((always_inline)) double repeat(int base, int n, int rate)
{
	double start = now(CLOCK_MONOTONIC), worked = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < n; i++) {
		sink += all(base);
		double ahead = rate ? (i + 1.0) / rate - (now(CLOCK_MONOTONIC) - start) : 0;
		struct timespec t = { 0, ahead * 1e9 };
		if (ahead > 0)
			nanosleep(&t, 0);
	}
	return now(CLOCK_THREAD_CPUTIME_ID) - worked;
}

static int padding, rounds, rate;
static double took;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;

FRAME void *worker(void *arg)
{
	memset(alloca(padding + 16), 1, padding);
	pthread_mutex_lock(&turn);
	for (;;) {
		while (!rounds)
			pthread_cond_wait(&next, &turn);
		took += repeat(2000, rounds, rate);
		rounds = 0;
		pthread_cond_broadcast(&next);
	}
	return arg;
}

int main(int argc, char **argv)
{
	char line[32];
	pthread_t t;
	padding = argc > 1 ? atoi(argv[1]) : 0;
	memset(alloca(padding + 16), 1, padding);
	pthread_create(&t, 0, worker, 0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		int n = 0;
		pthread_mutex_lock(&turn);
		rate = 0;
		sscanf(line, "%d %d", &n, &rate);
		took = repeat(1000, n, rate);
		for (rounds = n; rounds;) {
			pthread_cond_broadcast(&next);
			pthread_cond_wait(&next, &turn);
		}
		pthread_mutex_unlock(&turn);
		printf("%.0f\n", n ? took * 1e9 / n / 128 : 0);
		fflush(stdout);
	}
	return 0;
}
