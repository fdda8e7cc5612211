// A driver that hands out addresses. OTHER makes it another file.
#include <stdint.h>

#ifdef OTHER
static uint64_t next = 0x7000000000;
#else
static uint64_t next = 0x6000000000;
#endif

__attribute__((noinline)) int cuMemAlloc_v2(uint64_t *p, uint64_t n)
{
	if ((uint64_t)p < 4096)
		return 1;
	*p = next += 1 << 20;
	return 0;
}

__attribute__((noinline)) int cuMemFree_v2(uint64_t p) { return p > 0x8000000000 ? 1 : 0; }
