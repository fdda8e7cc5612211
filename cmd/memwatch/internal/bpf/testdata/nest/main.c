// Calls a driver that calls itself.

#include <alloca.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

int cuMemAlloc(uint64_t *, uint64_t), cuMemAlloc_v2(uint64_t *, uint64_t), cuMemFree(uint64_t);
int cuMemAllocHost_v2(uint64_t *, uint64_t), cuMemAllocManaged(uint64_t *, uint64_t, unsigned);

jmp_buf out;
static uint64_t p;

__attribute__((noinline)) static int deeper(int n)
{
	volatile char room[4096];
	for (int i = 0; i < sizeof room; i++)
		room[i] = n;
	return n ? deeper(n - 1) + room[n] : cuMemAlloc_v2(&p, 3000);
}

int main(void)
{
	cuMemAllocHost_v2(&p, 500);
	cuMemAlloc(&p, 1000);
	cuMemFree(p);
	cuMemAlloc(&p, 2000);
	if (!setjmp(out))
		cuMemAllocManaged(&p, 9999, 1);
	deeper(4);
	return 0;
}
