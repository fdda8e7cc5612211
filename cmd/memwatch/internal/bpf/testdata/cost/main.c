// Allocates and frees without a pause, or at a rate.
//
//	cost THREADS SECONDS PAIRS      pairs a second of each thread; 0: as many as it can
//
// It prints the nanoseconds that a pair took its thread, and the number of pairs.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef REAL // a GPU's driver: its stream-ordered calls, which take it least
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **c, int device);
int cuCtxSetCurrent(void *c);
int cuMemAllocAsync(uint64_t *p, uint64_t n, void *stream);
int cuMemFreeAsync(uint64_t p, void *stream);
#define ALLOC(p) cuMemAllocAsync(p, 1 << 20, 0)
#define FREE(p) cuMemFreeAsync(p, 0)
static void *context;
#else
int cuMemAlloc_v2(uint64_t *p, uint64_t n);
int cuMemFree_v2(uint64_t p);
#define ALLOC(p) cuMemAlloc_v2(p, 64)
#define FREE(p) cuMemFree_v2(p)
#endif

static double seconds;
static double rate;
static _Atomic long pairs;
static _Atomic long busy;

static double now(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *work(void *arg)
{
#ifdef REAL
	cuCtxSetCurrent(context);
#endif
	double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID), t;
	long n = 0;
	while ((t = now(CLOCK_MONOTONIC) - start) < seconds) {
		for (int i = 0; i < 64; i++) {
			uint64_t p;
			if (ALLOC(&p) || FREE(p))
				abort();
		}
		n += 64;
		if (rate > 0 && n > rate * t) {
			struct timespec w = { 0, (n / rate - t) * 1e9 };
			nanosleep(&w, 0);
		}
	}
	pairs += n;
	busy += (long)((now(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int n = atoi(argv[1]);
	seconds = atof(argv[2]);
	rate = atof(argv[3]);
#ifdef REAL
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0))
		return 1;
#endif
	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(t[i], 0);
	printf("%ld %ld\n", busy / pairs, (long)pairs);
	return 0;
}
