// A driver that only hands out addresses: the trial needs no GPU.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long next = 0x7f0000000000ull;

static unsigned long long take(size_t n)
{
	pthread_mutex_lock(&lock);
	unsigned long long at = next;
	next += (n + 0x1fffff) & ~0x1fffffull;
	pthread_mutex_unlock(&lock);
	return at;
}

int cuMemAlloc_v2(unsigned long long *p, size_t n) { *p = take(n); return 0; }
int cuMemFree_v2(unsigned long long p) { return 0; }
int cuMemAllocAsync(unsigned long long *p, size_t n, void *stream) { *p = take(n); return 0; }
int cuMemFreeAsync(unsigned long long p, void *stream) { return 0; }
