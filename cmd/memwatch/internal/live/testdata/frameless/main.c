// Allocates by ways that differ in the middle, each another size, so that the size tells which
// functions must be on the stack: outer, middle and inner have four forms each.
//
//	frameless
//
// With each line that it reads all ways are taken as often as the line says, on the first thread and on
// another; it answers with a line. What it has allocated before is freed.

#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static int rounds; // that the other thread is to make

FRAME void *worker(void *arg)
{
	pthread_mutex_lock(&turn);
	for (;;) {
		while (!rounds)
			pthread_cond_wait(&next, &turn);
		for (; rounds; rounds--)
			sink += all(2000);
		pthread_cond_broadcast(&next);
	}
	return arg;
}

int main(void)
{
	char line[32];
	pthread_t t;
	pthread_create(&t, 0, worker, 0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		int n = atoi(line);
		for (int i = 0; i < n; i++)
			sink += all(1000);
		pthread_mutex_lock(&turn);
		rounds = n;
		pthread_cond_broadcast(&next);
		while (rounds)
			pthread_cond_wait(&next, &turn);
		pthread_mutex_unlock(&turn);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
